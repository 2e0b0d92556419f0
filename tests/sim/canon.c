/* The one true stream of a job: all of its records in one format, rendered without the hub. */
#include "model.h"

#include <stdlib.h>

static void render_record(struct model *m, struct canon *c, const struct record *rec)
{
    struct frames *frames = &m->frames;

    if (dialect_render(c->format->dialect, rec, &c->format->variant, frames) != 0)
        sim_fail(m->sim, "a record cannot be rendered");
    for (size_t i = 0; i < frames->n; i++) {
        const struct frame *fr = &frames->frame[i];
        struct message_out out = { .seq = rec->seq,
                                   .k = fr->k,
                                   .total = frames->total,
                                   .event = frame_name(frames, fr),
                                   .data = frame_data(frames, fr),
                                   .wrap =
                                       c->format->wrap || !c->format->dialect->names_itself };

        c->format->framing->put(&out, &c->bytes);
        if (c->n == c->cap) {
            c->cap = c->cap > 0 ? c->cap * 2 : 64;
            c->frames = disk_must(realloc(c->frames, c->cap * sizeof(*c->frames)));
        }
        struct cursor place = { rec->seq, fr->k < frames->total ? fr->k : 0 };
        c->frames[c->n++] = (struct canon_frame){ place, fr->k, c->bytes.n };
    }
}

const struct canon *truth_canon(struct model *m,
                                struct truth *t,
                                const struct stream_format *format)
{
    struct canon *c = t->canons;

    while (c != NULL && c->format != format)
        c = c->next;
    if (c == NULL) {
        c = disk_must(calloc(1, sizeof(*c)));
        c->format = format;
        buf_init(&c->bytes, SIZE_MAX / 4);
        c->next = t->canons;
        t->canons = c;
    }
    while (c->n_records < t->n)
        render_record(m, c, t->recs[c->n_records++]);
    return c;
}

size_t canon_after(const struct canon *c, struct cursor after)
{
    size_t low = 0, high = c->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (cursor_before(after, c->frames[mid].place.seq, c->frames[mid].k))
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

struct str canon_frame(const struct canon *c, size_t i)
{
    size_t from = i > 0 ? c->frames[i - 1].end : 0;

    return str_make(c->bytes.p + from, c->frames[i].end - from);
}
