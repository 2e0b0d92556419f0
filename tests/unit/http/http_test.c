/* The parts of the HTTP server that need no socket. */
#include "http/http.h"

#include "base/error.h"
#include "http/access_log.h"
#include "http/addresses.h"
#include "http/chunk.h"
#include "http/date.h"
#include "http/guard.h"
#include "http/head.h"
#include "http/header.h"
#include "http/parser.h"
#include "http/query.h"
#include "http/router.h"
#include "http/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void assert_text(struct str got, const char *want)
{
    if (want == NULL) {
        assert_true(str_absent(got));
        return;
    }
    assert_false(str_absent(got));
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

/* --- percent-encoding ---------------------------------------------------------------- */

static void expect_decoded(const char *in, bool form, const char *want)
{
    struct buf b;

    buf_init(&b, 256);
    buf_lit(&b, "x");
    assert_int_equal(percent_decode(str_of(in), form, &b), want != NULL);
    assert_text(buf_since(&b, 1), want != NULL ? want : "");
    buf_done(&b);
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    expect_decoded("", false, "");
    expect_decoded("plain", false, "plain");
    expect_decoded("%41%62%20%2f", false, "Ab /");
    expect_decoded("%C3%A9%e2%82%ac", false, "é€");
    expect_decoded("a+b", false, "a+b");
    expect_decoded("a+b%2B", true, "a b+");
    expect_decoded("%25%34%31", false, "%41"); /* once, not twice */
}

static void broken_escapes_are_refused(void **state)
{
    (void)state;
    expect_decoded("%", false, NULL);
    expect_decoded("a%4", false, NULL);
    expect_decoded("%zz", false, NULL);
    expect_decoded("%4g", false, NULL);
    expect_decoded("%00", false, NULL);
    expect_decoded("%ff", false, NULL);
    expect_decoded("%c3", false, NULL);
    expect_decoded("%ed%a0%80", false, NULL); /* half a surrogate pair */
}

static void expect_path(const char *in, const char *want)
{
    struct buf b;

    buf_init(&b, 256);
    assert_int_equal(path_decode(str_of(in), &b), want != NULL);
    assert_text(buf_text(&b), want != NULL ? want : "");
    buf_done(&b);
}

static void paths_without_tricks_are_decoded(void **state)
{
    (void)state;
    expect_path("/", "/");
    expect_path("/a/b%20c", "/a/b c");
    expect_path("/a/...", "/a/...");
    expect_path("/a/.b", "/a/.b");
    expect_path("//", "//");
    expect_path("", NULL);
    expect_path("a", NULL);
    expect_path("/..", NULL);
    expect_path("/a/../b", NULL);
    expect_path("/a/./b", NULL);
    expect_path("/a/.", NULL);
    expect_path("/%2e%2E/b", NULL);
    expect_path("/a%2f..%2fb", NULL);
    expect_path("/a%0d%0ab", NULL);
    expect_path("/a%7f", NULL);
}

static void expect_query(const char *in, const char *name, const char *want)
{
    struct buf b;

    buf_init(&b, query_room(str_of(in)));
    assert_true(query_decode(str_of(in), &b));
    assert_int_equal(b.error, 0);
    assert_text(query_find(buf_text(&b), str_of(name)), want);
    buf_done(&b);
}

static void queries_are_looked_up(void **state)
{
    struct buf b;

    (void)state;
    expect_query("", "a", NULL);
    expect_query("a=1", "a", "1");
    expect_query("a=1", "b", NULL);
    expect_query("a=1&a=2", "a", "1");
    expect_query("x&y=&z", "x", "");
    expect_query("x&y=&z", "y", "");
    expect_query("x&y=&z", "z", "");
    expect_query("&&a=b&&", "a", "b");
    expect_query("a=b=c", "a", "b=c");
    expect_query("%61+b=%26%3D+c", "a b", "&= c");
    expect_query("aa=1&a=2", "a", "2");
    expect_query("v=a&a=x", "a", "x"); /* a value is no key */
    expect_query("=1", "", "1");
    buf_init(&b, 100);
    assert_false(query_decode(STR("a=1&b=%"), &b));
    assert_false(query_decode(STR("%00=1"), &b));
    assert_int_equal(b.n, 0);
    buf_done(&b);
}

/* --- headers ---------------------------------------------------------------------------- */

static void header_names_compare_without_case(void **state)
{
    (void)state;
    assert_true(header_is(STR("Content-TYPE"), "content-type"));
    assert_false(header_is(STR("Content-Typ"), "content-type"));
    assert_false(header_is(STR("@bc"), "`bc")); /* not messages, 32 apart */
    assert_false(header_is(STR("a[b"), "a{b"));
}

static void bearer_tokens_are_found(void **state)
{
    (void)state;
    assert_text(header_bearer(STR("Bearer abc")), "abc");
    assert_text(header_bearer(STR("bEARER  \t abc \t")), "abc");
    assert_text(header_bearer(STR("Bearer a b")), "a b"); /* no token, as will be found */
    assert_text(header_bearer(STR("Bearer")), NULL);
    assert_text(header_bearer(STR("Bearer ")), NULL);
    assert_text(header_bearer(STR("Bearerabc")), NULL);
    assert_text(header_bearer(STR("Basic abc")), NULL);
    assert_text(header_bearer(STR("")), NULL);
    assert_text(header_bearer(STR_NONE), NULL);
}

static void cookies_are_found(void **state)
{
    (void)state;
    assert_text(header_cookie(STR("a=1; b=2;c=3"), STR("a")), "1");
    assert_text(header_cookie(STR("a=1; b=2;c=3"), STR("b")), "2");
    assert_text(header_cookie(STR("a=1; b=2;c=3"), STR("c")), "3");
    assert_text(header_cookie(STR("aa=1; a=2"), STR("a")), "2");
    assert_text(header_cookie(STR("x=a; a=2"), STR("a")), "2");
    assert_text(header_cookie(STR("a"), STR("a")), NULL);
    assert_text(header_cookie(STR("a="), STR("a")), "");
    assert_text(header_cookie(STR("a=b=c"), STR("a")), "b=c");
    assert_text(header_cookie(STR("A=1"), STR("a")), NULL);
    assert_text(header_cookie(STR(";;="), STR("a")), NULL);
    assert_text(header_cookie(STR_NONE, STR("a")), NULL);
}

static void request_ids_are_plain(void **state)
{
    char long_one[REQUEST_ID_MAX + 1];

    (void)state;
    memset(long_one, 'a', sizeof(long_one));
    assert_true(request_id_valid(STR("aZ0._-")));
    assert_true(request_id_valid(str_make(long_one, REQUEST_ID_MAX)));
    assert_false(request_id_valid(str_make(long_one, sizeof(long_one))));
    assert_false(request_id_valid(STR("")));
    assert_false(request_id_valid(STR("a b")));
    assert_false(request_id_valid(STR("a\0b")));
    assert_false(request_id_valid(STR("a\r\n")));
    assert_false(request_id_valid(STR("\xc3\xa9")));
}

static void header_values_lose_what_could_break_them(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 256);
    header_put(&b, STR("X-A"), STR("a\r\nB: c\0d\x7f\xff"));
    header_put(&b, STR("X B"), STR("never"));
    header_put(&b, STR(""), STR("never"));
    header_put(&b, STR("X\r\n"), STR("never"));
    assert_text(buf_text(&b), "X-A: aB: cd\r\n");
    buf_done(&b);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(status_text(404), "Not Found");
    assert_string_equal(status_text(426), "Upgrade Required");
    assert_string_equal(status_text(299), "OK");
    assert_string_equal(status_text(599), "Error");
    assert_true(status_has_no_body(204) && status_has_no_body(304) && !status_has_no_body(200));
}

