/* Crons: runs that are created again and again, by a schedule.
 *
 * The row says when the next tick is due.  Whoever creates a tick's run moves the row on in the
 * same transaction, and only if the row still has that tick: so each tick is taken once,
 * whichever shard has the run.
 *
 * store.h says who may write, what is borrowed, and for how long. */
#ifndef STORE_CRONS_H
#define STORE_CRONS_H

#include "base/must_check.h"
#include "store/store.h"

struct cron_row {
    struct str id;
    struct str owner;     /* empty: none */
    struct str assistant; /* its id */
    struct str thread;    /* of all its runs; absent: each has its own */
    struct str schedule;
    struct str timezone;     /* absent: UTC */
    struct str on_completed; /* "delete" or "keep": the thread of a run; absent with a thread */
    struct str payload;      /* JSON: the body of a run's creation */
    struct str metadata;     /* JSON */
    int64_t end_time;        /* no tick after it; 0: none */
    int64_t next;            /* when the next tick is due; 0: never */
    int64_t enabled;
    int64_t max_jobs, max_queued, max_running; /* limits of its owner's token; 0: none */
    int64_t created, updated;
    int64_t moved; /* when `next` was set */
};

/* --- inside begin and commit --- */

/* ERR_REFUSED when the id exists. */
MUST_CHECK int store_cron_insert(struct store *s,
                                 const struct cron_row *row,
                                 struct error *err);
/* Changes all but id, owner, assistant, thread, limits and `created`; `next` and `moved` only
 * if `next` is not negative, since another shard may move the cron on at the same time.
 * ERR_NOT_FOUND. */
MUST_CHECK int store_cron_update(struct store *s,
                                 const struct cron_row *row,
                                 struct error *err);
/* Takes the tick that is due at @due: moves the cron on to @next, at @now.  ERR_CONFLICT when
 * the cron has another tick, or is gone. */
MUST_CHECK int store_cron_tick(struct store *s,
                               struct str id,
                               int64_t due,
                               int64_t next,
                               int64_t now,
                               struct error *err);
/* Not an error when it does not exist. */
MUST_CHECK int store_cron_delete(struct store *s, struct str id, struct error *err);
/* Deletes those of a thread, or those of an assistant; the other one is absent. */
MUST_CHECK int store_crons_forget(struct store *s,
                                  struct str thread,
                                  struct str assistant,
                                  struct error *err);

/* --- in every store --- */

typedef int (*store_cron_cb)(void *arg, const struct cron_row *row);
/* The cron, if it exists. */
MUST_CHECK int store_cron(struct store *s,
                          struct str id,
                          store_cron_cb cb,
                          void *arg,
                          struct error *err);
/* All, the last created first; stops when the callback returns non-zero. */
MUST_CHECK int store_crons(struct store *s, store_cron_cb cb, void *arg, struct error *err);
/* Those with a tick that is due, at most @limit, the earliest first; stops the same way. */
MUST_CHECK int store_crons_due(struct store *s,
                               int64_t now,
                               size_t limit,
                               store_cron_cb cb,
                               void *arg,
                               struct error *err);

#endif
