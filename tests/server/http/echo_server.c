/* A server for tests/server/http/run: some routes that answer in every way http.h offers.
 *
 *     echo_server [key=value ...]     options of struct http_options, see set_option
 *
 * Says "port N M" on stdout, M being that of a second server with the same options, takes
 * "drain" and "stop" on stdin (its end is "stop"), and says at its end how many streams and
 * requests it was told of.  Linked with --wrap for malloc and friends, so that /fail/{n} can
 * make the n-th allocation from now fail. */
#include "http/http.h"

#include "base/error.h"
#include "base/json.h"
#include "http/chunk.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* --- failing allocations ------------------------------------------------------------- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static _Thread_local long fail_in; /* 0: never */

static bool fails(void)
{
    return fail_in > 0 && --fail_in == 0;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* --- what happened ------------------------------------------------------------------- */

enum { MAX_PARKED = 16 };

struct counts {
    atomic_long begun;  /* streams */
    atomic_long closed; /* streams */
    atomic_long gone;   /* requests */
    atomic_long loops;  /* running */
    struct http_request *parked[MAX_PARKED];
};

static long number(const struct http_request *req, const char *name, long otherwise)
{
    char text[24] = "";
    struct str value = http_query(req, name);

    if (str_absent(value) || value.n >= sizeof(text))
        return otherwise;
    memcpy(text, value.p, value.n);
    return strtol(text, NULL, 10);
}

/* --- answers at once ------------------------------------------------------------------- */

static void member(struct buf *b, const char *name, struct str value)
{
    json_put_str(b, str_of(name));
    buf_char(b, ':');
    json_put_str_or_null(b, value);
    buf_char(b, ',');
}

static void echo_word(struct http_request *req)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_char(&b, '{');
    member(&b, "method", http_method(req));
    member(&b, "path", http_path(req));
    member(&b, "word", http_param(req, "word"));
    member(&b, "rest", http_param(req, "rest"));
    member(&b, "q", http_query(req, "q"));
    member(&b, "header", http_header(req, "X-Test"));
    member(&b, "id", http_request_id(req));
    buf_lit(&b, "\"is_10\":");
    buf_str(&b, http_is_10(req) ? STR("true") : STR("false"));
    buf_lit(&b, ",\"loop\":");
    buf_u64(&b, http_loop_index(http_request_loop(req)));
    buf_lit(&b, "}");
    if (b.error != 0)
        http_respond_error(req, 500, "Out of memory");
    else
        http_respond(req, 200, "application/json", buf_text(&b));
    buf_done(&b);
}

static void echo_body(struct http_request *req)
{
    http_respond(req, 200, "application/octet-stream", http_body(req));
}

static void say_ok(struct http_request *req)
{
    http_respond(req, 200, "text/plain", STR("ok\n"));
}

static void say_conflict(struct http_request *req)
{
    http_respond_error(req, 409, "The %s is \"taken\"", "name");
}

static void say_nothing(struct http_request *req)
{
    http_respond(req, (int)number(req, "status", 204), "text/plain", STR("not to be seen"));
}

static void say_big(struct http_request *req)
{
    size_t n = (size_t)number(req, "n", 1000);
    char *p = malloc(n + 1);

    if (p == NULL) {
        http_respond_error(req, 500, "Out of memory");
        return;
    }
    memset(p, 'b', n);
    http_respond(req, 200, "text/plain", str_make(p, n));
    free(p);
}

static void set_headers(struct http_request *req)
{
    http_set_header(req, "X-One", STR("a\r\nX-Injected: b\0c\xff"));
    http_set_header(req, "Not a name", STR("x"));
    http_set_header(req, "Location", STR("/elsewhere"));
    http_respond(req, 303, NULL, STR_NONE);
}

static void too_many_headers(struct http_request *req)
{
    for (int i = 0; i < 2000; i++)
        http_set_header(req, "X-Many", STR("twenty bytes of text"));
    http_respond(req, 200, NULL, STR_NONE);
}

static void fail_allocation(struct http_request *req)
{
    char n[16] = "";
    char text[32];
    struct str value = str_head(http_param(req, "n"), sizeof(n) - 1);
    int length = snprintf(text, sizeof(text), "%ld\n", fail_in);

    fail_in = 0;
    memcpy(n, value.p, value.n);
    http_respond(req, 200, "text/plain", str_make(text, (size_t)length));
    fail_in = strtol(n, NULL, 10);
}

