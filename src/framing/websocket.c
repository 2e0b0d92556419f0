#include "framing/websocket.h"

#include "framing/framing.h"
#include "framing/line.h"

enum { LONGEST_HEAD = 10, SHORT = 126, MIDDLE = 65536 };

/* What is appended from here to put_end() becomes the payload of a frame. */
static size_t put_begin(struct buf *out)
{
    size_t from = out->n;

    if (buf_reserve(out, LONGEST_HEAD))
        out->n += LONGEST_HEAD;
    return from;
}

/* Bytes of a length behind the two that every head has. */
static size_t length_bytes(uint64_t n)
{
    return n < SHORT ? 0 : n < MIDDLE ? 2 : 8;
}

/* The head's length is known only now: the payload moves up to it. */
static void put_end(struct buf *out, size_t from, enum websocket_opcode opcode)
{
    if (out->error != 0)
        return;
    size_t n = out->n - from - LONGEST_HEAD;
    size_t more = length_bytes(n);
    unsigned char *head = (unsigned char *)out->p + from;

    memmove(head + 2 + more, head + LONGEST_HEAD, n);
    out->n = from + 2 + more + n;
    head[0] = (unsigned char)(0x80 | opcode);
    head[1] = (unsigned char)(more == 0 ? n : more == 2 ? 126 : 127);
    for (size_t i = 0; i < more; i++)
        head[2 + i] = (unsigned char)((uint64_t)n >> 8 * (more - 1 - i));
}

void websocket_put(struct buf *out, enum websocket_opcode opcode, struct str payload)
{
    size_t from = put_begin(out);

    buf_str(out,
            opcode >= WEBSOCKET_CLOSE ? str_head(payload, WEBSOCKET_MAX_CONTROL) : payload);
    put_end(out, from, opcode);
}

void websocket_put_close(struct buf *out, unsigned code, struct str reason)
{
    size_t from = put_begin(out);

    if (code != 0) {
        buf_char(out, (char)(code >> 8));
        buf_char(out, (char)(code & 0xff));
        buf_str(out, str_head(reason, WEBSOCKET_MAX_CONTROL - 2));
    }
    put_end(out, from, WEBSOCKET_CLOSE);
}

static void put(const struct message_out *m, struct buf *out)
{
    size_t from = put_begin(out);

    line_put_json(out, m);
    put_end(out, from, WEBSOCKET_TEXT);
}

const struct framing framing_websocket = { .name = "websocket", .put = put };
