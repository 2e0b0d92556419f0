/* A record chunk, as backends store it: records that follow each other, a line each, with the
 * seq of the last one beside them. */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include "store/store.h"

/* How many records it has. */
uint64_t chunk_count(struct str chunk);
/* Cuts the first record off. */
struct str chunk_take(struct str *rest);

/* A page of records on its way to whoever asked for it. */
struct chunk_page {
    uint64_t after; /* only records behind it; two chunks that have the same one both give it */
    uint64_t given; /* out: the last one */
    size_t n, limit;
    size_t bytes, max_bytes;
    store_record_cb cb;
    void *arg;
};

/* Gives the records of one chunk that belong to the page; false when it is full. */
bool chunk_give(struct chunk_page *page, uint64_t last, struct str chunk);

#endif
