#include "base/histogram.h"

#include <assert.h>

#define MS(n)      ((uint64_t)(n)*1000)
#define SECONDS(n) ((uint64_t)(n)*1000000)

const struct scale scale_latency = {
    .is_time = true,
    .n = 15,
    .bounds = { 100, 250, 500, MS(1), 2500, MS(5), MS(10), MS(25), MS(50), MS(100), MS(250),
                MS(500), SECONDS(1), 2500000, SECONDS(10) },
};

const struct scale scale_duration = {
    .is_time = true,
    .n = 13,
    .bounds = { MS(100), MS(500), SECONDS(1), SECONDS(5), SECONDS(15), SECONDS(60),
                SECONDS(300), SECONDS(900), SECONDS(3600), SECONDS(3 * 3600), SECONDS(6 * 3600),
                SECONDS(12 * 3600), SECONDS(24 * 3600) },
};

const struct scale scale_size = {
    .n = 11,
    .bounds = { 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000 },
};

void histogram_init(struct histogram *h, const struct scale *scale)
{
    *h = (struct histogram){ .scale = scale };
}

void histogram_add(struct histogram *h, uint64_t value, uint64_t times)
{
    const struct scale *s = h->scale;
    size_t i = 0;

    while (i < s->n && value > s->bounds[i])
        i++;
    counter_add(&h->counts[i], times);
    counter_add(&h->sum, value * times);
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    assert(to->scale == from->scale);
    for (size_t i = 0; i <= to->scale->n; i++)
        counter_add(&to->counts[i], counter_get(&from->counts[i]));
    counter_add(&to->sum, counter_get(&from->sum));
}