/* --- chunks ------------------------------------------------------------------------------ */

static void chunks_are_wrapped_in_place(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    size_t from = http_chunk_begin(&b, true);
    buf_lit(&b, "data: hello\n\n");
    http_chunk_end(&b, from, true);
    from = http_chunk_begin(&b, true);
    for (int i = 0; i < 0x1234; i++)
        buf_char(&b, 'x');
    http_chunk_end(&b, from, true);
    assert_true(str_starts(buf_text(&b), STR("0000000d\r\ndata: hello\n\n\r\n00001234\r\nxx")));
    assert_true(str_ends(buf_text(&b), STR("xx\r\n")));
    assert_int_equal(b.n, 10 + 13 + 2 + 10 + 0x1234 + 2);
    buf_done(&b);
}

static void an_empty_chunk_is_none(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    buf_lit(&b, "before");
    http_chunk_end(&b, http_chunk_begin(&b, true), true);
    assert_text(buf_text(&b), "before");
    buf_done(&b);
}

static void bytes_without_chunks_stay_as_they_are(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    http_chunk_put(&b, STR("as "), false);
    http_chunk_put(&b, STR("it is"), false);
    assert_text(buf_text(&b), "as it is");
    buf_clear(&b);
    http_chunk_put(&b, STR("in one"), true);
    assert_text(buf_text(&b), "00000006\r\nin one\r\n");
    buf_done(&b);
}

static void a_chunk_in_a_full_buffer_is_left_alone(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 12);
    size_t from = http_chunk_begin(&b, true);
    buf_lit(&b, "too long");
    http_chunk_end(&b, from, true);
    assert_int_equal(b.error, ERR_TOO_LARGE);
    buf_done(&b);
}

/* --- routes ------------------------------------------------------------------------------ */

