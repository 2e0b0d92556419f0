#include "companion/relay.h"

#include "base/buf.h"
#include "companion/relay_head.h"
#include "http/header.h"
#include "http/http.h"

#include <stdlib.h>

enum { READ_BYTES = 65536, MAX_PENDING = 1024 * 1024 };

struct app_relay {
    struct http_stream *client; /* NULL: it is gone */
    uv_pipe_t app;
    uv_connect_t connect;
    uv_write_t write;
    struct buf sending;     /* to the app, being written */
    struct buf next;        /* to the app, after that */
    struct buf cors;        /* headers of ours for the answer */
    struct relay_head head; /* of the answer */
    bool is_connected, is_writing, is_closing;
    bool has_head;          /* it is whole, and passed on */
    bool is_told;           /* an error was answered */
    bool has_ended;         /* the app has closed its side */
    char bytes[READ_BYTES]; /* from the app, while the client takes them */
};

/* --- the end ---------------------------------------------------------------------------------
 */

static void on_app_closed(uv_handle_t *handle)
{
    struct app_relay *r = handle->data;

    buf_done(&r->sending);
    buf_done(&r->next);
    buf_done(&r->cors);
    relay_head_done(&r->head);
    free(r);
}

/* The client is gone, or has everything. */
static void close_app(struct app_relay *r)
{
    if (r->is_closing)
        return;
    r->is_closing = true;
    uv_close((uv_handle_t *)&r->app, on_app_closed);
}

static void end_client(struct app_relay *r)
{
    if (r->client != NULL)
        http_stream_end(r->client); /* `closed` follows */
    else
        close_app(r);
}

static void answer_error(struct app_relay *r)
{
    static const char text[] =
        "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nContent-Length: 42\r\n"
        "Connection: close\r\n\r\nThe project's HTTP app is not running now\n";

    r->has_ended = true;
    if (r->client == NULL)
        close_app(r);
    else if (r->has_head)
        http_stream_cut(r->client, "the project's app has left");
    else if (!r->is_told) {
        r->is_told = true;
        if (http_stream_send(r->client, text, sizeof(text) - 1))
            end_client(r);
    }
}

/* --- from the app to the client --------------------------------------------------------------
 */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct app_relay *r = handle->data;

    (void)suggested;
    *ret = uv_buf_init(r->bytes, READ_BYTES);
}

static void on_app_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes);

static void read_on(struct app_relay *r)
{
    if (r->is_connected && !r->has_ended &&
        uv_read_start((uv_stream_t *)&r->app, on_alloc, on_app_read) != 0)
        answer_error(r);
}

static void pass_to_client(struct app_relay *r, struct str bytes)
{
    (void)uv_read_stop((uv_stream_t *)&r->app); /* always succeeds */
    if (http_stream_send(r->client, bytes.p, bytes.n))
        read_on(r);
}

static void on_app_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct app_relay *r = stream->data;

    if (n == 0 || r->is_closing)
        return;
    if (n < 0) {
        bool is_whole = n == UV_EOF && r->has_head;

        r->has_ended = true;
        (void)uv_read_stop(stream); /* always succeeds */
        if (is_whole)
            end_client(r);
        else
            answer_error(r);
        return;
    }
    if (r->client == NULL) {
        close_app(r);
        return;
    }
    if (r->has_head) {
        pass_to_client(r, str_make(bytes->base, (size_t)n));
        return;
    }
    r->has_head =
        relay_head_take(&r->head, str_make(bytes->base, (size_t)n), buf_text(&r->cors));
    if (r->has_head)
        pass_to_client(r, buf_text(&r->head.bytes));
    else if (r->head.bytes.error != 0)
        answer_error(r);
}

static void on_client_ready(struct http_stream *st, void *data)
{
    struct app_relay *r = data;

    (void)st;
    if (r->is_told || r->has_ended)
        end_client(r);
    else
        read_on(r);
}

static void on_client_closed(struct http_stream *st, void *data)
{
    struct app_relay *r = data;

    (void)st;
    r->client = NULL;
    close_app(r);
}

/* --- from the client to the app --------------------------------------------------------------
 */

static void write_on(struct app_relay *r);

