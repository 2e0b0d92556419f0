#include "hub/stream_format.h"

#include "base/json_format.h"
#include "http/chunk.h"

#include <stdio.h>

bool stream_format_wraps(const struct stream_format *format)
{
    return format->wrap || !format->dialect->names_itself;
}

int stream_format_render(const struct stream_format *format,
                         const struct record *rec,
                         struct cursor after,
                         struct frames *frames,
                         struct buf *out,
                         size_t *ret_n)
{
    size_t n = 0;
    int err = dialect_render(format->dialect, rec, &format->variant, frames);

    if (err != 0)
        return err;
    size_t from = http_chunk_begin(out, format->chunked);
    for (size_t i = 0; i < frames->n; i++) {
        const struct frame *fr = &frames->frame[i];
        struct message_out m = { .seq = rec->seq,
                                 .k = fr->k,
                                 .total = frames->total,
                                 .event = frame_name(frames, fr),
                                 .data = frame_data(frames, fr),
                                 .wrap = stream_format_wraps(format),
                                 .job = format->with_job ? rec->job_id : STR_NONE };

        if (!cursor_before(after, rec->seq, fr->k))
            continue;
        format->framing->put(&m, out);
        n++;
    }
    http_chunk_end(out, from, format->chunked);
    *ret_n = n;
    return out->error;
}

static void put(const struct stream_format *format,
                struct str job,
                struct message_out *m,
                struct buf *out)
{
    size_t from = http_chunk_begin(out, format->chunked);

    m->wrap = stream_format_wraps(format);
    m->job = format->with_job ? job : STR_NONE;
    format->framing->put(m, out);
    http_chunk_end(out, from, format->chunked);
}

void stream_format_put(const struct stream_format *format,
                       struct str job,
                       struct str event,
                       struct str data,
                       struct buf *out)
{
    put(format, job, &(struct message_out){ .event = event, .data = data }, out);
}

int stream_format_put_connection(const struct stream_format *format,
                                 struct str job,
                                 const struct connection_frame *what,
                                 struct frames *frames,
                                 struct buf *out)
{
    int err = dialect_render_connection(format->dialect, what, &format->variant, frames);

    for (size_t i = 0; err == 0 && i < frames->n; i++)
        stream_format_put(format, job, frame_name(frames, &frames->frame[i]),
                          frame_data(frames, &frames->frame[i]), out);
    return err != 0 ? err : out->error;
}

void stream_format_put_gap(const struct stream_format *format,
                           struct str job,
                           uint64_t after,
                           uint64_t lost,
                           uint64_t tail,
                           struct buf *out)
{
    struct message_out m = { .seq = lost, .k = 1, .total = 1, .event = STR("stream.gap") };
    struct buf data LOCAL_BUF(128);

    json_format(&data, "{'type':'stream.gap','requested':%d,'oldest':%d,'tail':%d}", after,
                lost + 1, tail);
    m.data = buf_text(&data);
    put(format, job, &m, out);
    if (data.error != 0)
        out->error = data.error;
}

void stream_format_put_cursor(const struct stream_format *format, uint64_t seq, struct buf *out)
{
    struct buf data LOCAL_BUF(64);

    if (format->framing == &framing_sse || stream_format_wraps(format))
        return;
    json_format(&data, "{'type':'stream.cursor','id':'%d'}", seq);
    stream_format_put(format, STR_NONE, STR("stream.cursor"), buf_text(&data), out);
    if (data.error != 0)
        out->error = data.error;
}
