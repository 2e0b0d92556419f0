/* A frame may arrive in pieces:
 *
 *     begin_frame ── take_piece ... ── end_frame ──▶ message | ping | pong | close
 *
 * Control frames may arrive between the frames of a message, so they have a buffer of their
 * own.  Text is validated as it arrives: invalid UTF-8 is refused at the first wrong byte. */
#include "transport/ws_in.h"

#include "base/utf8.h"

#include <assert.h>
#include <string.h>
#include <wslay/wslay.h>

struct fault {
    unsigned code; /* 0: none */
    const char *reason;
};

static const struct fault none = { 0, NULL };

static struct fault fail(unsigned code, const char *reason)
{
    return (struct fault){ code, reason };
}

static bool is_control(unsigned opcode)
{
    return opcode >= WEBSOCKET_CLOSE;
}

/* --- the beginning of a frame --------------------------------------------------------- */

static struct fault check_order(const struct ws_in *in, const struct wslay_frame_iocb *f)
{
    switch (f->opcode) {
    case WEBSOCKET_TEXT:
        return in->in_message
                   ? fail(WEBSOCKET_PROTOCOL_ERROR, "a message begins inside another one")
                   : none;
    case WEBSOCKET_BINARY:
        return in->in_message
                   ? fail(WEBSOCKET_PROTOCOL_ERROR, "a message begins inside another one")
                   : fail(WEBSOCKET_UNSUPPORTED, "messages are text here");
    case WEBSOCKET_MORE:
        return in->in_message
                   ? none
                   : fail(WEBSOCKET_PROTOCOL_ERROR, "there is no message to go on with");
    case WEBSOCKET_CLOSE:
    case WEBSOCKET_PING:
    case WEBSOCKET_PONG:
        return none;
    default:
        return fail(WEBSOCKET_PROTOCOL_ERROR, "there is no such opcode");
    }
}

static struct fault check_head(const struct ws_in *in, const struct wslay_frame_iocb *f)
{
    if (!f->mask)
        return fail(WEBSOCKET_PROTOCOL_ERROR, "frames of a client are masked");
    if (f->rsv != 0)
        return fail(WEBSOCKET_PROTOCOL_ERROR, "a reserved bit is set");
    struct fault fault = check_order(in, f);
    if (fault.code != 0 || is_control(f->opcode))
        return fault; /* wslay has checked the length of control frames */
    if (f->payload_length > in->limits->frame)
        return fail(WEBSOCKET_TOO_BIG, "the frame is too long");
    if (in->text.n + f->payload_length > in->limits->message)
        return fail(WEBSOCKET_TOO_BIG, "the message is too long");
    return none;
}

/* wslay accepts only the shortest encoding of a length. */
static uint64_t head_bytes(uint64_t payload)
{
    return 2 + (payload < 126 ? 0 : payload < 65536 ? 2 : 8) + 4;
}

static struct fault begin_frame(struct ws_in *in, const struct wslay_frame_iocb *f)
{
    struct fault fault = check_head(in, f);

    if (fault.code != 0)
        return fault;
    in->opcode = f->opcode;
    in->is_final = f->fin;
    in->in_frame = true;
    in->in_message |= !is_control(f->opcode);
    in->text.max = in->limits->message; /* the limit may have been changed */
    in->n_left = f->payload_length;
    in->n_done += head_bytes(f->payload_length) + f->payload_length;
    return none;
}

/* --- the payload ---------------------------------------------------------------------- */

/* Is it the beginning of a valid UTF-8 character? */
static bool is_begun(struct str rest)
{
    char c[4];

    for (int pad = 0; pad < 2 && rest.n < sizeof(c); pad++) {
        memset(c, pad == 0 ? 0x80 : 0xbf, sizeof(c));
        str_copy(c, rest);
        if (utf8_valid(str_make(c, sizeof(c))) > 0)
            return true;
    }
    return rest.n == 0;
}

static struct fault check_text(struct ws_in *in, bool is_whole)
{
    in->n_valid += utf8_valid(buf_since(&in->text, in->n_valid));
    struct str rest = buf_since(&in->text, in->n_valid);
    if (is_whole ? rest.n > 0 : !is_begun(rest))
        return fail(WEBSOCKET_BAD_TEXT, "the message is not UTF-8");
    return none;
}

static struct fault take_piece(struct ws_in *in, const struct wslay_frame_iocb *f)
{
    struct buf *b = is_control(in->opcode) ? &in->control : &in->text;

    buf_put(b, f->data, f->data_length);
    in->n_left -= f->data_length;
    if (b->error != 0)
        return fail(WEBSOCKET_SERVER_ERROR, "out of memory");
    return is_control(in->opcode) ? none : check_text(in, false);
}