static void nothing(struct http_request *req)
{
    (void)req;
}

static const struct http_route routes[] = {
    { "GET", "/files/{rest...}", nothing, 0, 0, 0 },
    { "GET", "/jobs/{id}", nothing, 0, 0, 0 },
    { "DELETE", "/jobs/{id}", nothing, 0, HTTP_ROUTE_PROBLEM, 0 },
    { "GET", "/jobs/{job}/{what}", nothing, 0, 0, 0 },
    { "GET", "/jobs/{id}/events", nothing, 0, 0, 0 },
    { "POST", "/jobs/submit", nothing, 0, 0, 0 },
    { "GET", "/files/index", nothing, 0, 0, 0 },
    { "GET", "/", nothing, 0, 0, 0 },
    { "GET", "/slash/", nothing, 0, 0, 0 },
    { "PUT", "/a/b/c", nothing, 0, 0, 0 },
    { NULL, NULL, NULL, 0, 0, 0 },
};

struct routing {
    struct router *router;
    struct router_match match;
};

static int make_router(void **state)
{
    struct routing *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    assert_int_equal(router_new(routes, &r->router, NULL), 0);
    *state = r;
    return 0;
}

static int free_router(void **state)
{
    struct routing *r = *state;

    router_free(r->router);
    free(r);
    return 0;
}

static const char *find(struct routing *r, const char *method, const char *path)
{
    router_find(r->router, str_of(method), str_of(path), &r->match);
    return r->match.route != NULL ? r->match.route->pattern : NULL;
}

static void the_most_exact_route_wins(void **state)
{
    struct routing *r = *state;

    assert_string_equal(find(r, "GET", "/"), "/");
    assert_string_equal(find(r, "GET", "/jobs/7"), "/jobs/{id}");
    assert_text(r->match.names[0], "id");
    assert_text(r->match.values[0], "7");
    assert_string_equal(find(r, "GET", "/jobs/7/events"), "/jobs/{id}/events");
    assert_int_equal(r->match.n_params, 1);
    assert_string_equal(find(r, "GET", "/jobs/7/state"), "/jobs/{job}/{what}");
    assert_text(r->match.names[0], "job");
    assert_text(r->match.values[1], "state");
    assert_string_equal(find(r, "POST", "/jobs/submit"), "/jobs/submit");
    assert_string_equal(find(r, "GET", "/jobs/submit"), "/jobs/{id}"); /* it has the method */
    assert_string_equal(find(r, "GET", "/files/index"), "/files/index");
    assert_string_equal(find(r, "GET", "/files/index/x"), "/files/{rest...}");
    assert_text(r->match.values[0], "index/x");
    assert_string_equal(find(r, "GET", "/files/a%2fb"), "/files/{rest...}");
    assert_string_equal(find(r, "HEAD", "/jobs/7"), "/jobs/{id}");
    assert_string_equal(find(r, "GET", "/slash/"), "/slash/");
}

static void other_paths_have_no_route(void **state)
{
    static const char *const paths[] = { "/job",     "/jobs",  "/jobs/",  "/jobs//",
                                         "/jobs/7/", "//",     "/files/", "/jobs/7/a/b",
                                         "/Jobs/7",  "/slash", "/a/b",    "/a/b/c/",
                                         "" };
    struct routing *r = *state;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_null(find(r, "GET", paths[i]));
        assert_int_equal(r->match.methods, 0);
    }
}

static void a_known_path_tells_its_methods(void **state)
{
    struct routing *r = *state;
    struct buf b;

    buf_init(&b, 200);
    assert_null(find(r, "PATCH", "/jobs/submit"));
    router_put_methods(&b, r->match.methods);
    assert_text(buf_text(&b), "GET, HEAD, POST, DELETE, OPTIONS");
    buf_clear(&b);
    assert_null(find(r, "BREW", "/a/b/c"));
    router_put_methods(&b, r->match.methods);
    assert_text(buf_text(&b), "PUT, OPTIONS");
    assert_null(find(r, "HEAD", "/a/b/c")); /* without GET */
    buf_done(&b);
    assert_string_equal(find(r, "DELETE", "/jobs/7"), "/jobs/{id}");
    assert_int_equal(r->match.flags, HTTP_ROUTE_PROBLEM);
}

static void long_paths_do_no_harm(void **state)
{
    struct routing *r = *state;
    char path[2001] = "";

    for (size_t i = 0; i < sizeof(path) - 1; i++)
        path[i] = i % 2 == 0 ? '/' : 'a';
    assert_null(find(r, "GET", path));
    memcpy(path, "/files/", 7);
    assert_string_equal(find(r, "GET", path), "/files/{rest...}");
    assert_int_equal(r->match.values[0].n, strlen(path) - 7);
}

