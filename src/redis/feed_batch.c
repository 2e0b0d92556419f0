#include "redis/feed_batch.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>

void feed_batch_init(struct feed_batch *b)
{
    *b = (struct feed_batch){ 0 };
    buf_init(&b->text, SIZE_MAX / 4);
}

/* Replaces line ends in a payload by spaces.  Between JSON tokens both are white space; inside
 * of strings a line end is not valid JSON anyway. */
static void put_line(struct buf *out, struct str payload)
{
    size_t from = out->n;
    char *end;

    buf_str(out, payload);
    if (out->error != 0)
        return;
    while ((end = memchr(out->p + from, '\n', out->n - from)) != NULL)
        *end = ' ';
}

int feed_batch_add(struct feed_batch *b,
                   struct str payload,
                   uint64_t moment,
                   const struct payload_about *about)
{
    size_t before = b->text.n;

    if (!array_grow(&b->notes, b->n, &b->cap, sizeof(*b->notes)))
        return ERR_NOMEM;
    put_line(&b->text, payload);
    b->notes[b->n] =
        (struct note){ .from = before, .n = payload.n, .moment = moment, .about = *about };
    buf_char(&b->text, '\n');
    if (b->text.error != 0) {
        int err = b->text.error;

        b->text.error = 0;
        buf_cut(&b->text, before);
        return err;
    }
    b->n++;
    return 0;
}

void feed_batch_clear(struct feed_batch *b)
{
    buf_clear(&b->text);
    b->n = 0;
}

void feed_batch_done(struct feed_batch *b)
{
    buf_done(&b->text);
    free(b->notes);
}
