/* Any bytes as a WebSocket client's: what they come to does not depend on how they were cut,
 * messages are UTF-8 within the limits, and nothing is heard behind a close or a fault.
 *
 * The first byte says how the rest is cut the third time. */
#include "fuzz.h"

#include "base/utf8.h"
#include "transport/ws_in.h"

#include <stdlib.h>

enum { MAX_FRAME = 300, MAX_MESSAGE = 500 };

static void check(bool holds)
{
    if (!holds)
        abort();
}

struct hearing {
    struct ws_in in;
    struct buf heard;
    bool is_over;
};

static struct hearing *hearing_of(struct ws_in *in)
{
    return (struct hearing *)(void *)((char *)in - offsetof(struct hearing, in));
}

static void note(struct hearing *h, char kind, struct str text)
{
    check(!h->is_over);
    buf_char(&h->heard, kind);
    buf_u64(&h->heard, text.n);
    buf_str(&h->heard, text);
}

static void on_message(struct ws_in *in, struct str text)
{
    check(text.n <= MAX_MESSAGE && utf8_valid(text) == text.n);
    note(hearing_of(in), 'm', text);
    if (str_is(text, "stop"))
        ws_in_stop(in);
}

static void on_ping(struct ws_in *in, struct str payload)
{
    check(payload.n <= WEBSOCKET_MAX_CONTROL);
    note(hearing_of(in), 'p', payload);
}

static void on_close(struct ws_in *in, unsigned code)
{
    struct hearing *h = hearing_of(in);

    check(code == WEBSOCKET_NO_CODE || (code >= 1000 && code < 5000));
    note(h, 'c', STR_NONE);
    buf_u64(&h->heard, code);
    h->is_over = true;
}

static void hear(struct hearing *h, struct str bytes, size_t piece)
{
    static const struct ws_in_events events = { on_message, on_ping, on_close };
    static const struct ws_in_limits limits = { MAX_FRAME, MAX_MESSAGE };
    const char *reason = NULL;

    *h = (struct hearing){ .is_over = false };
    buf_init(&h->heard, 1 << 24);
    ws_in_init(&h->in, &events, &limits);
    while (bytes.n > 0) {
        struct str now = str_head(bytes, piece);
        unsigned code = ws_in_feed(&h->in, now, &reason);

        if (code != 0) {
            check(reason != NULL && strlen(reason) <= WEBSOCKET_MAX_CONTROL - 2);
            note(h, 'f', str_of(reason));
            buf_u64(&h->heard, code);
            h->is_over = true;
        }
        check(h->in.text.n <= MAX_MESSAGE);
        bytes = str_skip(bytes, now.n);
    }
    ws_in_done(&h->in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hearing whole, single, some;

    if (size < 1)
        return 0;
    struct str bytes = str_make((const char *)data + 1, size - 1);
    hear(&whole, bytes, SIZE_MAX);
    hear(&single, bytes, 1);
    hear(&some, bytes, 1 + data[0]);
    check(str_eq(buf_text(&whole.heard), buf_text(&single.heard)));
    check(str_eq(buf_text(&whole.heard), buf_text(&some.heard)));
    buf_done(&whole.heard);
    buf_done(&single.heard);
    buf_done(&some.heard);
    return 0;
}
