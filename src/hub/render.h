/* Records as the bytes of one way to read them: a dialect, a variant, a framing, and
 * whether the connection wants chunks.  Each record's frames become one chunk. */
#ifndef HUB_RENDER_H
#define HUB_RENDER_H

#include "dialect/dialect.h"
#include "framing/framing.h"

struct way {
    const struct dialect *dialect;
    const struct framing *framing;
    struct variant variant;
    bool chunked;
    bool wrap; /* JSON lines: also payloads that carry their own name, as {"id","event","data"}
                */
};

static inline bool way_eq(const struct way *a, const struct way *b)
{
    return a->dialect == b->dialect && a->framing == b->framing && a->chunked == b->chunked &&
           a->wrap == b->wrap && a->variant.modes == b->variant.modes &&
           a->variant.subgraphs == b->variant.subgraphs &&
           a->variant.aiq_compat == b->variant.aiq_compat &&
           a->variant.stored == b->variant.stored;
}

/* Appends what comes after @after of @rec's frames; says how many frames that were. */
int way_render(const struct way *way,
               const struct record *rec,
               struct cursor after,
               struct frames *frames,
               struct buf *out,
               size_t *ret_n);

/* Appends a frame that is made for the connection: no id. */
void way_put(const struct way *way, struct str event, struct str data, struct buf *out);
/* Appends raw bytes (a comment, a retry line) as one chunk. */
void way_put_raw(const struct way *way, struct str bytes, struct buf *out);

#endif
