/* A cache of answers to calls that change nothing, for when no worker is there.
 *
 * In memory only, and bounded: the oldest go first. */
#ifndef JOURNAL_CALL_CACHE_H
#define JOURNAL_CALL_CACHE_H

#include "base/str.h"

enum { KEPT_MAX_ANSWERS = 256, KEPT_MAX_BYTES = 8 << 20 };

struct call_cache_answer;

struct call_cache {
    struct call_cache_answer *first; /* owned; the newest */
    size_t n, bytes;
};

/* What was asked of an agent; params are JSON. */
struct call_cache_question {
    struct str agent, name, params;
};

/* Keeps @answer in place of the one before; absent, too large or without memory: none. */
void call_cache_put(struct call_cache *k, struct call_cache_question q, struct str answer);
/* The last one, until the next change; absent: there is none. */
struct str call_cache_get(const struct call_cache *k, struct call_cache_question q);
void call_cache_clear(struct call_cache *k);

#endif