static void what_is_no_route_is_refused(void **state)
{
    static const struct http_route bad[][2] = {
        { { "GET", "jobs", nothing, 0, 0, 0 } },
        { { "BREW", "/", nothing, 0, 0, 0 } },
        { { "GET", "/{rest...}/x", nothing, 0, 0, 0 } },
        { { "GET", "/{}", nothing, 0, 0, 0 } },
        { { "GET", "/a{b}", nothing, 0, 0, 0 } },
        { { "GET", "/{...}", nothing, 0, 0, 0 } },
        { { "GET", "/x", NULL, 0, 0, 0 } },
        { { NULL, "/x", nothing, 0, 0, 0 } },
        { { "GET", "/{a}/{a}/{a}/{a}/{a}/{a}/{a}/{a}/{a}", nothing, 0, 0, 0 } },
    };
    struct error error;
    struct router *router = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(router_new(bad[i], &router, &error), ERR_SYNTAX);
        assert_null(router);
    }
}

/* --- who may ask ---------------------------------------------------------------------------
 */

static void make_guard(struct guard *g,
                       const char *host,
                       const char *origin,
                       const char *address)
{
    const char *hosts[] = { host, NULL };
    const char *origins[] = { origin, NULL };
    struct sockaddr_in ip4;

    assert_int_equal(
        guard_init(g, host != NULL ? hosts : NULL, origin != NULL ? origins : NULL), 0);
    assert_int_equal(uv_ip4_addr(address, 8000, &ip4), 0);
    guard_set_address(g, (struct sockaddr *)&ip4, 8000);
}

static void only_our_own_hosts_are_allowed(void **state)
{
    struct guard g;

    (void)state;
    make_guard(&g, "Gate.example", NULL, "192.168.1.5");
    assert_true(guard_host_allowed(&g, STR("localhost:8000")));
    assert_true(guard_host_allowed(&g, STR("127.0.0.1:8000")));
    assert_true(guard_host_allowed(&g, STR("192.168.1.5:8000")));
    assert_true(guard_host_allowed(&g, STR("[::1]:8000")));
    assert_true(guard_host_allowed(&g, STR("gate.example")));
    assert_false(guard_host_allowed(&g, STR("gate.example:8000"))); /* exactly as listed */
    assert_false(guard_host_allowed(&g, STR("192.168.1.6:8000")));
    assert_false(guard_host_allowed(&g, STR("localhost")));
    assert_false(guard_host_allowed(&g, STR("localhost:80000")));
    assert_false(guard_host_allowed(&g, STR("localhost:")));
    assert_false(guard_host_allowed(&g, STR("evil:8000")));
    assert_false(guard_host_allowed(&g, STR("0x7f.1:8000")));
    assert_false(guard_host_allowed(&g, STR("127.1:8000")));
    assert_false(guard_host_allowed(&g, STR("[127.0.0.1]:8000")));
    assert_false(guard_host_allowed(&g, STR("")));
    assert_false(guard_host_allowed(&g, STR("8000")));
    guard_done(&g);
}

static void without_a_port_it_is_80(void **state)
{
    struct guard g;

    (void)state;
    make_guard(&g, NULL, NULL, "127.0.0.1");
    g.port = 80;
    assert_true(guard_host_allowed(&g, STR("localhost")));
    assert_true(guard_host_allowed(&g, STR("[::1]")));
    assert_true(guard_host_allowed(&g, STR("127.0.0.1")));
    assert_false(guard_host_allowed(&g, STR("::1")));
    guard_done(&g);
}

static void origins_are_told_apart(void **state)
{
    struct guard g;
    struct str host = STR("localhost:8000");

    (void)state;
    make_guard(&g, NULL, "https://app.example", "127.0.0.1");
    assert_int_equal(guard_origin(&g, STR_NONE, host), GUARD_NO_ORIGIN);
    assert_int_equal(guard_origin(&g, STR("http://localhost:8000"), host), GUARD_SAME);
    assert_int_equal(guard_origin(&g, STR("HTTP://LOCALHOST:8000"), host), GUARD_SAME);
    assert_int_equal(guard_origin(&g, STR("https://app.example"), host), GUARD_LISTED);
    assert_int_equal(guard_origin(&g, STR("https://localhost:8000"), host), GUARD_FOREIGN);
    assert_int_equal(guard_origin(&g, STR("http://localhost"), host), GUARD_FOREIGN);
    assert_int_equal(guard_origin(&g, STR("null"), host), GUARD_FOREIGN);
    assert_int_equal(guard_origin(&g, STR(""), host), GUARD_FOREIGN);
    assert_int_equal(guard_origin(&g, STR("http://"), STR("")), GUARD_FOREIGN);
    guard_done(&g);
    make_guard(&g, NULL, "*", "127.0.0.1");
    assert_int_equal(guard_origin(&g, STR("https://app.example"), host), GUARD_ANY);
    assert_int_equal(guard_origin(&g, STR("*"), host), GUARD_ANY);
    guard_done(&g);
}

