/* The journal: the durable log of all jobs, and the one owner of what a job is.
 *
 *     loops, agents ──post──▶ │ turn: begin, each request, commit │ ──▶ published, replies
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

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "ingest/event.h"
#include "jobs/job.h"
#include "jobs/lease.h"
#include "store/assistants.h"
#include "store/breadcrumb.h"
#include "store/checkpoints.h"
#include "store/items.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdint.h>

struct agent;
struct journal;
struct journal_counts;
struct journal_settings;
struct job_scope;
struct lease_link;
struct record;

/* --- requests ---------------------------------------------------------------- */

enum journal_op {
    JOURNAL_SUBMIT, /* row.id (or absent: one is made), row.agent, row.input, … */
    JOURNAL_LEASE,  /* agents, worker, wait_ms → the job, or ERR_NOT_FOUND when none came */
    JOURNAL_APPEND, /* job, key, attempt, producer_seq, bytes (whole lines) */
    JOURNAL_HEARTBEAT, /* job, key, attempt */
    JOURNAL_FINISH,    /* job, key, attempt, end, error, output; or `interrupted` */
    JOURNAL_RETURN,    /* job, key, attempt: returns the job without using up an attempt */
    JOURNAL_LOSE,   /* job, key, attempt, error: its worker is gone, as when a lease runs out */
    JOURNAL_COUNT,  /* agents → accepted: how many of their jobs wait */
    JOURNAL_CANCEL, /* job, error = the reason */
    JOURNAL_DELETE, /* job: cancelled if it is not final, then gone */
    JOURNAL_RELEASE,  /* job: it is set aside no longer, and no suspect */
    JOURNAL_SETTINGS, /* settings: in the place of those that there were */
    JOURNAL_CALL,     /* agents (one), call, named, wait_ms → output or error, when a worker
                         answers */
    JOURNAL_TAKE,     /* agents → call, if one waits, else ERR_NOT_FOUND: of the server's own
                         processes */
    JOURNAL_ANSWER_CALL,     /* call.id, output or error; neither: it is handed back */
    JOURNAL_ANSWER_QUESTION, /* job, replies, worker = who: answers to its questions */
    JOURNAL_PAUSE,           /* job: asks its worker to stop at the next step */
    JOURNAL_RESUME,          /* job */
    JOURNAL_EXPIRE,          /* job: the time for its open questions is over */
    JOURNAL_FEED, /* job, lines, worker, row.agent (absent: an unknown job is ERR_NOT_FOUND):
                     what came over its channel.  No job: all that run are still being heard */
    JOURNAL_THREAD_CREATE, /* thread_row.id, .owner, .metadata, …; if_absent */
    JOURNAL_THREAD_PATCH,  /* thread_row.id, .metadata: what is to be changed */
    JOURNAL_THREAD_COPY,   /* thread_row.id; row.id: that of the copy */
    JOURNAL_THREAD_DELETE, /* thread_row.id: with all its runs */
    JOURNAL_THREAD_THIN,   /* thread_row.id: only its newest checkpoints stay */
    /* checkpoint; job, key, attempt, or call.id: only while its caller holds that, and it is
     * about the thread checkpoint.of.thread. */
    JOURNAL_CHECKPOINT_PUT,     /* of, channels */
    JOURNAL_CHECKPOINT_WRITES,  /* of, writes */
    JOURNAL_CHECKPOINT_STATE,   /* of, state, …: with a call, the thread shows it */
    JOURNAL_CHECKPOINTS_HOLD,   /* writes nothing: may they be read? */
    JOURNAL_CHECKPOINTS_DELETE, /* all of the thread */
    /* item; with a job (key, attempt): the job's owner's, only while its caller holds it. */
    JOURNAL_ITEM_PUT,
    JOURNAL_ITEM_DELETE,
    JOURNAL_ITEM_TOUCH, /* its time begins anew → item */
    /* assistant, within `reach` */
    JOURNAL_ASSISTANT_CREATE,
    JOURNAL_ASSISTANT_PATCH,  /* one more version */
    JOURNAL_ASSISTANT_CHOOSE, /* the version that counts */
    JOURNAL_ASSISTANT_DELETE, /* with all its versions */
    JOURNAL_MARK_PUBLISHED,   /* marks: how far jobs are published to Redis */
    JOURNAL_WORKERS,          /* → workers: who holds a lease, then who waits for one */
    JOURNAL_OP_MAX
};

