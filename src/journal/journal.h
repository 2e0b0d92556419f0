/* The journal: the durable log of all jobs, and the only owner of their state.
 *
 * loops, agents ──post──▶ turn (read, each request, flush, commit) ──▶ published, replies
 *
 * Requests are posted from any thread.  A turn takes all waiting requests, executes them one
 * after another and commits once (group commit); only then are readers told and requests
 * answered.  Requests that arrive during a commit belong to the next turn.
 *
 * A refused request changes nothing and does not affect others.  If a commit fails, nothing has
 * changed: every request of the turn is answered ERR_BUSY, and the memory is updated from the
 * store.
 *
 * journal_turn is called by one thread: the journal's own (journal_start), or a simulator.  The
 * clock and the store are passed in. */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "base/must_check.h"
#include "jobs/job.h"
#include "journal/request.h"
#include "store/breadcrumb.h"

#include <stdint.h>

struct agent;
struct journal;
struct journal_counts;
struct record;

/* --- events of the journal --------------------------------------------------- */

enum question_state { QUESTION_OPEN, QUESTION_ANSWERED, QUESTION_EXPIRED, QUESTION_CLOSED };

/* How one commit changed a question of a job. */
struct question_news {
    struct question_news *next;
    struct str id;
    enum question_state state;
    struct str question; /* for OPEN, like the next: JSON, or absent */
    int64_t expires;     /* 0: never */
};

/* How one commit changed one job. */
struct publication {
    struct str job;
    struct str agent, owner; /* absent for a final job that was deleted */
    int64_t key;
    int64_t thread; /* the key of its thread; 0: none */
    int64_t shard;
    enum job_state state;
    bool state_changed;
    bool gone;             /* deleted */
    bool cancel_requested; /* by this commit */
    bool pause_requested;  /* by this commit, of a worker */
    int64_t attempt;
    int64_t ts;
    uint64_t since_us; /* when the oldest request of the commit arrived; 0: there was none */
    uint64_t last_seq; /* of the job, after the commit */
    /* The new records up to last_seq, with their headers set; or none at all, when no reader
     * wanted them when they were made: readers then find them in the store. */
    struct record *const *records; /* borrowed; take references to keep them */
    size_t n_records;
    const struct question_news *questions; /* borrowed; in the order of events */
    struct str error;
};

#define JOURNAL_SET_ASIDE_WHY "the server crashed twice while it took in the events of this job"

struct journal_events {
    /* May readers want @job's records as they are made?  A hint. */
    bool (*wanted)(void *arg, struct str job);
    /* After each commit that changed something; several calls for a large one. */
    void (*published)(void *arg, const struct publication *pubs, size_t n);
    /* A job or a call of @agent waits for a worker. */
    void (*queued)(void *arg, struct str agent);
    /* Commits fail from now on, and why; absent: they work again. */
    void (*stuck)(void *arg, struct str why);
    /* At the start: the server crashed while it folded this job, or the job was set aside. */
    void (*suspected)(void *arg, struct str job, bool set_aside, struct str why);
    /* The wall clock was set by @ms, while the server ran or was down; all stored times were
     * moved with it. */
    void (*stepped)(void *arg, int64_t ms, bool was_down);
    void *arg;
};

/* Do the events of an agent's jobs arrive on a channel? */
enum journal_fed {
    FED_NOT,
    FED_ALONE, /* yes, and workers do not lease them: the channel is their worker */
    FED_BESIDE /* yes, in addition to a worker that leases them */
};

/* What the journal needs to know of an agent. */
struct journal_agent {
    struct str name;
    const struct agent *settings; /* borrowed */
    int64_t lease_ms;
    int64_t attempts;        /* retry budget: leases that may be lost, plus one */
    int64_t queue_ms;        /* deadline in the queue; 0: none */
    int64_t run_ms;          /* deadline of the run; 0: none */
    int64_t cancel_grace_ms; /* until a cancel is forced */
    int64_t answer_ms;       /* default time for an answer; 0: no limit */
    bool is_deaf;            /* its workers cannot be asked to pause */
    enum journal_fed fed;
    struct str places; /* this server leases its jobs, with request ids that begin with this
                          text, and they continue while it is down; absent: others lease them */
    bool is_published; /* its jobs are published; else `published` is -1 */
};

/* Settings that may change while the journal runs.  An agent that is no longer listed stays. */
struct journal_settings {
    const struct journal_agent *agents;
    size_t n_agents;
    int64_t default_expiry_seconds;
};