static void credentials_are_never_for_everybody(void **state)
{
    struct guard g;
    struct buf b;

    (void)state;
    make_guard(&g, NULL, "*", "127.0.0.1");
    buf_init(&b, 2000);
    guard_put_headers(&g, &b, GUARD_ANY, STR("http://x"),
                      &(struct guard_preflight){ .methods = 1 });
    buf_char(&b, '\0');
    assert_non_null(strstr(b.p, "Access-Control-Allow-Origin: *\r\n"));
    assert_null(strstr(b.p, "Credentials"));
    assert_non_null(strstr(b.p, "Access-Control-Allow-Methods: GET\r\n"));
    buf_clear(&b);
    guard_put_headers(&g, &b, GUARD_FOREIGN, STR("http://x"), &(struct guard_preflight){ 0 });
    assert_text(buf_text(&b), "Vary: Origin\r\n");
    buf_done(&b);
    guard_done(&g);
}

static void a_page_may_send_the_headers_that_it_asks_for(void **state)
{
    struct guard_preflight asked = { .methods = 1,
                                     .headers = STR("x-auth-scheme, mcp-protocol-version,a b,"
                                                    "x\r\nY: z,,x-last"),
                                     .is_to_private = true };
    struct guard g;
    struct buf b;

    (void)state;
    make_guard(&g, NULL, "https://app.example", "127.0.0.1");
    buf_init(&b, 2000);
    guard_put_headers(&g, &b, GUARD_LISTED, STR("https://app.example"), &asked);
    buf_char(&b, '\0');
    assert_non_null(
        strstr(b.p, ", X-Api-Key, x-auth-scheme, mcp-protocol-version, x-last\r\n"));
    assert_non_null(strstr(b.p, "Access-Control-Allow-Private-Network: true\r\n"));
    buf_clear(&b);
    asked.is_to_private = false;
    guard_put_headers(&g, &b, GUARD_LISTED, STR("https://app.example"), &asked);
    buf_char(&b, '\0');
    assert_null(strstr(b.p, "Private-Network"));
    buf_clear(&b);
    guard_put_headers(&g, &b, GUARD_FOREIGN, STR("https://evil.example"), &asked);
    assert_text(buf_text(&b), "Vary: Origin\r\n");
    buf_done(&b);
    guard_done(&g);
}

/* --- deadlines -------------------------------------------------------------------------------
 */

static void deadlines_are_never_early_and_hardly_late(void **state)
{
    struct wheel w;
    struct wheel_entry e[3];
    static const uint64_t in_ms[3] = { 1, 1000, 300000 }; /* the last one is turns away */
    uint64_t start = 123456789;

    (void)state;
    wheel_init(&w, start);
    for (size_t i = 0; i < 3; i++) {
        wheel_add(&w, &e[i]);
        wheel_arm(&w, &e[i], start, in_ms[i]);
    }
    size_t next = 0;
    for (uint64_t now = start; next < 3; now += 50) {
        wheel_advance(&w, now);
        struct wheel_entry *due = wheel_next_due(&w);
        if (due == NULL)
            continue;
        assert_ptr_equal(due, &e[next]);
        assert_true(now >= start + in_ms[next]);
        assert_true(now <= start + in_ms[next] + 2 * WHEEL_TICK_MS);
        next++;
    }
    assert_int_equal(w.n_armed, 0);
}

static void a_deadline_can_be_moved_and_dropped(void **state)
{
    struct wheel w;
    struct wheel_entry a;
    struct wheel_entry b;

    (void)state;
    wheel_init(&w, 0);
    wheel_add(&w, &a);
    wheel_add(&w, &b);
    wheel_arm(&w, &a, 0, 1000);
    wheel_arm(&w, &b, 0, 1000);
    wheel_arm(&w, &a, 0, 5000);
    wheel_park(&w, &b);
    wheel_advance(&w, 4000);
    assert_false(wheel_has_due(&w));
    wheel_hurry(&w, &b);
    assert_ptr_equal(wheel_next_due(&w), &b);
    assert_null(wheel_next_due(&w));
    wheel_advance(&w, 1000000); /* the clock jumps over several turns */
    assert_ptr_equal(wheel_next_due(&w), &a);
    wheel_arm(&w, &a, 1000000, 100);
    wheel_remove(&w, &a);
    assert_int_equal(w.n_armed, 0);
    wheel_advance(&w, 2000000);
    assert_false(wheel_has_due(&w));
}

static void a_wheel_that_stood_still_is_right_again(void **state)
{
    struct wheel w;
    struct wheel_entry e;

    (void)state;
    wheel_init(&w, 0);
    wheel_add(&w, &e);
    wheel_arm(&w, &e, 50000000, 1000);
    wheel_advance(&w, 50000900);
    assert_false(wheel_has_due(&w));
    wheel_advance(&w, 50001500);
    assert_true(wheel_has_due(&w));
}