/* Does a worker ask for it?  Then `caller` says who that is, else `reach` what it may see. */
bool journal_op_is_workers(enum journal_op op);

/* A short question to a worker of an agent (calls.c). */
struct worker_call {
    struct str id, name, params; /* params: JSON */
    bool keeps;                  /* what was answered last will do when no worker is there */
    bool is_taken;               /* a worker has it */
    struct str taker;            /* whose it is, as the holder of a lease */
    int64_t taken;               /* since */
    bool is_answered;
};

/* Something that the params of a call name. */
struct journal_named {
    struct str id;
    bool is_thread; /* or a job without a thread, which has its own id for one; else a job */
};

/* An answer to a question of a job. */
struct journal_reply {
    struct str id;    /* of the question; absent: the only one that is open */
    struct str value; /* JSON */
    uint64_t seq;     /* the journal's: of the question */
};

/* A line that came over a job's channel (channel.c). */
struct journal_line {
    struct str text;      /* behind the text of the line before, with a newline between */
    int64_t producer_seq; /* -1: none */
    bool asks;            /* graph.interrupt, graph.paused: its last line before an answer */
    bool ends;            /* job.done, job.failed */
};

/* A worker that has a job, or waits for one. */
struct journal_worker {
    struct str worker; /* absent: it has not said who it is */
    struct str *agents;
    size_t n_agents;
    struct str job; /* absent: it waits */
    int64_t attempt, lease_until;
    int64_t seen; /* its last sign of life */
};

/* CHECKPOINT_…: what a graph saves of a thread. */
struct journal_checkpoint {
    struct checkpoint_row of; /* PUT: all of it; else its thread, and ns, id and run */
    struct channel_row *channels;
    size_t n_channels;
    struct write_row *writes;
    size_t n_writes;
    struct str state; /* JSON */
    /* Of the state, for the thread: */
    struct str values;     /* JSON; absent: none */
    struct str interrupts; /* JSON: {task: [interrupt, …], …} */
    bool is_waiting;       /* some node has still to run */
};

/* ITEM_…: in, its owner (unless it is a job's), ns and key. */
struct journal_item {
    struct item_row row; /* PUT, in: value, ttl_ms.  TOUCH, out: value, created, updated */
    bool is_found;       /* TOUCH, out */
};

/* ASSISTANT_… */
struct journal_assistant {
    struct assistant_row row; /* in: CREATE: all; PATCH: id, and what is to change; CHOOSE: id
                                 and version; DELETE: id.  Out but DELETE: the one that counts
                               */
    bool if_absent;           /* CREATE: one that is there is fine */
};

/* MARK_PUBLISHED: one job. */
struct journal_mark {
    int64_t key;       /* the job's */
    int64_t published; /* the last record that was published; -1: it needs no more */
};

/* The caller's memory, alive until `done`.  Texts in are borrowed, texts out are in `mem`. */
struct journal_request {
    struct journal_request *next; /* the journal's */
    enum journal_op op;
    /* On the journal's thread, after the commit; the request is the caller's again. */
    void (*done)(struct journal_request *req);
    void *data;
    struct arena mem; /* the caller makes and ends it */

