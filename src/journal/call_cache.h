/* A cache of answers to calls that change nothing, used when no worker is available.
 *
 * In memory only, and bounded: the oldest are dropped first. */
#ifndef JOURNAL_CALL_CACHE_H
#define JOURNAL_CALL_CACHE_H

#include "base/str.h"

enum { KEPT_MAX_ANSWERS = 256, KEPT_MAX_BYTES = 8 << 20 };

struct call_cache_answer;

struct call_cache {
    struct call_cache_answer *first; /* owned; the newest */
    size_t n, bytes;
};

/* The key: what was asked of an agent; params are JSON. */
struct call_cache_question {
    struct str agent, name, params;
};

/* Replaces the cached answer; an absent or too large one, or no memory, only removes the old
 * one. */
void call_cache_put(struct call_cache *k, struct call_cache_question q, struct str answer);
/* The cached answer; valid until the next change; absent: none. */
struct str call_cache_get(const struct call_cache *k, struct call_cache_question q);
void call_cache_clear(struct call_cache *k);

#endif
