/* The page cache: recently read pages of old records, shared by readers.
 *
 * After a restart, a thousand readers may ask for the same pages of the same job.  The first
 * one that asks for a page reads it; those that ask meanwhile wait for it, and later ones find
 * it in the cache.  A cached page never changes: a full page stays valid, and a page at the end
 * of a job is valid until the job has more records.
 *
 * Used by the threads of the pool. */
#ifndef HUB_PAGE_CACHE_H
#define HUB_PAGE_CACHE_H

#include "base/must_check.h"
#include "base/buf.h"
#include "hub/stream_format.h"

#include <stdatomic.h>

struct page_cache;

struct page_key {
    int64_t key;  /* of the job */
    uint64_t era; /* of the database: store/era.h */
    struct stream_format format;
    struct cursor after;
    size_t max_frames, max_bytes; /* when it is full; 0 frames: no limit */
};

/* The content of a page: shared by reference, and immutable once it is in the page cache. */
struct cached_page {
    atomic_uint refs;
    uint64_t last_seq; /* the last record that was read */
    size_t n_frames;
    bool ended;  /* the terminal record is in it */
    bool at_end; /* there were no more records */
    struct buf bytes;
};

struct cached_page *cached_page_new(void); /* NULL: out of memory */
void cached_page_unref(struct cached_page *cached);

/* @max_bytes limits all pages together. */
MUST_CHECK int page_cache_new(size_t max_bytes, struct page_cache **ret);
void page_cache_free(struct page_cache *s);

/* A reference to the cached page of @place that is valid for a job with @last_seq records; or
 * NULL: the caller reads it, and must call page_cache_put. */
struct cached_page *page_cache_get(struct page_cache *s,
                                   const struct page_key *place,
                                   uint64_t last_seq);
/* Takes its own reference.  NULL: the read failed. */
void page_cache_put(struct page_cache *s,
                    const struct page_key *place,
                    struct cached_page *cached);

#endif