/* --- answers later -------------------------------------------------------------------- */

struct later {
    uv_timer_t timer;
    struct http_request *req;
};

static void free_later(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_time(uv_timer_t *timer)
{
    struct later *l = timer->data;

    http_respond(l->req, 200, "text/plain", STR("later\n"));
    uv_close((uv_handle_t *)timer, free_later);
}

static void on_gone(struct http_request *req, void *data)
{
    struct later *l = data;
    struct counts *counts = http_loop_data(http_request_loop(req));

    atomic_fetch_add(&counts->gone, 1);
    uv_close((uv_handle_t *)&l->timer, free_later);
}

static struct later *wait_for(struct http_request *req)
{
    struct later *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        http_respond_error(req, 500, "Out of memory");
        return NULL;
    }
    l->req = req;
    l->timer.data = l;
    (void)uv_timer_init(http_loop_uv(http_request_loop(req)), &l->timer); /* cannot fail */
    (void)uv_timer_start(&l->timer, on_time, (uint64_t)number(req, "ms", 50), 0);
    return l;
}

static void answer_later(struct http_request *req)
{
    struct later *l = wait_for(req);

    if (l != NULL)
        http_on_gone(req, on_gone, l);
}

/* Without asking to be told. */
static void answer_orphan(struct http_request *req)
{
    (void)wait_for(req); /* it answered itself when that failed */
}

/* Requests that wait for another one: what a long poll and an append do. */
static void on_parked_gone(struct http_request *req, void *data)
{
    struct counts *counts = http_loop_data(http_request_loop(req));

    (void)data;
    for (int i = 0; i < MAX_PARKED; i++)
        if (counts->parked[i] == req)
            counts->parked[i] = NULL;
}

/* With one loop only. */
static void park(struct http_request *req)
{
    struct counts *counts = http_loop_data(http_request_loop(req));

    for (int i = 0; i < MAX_PARKED; i++) {
        if (counts->parked[i] == NULL) {
            counts->parked[i] = req;
            http_on_gone(req, on_parked_gone, NULL);
            return;
        }
    }
    http_respond_error(req, 503, "No more room");
}

static void wake(struct http_request *req)
{
    struct counts *counts = http_loop_data(http_request_loop(req));

    for (int i = 0; i < MAX_PARKED; i++) {
        struct http_request *other = counts->parked[i];
        counts->parked[i] = NULL;
        if (other != NULL)
            http_respond(other, 200, "text/plain", http_body(req));
    }
    http_respond(req, 200, "text/plain", STR("woken\n"));
}

/* --- streams -------------------------------------------------------------------------- */

struct source {
    uv_timer_t timer;
    struct http_stream *stream; /* NULL: closed */
    struct counts *counts;
    struct buf chunk;
    long left; /* chunks; below 0: without end */
    bool is_waiting;
    bool cuts;
};

static void free_source(uv_handle_t *handle)
{
    struct source *s = handle->data;

    buf_done(&s->chunk);
    free(s);
}

static void on_closed(struct http_stream *st, void *data)
{
    struct source *s = data;

    (void)st;
    atomic_fetch_add(&s->counts->closed, 1);
    s->stream = NULL;
    uv_close((uv_handle_t *)&s->timer, free_source);
}

static void send_some(struct source *s)
{
    while (s->left != 0) {
        s->left--;
        /* In two pieces, as a hub would send frames of its own. */
        uv_buf_t pieces[2] = { { s->chunk.p, 5 }, { s->chunk.p + 5, s->chunk.n - 5 } };
        s->is_waiting = !http_stream_send_pieces(s->stream, pieces, 2);
        if (s->is_waiting || uv_is_active((uv_handle_t *)&s->timer))
            return;
    }
    (void)uv_timer_stop(&s->timer); /* cannot fail */
    if (s->cuts)
        http_stream_cut(s->stream, "the test wants it");
    else
        http_stream_end(s->stream);
}

static void on_ready(struct http_stream *st, void *data)
{
    struct source *s = data;

    (void)st;
    s->is_waiting = false;
    if (!uv_is_active((uv_handle_t *)&s->timer))
        send_some(s);
}

static void on_pulse(uv_timer_t *timer)
{
    struct source *s = timer->data;

    if (!s->is_waiting)
        send_some(s);
}

static const struct http_stream_events source_events = { .ready = on_ready,
                                                         .closed = on_closed };

