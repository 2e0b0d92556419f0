/* A histogram with fixed buckets, counted like a counter: one writer, any number of readers.
 *
 * Its scale says where the buckets end.  Times are counted in microseconds. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include "base/counter.h"

#include <stdbool.h>
#include <stddef.h>

enum { HISTOGRAM_MAX = 15 }; /* bounds; one more bucket is for all above */

struct scale {
    bool is_time; /* microseconds */
    size_t n;
    uint64_t bounds[HISTOGRAM_MAX]; /* ascending and inclusive, as Prometheus' `le` */
};

extern const struct scale scale_latency;  /* 100 µs to 10 s */
extern const struct scale scale_duration; /* 100 ms to a day */
extern const struct scale scale_size;     /* 1 to 100 000 */

struct histogram {
    const struct scale *scale;
    struct counter counts[HISTOGRAM_MAX + 1];
    struct counter sum;
};

void histogram_init(struct histogram *h, const struct scale *scale);
/* Counts @value @times times. */
void histogram_add(struct histogram *h, uint64_t value, uint64_t times);

/* Adds @from, of the same scale, to @to. */
void histogram_merge(struct histogram *to, const struct histogram *from);

#endif