    struct str job;
    int64_t key; /* row.key of the lease: an id that is used again is another job */
    const struct job_scope *reach; /* jobs outside of it are not found; NULL: all */
    /* Who leases jobs and works on them.  LEASE: remembered with it; else it must be the same.
     */
    struct lease_caller caller;
    bool is_unsigned; /* the lease is of an earlier version, whose leases anybody could guess */
    /* SUBMIT: jobs that its owner may have open, and queued; 0: no limit. */
    int64_t max_jobs, max_queued;
    /* SUBMIT: further jobs, made with this one or not at all; their `done` is not called. */
    struct journal_request *more;
    int64_t attempt;
    int64_t producer_seq; /* -1: none */
    struct str bytes;
    struct str worker;
    struct str request_id; /* LEASE: asking with the same one again gives the same lease, while
                              it is held; absent: every request is a new one.  A call
                              that the first one got waits again.  All callers share one name
                              space: whoever asks for somebody else says for whom in it */
    const struct str *agents; /* LEASE: the first with work, starting at a different one each
                                 time */
    size_t n_agents;
    int64_t wait_ms;
    enum job_end end;
    bool interrupted;
    bool end_of_stream; /* FINISH: the process ended without an end of the job: decide by what
                           is open */
    struct str error;
    struct str error_type;
    struct str details; /* FINISH, LOSE: of a failure, a JSON object; or absent */
    struct str phase;   /* likewise: where it failed, a literal; absent: by what ran */
    const struct journal_settings *settings; /* borrowed, with all it names, until the end */
    struct str output;                       /* FINISH, ANSWER: JSON, or absent.  CALL: out */
    struct journal_reply *replies;           /* REPLY */
    size_t n_replies;
    const struct journal_named *named; /* CALL: within `reach`, or it is refused */
    size_t n_named;
    struct str thread;                /* CALL: what it is about */
    const struct journal_line *lines; /* FEED */
    size_t n_lines;
    /* Of a thread, in and out.  SUBMIT of a run: id and is_temporary.  CANCEL, DELETE: with an
     * id the job must be a run of it. */
    struct thread_row thread_row;
    struct run_row run; /* SUBMIT: with kwargs it is a run.  LEASE: out */
    struct str resume;  /* SUBMIT: what the run answers its thread's questions with: JSON */
    int64_t delay_ms;   /* SUBMIT: it may not begin before */
    bool if_absent;     /* THREAD_CREATE: one that is there is fine.  SUBMIT: makes one */
    bool rolls_back;    /* CANCEL: as if the run had never been */
    bool takes_calls;   /* LEASE, TAKE: call.id, when it is present, is the answer instead of a
                           job */
    struct worker_call call;
    union {
        struct journal_checkpoint checkpoint;
        struct journal_item item;
        struct journal_assistant assistant;
        struct {
            const struct journal_mark *marks;
            size_t n_marks;
        };
    };

    /* Out.  ERR_NOT_FOUND, ERR_REFUSED (conflict: taken, fenced, not in that state),
     * ERR_CLOSED (the job is final), ERR_TYPE (bad value), ERR_BUSY (not stored: try again),
     * ERR_LIMIT (max_jobs, max_queued). */
    int code;
    struct error why;
    struct job_row row;    /* also in, for SUBMIT */
    bool existed;          /* SUBMIT: the same request came before */
    bool cancel;           /* APPEND, HEARTBEAT: stop the work */
    bool pause;            /* the same: stop at the next step, and finish as interrupted */
    bool expired;          /* REPLY: the question was, before the answer came */
    struct str answers;    /* LEASE: {id: value, …} to go on with; absent: it is a start.
                              REPLY, refused: the first answer */
    bool had_worker;       /* CANCEL: a worker had it */
    atomic_bool withdrawn; /* LEASE, CALL: the caller has gone; set by its thread */
    uint64_t lease_number; /* LEASE: its place among all.  RETURN, in: only unless a later one
                              has got the same lease; 0: anyway */
    uint64_t accepted, rejected;
    /* FEED: lines, by their numbers.  APPEND: 1 when its batch was stored before. */
    uint64_t repeated, missing;
    bool made; /* FEED: the job is new */
    struct journal_worker *workers;
    size_t n_workers;
    int64_t lease_ms;
    /* The journal's own: */
    int64_t deadline;
    struct lease_link *links; /* LEASE: while it waits */
};

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

int journal_new(const struct journal_options *options, struct journal **ret, struct error *err);
void journal_free(struct journal *j);

/* Recovery: loads the jobs that are not final.  Before any turn.
 * Exec jobs (the agents named in @dead) lost their worker with the server. */
int journal_recover(struct journal *j,
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
/* Milliseconds until the next deadline, at most 1000. */
int64_t journal_next_ms(struct journal *j);

/* A thread of its own that does the turns. */
int journal_start(struct journal *j, struct error *err);
/* Does what is waiting and what was put off, then ends the thread. */
void journal_stop(struct journal *j);

/* From any thread: see journal/counts.h. */
const struct journal_counts *journal_counts(const struct journal *j);

#endif
