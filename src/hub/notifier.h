/* A notifier tells the hubs what a commit has changed.
 *
 *     journal ──publish──▶ notifier ──hear──▶ hub_shared ──message──▶ hubs of the loops
 *
 * A change is a hint: a job has records up to a number, or is in another state.  It consists of
 * numbers and texts only, so that it can be sent to another process, which reads the rest from
 * the store.  Within one process the records themselves may be passed along by reference; a
 * notifier may omit them.
 *
 * Changes may arrive late or twice.  Where they may also get lost (may_lose), hubs ask the
 * store within a second (hub/recheck.h). */
#ifndef HUB_NOTIFIER_H
#define HUB_NOTIFIER_H

#include "base/must_check.h"
#include "journal/journal.h"

/* A job has more records, is in another state, or was deleted; or one of its questions has
 * changed. */
struct change {
    struct str job;
    struct str agent, owner; /* may be absent */
    int64_t key;             /* of the job; 0: unknown */
    int64_t thread;          /* the key of its thread; 0: none, or told by another process */
    uint64_t last_seq;       /* of its records */
    enum job_state state;
    bool state_changed;
    bool gone;
    int64_t attempt;
    int64_t ts;
    struct question_news question; /* id absent: it is about the job itself */
};

/* What @p says of the job itself, without its questions. */
static inline struct change change_of(const struct publication *p)
{
    return (struct change){ .job = p->job,
                            .agent = p->agent,
                            .owner = p->owner,
                            .key = p->key,
                            .thread = p->thread,
                            .last_seq = p->last_seq,
                            .state = p->state,
                            .state_changed = p->state_changed,
                            .gone = p->gone,
                            .attempt = p->attempt,
                            .ts = p->ts };
}

/* Available only in the process of the commit. */
struct live_records {
    struct record *const *records; /* borrowed; the job's latest, without a gap */
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
    /* Calls @hear for everything that any process publishes.  Only one subscription. */
    int (*subscribe)(struct notifier *n, notifier_hear hear, void *arg);
    /* From the journal's thread, after the commit.  Never blocks; best effort. */
    void (*publish)(struct notifier *n,
                    const struct change *change,
                    const struct live_records *live);
};

/* Implementations embed it. */
struct notifier {
    const struct notifier_ops *ops; /* borrowed */
    atomic_bool is_complete;        /* may_lose: for now all changes are of this process */
    notifier_hear hear;             /* set by subscribe */
    void *arg;
};

/* Within one process: loses nothing, and passes the records.  It has no state of its own:
 * struct notifier n = { .ops = &notifier_in_process }. */
extern const struct notifier_ops notifier_in_process;
/* The same for a process that shares its database: others call `hear` with what they were told.
 */
extern const struct notifier_ops notifier_shared;
/* For implementations: stores @hear in the struct. */
MUST_CHECK int notifier_subscribe(struct notifier *n, notifier_hear hear, void *arg);

#endif