static struct wheel *visited_wheel;
static int n_visited;

static void remove_visited(struct wheel_entry *e)
{
    n_visited++;
    wheel_remove(visited_wheel, e);
}

static void every_entry_is_visited_wherever_it_is(void **state)
{
    struct wheel w;
    struct wheel_entry e[4];

    (void)state;
    wheel_init(&w, 0);
    for (int i = 0; i < 4; i++)
        wheel_add(&w, &e[i]);
    wheel_arm(&w, &e[0], 0, 1000);
    wheel_arm(&w, &e[1], 0, 1000);
    wheel_hurry(&w, &e[2]);
    visited_wheel = &w;
    n_visited = 0;
    wheel_each(&w, remove_visited);
    assert_int_equal(n_visited, 4);
    wheel_each(&w, remove_visited);
    assert_int_equal(n_visited, 4);
}

/* --- addresses
 * -------------------------------------------------------------------------------- */

static struct in6_addr address_of(uint32_t i)
{
    struct in6_addr a = { 0 };

    a.s6_addr[10] = a.s6_addr[11] = 0xff;
    memcpy(a.s6_addr + 12, &i, 4);
    return a;
}

static void each_address_has_its_own_count(void **state)
{
    struct addresses a;
    enum { N = 500 };

    (void)state;
    assert_int_equal(addresses_init(&a, 2, N, 42), 0);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < N; i++) {
            struct in6_addr address = address_of(i);
            assert_true(addresses_enter(&a, &address));
            assert_true(addresses_enter(&a, &address));
            assert_false(addresses_enter(&a, &address));
        }
        for (uint32_t i = 0; i < N; i++) { /* in another order, for the gaps */
            struct in6_addr address = address_of(i * 7 % N);
            addresses_leave(&a, &address);
            assert_true(addresses_enter(&a, &address));
            addresses_leave(&a, &address);
            addresses_leave(&a, &address);
        }
    }
    addresses_done(&a);
}

static void an_ip6_network_is_one_address(void **state)
{
    struct addresses a;
    struct in6_addr one = { 0 };

    (void)state;
    one.s6_addr[0] = 0x20;
    struct in6_addr other = one;
    other.s6_addr[15] = 9;
    struct in6_addr elsewhere = one;
    elsewhere.s6_addr[7] = 1;
    assert_int_equal(addresses_init(&a, 1, 10, 1), 0);
    assert_true(addresses_enter(&a, &one));
    assert_false(addresses_enter(&a, &other));
    assert_true(addresses_enter(&a, &elsewhere));
    addresses_done(&a);
}

static void without_a_limit_nothing_is_counted(void **state)
{
    struct addresses a;
    struct in6_addr one = address_of(1);

    (void)state;
    assert_int_equal(addresses_init(&a, 0, 10, 1), 0);
    for (int i = 0; i < 100; i++)
        assert_true(addresses_enter(&a, &one));
    addresses_leave(&a, &one);
    addresses_done(&a);
}

/* --- requests
 * --------------------------------------------------------------------------------- */

/* Feeds @text until the state changes for good; the head is accepted with @max_body. */
static enum parser_state parse(struct parser *p, const char *text, size_t max_body)
{
    struct str in = str_of(text);

    parser_init(p, 1000);
    while (in.n > 0 && p->state != PARSER_DONE && p->state != PARSER_BAD) {
        in = str_skip(in, parser_feed(p, in));
        if (p->state == PARSER_ASK)
            parser_accept(p, max_body);
    }
    return p->state;
}

static void a_request_is_parsed(void **state)
{
    struct parser p;

    (void)state;
    assert_int_equal(parse(&p,
                           "POST /a?b HTTP/1.1\r\nhOsT:x\r\nX-A:  1 \t\r\nX-A: 2\r\nX-E:\r\n"
                           "Content-Length: 3\r\n\r\nabcGET",
                           3),
                     PARSER_DONE);
    assert_text(parser_target(&p), "/a?b");
    assert_text(parser_header(&p, STR("Host")), "x");
    assert_text(parser_header(&p, STR("x-a")), "1");
    assert_text(parser_header(&p, STR("x-e")), "");
    assert_text(parser_header(&p, STR("x-f")), NULL);
    assert_int_equal(parser_count_headers(&p, STR("X-a")), 2);
    assert_text(buf_text(&p.body), "abc");
    parser_reset(&p);
    assert_int_equal(p.state, PARSER_HEAD);
    assert_int_equal(p.n_headers, 0);
    parser_done(&p);
}

