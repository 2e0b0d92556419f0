#include "journal/call_cache.h"

#include <stdlib.h>

struct call_cache_answer {
    struct call_cache_answer *next;
    struct call_cache_question question; /* its texts follow the struct, like the answer's */
    struct str answer;
    size_t bytes; /* in total */
    char text[];
};

static bool is_about(const struct call_cache_answer *a, struct call_cache_question q)
{
    return str_eq(a->question.agent, q.agent) && str_eq(a->question.name, q.name) &&
           str_eq(a->question.params, q.params);
}

static void drop(struct call_cache *k, struct call_cache_answer **at)
{
    struct call_cache_answer *a = *at;

    *at = a->next;
    k->n--;
    k->bytes -= a->bytes;
    free(a);
}

static struct str put(char **at, struct str text)
{
    struct str copy = str_make(*at, text.n);

    str_copy(*at, text);
    *at += text.n;
    return copy;
}

static struct call_cache_answer *make(struct call_cache_question q, struct str answer)
{
    size_t bytes =
        sizeof(struct call_cache_answer) + q.agent.n + q.name.n + q.params.n + answer.n;
    struct call_cache_answer *a = bytes <= KEPT_MAX_BYTES ? malloc(bytes) : NULL;

    if (a == NULL)
        return NULL;
    char *at = a->text;
    a->question.agent = put(&at, q.agent);
    a->question.name = put(&at, q.name);
    a->question.params = put(&at, q.params);
    a->answer = put(&at, answer);
    a->bytes = bytes;
    return a;
}

static void drop_oldest(struct call_cache *k)
{
    struct call_cache_answer **at = &k->first;

    while ((*at)->next != NULL)
        at = &(*at)->next;
    drop(k, at);
}

void call_cache_put(struct call_cache *k, struct call_cache_question q, struct str answer)
{
    struct call_cache_answer *a = str_absent(answer) ? NULL : make(q, answer);

    for (struct call_cache_answer **at = &k->first; *at != NULL; at = &(*at)->next)
        if (is_about(*at, q)) {
            drop(k, at);
            break;
        }
    if (a == NULL)
        return;
    a->next = k->first;
    k->first = a;
    k->n++;
    k->bytes += a->bytes;
    while (k->n > KEPT_MAX_ANSWERS || k->bytes > KEPT_MAX_BYTES)
        drop_oldest(k);
}

struct str call_cache_get(const struct call_cache *k, struct call_cache_question q)
{
    for (const struct call_cache_answer *a = k->first; a != NULL; a = a->next)
        if (is_about(a, q))
            return a->answer;
    return STR_NONE;
}

void call_cache_clear(struct call_cache *k)
{
    while (k->first != NULL)
        drop(k, &k->first);
}
