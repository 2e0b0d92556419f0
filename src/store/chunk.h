/* A record chunk, as backends store it: consecutive records, one per line, with the seq of the
 * last one in the row. */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include "store/store.h"

/* The number of its records. */
uint64_t chunk_count(struct str chunk);
/* Removes and returns the first record. */
struct str chunk_take(struct str *rest);

/* State of a read of a page of records. */
struct chunk_page {
    uint64_t after; /* only later records; one that is in two chunks is returned once */
    uint64_t given; /* out: the last record that was returned */
    size_t n, limit;
    size_t bytes, max_bytes;
    store_record_cb cb;
    void *arg;
};

/* Returns the records of one chunk that belong to the page; false when the page is full. */
bool chunk_give(struct chunk_page *page, uint64_t last, struct str chunk);

#endif
