/* The page cache: pages that were read from the store lately, for readers that want the same.
 *
 * A thousand readers that come back after a restart want the same pages of the same job.
 * The first one that asks for a place reads it; those that ask meanwhile wait for it, and
 * those that come later find it.  A cached page never changes: one that is full stays true, and
 * one at the end of a job as long as the job has no further record.
 *
 * For the threads of the pool. */
#ifndef HUB_PAGE_CACHE_H
#define HUB_PAGE_CACHE_H

#include "base/must_check.h"
#include "base/buf.h"
#include "hub/stream_format.h"

#include <stdatomic.h>

struct page_cache;

struct page_key {
    int64_t key; /* of the job */
    struct stream_format format;
    struct cursor after;
    size_t max_frames, max_bytes; /* when it is full; 0 frames: as many as fit */
};

/* What was read: shared by reference, and never changed once it is on the page cache. */
struct cached_page {
    atomic_uint refs;
    uint64_t last_seq; /* of the last record that was looked at */
    size_t n_frames;
    bool ended;  /* the terminal record is in it */
    bool at_end; /* there was no more */
    struct buf bytes;
};

struct cached_page *cached_page_new(void); /* NULL: out of memory */
void cached_page_unref(struct cached_page *cached);

/* Of at most so many bytes in all. */
MUST_CHECK int page_cache_new(size_t max_bytes, struct page_cache **ret);
void page_cache_free(struct page_cache *s);

/* A reference to the cached page of @place that holds for a job with @last_seq records; or
 * NULL: the caller reads it, and must say so with page_cache_put. */
struct cached_page *page_cache_get(struct page_cache *s,
                                   const struct page_key *place,
                                   uint64_t last_seq);
/* Takes a reference of its own.  NULL: it could not be read. */
void page_cache_put(struct page_cache *s,
                    const struct page_key *place,
                    struct cached_page *cached);

#endif