static void the_parser_stops_where_the_request_does(void **state)
{
    struct str in = STR("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\n");
    struct parser p;

    (void)state;
    parser_init(&p, 1000);
    assert_int_equal(parser_feed(&p, in), 27);
    assert_int_equal(p.state, PARSER_ASK);
    assert_int_equal(parser_feed(&p, str_skip(in, 27)), 0); /* not before it was accepted */
    parser_accept(&p, 0);
    assert_int_equal(p.state, PARSER_DONE);
    parser_done(&p);
}

static void expect_bad(const char *text, int status)
{
    struct parser p;

    assert_int_equal(parse(&p, text, 10), PARSER_BAD);
    assert_int_equal(p.status, status);
    assert_non_null(p.problem);
    assert_int_equal(parser_feed(&p, STR("GET")), 0);
    parser_done(&p);
}

/* A head is judged alike in one piece and byte by byte, whatever byte is where. */
static void heads_are_judged_alike_in_all_pieces(void **state)
{
    static const char good[] = "\r\nPOST /a/b?c=d%20e HTTP/1.1\r\nHost: here\r\nLonger-Name: "
                               "with a value of many bytes\r\n\r\nbody";
    char text[sizeof(good)];
    unsigned n_bad = 0;

    (void)state;
    for (size_t at = 0; at < sizeof(good) - 1; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            struct head whole, pieces;
            size_t n = 0;

            memcpy(text, good, sizeof(good));
            text[at] = (char)byte;
            head_init(&whole);
            head_init(&pieces);
            size_t taken = head_scan(&whole, str_make(text, sizeof(text) - 1));
            for (size_t i = 0; i < sizeof(text) - 1; i++)
                n += head_scan(&pieces, str_make(text + i, 1));
            assert_int_equal(taken, n);
            assert_int_equal(whole.state, pieces.state);
            assert_int_equal(whole.status, pieces.status);
            n_bad += whole.state == HEAD_BAD;
            if (at > 1 && good[at] != '\r' && good[at] != '\n' && taken > at &&
                ((byte < 0x20 && byte != '\t') || byte == 0x7f))
                assert_true(whole.state == HEAD_BAD || byte == '\r');
        }
    }
    assert_true(n_bad > 1000);
}

static void limits_have_their_statuses(void **state)
{
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "GET /", 5);
    text[sizeof(text) - 1] = '\0';
    expect_bad(text, 414);
    memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
    expect_bad(text, 431);
    expect_bad("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413);
    expect_bad("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n", 413);
    expect_bad(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\n",
        413);
    expect_bad("GET / HTTP/3.0\r\n", 505);
    expect_bad("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: br, chunked\r\n\r\n", 501);
}

/* --- dates and the log
 * ------------------------------------------------------------------------- */

static void dates_have_their_two_forms(void **state)
{
    struct date d = { 0 };

    (void)state;
    date_set(&d, 0);
    assert_string_equal(d.http, "Thu, 01 Jan 1970 00:00:00 GMT");
    date_set(&d, 784111777999);
    assert_string_equal(d.http, "Sun, 06 Nov 1994 08:49:37 GMT");
    date_set(&d, 951782400000);
    assert_string_equal(d.http, "Tue, 29 Feb 2000 00:00:00 GMT");
}

static struct access_entry an_entry(void)
{
    return (struct access_entry){
        .kind = ACCESS_REQUEST,
        .method = STR("GET"),
        .path = STR("/a\"\n"),
        .status = 200,
        .bytes = 12,
        .us = 34005,
        .id = STR("id1"),
        .peer = STR("1.2.3.4:5"),
    };
}

static void expect_line(bool is_text, const struct access_entry *entry, const char *want)
{
    struct access_log log;
    struct date d = { 0 };

    date_set(&d, 784111777007);
    access_log_init(&log, STDERR_FILENO, is_text, false);
    access_log_add(&log, &d, entry);
    assert_text(buf_text(&log.lines), want);
    access_log_done(&log);
}

static void log_lines_are_json_or_text(void **state)
{
    struct access_entry e = an_entry();

    (void)state;
    expect_line(
        false, &e,
        "{\"time\":\"1994-11-06T08:49:37.007Z\",\"event\":\"request\",\"method\":\"GET\","
        "\"path\":\"/a\\\"\\n\",\"status\":200,\"bytes\":12,\"ms\":34.005,"
        "\"request_id\":\"id1\",\"peer\":\"1.2.3.4:5\"}\n");
    expect_line(true, &e,
                "1994-11-06T08:49:37.007Z request GET /a\\\"\\n 200 12B 34.005ms id=id1 "
                "peer=1.2.3.4:5\n");
    e.kind = ACCESS_CLOSE;
    e.method = e.path = e.id = STR_NONE;
    e.why = STR("gone");
    expect_line(false, &e,
                "{\"time\":\"1994-11-06T08:49:37.007Z\",\"event\":\"close\","
                "\"peer\":\"1.2.3.4:5\",\"why\":\"gone\"}\n");
}