static struct source *new_source(struct http_request *req, long n)
{
    struct source *s = calloc(1, sizeof(*s));
    long size = number(req, "size", 10);

    if (s == NULL)
        return NULL;
    buf_init(&s->chunk, 1 << 24);
    s->counts = http_loop_data(http_request_loop(req));
    s->left = n;
    s->timer.data = s;
    size_t from = http_chunk_begin(&s->chunk, !http_is_10(req));
    for (long i = 0; i < size; i++)
        buf_char(&s->chunk, 's');
    http_chunk_end(&s->chunk, from, !http_is_10(req));
    if (s->chunk.error == 0)
        return s;
    buf_done(&s->chunk);
    free(s);
    return NULL;
}

/* @ms 0: as fast as it goes. */
static void start_source(struct http_request *req, struct source *s, uint64_t ms)
{
    if (s == NULL) {
        http_respond_error(req, 500, "Out of memory");
        return;
    }
    uv_loop_t *loop = http_loop_uv(http_request_loop(req));
    http_set_header(req, "Cache-Control", STR("no-cache, no-transform"));
    s->stream = http_stream_begin(req, 200, "text/event-stream", &source_events, s);
    if (s->stream == NULL) {
        buf_done(&s->chunk);
        free(s);
        return;
    }
    atomic_fetch_add(&s->counts->begun, 1);
    (void)uv_timer_init(loop, &s->timer); /* cannot fail, nor the next */
    if (ms > 0)
        (void)uv_timer_start(&s->timer, on_pulse, ms, ms);
    else
        send_some(s);
}

static void stream_chunks(struct http_request *req)
{
    start_source(req, new_source(req, number(req, "n", 3)), (uint64_t)number(req, "ms", 0));
}

static void stream_flood(struct http_request *req)
{
    start_source(req, new_source(req, -1), 0);
}

static void stream_cut(struct http_request *req)
{
    struct source *s = new_source(req, 1);

    if (s != NULL)
        s->cuts = true;
    start_source(req, s, 20);
}

static const struct http_stream_events idle_events;

/* Costs the server's memory and nothing of ours: for measuring. */
static void stream_idle(struct http_request *req)
{
    (void)http_stream_begin(req, 200, "text/event-stream", &idle_events, NULL); /* not used */
}

static void say_stats(struct http_request *req)
{
    struct counts *counts = http_loop_data(http_request_loop(req));
    char text[128];
    int n = snprintf(text, sizeof(text), "{\"begun\":%ld,\"closed\":%ld,\"gone\":%ld}",
                     atomic_load(&counts->begun), atomic_load(&counts->closed),
                     atomic_load(&counts->gone));

    http_respond(req, 200, "application/json", str_make(text, (size_t)n));
}

/* --- the program ---------------------------------------------------------------------- */

static const struct http_route routes[] = {
    { "GET", "/", say_ok, 0, 0, 0 },
    { "GET", "/echo/{word}", echo_word, 0, 0, 0 },
    { "GET", "/echo/{word}/more/{rest...}", echo_word, 0, 0, 0 },
    { "GET", "/echo/known", say_ok, 0, 0, 0 },
    { "DELETE", "/echo/{word}", say_ok, 0, 0, 0 },
    { "POST", "/echo", echo_body, 0, 0, 0 },
    { "PUT", "/small", echo_body, 1, 0, 0 },
    { "GET", "/later", answer_later, 0, 0, 0 },
    { "POST", "/piped", answer_later, 2, HTTP_ROUTE_PIPELINE, 0 },
    { "POST", "/piped/echo", echo_body, 3, HTTP_ROUTE_PIPELINE, 0 },
    { "GET", "/orphan", answer_orphan, 0, 0, 0 },
    { "GET", "/park", park, 0, 0, 0 },
    { "POST", "/wake", wake, 0, 0, 0 },
    { "GET", "/big", say_big, 0, 0, 0 },
    { "GET", "/nothing", say_nothing, 0, 0, 0 },
    { "GET", "/headers", set_headers, 0, 0, 0 },
    { "GET", "/many-headers", too_many_headers, 0, 0, 0 },
    { "GET", "/stream", stream_chunks, 0, 0, 0 },
    { "GET", "/flood", stream_flood, 0, 0, 0 },
    { "GET", "/cut", stream_cut, 0, 0, 0 },
    { "GET", "/idle", stream_idle, 0, 0, 0 },
    { "GET", "/health", say_ok, 0, HTTP_ROUTE_HEALTH, 0 },
    { "GET", "/problem", say_conflict, 0, HTTP_ROUTE_PROBLEM, 0 },
    { "GET", "/detail", say_conflict, 0, 0, 0 },
    { "GET", "/stats", say_stats, 0, HTTP_ROUTE_HEALTH, 0 },
    { "GET", "/fail/{n}", fail_allocation, 0, 0, 0 },
    { NULL, NULL, NULL, 0, 0, 0 },
};

