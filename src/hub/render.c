#include "hub/render.h"

#include <stdio.h>

enum { CHUNK_HEAD = 10 }; /* eight hexadecimal digits, CR, LF */

static void begin(const struct way *way, struct buf *out, size_t *at)
{
    *at = out->n;
    if (way->chunked && buf_reserve(out, CHUNK_HEAD))
        out->n += CHUNK_HEAD;
}

/* Writes the length into the room that begin has left; nothing is left of an empty one. */
static void end(const struct way *way, struct buf *out, size_t at)
{
    static const char hex[] = "0123456789abcdef";

    if (!way->chunked || out->error != 0)
        return;
    size_t n = out->n - at - CHUNK_HEAD;
    if (n == 0) {
        out->n = at;
        return;
    }
    for (int i = 0; i < 8; i++)
        out->p[at + (size_t)i] = hex[n >> (28 - 4 * i) & 15];
    memcpy(out->p + at + 8, "\r\n", 2);
    buf_lit(out, "\r\n");
}

bool way_wraps(const struct way *way)
{
    return way->wrap || !way->dialect->names_itself;
}

int way_render(const struct way *way,
               const struct record *rec,
               struct cursor after,
               struct frames *frames,
               struct buf *out,
               size_t *ret_n)
{
    size_t at, n = 0;
    int err = dialect_render(way->dialect, rec, &way->variant, frames);

    if (err != 0)
        return err;
    begin(way, out, &at);
    for (size_t i = 0; i < frames->n; i++) {
        const struct frame *fr = &frames->frame[i];
        struct message_out m = { .seq = rec->seq,
                                 .k = fr->k,
                                 .total = frames->total,
                                 .event = frame_name(frames, fr),
                                 .data = frame_data(frames, fr),
                                 .wrap = way_wraps(way),
                                 .job = way->with_job ? rec->job_id : STR_NONE };

        if (!cursor_before(after, rec->seq, fr->k))
            continue;
        way->framing->put(&m, out);
        n++;
    }
    end(way, out, at);
    *ret_n = n;
    return out->error;
}

static void put(const struct way *way, struct str job, struct message_out *m, struct buf *out)
{
    size_t at;

    m->wrap = way_wraps(way);
    m->job = way->with_job ? job : STR_NONE;
    begin(way, out, &at);
    way->framing->put(m, out);
    end(way, out, at);
}

void way_put(const struct way *way,
             struct str job,
             struct str event,
             struct str data,
             struct buf *out)
{
    put(way, job, &(struct message_out){ .event = event, .data = data }, out);
}

void way_put_gap(const struct way *way,
                 struct str job,
                 uint64_t after,
                 uint64_t lost,
                 uint64_t tail,
                 struct buf *out)
{
    struct message_out m = { .seq = lost, .k = 1, .total = 1, .event = STR("stream.gap") };
    char data[128];

    (void)snprintf(data, sizeof(data),
                   "{\"type\":\"stream.gap\",\"requested\":%llu,\"oldest\":%llu,\"tail\":%llu}",
                   (unsigned long long)after, (unsigned long long)lost + 1,
                   (unsigned long long)tail); /* fits */
    m.data = str_of(data);
    put(way, job, &m, out);
}

void way_put_cursor(const struct way *way, uint64_t seq, struct buf *out)
{
    char data[64];

    if (way->framing == &framing_sse || way_wraps(way))
        return;
    (void)snprintf(data, sizeof(data), "{\"type\":\"stream.cursor\",\"id\":\"%llu\"}",
                   (unsigned long long)seq); /* fits */
    way_put(way, STR_NONE, STR("stream.cursor"), str_of(data), out);
}

void way_put_raw(const struct way *way, struct str bytes, struct buf *out)
{
    size_t at;

    begin(way, out, &at);
    buf_str(out, bytes);
    end(way, out, at);
}
