/* Extracts records from the chunks that hold them. */
#include "store/chunk.h"

uint64_t chunk_count(struct str chunk)
{
    uint64_t n = 1;

    for (size_t at; (at = str_find(chunk, '\n')) < chunk.n; n++)
        chunk = str_skip(chunk, at + 1);
    return n;
}

struct str chunk_take(struct str *rest)
{
    size_t n = str_find(*rest, '\n');
    struct str line = str_head(*rest, n);

    *rest = str_skip(*rest, n + 1);
    return line;
}

bool chunk_give(struct chunk_page *page, uint64_t last, struct str chunk)
{
    uint64_t seq = last - chunk_count(chunk);

    while (seq < last) {
        struct str stored = chunk_take(&chunk);

        if (++seq <= page->after)
            continue;
        /* The first one is returned whatever its size: else a reader could never get past
         * it. */
        if (page->n == page->limit || (page->n > 0 && stored.n > page->max_bytes - page->bytes))
            return false;
        if (page->cb(page->arg, seq, stored) != 0 || stored.n >= page->max_bytes - page->bytes)
            return false;
        page->n++;
        page->bytes += stored.n;
        page->given = seq;
    }
    return page->n < page->limit;
}
