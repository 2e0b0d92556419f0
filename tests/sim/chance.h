/* Chance with a seed: the same seed, the same choices, on every machine. */
#ifndef SIM_CHANCE_H
#define SIM_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chance {
    uint64_t state;
};

/* splitmix64: every seed is a good one. */
static inline uint64_t chance_next(struct chance *c)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 … n - 1; 0 when n is 0. */
static inline size_t chance_below(struct chance *c, size_t n)
{
    return n > 0 ? (size_t)(chance_next(c) % n) : 0;
}

static inline int64_t chance_between(struct chance *c, int64_t low, int64_t high)
{
    return low + (int64_t)chance_below(c, (size_t)(high - low) + 1);
}

static inline bool chance_of(struct chance *c, unsigned permille)
{
    return chance_below(c, 1000) < permille;
}

#endif