/* --- the end of a frame --------------------------------------------------------------- */

static bool may_be_sent(unsigned code)
{
    bool is_standard =
        code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;

    return is_standard || (code >= 3000 && code <= 4999);
}

static struct fault end_close(struct ws_in *in)
{
    struct str text = buf_text(&in->control);
    unsigned code = WEBSOCKET_NO_CODE;

    if (text.n == 1)
        return fail(WEBSOCKET_PROTOCOL_ERROR, "a close code has two bytes");
    if (text.n >= 2) {
        code = (unsigned)(unsigned char)text.p[0] << 8 | (unsigned char)text.p[1];
        if (!may_be_sent(code))
            return fail(WEBSOCKET_PROTOCOL_ERROR, "there is no such close code");
        if (utf8_valid(str_skip(text, 2)) != text.n - 2)
            return fail(WEBSOCKET_BAD_TEXT, "the reason is not UTF-8");
    }
    in->is_over = true;
    in->events->close(in, code);
    return none;
}

static struct fault end_message(struct ws_in *in)
{
    struct fault fault = check_text(in, true);

    in->in_message = false;
    in->n_valid = 0;
    if (fault.code == 0)
        in->events->message(in, buf_text(&in->text));
    buf_done(&in->text);
    return fault;
}

static struct fault end_frame(struct ws_in *in)
{
    struct fault fault = none;

    in->in_frame = false;
    if (!is_control(in->opcode))
        return in->is_final ? end_message(in) : none;
    if (in->opcode == WEBSOCKET_CLOSE)
        fault = end_close(in);
    else if (in->opcode == WEBSOCKET_PING)
        in->events->ping(in, buf_text(&in->control));
    buf_done(&in->control);
    return fault;
}

static struct fault take_frame(struct ws_in *in, const struct wslay_frame_iocb *f)
{
    struct fault fault = in->in_frame ? none : begin_frame(in, f);

    if (fault.code == 0)
        fault = take_piece(in, f);
    if (fault.code == 0 && in->n_left == 0)
        fault = end_frame(in);
    return fault;
}

/* --- bytes ---------------------------------------------------------------------------- */

static ssize_t on_recv(uint8_t *to, size_t n, int flags, void *data)
{
    struct ws_in *in = data;
    struct str piece = str_head(in->bytes, n);

    (void)flags;
    str_copy(to, piece);
    in->bytes = str_skip(in->bytes, piece.n);
    in->n_fed += piece.n;
    return (ssize_t)piece.n;
}

static struct fault read_frames(struct ws_in *in)
{
    struct fault fault = none;

    while (fault.code == 0 && !in->is_over) {
        struct wslay_frame_iocb f = { 0 };
        ssize_t n = wslay_frame_recv(in->frames, &f);

        if (n == WSLAY_ERR_WANT_READ)
            break;
        fault = n < 0 ? fail(WEBSOCKET_PROTOCOL_ERROR, "the frame is malformed")
                      : take_frame(in, &f);
    }
    return fault;
}

static void drop_frames(struct ws_in *in)
{
    wslay_frame_context_free(in->frames);
    in->frames = NULL;
    in->n_fed = in->n_done = 0;
}

unsigned ws_in_feed(struct ws_in *in, struct str bytes, const char **ret_reason)
{
    static const struct wslay_frame_callbacks callbacks = { .recv_callback = on_recv };

    if (in->is_over)
        return 0;
    if (in->frames == NULL && wslay_frame_context_init(&in->frames, &callbacks, in) != 0) {
        in->frames = NULL;
        *ret_reason = "out of memory";
        return WEBSOCKET_SERVER_ERROR;
    }
    in->bytes = bytes;
    struct fault fault = read_frames(in);
    in->is_over |= fault.code != 0;
    if (in->is_over || (!in->in_frame && in->n_fed == in->n_done))
        drop_frames(in);
    *ret_reason = fault.reason;
    return fault.code;
}

void ws_in_stop(struct ws_in *in)
{
    in->is_over = true;
}

void ws_in_init(struct ws_in *in,
                const struct ws_in_events *events,
                const struct ws_in_limits *limits)
{
    *in = (struct ws_in){ .events = events, .limits = limits };
    buf_init(&in->text, limits->message);
    buf_init(&in->control, WEBSOCKET_MAX_CONTROL);
}

void ws_in_done(struct ws_in *in)
{
    wslay_frame_context_free(in->frames);
    in->frames = NULL;
    buf_done(&in->text);
    buf_done(&in->control);
}
