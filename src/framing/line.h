/* What the framings that end at a line end share: text that stays one line, and ids. */
#ifndef FRAMING_LINE_H
#define FRAMING_LINE_H

#include "framing/framing.h"

/* Appends @text with every CR and LF in it as a space. */
static inline void line_put(struct buf *out, struct str text)
{
    size_t from = out->n;

    buf_str(out, text);
    if (str_find(text, '\n') == text.n && str_find(text, '\r') == text.n)
        return;
    for (size_t i = from; i < out->n; i++) {
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
    }
}

/* Appends `seq`, or `seq.k` when more frames of the record follow. */
static inline void line_put_id(struct buf *out, const struct message_out *m)
{
    buf_u64(out, m->seq);
    if (m->k < m->total) {
        buf_char(out, '.');
        buf_u64(out, m->k);
    }
}

/* The id of a line that line_put_json wrote with @job; absent when it has none. */
struct str line_id(struct str line, struct str job);
/* The message as one JSON value: its data, or wrapped. */
void line_put_json(struct buf *out, const struct message_out *m);

#endif
