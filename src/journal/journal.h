/* The journal: the durable log of all jobs, and the one owner of what a job is.
 *
 *     loops, agents ──post──▶ │ turn: read, each request, flush, commit │ ──▶ published,
 * replies
 *
 * Requests are posted from any thread.  A turn takes all that are waiting, does them one
 * after another and commits once (group commit); only then are readers told and requests
 * answered.  What comes in while a commit syncs is the next turn's work.
 *
 * A refused request changes nothing and harms no other.  A commit that fails changes
 * nothing at all: every request of the turn is answered ERR_BUSY, and what is in memory is
 * read from the store again.
 *
 * journal_turn is called by one thread: the journal's own (journal_start), or a simulator.
 * Clock and store are handed in. */
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

/* --- what the journal tells -------------------------------------------------- */

enum question_state { QUESTION_OPEN, QUESTION_ANSWERED, QUESTION_EXPIRED, QUESTION_CLOSED };

/* What one commit did to a question of a job. */
struct question_news {
    struct question_news *next;
    struct str id;
    enum question_state state;
    struct str question; /* OPEN, like the next: JSON, or absent */
    int64_t expires;     /* 0: never */
};

/* What one commit did to one job. */
struct publication {
    struct str job;
    struct str agent, owner; /* absent of a job that had ended and was deleted */
    int64_t key;
    enum job_state state;
    bool state_changed;
    bool gone;             /* deleted */
    bool cancel_requested; /* newly */
    bool pause_requested;  /* newly, of a worker */
    int64_t attempt;
    int64_t ts;
    uint64_t since_us; /* when the oldest request of the commit arrived; 0: there was none */
    uint64_t last_seq; /* of the job, after the commit */
    /* The new records up to last_seq, with their heads set; or none at all, when nobody
     * wanted them as they were made: readers then find them in the store. */
    struct record *const *records; /* borrowed; take references to keep them */
    size_t n_records;
    const struct question_news *questions; /* borrowed; in the order of what happened */
    struct str error;
};

#define JOURNAL_SET_ASIDE_WHY "the server crashed twice while it took in the events of this job"

struct journal_events {
    /* May readers want @job's records as they come?  A hint. */
    bool (*wanted)(void *arg, struct str job);
    /* After each commit that changed something; in several calls when there is much. */
    void (*published)(void *arg, const struct publication *pubs, size_t n);
    /* A job of @agent waits for a worker, or a call does. */
    void (*queued)(void *arg, struct str agent);
    /* Nothing can be stored from now on, and why; absent: it can again. */
    void (*stuck)(void *arg, struct str why);
    /* At the start: the server crashed over this job, or it was set aside. */
    void (*suspected)(void *arg, struct str job, bool set_aside, struct str why);
    /* The wall clock was set by @ms, while the server ran or was down, and all stored times
     * have been moved with it. */
    void (*stepped)(void *arg, int64_t ms, bool was_down);
    void *arg;
};

/* Whether what its jobs do comes over a channel. */
enum journal_fed {
    FED_NOT,
    FED_ALONE, /* and workers do not lease them: the channel is their worker */
    FED_BESIDE /* beside whoever leases them */
};

/* What the journal must know of an agent. */
struct journal_agent {
    struct str name;
    const struct agent *settings; /* borrowed */
    int64_t lease_ms;
    int64_t attempts;        /* retry budget: leases that may be lost, plus one */
    int64_t queue_ms;        /* deadline in the queue; 0: none */
    int64_t run_ms;          /* deadline of the run; 0: none */
    int64_t cancel_grace_ms; /* then it is forced */
    int64_t answer_ms;       /* how long a question waits, if it does not say; 0: for ever */
    bool is_deaf;            /* its workers cannot be asked to pause */
    enum journal_fed fed;
    struct str places; /* its jobs are leased by this server, which names its places so, and
                        * go on while it is away; absent: others come for them */
    bool is_published; /* its jobs have a `published`; else it is -1 */
};

/* What may change while the journal runs.  An agent that is not named any more stays. */
struct journal_settings {
    const struct journal_agent *agents;
    size_t n_agents;
    int64_t default_expiry_seconds;
};

struct journal_options {
    struct store *store;                /* borrowed; the one that writes */
    struct breadcrumb breadcrumb;       /* of the job being folded; or not open */
    const struct journal_agent *agents; /* borrowed */
    size_t n_agents;
    int64_t default_expiry_seconds;
    int64_t history_ms;                    /* how long the ending of an expired job is kept */
    size_t max_line, max_depth, max_field; /* 0: defaults */
    size_t max_calls;                      /* that wait at a time */
    int64_t (*clock)(void *arg);           /* milliseconds since 1970 */
    /* Milliseconds that only rise; NULL: the clock is never set. */
    int64_t (*steady)(void *arg);
    void *clock_arg;
    struct journal_events events;
};

MUST_CHECK int journal_new(const struct journal_options *options,
                           struct journal **ret,
                           struct error *err);
void journal_free(struct journal *j);

/* Recovery: loads the jobs that are not final.  Before any turn.
 * Exec jobs (the agents named in @dead) lost their worker with the server. */
MUST_CHECK int journal_recover(struct journal *j,
                               const struct str *dead,
                               size_t n_dead,
                               struct error *err);

/* From any thread: one request, or a chain of them linked by `next`.  Each is answered by
 * itself, linked to nothing. */
void journal_post(struct journal *j, struct journal_request *req);
/* Withdraws a LEASE or a CALL that waits: it is answered soon, with or without a job. */
void journal_withdraw(struct journal_request *req);

/* Executes all waiting requests; true when there was anything.  Also expired leases, deadlines
 * and retention. */
bool journal_turn(struct journal *j);
/* Milliseconds until the next deadline, at most 1000; 0: it is to be called again at once. */
int64_t journal_next_ms(struct journal *j);

/* A thread of its own that does the turns. */
MUST_CHECK int journal_start(struct journal *j, struct error *err);
/* Does what is waiting and what was put off, then ends the thread. */
void journal_stop(struct journal *j);

/* From any thread: see journal/counts.h. */
const struct journal_counts *journal_counts(const struct journal *j);

#endif
