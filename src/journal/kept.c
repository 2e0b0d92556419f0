#include "journal/kept.h"

#include <stdlib.h>

struct kept_answer {
    struct kept_answer *next;
    struct kept_question question; /* texts are behind, like the answer's */
    struct str answer;
    size_t bytes; /* of all */
    char text[];
};

static bool is_about(const struct kept_answer *a, struct kept_question q)
{
    return str_eq(a->question.agent, q.agent) && str_eq(a->question.name, q.name) &&
           str_eq(a->question.params, q.params);
}

static void drop(struct kept *k, struct kept_answer **at)
{
    struct kept_answer *a = *at;

    *at = a->next;
    k->n--;
    k->bytes -= a->bytes;
    free(a);
}

static struct str put(char **at, struct str text)
{
    struct str copy = str_make(*at, text.n);

    if (text.n > 0)
        memcpy(*at, text.p, text.n);
    *at += text.n;
    return copy;
}

static struct kept_answer *make(struct kept_question q, struct str answer)
{
    size_t bytes = sizeof(struct kept_answer) + q.agent.n + q.name.n + q.params.n + answer.n;
    struct kept_answer *a = bytes <= KEPT_MAX_BYTES ? malloc(bytes) : NULL;

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

static void drop_oldest(struct kept *k)
{
    struct kept_answer **at = &k->first;

    while ((*at)->next != NULL)
        at = &(*at)->next;
    drop(k, at);
}

void kept_put(struct kept *k, struct kept_question q, struct str answer)
{
    struct kept_answer *a = str_absent(answer) ? NULL : make(q, answer);

    for (struct kept_answer **at = &k->first; *at != NULL; at = &(*at)->next)
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

struct str kept_get(const struct kept *k, struct kept_question q)
{
    for (const struct kept_answer *a = k->first; a != NULL; a = a->next)
        if (is_about(a, q))
            return a->answer;
    return STR_NONE;
}

void kept_clear(struct kept *k)
{
    while (k->first != NULL)
        drop(k, &k->first);
}
