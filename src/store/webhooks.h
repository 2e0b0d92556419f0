/* Deliveries of webhooks: a run's end, and whether it was told to the URL that the run named.
 *
 *     waiting ──the run ends──▶ pending ──▶ sent
 *                                  │ ▲
 *                                  ▼ │ sent again by hand
 *                                 dead
 *
 * The row is stored with the run, and becomes pending in the transaction of the run's end.  It
 * has all that is sent, so that it outlives its run.  Whoever changes it afterwards says which
 * version it has read: two senders cannot both have it.
 *
 * Deliveries of one thread are in the order in which its runs ended (`n`): only the first one
 * that is pending is due.
 *
 * store.h says who may write, what is borrowed, and for how long. */
#ifndef STORE_WEBHOOKS_H
#define STORE_WEBHOOKS_H

#include "base/must_check.h"
#include "store/store.h"

struct webhook_row {
    struct str id;     /* that of its run */
    int64_t job;       /* its key */
    struct str thread; /* its id */
    struct str owner;  /* absent: none */
    struct str url;
    struct str run;    /* JSON: what is sent of the run, as it was created */
    struct str status; /* of the run that has ended; absent: it has not, like the next two */
    struct str error;  /* JSON; absent: none */
    struct str values; /* JSON: the thread's, at the end of the run; absent: none */
    struct str state;  /* waiting pending sent dead */
    struct str reason; /* why the last attempt failed; absent: it did not */
    int64_t created, started, ended; /* of the run; 0: not (yet) */
    int64_t since;                   /* when it became pending: its age counts from then */
    int64_t due;                     /* no attempt before */
    int64_t tried;                   /* the last attempt; 0: none */
    int64_t attempts;                /* since then */
    int64_t code;                    /* the HTTP status of the last answer; 0: none */
    int64_t version;                 /* rises with every change by a sender */
    int64_t expires;                 /* deleted after that; 0: never */
    int64_t n;                       /* its place in the order of ends; 0: not yet */
};

/* How the run of a delivery has ended. */
struct webhook_end {
    int64_t job;
    int64_t thread; /* its key */
    struct str status, error;
    int64_t started, now;
};

/* --- inside begin and commit --- */

/* A waiting one.  ERR_REFUSED when the id exists. */
MUST_CHECK int store_webhook_insert(struct store *s,
                                    const struct webhook_row *row,
                                    struct error *err);
/* The run has ended: its delivery, if it has one, is pending, with the thread's values. */
MUST_CHECK int store_webhook_end(struct store *s,
                                 const struct webhook_end *end,
                                 struct error *err);
/* Changes state, reason, since, due, tried, attempts, code and expires of the delivery that has
 * row->version, and raises the version.  ERR_CONFLICT when it has another, or is gone. */
MUST_CHECK int store_webhook_move(struct store *s,
                                  const struct webhook_row *row,
                                  struct error *err);
/* The job is deleted: deletes its delivery, unless it is pending. */
MUST_CHECK int store_webhook_forget(struct store *s, int64_t job, struct error *err);

/* --- in every store --- */

typedef int (*store_webhook_cb)(void *arg, const struct webhook_row *row);
/* The delivery, if it exists. */
MUST_CHECK int store_webhook(struct store *s,
                             struct str id,
                             store_webhook_cb cb,
                             void *arg,
                             struct error *err);
/* Deliveries of runs that have ended, in @state unless it is absent, the last end first: at
 * most @limit that come after (@n, @id) in this order (INT64_MAX and absent: from the first).
 * They lack run and values. Stops when the callback returns non-zero. */
MUST_CHECK int store_webhooks(struct store *s,
                              struct str state,
                              int64_t n,
                              struct str id,
                              size_t limit,
                              store_webhook_cb cb,
                              void *arg,
                              struct error *err);
/* The first pending one of each thread, if it is due; at most @limit, the earliest first; stops
 * the same way. */
MUST_CHECK int store_webhooks_due(struct store *s,
                                  int64_t now,
                                  size_t limit,
                                  store_webhook_cb cb,
                                  void *arg,
                                  struct error *err);

struct webhook_counts {
    int64_t waiting, pending, sent, dead;
};
MUST_CHECK int store_webhooks_count(struct store *s,
                                    struct webhook_counts *ret,
                                    struct error *err);

#endif
