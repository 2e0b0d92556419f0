/* A notifier: how what a commit changed is told to the hubs that have readers of it.
 *
 *     journal ──publish──▶ notifier ──hear──▶ hub_shared ──message──▶ hubs of the loops
 *
 * What is told is a hint: a job has records up to a number, or is in another state.  It
 * is numbers and texts and nothing else, so that it can go to another process, which reads the
 * store for the rest.  Where publisher and hearer are one process, the records themselves may
 * come along by reference; a notifier may leave them out.
 *
 * Hints may come late or twice.  Where they may also get lost (may_lose), hubs ask the store
 * about once a second (hub/recheck.h). */
#ifndef HUB_NOTIFIER_H
#define HUB_NOTIFIER_H

#include "base/must_check.h"
#include "journal/journal.h"

/* A job has more records, has changed its state, or is gone; or one of its questions has
 * changed. */
struct change {
    struct str job;
    struct str agent, owner; /* may be absent */
    int64_t key;             /* of the job; 0: not told */
    uint64_t last_seq;       /* of its records */
    enum job_state state;
    bool state_changed;
    bool gone;
    int64_t attempt;
    int64_t ts;
    struct question_news question; /* id absent: it is about the job itself */
};

/* What only the process of the commit has. */
struct live_records {
    struct record *const *records; /* borrowed; the last of the job's, without a gap */
    size_t n;
    uint64_t since_us; /* when the oldest request of the commit arrived; 0: there was none */
};

struct notifier;

/* @live may be NULL.  From any thread, one call at a time. */
typedef void (*notifier_hear)(void *arg,
                              const struct change *change,
                              const struct live_records *live);

struct notifier_ops {
    bool may_lose;
    /* From now on @hear is given everything that any process publishes.  Once. */
    int (*subscribe)(struct notifier *n, notifier_hear hear, void *arg);
    /* From the journal's thread, after the commit.  Never blocks; best effort. */
    void (*publish)(struct notifier *n,
                    const struct change *change,
                    const struct live_records *live);
};

/* Whoever implements one embeds it. */
struct notifier {
    const struct notifier_ops *ops; /* borrowed */
    notifier_hear hear;             /* set by subscribe */
    void *arg;
};

/* Within one process: nothing gets lost, and records come along.  Needs nothing but its place:
 * struct notifier n = { .ops = &notifier_in_process }. */
extern const struct notifier_ops notifier_in_process;
/* For implementations: keeps @hear in the struct. */
MUST_CHECK int notifier_subscribe(struct notifier *n, notifier_hear hear, void *arg);

#endif
