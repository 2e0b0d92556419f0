#include "transport/mux_out.h"

#include "dialect/render.h"
#include "framing/line.h"
#include "transport/mux.h"
#include "transport/subscription.h"

#include <stdio.h>

static size_t begin_chunk(const struct mux *m, struct buf *out)
{
    return http_stream_is_chunked(m->stream.http) ? http_chunk_begin(out) : 0;
}

static void end_chunk(const struct mux *m, struct buf *out, size_t from)
{
    if (http_stream_is_chunked(m->stream.http))
        http_chunk_end(out, from);
}

/* --- frames for this connection ------------------------------------------------------- */

void mux_put(struct mux *m, struct str job, struct str event, struct str data)
{
    struct buf *out = stream_small(&m->stream);
    struct message_out message = { .event = event, .data = data, .wrap = true, .job = job };

    if (!mux_is_sse(m)) {
        stream_format_put(&m->format, job, event, data, out);
        return;
    }
    size_t from = begin_chunk(m, out);
    buf_lit(out, "data: ");
    line_put_json(out, &message);
    buf_lit(out, "\n\n");
    end_chunk(m, out, from);
}

void mux_put_type(struct mux *m, struct str job, const char *type)
{
    char data[64];

    (void)snprintf(data, sizeof(data), "{\"type\":\"%s\"}", type); /* fits */
    mux_put(m, job, str_of(type), str_of(data));
}

void mux_put_error(struct mux *m, struct str job, int status, const char *text)
{
    struct buf data;

    buf_init(&data, 4096);
    buf_lit(&data, "{\"type\":\"stream.error\"");
    render_number(&data, "status", status);
    render_text(&data, "message", str_of(text));
    buf_char(&data, '}');
    if (data.error == 0)
        mux_put(m, job, STR("stream.error"), buf_text(&data));
    buf_done(&data);
}

/* --- events of SSE -------------------------------------------------------------------- */

static void put_event(struct mux *m, const struct subscription *sub, struct str line)
{
    struct str id = line_id(line, subscription_job(sub));

    if (cursor_parse(id, &m->places.at[sub->place]) == 0) {
        buf_lit(&m->out, "id: ");
        places_put_id(&m->places, &m->out);
        buf_char(&m->out, '\n');
    }
    buf_lit(&m->out, "data: ");
    buf_str(&m->out, line);
    buf_lit(&m->out, "\n\n");
}

bool mux_translate(struct mux *m, const struct subscription *sub, struct str *bytes)
{
    struct str lines = *bytes;

    buf_clear(&m->out);
    size_t from = begin_chunk(m, &m->out);
    while (lines.n > 0) {
        struct str line = str_head(lines, str_find(lines, '\n'));

        put_event(m, sub, line);
        lines = str_skip(lines, line.n + 1);
    }
    end_chunk(m, &m->out, from);
    *bytes = buf_text(&m->out);
    if (m->out.error != 0)
        stream_cut(&m->stream, STREAM_FAILED, "out of memory");
    return m->out.error == 0;
}