static void loop_start(struct http_loop *loop, void *arg)
{
    struct counts *counts = arg;

    http_loop_set_data(loop, counts);
    atomic_fetch_add(&counts->loops, 1);
}

static void loop_stop(struct http_loop *loop, void *arg)
{
    struct counts *counts = arg;

    (void)loop;
    atomic_fetch_sub(&counts->loops, 1);
}

enum { MAX_LIST = 8 };

struct lists {
    const char *hosts[MAX_LIST + 1];
    const char *origins[MAX_LIST + 1];
};

static void add_to(const char **list, const char *text)
{
    int i = 0;

    while (i < MAX_LIST && list[i] != NULL)
        i++;
    if (i < MAX_LIST)
        list[i] = text;
}

static void set_option(struct http_options *o, struct lists *lists, char *argument)
{
    char *value = strchr(argument, '=');

    if (value == NULL)
        return;
    *value++ = '\0';
    unsigned n = (unsigned)strtoul(value, NULL, 10);
    const struct {
        const char *name;
        unsigned *place;
    } numbers[] = {
        { "loops", &o->n_loops },
        { "head_ms", &o->head_ms },
        { "idle_ms", &o->idle_ms },
        { "body_min_rate", &o->body_min_rate },
        { "write_stall_ms", &o->write_stall_ms },
        { "max_connections", &o->max_connections },
        { "per_address", &o->max_connections_per_address },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(argument, numbers[i].name) == 0)
            *numbers[i].place = n;
    if (strcmp(argument, "port") == 0)
        o->port = (uint16_t)n;
    else if (strcmp(argument, "host") == 0)
        o->host = value;
    else if (strcmp(argument, "unix") == 0)
        o->unix_path = value;
    else if (strcmp(argument, "max_head") == 0)
        o->max_head = n;
    else if (strcmp(argument, "max_body") == 0)
        o->max_body[0] = n;
    else if (strcmp(argument, "log") == 0)
        o->log_text = strcmp(value, "text") == 0, o->log_off = strcmp(value, "off") == 0;
    else if (strcmp(argument, "allow_host") == 0)
        add_to(lists->hosts, value), o->hosts = lists->hosts;
    else if (strcmp(argument, "origin") == 0)
        add_to(lists->origins, value), o->origins = lists->origins;
}

static void obey_stdin(struct http_server *server)
{
    char line[64];

    while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "stop\n") != 0)
        if (strcmp(line, "drain\n") == 0)
            http_server_drain(server);
}

static int start(const struct http_options *options, struct http_server **ret)
{
    struct error error = { 0 };
    int err = http_server_new(options, ret, &error);

    if (err == 0)
        err = http_server_start(*ret, &error);
    if (err != 0)
        (void)fprintf(stderr, "%s\n", error.text);
    return err;
}

int main(int argc, char **argv)
{
    struct counts counts = { 0 };
    struct lists lists = { 0 };
    struct http_options options = {
        .host = "127.0.0.1",
        .n_loops = 1,
        .routes = routes,
        .arg = &counts,
        .loop_start = loop_start,
        .loop_stop = loop_stop,
        .max_body = { 0, 10, 4096, 100 * 1024 },
    };
    struct http_server *server = NULL;
    struct http_server *second = NULL;

    for (int i = 1; i < argc; i++)
        set_option(&options, &lists, argv[i]);
    int err = start(&options, &server);
    options.port = 0;
    options.unix_path = NULL;
    if (err == 0)
        err = start(&options, &second); /* in the same process, and on its own */
    if (err == 0) {
        (void)printf("port %u %u\n", http_server_port(server), http_server_port(second));
        (void)fflush(stdout);
        obey_stdin(server);
        http_server_stop(server);
    }
    http_server_free(server);
    http_server_free(second);
    (void)printf("begun %ld closed %ld gone %ld loops %ld\n", atomic_load(&counts.begun),
                 atomic_load(&counts.closed), atomic_load(&counts.gone),
                 atomic_load(&counts.loops));
    return err != 0;
}
