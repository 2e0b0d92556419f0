/* Reads many rows in one call: those that a turn of the journal needs, before it begins.
 *
 * SQLite executes the wants one after another; a backend behind a network can send all of them
 * at once and wait once. */
#ifndef STORE_READ_H
#define STORE_READ_H

#include "store/assistants.h"
#include "store/checkpoints.h"
#include "store/crons.h"
#include "store/items.h"
#include "store/store.h"
#include "store/webhooks.h"

enum store_want_kind {
    WANT_JOB,                /* text: its id → job */
    WANT_JOB_BY_IDEMPOTENCY, /* text: the key → job */
    WANT_RUN,                /* key: the job's → run */
    WANT_QUESTIONS,          /* key: the job's → question, each in order */
    WANT_RECORDS,            /* key: the job's → seq and stored, each in order */
    WANT_THREAD,             /* text: its id → thread */
    WANT_THREAD_BY_KEY,      /* key → thread */
    WANT_THREAD_JOBS,        /* text: the thread's id → job, each */
    /* key: the time → thread, for each expired thread; then job, for each of its jobs */
    WANT_THREADS_EXPIRED,
    /* key: the thread's, number: a run's ordinal → job and stored: the last run before it that
     * has values and was not rolled back, and the record with its last values; absent when that
     * was deleted */
    WANT_VALUES_BEFORE,
    WANT_STATE, /* text: the thread's id → stored: its newest state, of the root namespace */
    WANT_ITEM,  /* item: owner, ns and key; key: the time → item */
    WANT_ASSISTANT,         /* text: its id → assistant: the current version */
    WANT_ASSISTANT_VERSION, /* text: its id, number: the version, 0: the newest → assistant */
    WANT_CRON,              /* text: its id → cron */
    WANT_WEBHOOK,           /* text: its id → webhook; run and values may be absent */
    /* text: an owner → owner: its open jobs in other shards.  Nobody else reads these until the
     * transaction ends. */
    WANT_OWNER
};

/* Open jobs of an owner. */
struct owner_counts {
    int64_t jobs, queued, running;
};

struct store_want {
    enum store_want_kind kind;
    struct str text; /* borrowed until store_read returns */
    int64_t key, number;
    const struct item_row *item; /* borrowed, as the text */
    void *place;                 /* for the caller's use */
};

/* A row that was found: the member that its want names is set; the others are NULL. */
struct store_found {
    const struct job_row *job;
    const struct thread_row *thread;
    const struct run_row *run;
    const struct question_row *question;
    const struct item_row *item;
    const struct assistant_row *assistant;
    const struct cron_row *cron;
    const struct webhook_row *webhook;
    const struct owner_counts *owner;
    uint64_t seq;
    struct str stored;
};

/* Texts are valid until it returns.  Any result but 0 ends the read with that error. */
typedef int (*store_found_cb)(void *arg,
                              const struct store_want *want,
                              const struct store_found *found);
/* Rows are returned in the order of the wants.  A row that does not exist is not an error:
 * there is no callback for it. */
int store_read(struct store *s,
               const struct store_want *wants,
               size_t n,
               store_found_cb cb,
               void *arg,
               struct error *err);
/* For a backend: the same, one want after another through store.h. */
int store_read_each(struct store *s,
                    const struct store_want *wants,
                    size_t n,
                    store_found_cb cb,
                    void *arg,
                    struct error *err);

#endif
