#include "cluster/newest.h"

#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PLACES = 256 }; /* older gateways are forgotten: they have ended long ago */

struct newest {
    pthread_mutex_t lock;
    struct newest_place places[MAX_PLACES]; /* under lock, like the next; oldest first */
    size_t n;
};

int newest_new(struct newest **ret)
{
    struct newest *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&n->lock, NULL); /* cannot fail on Linux */
    *ret = n;
    return 0;
}

void newest_free(struct newest *n)
{
    if (n == NULL)
        return;
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}

bool newest_read_place(struct str text, struct newest_place *ret)
{
    size_t space = str_find(text, ' ');
    struct str number = str_skip(text, space + 1);

    if (space == 0 || space >= sizeof(ret->gateway) || number.n == 0 || number.n > 18)
        return false;
    ret->number = 0;
    for (size_t i = 0; i < number.n; i++) {
        if (number.p[i] < '0' || number.p[i] > '9')
            return false;
        ret->number = ret->number * 10 + (uint64_t)(number.p[i] - '0');
    }
    (void)snprintf(ret->gateway, sizeof(ret->gateway), "%.*s", STR_ARG(str_head(text, space)));
    return true;
}

/* NULL: it has none. */
static struct newest_place *find(struct newest *n, const struct newest_place *place)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->places[i].journal == place->journal &&
            strcmp(n->places[i].gateway, place->gateway) == 0)
            return &n->places[i];
    return NULL;
}

static struct newest_place *add(struct newest *n, const struct newest_place *place)
{
    if (n->n == MAX_PLACES)
        memmove(n->places, n->places + 1, --n->n * sizeof(n->places[0]));
    n->places[n->n] = *place;
    return &n->places[n->n++];
}

bool newest_begin(struct newest *n, const struct newest_place *place)
{
    (void)pthread_mutex_lock(&n->lock);
    struct newest_place *last = find(n, place);
    if (last == NULL)
        last = add(n, place);
    bool is_newest = place->number >= last->number;
    if (is_newest)
        last->number = place->number;
    (void)pthread_mutex_unlock(&n->lock);
    return is_newest;
}

bool newest_post(struct newest *n,
                 const struct newest_place *place,
                 struct journal_request *chain)
{
    (void)pthread_mutex_lock(&n->lock);
    const struct newest_place *last = find(n, place);
    bool is_newest = last == NULL || last->number == place->number;
    if (is_newest) /* under the lock: before anything of a newer one */
        journal_post_here(place->journal, chain);
    (void)pthread_mutex_unlock(&n->lock);
    return is_newest;
}
