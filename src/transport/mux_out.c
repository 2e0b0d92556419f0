#include "transport/mux_out.h"

#include "base/json_format.h"
#include "dialect/render.h"
#include "framing/line.h"
#include "http/chunk.h"
#include "transport/mux.h"
#include "transport/subscription.h"

#include <stdio.h>

/* --- frames for this connection ------------------------------------------------------- */

void mux_put(struct mux *m, struct str job, struct str event, struct str data)
{
    struct buf *out = stream_small(&m->stream);
    struct message_out message = { .event = event, .data = data, .wrap = true, .job = job };

    if (!mux_is_sse(m)) {
        stream_format_put(&m->format, job, event, data, out);
        return;
    }
    bool is_chunked = http_stream_is_chunked(m->stream.http);
    size_t from = http_chunk_begin(out, is_chunked);
    buf_lit(out, "data: ");
    line_put_json(out, &message);
    buf_lit(out, "\n\n");
    http_chunk_end(out, from, is_chunked);
}

void mux_put_type(struct mux *m, struct str job, const char *type)
{
    struct buf *data = hub_scratch(m->stream.loop->hub);

    json_format(data, "{'type':%s}", type);
    if (data->error == 0)
        mux_put(m, job, str_of(type), buf_text(data));
}

void mux_put_error(struct mux *m, struct str job, int status, const char *text)
{
    struct buf *data = hub_scratch(m->stream.loop->hub);

    json_format(data, "{'type':'stream.error','status':%d,'message':%s}", status, text);
    if (data->error == 0)
        mux_put(m, job, STR("stream.error"), buf_text(data));
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
    bool is_chunked = http_stream_is_chunked(m->stream.http);
    struct str lines = *bytes;

    buf_clear(&m->out);
    size_t from = http_chunk_begin(&m->out, is_chunked);
    while (lines.n > 0) {
        struct str line = str_head(lines, str_find(lines, '\n'));

        put_event(m, sub, line);
        lines = str_skip(lines, line.n + 1);
    }
    http_chunk_end(&m->out, from, is_chunked);
    *bytes = buf_text(&m->out);
    if (m->out.error != 0)
        stream_cut(&m->stream, STREAM_NO_MEMORY);
    return m->out.error == 0;
}