static void long_segments_of_paths_are_not_logged(void **state)
{
    struct access_entry e = an_entry();
    char path[200], want[400];
    char name[71];

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[70] = '\0';
    (void)snprintf(path, sizeof(path), "/v1/%.64s/%s/end", name, name);
    (void)snprintf(want, sizeof(want),
                   "1994-11-06T08:49:37.007Z request GET /v1/%.64s/%.16s…/end 200 12B 34.005ms "
                   "id=id1 peer=1.2.3.4:5\n",
                   name, name);
    e.path = str_of(path);
    expect_line(true, &e, want);
    e.path = str_of(name); /* of a request that was not understood */
    (void)snprintf(want, sizeof(want),
                   "1994-11-06T08:49:37.007Z request GET %.17s… 200 12B 34.005ms id=id1 "
                   "peer=1.2.3.4:5\n",
                   name);
    expect_line(true, &e, want);
}

static void a_full_log_counts_what_it_loses(void **state)
{
    struct access_entry e = an_entry();
    struct access_log log;
    struct date d = { 0 };
    char bytes[65536];
    size_t got = 0;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    access_log_init(&log, ends[1], false, false);
    for (int i = 0; i < 20000; i++) { /* far more than a pipe and the buffer hold */
        access_log_add(&log, &d, &e);
        if (i % 100 == 0)
            access_log_flush(&log);
    }
    assert_true(log.n_lost > 0);
    do { /* now somebody reads */
        access_log_flush(&log);
        ssize_t n = read(ends[0], bytes, sizeof(bytes));
        assert_true(n > 0);
        assert_int_equal(bytes[n - 1], '\n'); /* whole lines */
        got += (size_t)n;
    } while (log.lines.n > 0);
    assert_true(got > 500000);
    access_log_add(&log, &d, &e);
    buf_char(&log.lines, '\0');
    assert_non_null(strstr(log.lines.p, "Z\",\"event\":\"log_lines_lost\",\"count\":"));
    assert_int_equal(log.n_lost, 0);
    access_log_done(&log);
    (void)close(ends[0]); /* a pipe of ours */
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(broken_escapes_are_refused),
        cmocka_unit_test(paths_without_tricks_are_decoded),
        cmocka_unit_test(queries_are_looked_up),
        cmocka_unit_test(header_names_compare_without_case),
        cmocka_unit_test(bearer_tokens_are_found),
        cmocka_unit_test(cookies_are_found),
        cmocka_unit_test(request_ids_are_plain),
        cmocka_unit_test(header_values_lose_what_could_break_them),
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(chunks_are_wrapped_in_place),
        cmocka_unit_test(an_empty_chunk_is_none),
        cmocka_unit_test(bytes_without_chunks_stay_as_they_are),
        cmocka_unit_test(a_chunk_in_a_full_buffer_is_left_alone),
        cmocka_unit_test_setup_teardown(the_most_exact_route_wins, make_router, free_router),
        cmocka_unit_test_setup_teardown(other_paths_have_no_route, make_router, free_router),
        cmocka_unit_test_setup_teardown(a_known_path_tells_its_methods, make_router,
                                        free_router),
        cmocka_unit_test_setup_teardown(long_paths_do_no_harm, make_router, free_router),
        cmocka_unit_test(what_is_no_route_is_refused),
        cmocka_unit_test(only_our_own_hosts_are_allowed),
        cmocka_unit_test(without_a_port_it_is_80),
        cmocka_unit_test(origins_are_told_apart),
        cmocka_unit_test(credentials_are_never_for_everybody),
        cmocka_unit_test(a_page_may_send_the_headers_that_it_asks_for),
        cmocka_unit_test(deadlines_are_never_early_and_hardly_late),
        cmocka_unit_test(a_deadline_can_be_moved_and_dropped),
        cmocka_unit_test(a_wheel_that_stood_still_is_right_again),
        cmocka_unit_test(every_entry_is_visited_wherever_it_is),
        cmocka_unit_test(each_address_has_its_own_count),
        cmocka_unit_test(an_ip6_network_is_one_address),
        cmocka_unit_test(without_a_limit_nothing_is_counted),
        cmocka_unit_test(a_request_is_parsed),
        cmocka_unit_test(the_parser_stops_where_the_request_does),
        cmocka_unit_test(heads_are_judged_alike_in_all_pieces),
        cmocka_unit_test(limits_have_their_statuses),
        cmocka_unit_test(dates_have_their_two_forms),
        cmocka_unit_test(log_lines_are_json_or_text),
        cmocka_unit_test(long_segments_of_paths_are_not_logged),
        cmocka_unit_test(a_full_log_counts_what_it_loses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