struct journal_options {
    struct store *store;                /* borrowed; the writer */
    struct breadcrumb breadcrumb;       /* names the job being folded; or not open */
    const struct journal_agent *agents; /* borrowed */
    size_t n_agents;
    int64_t default_expiry_seconds;
    int64_t item_ttl_ms, thread_ttl_ms;    /* of those that have none; 0: they stay */
    int64_t history_ms;                    /* how long the ending of an expired job is kept */
    size_t max_line, max_depth, max_field; /* 0: defaults */
    size_t max_calls;                      /* waiting calls */
    int64_t (*clock)(void *arg);           /* milliseconds since 1970 */
    /* A monotonic clock in milliseconds; NULL: the clock is never set. */
    int64_t (*steady)(void *arg);
    void *clock_arg;
    struct journal_events events;
    /* Takes what is posted while the journal is closed, a chain; from any thread.  NULL: it is
     * never closed. */
    void (*forward)(void *arg, struct journal_request *chain);
    void *forward_arg;
    /* Of several journals, one for each shard of the database: which one this is.  `route`
     * takes all that is posted, a chain, and posts it to the right ones; NULL: there is one. */
    int64_t shard, n_shards;
    void (*route)(void *arg, struct journal_request *chain);
    void *route_arg;
    /* Answers of operations as bytes, and back (operations.c); with `forward`. */
    void (*put_answer)(struct buf *b, const struct journal_request *req);
    int (*read_answer)(struct str bytes, struct journal_request *req);
};

MUST_CHECK int journal_new(const struct journal_options *options,
                           struct journal **ret,
                           struct error *err);
void journal_free(struct journal *j);

/* Recovery: loads the jobs that are not final, before any turn.  The agents in @dead ran their
 * jobs in processes of the server, which ended with it. */
MUST_CHECK int journal_recover(struct journal *j,
                               const struct str *dead,
                               size_t n_dead,
                               struct error *err);

/* From any thread: one request, or a chain of them linked by `next`.  Each is answered
 * separately, with `next` cleared. */
void journal_post(struct journal *j, struct journal_request *req);
/* The same, for this shard. */
void journal_post_here(struct journal *j, struct journal_request *req);
/* From any thread: requests that one of these two has forwarded or routed, and that come back,
 * for this shard. */
void journal_post_again(struct journal *j, struct journal_request *req);
/* From any thread: when requests wait for longer than @ms for a turn, because the one before
 * does not end, answers them ERR_BUSY. */
void journal_refuse_old(struct journal *j, int64_t ms);
/* Withdraws a waiting LEASE, CALL or HEARTBEAT: it is answered soon, maybe with a job. */
void journal_withdraw(struct journal_request *req);

/* The work of an agent, as it was a moment ago. */
struct agent_count {
    uint64_t queued, leased;
    uint64_t oldest_us; /* since when the oldest waits, as clock_monotonic_us(); 0: none does */
};

/* From any thread: adds the agent's to @sum. */
void journal_agent_count(struct journal *j, struct str agent, struct agent_count *sum);

/* Executes all waiting requests; true when there was anything to do.  Also handles expired
 * leases, deadlines and retention. */
bool journal_turn(struct journal *j);
/* Milliseconds until the next deadline, at most 1000; 0: call journal_turn at once. */
int64_t journal_next_ms(struct journal *j);

/* Starts a thread that makes the turns. */
MUST_CHECK int journal_start(struct journal *j, struct error *err);
/* Executes waiting requests and those that were put off, then ends the thread. */
void journal_stop(struct journal *j);

/* --- of several gateways: open.c.  One call at a time, from any thread ------------------ */

/* A journal with `forward` begins closed, without a store.  Opens it: @store is the one that
 * writes from now on.  Recovers as journal_recover() does and starts the thread. */
MUST_CHECK int journal_open(struct journal *j,
                            struct store *store,
                            struct breadcrumb breadcrumb,
                            const struct str *dead,
                            size_t n_dead,
                            struct error *err);
/* Ends the thread, forwards all requests that wait, and forgets the jobs and the store. */
void journal_close(struct journal *j);
bool journal_is_open(struct journal *j);
/* Does JOURNAL_SETTINGS while it is closed. */
void journal_apply_settings(struct journal *j, struct journal_request *req);

/* From any thread: see journal/counts.h. */
const struct journal_counts *journal_counts(const struct journal *j);

#endif
