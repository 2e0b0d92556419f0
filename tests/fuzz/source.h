/* One source format under fuzz: a line as one document, read as that format only.
 *
 * An input may begin with `event: <name>\n`, the SSE event name that the line came with.
 * Held to account: only the documented errors; every text can be read to its end; what
 * message_flatten writes is JSON again. */
#ifndef FUZZ_SOURCE_H
#define FUZZ_SOURCE_H

#include "fuzz.h"

#include "base/error.h"
#include "ingest/event.h"

#include <stdlib.h>

static void fuzz_need(bool holds)
{
    if (!holds)
        abort();
}

/* Reads every byte, so that a checker sees a text that is gone. */
static void fuzz_touch(struct str s)
{
    static volatile unsigned char sink;

    for (size_t i = 0; i < s.n; i++)
        sink = (unsigned char)(sink ^ (unsigned char)s.p[i]);
}

static void fuzz_flatten(struct json_reader *reader, const yyjson_val *v, struct str skip)
{
    struct buf out;
    struct json again;
    struct error err;

    if (v == NULL)
        return;
    buf_init(&out, SIZE_MAX / 4);
    message_flatten(&out, v, skip);
    fuzz_need(out.error == 0 && memchr(out.p, '\n', out.n) == NULL);
    fuzz_need(json_read(reader, buf_text(&out), &again, &err) == 0);
    buf_done(&out);
}

static void fuzz_touch_event(const struct event *ev)
{
    const struct str texts[] = {
        ev->run,          ev->parent,       ev->name,
        ev->node,         ev->ns,           ev->id,
        ev->call,         ev->text,         ev->preview,
        ev->section,      ev->error,        ev->error_type,
        ev->message.id,   ev->message.text, ev->message.reasoning,
        ev->message.name, ev->message.call, ev->message.status,
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        fuzz_touch(texts[i]);
    fuzz_need(ev->kind < EVENT_KIND_MAX && ev->type < RUN_TYPE_MAX && ev->mode < PART_MODE_MAX);
    fuzz_need(!ev->has_message ||
              (ev->message.cls != MESSAGE_NONE && !str_absent(ev->message.text)));
    fuzz_need(ev->kind != EVENT_RUN_ERROR || !str_absent(ev->error));
}

static int fuzz_source(enum event_source from, const uint8_t *data, size_t size)
{
    struct str line = str_make((const char *)data, size), sse = STR_NONE;
    struct json_reader reader, second;
    struct buf scratch;
    struct json json;
    struct event ev;
    struct error err = { 0 };

    if (size > 0 && str_starts(line, STR("event: "))) {
        sse = str_skip(str_head(line, str_find(line, '\n')), 7);
        line = str_skip(line, str_find(line, '\n') + 1);
    }
    json_reader_init(&reader, 1 << 20, 64);
    json_reader_init(&second, 1 << 24, 80);
    buf_init(&scratch, SIZE_MAX / 4);
    if (json_read(&reader, line, &json, &err) == 0) {
        int code = event_read(&json, sse, from, &scratch, &ev, &err);

        fuzz_need(code == 0 ||
                  ((code == ERR_TYPE || code == ERR_REFUSED) && err.text[0] != '\0'));
        /* Else what was handed out may have moved. */
        fuzz_need(scratch.n <= 3 * json.line.n + 512);
        if (code == 0) {
            fuzz_touch_event(&ev);
            fuzz_flatten(&second, ev.input, STR_NONE);
            fuzz_flatten(&second, ev.output, STR_NONE);
            fuzz_flatten(&second, ev.chunk, STR_NONE);
            fuzz_flatten(&second, ev.data, STR("type"));
        }
    }
    json_reader_done(&reader);
    json_reader_done(&second);
    buf_done(&scratch);
    return 0;
}

#endif
