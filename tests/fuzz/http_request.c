/* Any bytes as a connection's input: the requests that are read do not depend on how the
 * bytes were cut, and hold nothing that the rules forbid.
 *
 * The first byte says how the rest is cut the third time. */
#include "fuzz.h"

#include "base/error.h"
#include "http/guard.h"
#include "http/header.h"
#include "http/http.h"
#include "http/parser.h"
#include "http/query.h"
#include "http/router.h"

#include <stdlib.h>

enum { MAX_HEAD = 2048, MAX_BODY = 512 };

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void handler(struct http_request *req)
{
    (void)req;
}

static const struct http_route routes[] = {
    { "GET", "/", handler, 0, 0, 0 },
    { "GET", "/v1/jobs/{id}/events", handler, 0, 0, 0 },
    { "GET", "/v1/jobs/{id}", handler, 0, 0, 0 },
    { "POST", "/v1/jobs", handler, 0, 0, 0 },
    { "GET", "/files/{rest...}", handler, 0, 0, 0 },
    { NULL, NULL, NULL, 0, 0, 0 },
};

static void check_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        check((unsigned char)s.p[i] >= 0x20 || s.p[i] == '\t');
}

static void check_path(struct str target)
{
    static const char *const hosts[] = { "a.example", NULL };
    struct str raw = str_head(target, str_find(target, '?'));
    struct str query = str_skip(target, raw.n + 1);
    struct router_match match;
    struct router *router = NULL;
    struct buf path;
    struct buf pairs;

    buf_init(&path, MAX_HEAD);
    buf_init(&pairs, query_room(query));
    check(router_new(routes, &router, NULL) == 0);
    if (path_decode(raw, &path)) {
        check(path.n <= raw.n && path.p[0] == '/' && memchr(path.p, '\0', path.n) == NULL);
        router_find(router, STR("GET"), raw, &match);
        check(match.n_params <= ROUTER_MAX_PARAMS);
        for (size_t i = 0; i < match.n_params; i++)
            check(match.values[i].n > 0 && match.values[i].p >= raw.p);
    }
    if (query_decode(query, &pairs)) {
        (void)query_find(buf_text(&pairs), STR("after"));
        check(pairs.error == 0); /* query_room is enough */
    }
    router_free(router);
    buf_done(&path);
    buf_done(&pairs);

    struct guard guard;
    check(guard_init(&guard, hosts, hosts) == 0);
    (void)guard_host_allowed(&guard, raw);
    (void)guard_origin(&guard, raw, query);
    guard_done(&guard);
}

/* What a reading came to, in a form that can be compared. */
struct outcome {
    struct buf text;
    size_t n_requests;
    bool is_bad;
};

static void add_request(struct outcome *o, const struct parser *p)
{
    struct str target = parser_target(p);

    check(p->body.n <= MAX_BODY && p->head_bytes <= MAX_HEAD);
    check(p->is_chunked || p->length == p->body.n);
    check(parser_count_headers(p, STR("host")) <= 1);
    check_text(target);
    buf_str(&o->text, target);
    for (uint32_t i = 0; i < p->n_headers; i++) {
        struct str name = str_make(p->text.p + p->headers[i].name_at, p->headers[i].name_n);
        struct str value = str_make(p->text.p + p->headers[i].value_at, p->headers[i].value_n);
        check(header_name_valid(name));
        check_text(value);
        buf_str(&o->text, name);
        buf_str(&o->text, value);
    }
    buf_str(&o->text, buf_text(&p->body));
    o->n_requests++;
}

static void step(struct outcome *o, struct parser *p)
{
    if (p->state == PARSER_ASK)
        parser_accept(p, MAX_BODY);
    if (p->state == PARSER_DONE) {
        add_request(o, p);
        check_path(parser_target(p));
        parser_reset(p);
    }
    if (p->state == PARSER_BAD) {
        check(p->status >= 400 && p->problem != NULL);
        o->is_bad = true;
    }
}

/* Reads @in in pieces of @piece bytes. */
static void read_all(struct str in, size_t piece, struct outcome *o)
{
    struct parser *p = calloc(1, sizeof(*p));

    check(p != NULL);
    *o = (struct outcome){ 0 };
    buf_init(&o->text, 1 << 24);
    parser_init(p, MAX_HEAD);
    while (in.n > 0 && !o->is_bad) {
        struct str now = str_head(in, piece);
        in = str_skip(in, now.n);
        while (now.n > 0 && !o->is_bad) {
            size_t n = parser_feed(p, now);
            check(n > 0 && n <= now.n); /* else it would never end */
            now = str_skip(now, n);
            step(o, p);
        }
    }
    parser_done(p);
    free(p);
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    check(a->n_requests == b->n_requests && a->is_bad == b->is_bad);
    check(str_eq(buf_text(&a->text), buf_text(&b->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = str_make((const char *)data + 1, size > 0 ? size - 1 : 0);
    struct outcome whole;
    struct outcome bytes;
    struct outcome pieces;

    if (size == 0)
        return 0;
    read_all(in, in.n, &whole);
    read_all(in, 1, &bytes);
    read_all(in, (size_t)data[0] + 2, &pieces);
    check_same(&whole, &bytes);
    check_same(&whole, &pieces);
    buf_done(&whole.text);
    buf_done(&bytes.text);
    buf_done(&pieces.text);
    return 0;
}
