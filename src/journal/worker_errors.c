#include "journal/worker_errors.h"

#include <stdlib.h>

struct worker_error {
    struct worker_error *next;
    struct str agent, worker, error; /* their texts follow the struct */
    int64_t until;
    char text[];
};

static struct str put(char **at, struct str text)
{
    struct str copy = str_make(*at, text.n);

    str_copy(*at, text);
    *at += text.n;
    return copy;
}

static struct worker_error *make(struct str agent, struct str worker, struct str error)
{
    struct worker_error *e = malloc(sizeof(*e) + agent.n + worker.n + error.n);

    if (e == NULL)
        return NULL;
    char *at = e->text;
    e->agent = put(&at, agent);
    e->worker = put(&at, worker);
    e->error = put(&at, error);
    return e;
}

/* Removes the old report of the worker, those whose time is over, and the oldest if there are
 * too many. */
static void sweep(struct worker_errors *list, struct str agent, struct str worker, int64_t now)
{
    size_t n = 0;

    for (struct worker_error **at = &list->first; *at != NULL;) {
        struct worker_error *e = *at;

        if (e->until <= now || n + 1 >= WORKER_ERRORS_MAX ||
            (str_eq(e->agent, agent) && str_eq(e->worker, worker))) {
            *at = e->next;
            free(e);
        } else {
            n++;
            at = &e->next;
        }
    }
    list->n = n;
}

void worker_errors_put(struct worker_errors *list,
                       struct str agent,
                       struct str worker,
                       struct str error,
                       int64_t now)
{
    struct worker_error *e = str_absent(error) ? NULL : make(agent, worker, error);

    sweep(list, agent, worker, now);
    if (e == NULL)
        return;
    e->until = now + WORKER_ERROR_MS;
    e->next = list->first;
    list->first = e;
    list->n++;
}

size_t worker_errors_of(const struct worker_errors *list,
                        struct str agent,
                        int64_t now,
                        struct str *ret)
{
    size_t n = 0;

    *ret = STR_NONE;
    for (const struct worker_error *e = list->first; e != NULL; e = e->next) {
        if (e->until <= now || !str_eq(e->agent, agent))
            continue;
        if (n++ == 0)
            *ret = e->error;
    }
    return n;
}

void worker_errors_clear(struct worker_errors *list)
{
    while (list->first != NULL) {
        struct worker_error *e = list->first;

        list->first = e->next;
        free(e);
    }
    list->n = 0;
}
