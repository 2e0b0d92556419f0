/* WebSocket: frames both ways, pings as keep-alive, and a close with code and reason.
 *
 * The content writes whole frames.  A close frame is the last thing that is sent; then the
 * connection ends like every other response: it reads on for a moment, so that the peer's own
 * close frame does not cause a TCP reset.
 *
 * A silent peer gets a ping.  If it does not answer, the connection is cut, unless bytes are
 * still unsent: then the peer may just be slow, and http's own timeout applies. */
#include "transport/websocket.h"

#include "base/container_of.h"
#include "framing/framing.h"
#include "http/header.h"
#include "transport/stream.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct websocket {
    struct ws_in in;
    struct stream *stream; /* borrowed */
    int64_t heard;         /* when bytes were last received */
    int64_t asked;         /* when the unanswered ping was sent; 0: none */
};

/* --- the handshake -------------------------------------------------------------------- */

enum { KEY_CHARS = 24, ACCEPT_CHARS = 28, SHA1_BYTES = 20 };

bool websocket_is_asked(const struct http_request *req)
{
    return header_lists(http_header(req, "Upgrade"), STR("websocket"));
}

/* 16 bytes in base64. */
static bool is_key(struct str key)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    if (key.n != KEY_CHARS || key.p[22] != '=' || key.p[23] != '=')
        return false;
    for (size_t i = 0; i < 22; i++)
        if (key.p[i] == '\0' || strchr(digits, key.p[i]) == NULL)
            return false;
    return true;
}

bool websocket_check(struct http_request *req)
{
    if (!str_is(http_method(req), "GET") || !http_asks_upgrade(req))
        return http_respond_error(
            req, 400, "a WebSocket begins with GET over HTTP/1.1 and Connection: Upgrade");
    if (!str_is(http_header(req, "Sec-WebSocket-Version"), "13")) {
        http_set_header(req, "Sec-WebSocket-Version", STR("13"));
        http_set_header(req, "Upgrade", STR("websocket"));
        return http_respond_error(req, 426, "Sec-WebSocket-Version must be 13");
    }
    if (!is_key(http_header(req, "Sec-WebSocket-Key")))
        return http_respond_error(req, 400, "Sec-WebSocket-Key must be 16 bytes in base64");
    return true;
}

/* RFC 6455, 4.2.2. */
static bool make_accept(struct str key, char ret[ACCEPT_CHARS + 1])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char text[KEY_CHARS + sizeof(guid) - 1];
    unsigned char hash[SHA1_BYTES];

    memcpy(text, key.p, KEY_CHARS);
    memcpy(text + KEY_CHARS, guid, sizeof(guid) - 1);
    if (EVP_Digest(text, sizeof(text), hash, NULL, EVP_sha1(), NULL) != 1)
        return false;
    (void)EVP_EncodeBlock((unsigned char *)ret, hash, sizeof(hash)); /* fits */
    return true;
}

/* --- sending -------------------------------------------------------------------------- */

static void close_with(struct stream *s, unsigned code, const char *reason, enum stream_end why)
{
    struct websocket *w = s->wire;

    if (s->finishing || s->ending)
        return;
    ws_in_stop(&w->in);
    websocket_put_close(stream_small(s), code, str_of(reason));
    stream_finish(s, why);
}

static void put_end(struct stream *s)
{
    const struct stream_end_info *info = stream_end_info(STREAM_DONE);

    websocket_put_close(stream_small(s), info->code, str_of(info->reason));
}

static void leave(struct stream *s, enum stream_end why)
{
    const struct stream_end_info *info = stream_end_info(why);

    close_with(s, info->code, info->reason, why);
}

/* Milliseconds until the answer to a ping is due. */
static int64_t patience_left(struct stream *s, int64_t now)
{
    struct websocket *w = s->wire;

    if (s->sending || http_stream_unsent(s->http) > 0)
        w->asked = now; /* the ping may not be sent yet: restart the time */
    return w->asked + s->loop->opt.pong_ms - now;
}

static int64_t look(struct stream *s, int64_t now)
{
    const struct stream_options *opt = &s->loop->opt;
    struct websocket *w = s->wire;
    int64_t quiet = now - w->heard;

    if (quiet < opt->keep_alive_ms)
        return opt->keep_alive_ms - quiet;
    if (w->asked == 0) {
        w->asked = now;
        websocket_put(stream_small(s), WEBSOCKET_PING, STR(""));
    }
    int64_t left = patience_left(s, now);
    if (left <= 0)
        stream_cut(s, STREAM_SILENT);
    return left < opt->keep_alive_ms ? left : opt->keep_alive_ms;
}

/* --- receiving ------------------------------------------------------------------------ */

static struct stream *stream_of(struct ws_in *in)
{
    return (container_of(in, struct websocket, in))->stream;
}

static void on_message(struct ws_in *in, struct str text)
{
    struct stream *s = stream_of(in);

    s->content->message(s, text);
}

static void on_ping(struct ws_in *in, struct str payload)
{
    websocket_put(stream_small(stream_of(in)), WEBSOCKET_PONG, payload);
}

static void on_close(struct ws_in *in, unsigned code)
{
    close_with(stream_of(in), code == WEBSOCKET_NO_CODE ? 0 : code, "", STREAM_PEER);
}

static void received(struct stream *s, struct str bytes)
{
    struct websocket *w = s->wire;
    const char *reason;

    w->heard = streams_now();
    w->asked = 0;
    unsigned code = ws_in_feed(&w->in, bytes, &reason);
    if (code != 0)
        close_with(s, code, reason, STREAM_REFUSED);
}

/* --- life ----------------------------------------------------------------------------- */

static struct http_stream *begin(struct stream *s, const struct http_stream_events *events)
{
    static const struct ws_in_events in_events = { .message = on_message,
                                                   .ping = on_ping,
                                                   .close = on_close };
    struct websocket *w = malloc(sizeof(*w));
    char accept[ACCEPT_CHARS + 1];

    if (w == NULL || !make_accept(http_header(s->req, "Sec-WebSocket-Key"), accept)) {
        free(w);
        http_respond_error(s->req, 503, "out of memory");
        return NULL;
    }
    w->stream = s;
    w->heard = streams_now();
    w->asked = 0;
    ws_in_init(&w->in, &in_events, &s->loop->opt.websocket);
    s->wire = w;
    http_set_header(s->req, "Sec-WebSocket-Accept", str_of(accept));
    return http_upgrade(s->req, STR("websocket"), events, s);
}

static void free_wire(struct stream *s)
{
    struct websocket *w = s->wire;

    if (w == NULL)
        return;
    ws_in_done(&w->in);
    free(w);
}

const struct transport transport_websocket = { .kind = TRANSPORT_WEBSOCKET,
                                               .framing = &framing_websocket,
                                               .begin = begin,
                                               .look = look,
                                               .put_end = put_end,
                                               .received = received,
                                               .free_wire = free_wire,
                                               .leave = leave,
                                               .send_away = stream_send_away };