static void on_app_written(uv_write_t *write, int status)
{
    struct app_relay *r = write->data;

    r->is_writing = false;
    buf_clear(&r->sending);
    if (r->is_closing || status != 0)
        return; /* reading notices it, and there may be an answer to read */
    write_on(r);
}

static void write_on(struct app_relay *r)
{
    struct buf out = r->sending;

    if (!r->is_connected || r->is_writing)
        return;
    if (r->client != NULL)
        http_stream_pause(r->client, false);
    if (r->next.n == 0)
        return;
    r->sending = r->next;
    r->next = out;
    uv_buf_t piece = uv_buf_init(r->sending.p, (unsigned)r->sending.n);
    r->is_writing = uv_write(&r->write, (uv_stream_t *)&r->app, &piece, 1, on_app_written) == 0;
}

static void on_client_received(struct http_stream *st, struct str bytes, void *data)
{
    struct app_relay *r = data;

    buf_str(&r->next, bytes);
    if (r->next.error != 0) {
        http_stream_cut(st, "out of memory");
        return;
    }
    if (!r->is_connected || r->is_writing)
        http_stream_pause(st, true);
    else
        write_on(r);
}

static const struct http_stream_events client_events = { .ready = on_client_ready,
                                                         .closed = on_client_closed,
                                                         .received = on_client_received };

static void on_connected(uv_connect_t *connect, int status)
{
    struct app_relay *r = connect->data;

    if (r->is_closing)
        return;
    if (status != 0) {
        answer_error(r);
        return;
    }
    r->is_connected = true;
    read_on(r);
    write_on(r);
}

/* --- the request's head ----------------------------------------------------------------------
 */

/* Of one connection, and not of the request (RFC 9110, 7.6.1).  How long the body is stays. */
static bool is_of_connection(struct str name)
{
    return header_is(name, "connection") || header_is(name, "keep-alive") ||
           header_is(name, "proxy-connection") || header_is(name, "expect");
}

static void put_head(struct buf *b, const struct http_request *req, struct str prefix)
{
    struct str name, value, target = http_target(req);
    bool upgrades = http_asks_upgrade(req);

    buf_str(b, http_method(req));
    buf_char(b, ' ');
    if (prefix.n > 0 && str_starts(target, prefix))
        target = str_skip(target, prefix.n);
    if (!str_starts(target, STR("/")))
        buf_char(b, '/');
    buf_str(b, target);
    buf_lit(b, " HTTP/1.1\r\n");
    for (size_t i = 0; http_header_at(req, i, &name, &value); i++) {
        if (is_of_connection(name) || (!upgrades && header_is(name, "upgrade")))
            continue;
        header_put(b, name, value);
    }
    header_put(b, STR("Connection"), upgrades ? STR("Upgrade") : STR("close"));
    buf_lit(b, "\r\n");
}

bool relay_begin(struct http_request *req, const char *path, struct str prefix)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct app_relay *r = calloc(1, sizeof(*r));
    bool asks = header_is(http_header(req, "expect"), "100-continue");

    if (r == NULL)
        return false;
    buf_init(&r->sending, MAX_PENDING + RELAY_MAX_HEAD);
    buf_init(&r->next, MAX_PENDING + RELAY_MAX_HEAD);
    relay_head_init(&r->head);
    buf_init(&r->cors, RELAY_MAX_HEAD);
    put_head(&r->next, req, prefix);
    http_put_cors(req, &r->cors);
    if (r->next.error != 0 || r->cors.error != 0) {
        buf_done(&r->next);
        buf_done(&r->cors);
        free(r);
        return false;
    }
    (void)uv_pipe_init(http_loop_uv(http_request_loop(req)), &r->app, 0); /* cannot fail */
    r->app.data = r->connect.data = r->write.data = r;
    r->client = http_tunnel(req, &client_events, r);
    uv_pipe_connect(&r->connect, &r->app, path, on_connected);
    if (r->client == NULL)
        close_app(r);
    else if (asks) /* the app gets the body as it comes, without being asked */
        (void)http_stream_send(r->client, go_on, sizeof(go_on) - 1); /* `ready` is no matter */
    return true;
}
