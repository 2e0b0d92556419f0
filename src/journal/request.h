/* A request to the journal: a common header, and the parameters and results of its operation.
 *
 * The caller owns it, except between journal_post() and the answer.  Input texts are borrowed
 * until then; output texts are in its `mem`.  The members of an operation are marked `in` or
 * `out`; ops.c has the table of all operations. */
#ifndef JOURNAL_REQUEST_H
#define JOURNAL_REQUEST_H

#include "base/arena.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/str.h"
#include "ingest/event.h"
#include "jobs/lease.h"
#include "loop/loop_call.h"
#include "store/assistants.h"
#include "store/checkpoints.h"
#include "store/crons.h"
#include "store/items.h"
#include "store/store.h"
#include "store/webhooks.h"

#include <stdatomic.h>

struct job_scope;
struct journal_request;
struct journal_router;
struct journal_settings;
struct lease_link;

enum journal_op {
    /* Of jobs. */
    JOURNAL_SUBMIT,          /* submit → row */
    JOURNAL_CANCEL,          /* job (thread), stop → row */
    JOURNAL_DELETE,          /* job (thread): cancels it if it is not final, then deletes it */
    JOURNAL_RELEASE,         /* job: no longer set aside, and not a suspect → row */
    JOURNAL_ANSWER_QUESTION, /* job, reply → row: answers to its questions */
    JOURNAL_PAUSE,           /* job: asks its worker to stop at the next step → row */
    JOURNAL_RESUME,          /* job → row */
    JOURNAL_EXPIRE,          /* job: expires its open questions → row */
    JOURNAL_RUN_READ,        /* job: somebody reads the stream of this run */
    JOURNAL_FEED, /* job, feed: lines from its channel.  Without a job: the channel is alive:
                     renews the leases of all its running jobs */

    /* Requests of workers: job and lease; `caller` must hold it.  LEASE and TAKE ask for
     * work. */
    JOURNAL_LEASE,     /* work → row, or work.call; ERR_NOT_FOUND when none came */
    JOURNAL_APPEND,    /* append */
    JOURNAL_HEARTBEAT, /* beat → lease_ms, cancel, pause */
    JOURNAL_FINISH,    /* finish */
    JOURNAL_RETURN,    /* handed_back: returns the job without using up an attempt */
    JOURNAL_LOSE,      /* finish: its worker is lost, as when a lease runs out */
    JOURNAL_COUNT,     /* count: how many jobs wait */
    JOURNAL_WORKERS,   /* → workers: those that hold a lease, then those that wait for one */
    JOURNAL_AGENTS,    /* → agents: the queue of each, and whether its workers can work */
    JOURNAL_REPORT,    /* report: a worker cannot work for an agent, or can again */

    /* Calls: short requests to workers (calls.c). */
    JOURNAL_CALL, /* call (thread): answered when a worker has answered */
    JOURNAL_TAKE, /* work → work.call, if one waits, else ERR_NOT_FOUND; for the server's own
                     processes */
    JOURNAL_ANSWER_CALL, /* answer */

    /* Threads: thread is its id; new_thread → new_thread.row. */
    JOURNAL_THREAD_CREATE,
    JOURNAL_THREAD_PATCH,
    JOURNAL_THREAD_COPY,
    JOURNAL_THREAD_DELETE, /* with all its runs */
    JOURNAL_THREAD_THIN,   /* deletes all but the newest checkpoints */

    /* Data of graphs: thread, checkpoint; with job and lease, or checkpoint.call: the caller
     * must hold it, and it must be about the thread. */
    JOURNAL_CHECKPOINT_PUT,     /* of, channels */
    JOURNAL_CHECKPOINT_WRITES,  /* of, writes */
    JOURNAL_CHECKPOINT_STATE,   /* of, state, …: with a call, the thread shows it */
    JOURNAL_CHECKPOINTS_HOLD,   /* writes nothing: checks whether they may be read */
    JOURNAL_CHECKPOINTS_DELETE, /* all checkpoints of the thread */
    /* item; with job and lease it belongs to the job's owner, and the caller must hold the
     * lease. */
    JOURNAL_ITEM_PUT,
    JOURNAL_ITEM_DELETE,
    JOURNAL_ITEM_TOUCH,       /* restarts its time to live */
    JOURNAL_ASSISTANT_CREATE, /* assistant */
    JOURNAL_ASSISTANT_PATCH,  /* adds a version */
    JOURNAL_ASSISTANT_CHOOSE, /* chooses the current version */
    JOURNAL_ASSISTANT_DELETE, /* with all its versions */
    JOURNAL_CRON_CREATE,      /* cron (thread) */
    JOURNAL_CRON_PATCH,
    JOURNAL_CRON_DELETE,
    JOURNAL_CRON_SKIP, /* tick: takes a tick without a run.  SUBMIT takes one with a run */
    JOURNAL_WEBHOOK,   /* webhook: changes a delivery */

    JOURNAL_MARK_PUBLISHED, /* published: how far jobs are published to Redis */
    JOURNAL_GATEWAYS,       /* gateways: processes of all others have lost their leases */
    JOURNAL_WAITERS,        /* waiters: who waits for a job of any shard at a gateway */
    JOURNAL_SETTINGS,       /* settings: replaces the current ones */
    JOURNAL_OP_MAX
};

/* For key_stable(): of ids of jobs and threads, and of idempotency keys. */
enum { JOURNAL_SPACE_IDS = 1 };

/* The shard of a new job, by its id or its idempotency key: the same on every gateway. */
int64_t journal_shard_of_new(struct str text, int64_t n_shards);

/* Is it a request of workers?  Then `caller` says who asks; else `job_scope` is what the caller
 * may see. */
bool journal_op_is_workers(enum journal_op op);

/* --- jobs ---------------------------------------------------------------------- */

/* A cron that was moved on so much later than now has a tick by a clock that was wrong. */
enum { CRON_CLOCK_WAS_WRONG_MS = 86400000 };

/* A tick of a cron; it is taken together with the run that it is for. */
struct cron_tick {
    struct str cron; /* its id; absent: none */
    int64_t due;     /* the tick; ERR_CLOSED when another request has taken it */
};

struct submit_request {
    /* In. */
    struct str id, agent, input; /* input: JSON */
    bool is_new_id;              /* the server made the id: it is unique */
    struct str owner;            /* absent: none */
    struct str idempotency_key;  /* absent: none; unique */
    struct str request_hash;     /* of the request's body */
    int64_t expiry_seconds;      /* how long it is kept after its end; 0: the default */
    int64_t max_running; /* may begin only with fewer running jobs of its owner; 0: no limit */
    int64_t max_jobs, max_queued; /* limits of the owner's open and queued jobs; 0: no limit */
    int64_t delay_ms;             /* it may not begin earlier */
    /* Further jobs, created together with this one or not at all; not answered separately. */
    struct journal_request *more;
    /* For a run of the header's thread: */
    struct run_row run; /* with kwargs it is a run; also out */
    struct str resume;  /* answers to its thread's questions: JSON; or absent */
    bool makes_thread;  /* creates the thread if it does not exist, with the run's metadata */
    bool is_temporary;  /* the thread is new, with an id made by the server, and is deleted with
                           the run */
    struct str asked;   /* used by the journal: the thread's questions */
    struct str webhook; /* the URL that is told of its end; absent: none */
    struct cron_tick tick; /* that it is for.  A refusal takes the tick, too */
    /* Out. */
    bool existed; /* the same request was made before */
};

struct cancel_request {
    struct str reason; /* in; absent: by user */
    bool rolls_back;   /* in: also undoes what the run has changed */
    bool had_worker;   /* out: a worker had it */
};

/* An answer to a question of a job. */
struct journal_reply {
    struct str id;    /* of the question; absent: the only open one */
    struct str value; /* JSON */
    uint64_t seq;     /* used by the journal: seq of the question */
};

/* ANSWER_QUESTION */
struct reply_request {
    struct journal_reply *replies; /* in */
    size_t n_replies;
    struct str who;   /* in: who answers */
    bool expired;     /* out: the question had expired before */
    struct str first; /* out, when refused: the answer that was accepted */
};

/* A line of a job's channel (channel.c). */
struct journal_line {
    struct str text;      /* directly after the previous line's text in memory, with a newline
                             between */
    int64_t producer_seq; /* -1: none */
    bool asks;            /* graph.interrupt or graph.paused: its last line before an answer */
    bool ends;            /* job.done or job.failed */
};

/* How many events were accepted. */
struct events_taken {
    uint64_t accepted, rejected;
    uint64_t repeated; /* FEED: duplicate lines, by their numbers.  APPEND: 1 when it was stored
                          before */
    uint64_t missing;  /* FEED: missing lines, by their numbers */
};

struct channel_request {
    const struct journal_line *lines; /* in */
    size_t n_lines;
    bool was_deaf;     /* in, without a job: until now no gateway listened to the channels */
    struct str worker; /* in: the sender */
    struct str agent;  /* in; absent: an unknown job is ERR_NOT_FOUND */
    struct events_taken taken; /* out */
    bool made;                 /* out: the job was created */
};

/* --- workers ------------------------------------------------------------------- */

/* A call that was given to a worker. */
struct taken_call {
    struct str id; /* absent: none */
    struct str agent, name, params;
};

/* LEASE, TAKE */
struct work_request {
    /* In. */
    const struct str *agents; /* takes from the first agent with work, starting at a different
                                 one each time */
    size_t n_agents;
    struct str worker;     /* its name, for people */
    struct str request_id; /* asking again with the same id gives the same lease, while it is
                              held; a call that the first request got waits again.  Absent:
                              every request is new.  All callers share one namespace: include
                              who asks */
    int64_t wait_ms;
    bool takes_calls; /* may be answered with a call instead of a job */
    bool looks;       /* gets nothing, but is told what it would get: see `oldest` */
    /* Out. */
    struct taken_call call;
    struct str answers; /* {id: value, …} to resume with; absent: a start */
    struct run_row run; /* if the job is a run */
    uint64_t number;    /* increases with every lease */
    int64_t oldest;     /* `looks`: since when its job is queued; 0: it holds one already, or a
                           call waits */
    /* Used by the journal: */
    int64_t deadline;
    struct lease_link *links; /* while it waits */
};

struct beat_request {
    int64_t wait_ms;  /* in: how long to wait for something to tell */
    int64_t deadline; /* used by the journal */
};

struct append_request {
    struct str bytes;          /* in: whole lines */
    int64_t producer_seq;      /* in; -1: none */
    struct events_taken taken; /* out */
};

/* FINISH; LOSE: error, error_type, details. */
struct finish_request {
    enum job_end end;
    bool interrupted;   /* not ended: it waits for an answer, or for the end of a pause */
    bool end_of_stream; /* the process exited without ending the job: the open runs decide */
    struct str error, error_type;
    struct str details; /* of a failure, a JSON object; or absent */
    struct str phase;   /* where it failed, a literal; absent: derived from the open runs */
    struct str output;  /* JSON, or absent */
};

struct return_request {
    uint64_t number; /* in: does nothing if a later request has got the same lease; 0: always */
};

struct count_request {
    const struct str *agents; /* in */
    size_t n_agents;
    uint64_t n_waiting; /* out: that may begin */
    uint64_t n_running; /* out */
    int64_t oldest_ms;  /* out: how long the oldest has waited; 0: none does */
};

/* A worker that has a job, or waits for one. */
struct journal_worker {
    struct str worker; /* absent: it has no name */
    const struct str *agents;
    size_t n_agents;
    struct str job; /* absent: it waits for one */
    int64_t attempt, lease_until;
    int64_t seen; /* its last sign of life */
};

/* Copies it with its texts.  False: out of memory. */
MUST_CHECK bool journal_worker_copy(struct arena *mem,
                                    const struct journal_worker *w,
                                    struct journal_worker *ret);

struct workers_request {
    struct journal_worker *list; /* out */
    size_t n;
};

/* An agent: its queue, and the errors that its workers have reported. */
struct journal_agent_state {
    struct str name;
    uint64_t n_waiting; /* that may begin */
    uint64_t n_running;
    int64_t oldest_ms; /* how long the oldest has waited; 0: none does */
    uint64_t n_broken; /* workers that cannot work for it */
    struct str error;  /* the newest reason; absent: none */
};

struct agents_request {
    struct journal_agent_state *list; /* out */
    size_t n;
};

struct report_request {
    struct str agent, worker; /* in */
    struct str error;         /* in; absent: the worker can work */
};

/* --- calls --------------------------------------------------------------------- */

/* An id in the params of a call. */
struct journal_named {
    struct str id;
    bool is_thread; /* a thread, or a job without one, which uses its own id; else a job */
};

struct call_request {
    /* In. */
    struct str agent;
    struct str id, name, params; /* params: JSON */
    int64_t wait_ms;
    const struct journal_named *named; /* must be in `job_scope`, else it is refused */
    size_t n_named;
    bool keeps; /* a cached answer may be used when no worker is available */
    /* Out. */
    struct str output, error; /* output: JSON; one of them is absent */
    /* Used by the journal: */
    bool is_taken; /* a worker has taken it */
    bool is_answered;
    struct str taker;      /* the worker, as the holder of a lease */
    struct str request_id; /* request_id of the worker's request */
    uint64_t number;       /* of the taker's request */
    int64_t taken;         /* when */
    int64_t deadline;
};

struct answer_request {
    struct str id;            /* of the call */
    struct str output, error; /* neither: it is returned */
    uint64_t number;          /* when returned: number of the request that got it */
};

/* --- threads and what graphs store --------------------------------------------- */

struct thread_request {
    struct thread_row row; /* in: CREATE: owner, metadata, …; PATCH: metadata and ttl_ms, to be
                              changed; COPY: owner.  Out: the thread */
    struct str copy;       /* COPY, in: the id of the copy */
    bool if_absent;        /* CREATE, in: an existing one is no error */
    bool existed;          /* CREATE, out */
};

/* A checkpoint of a thread, or a part of it. */
struct checkpoint_request {
    struct str call; /* in: id of the call that it answers; absent: it works on `job` */
    bool is_held;    /* in: the caller is known to hold the call, which is in another shard */
    struct checkpoint_row of; /* in: PUT: all but thread and run; else ns and id */
    struct channel_row *channels;
    size_t n_channels;
    struct write_row *writes;
    size_t n_writes;
    struct str state; /* JSON */
    /* Parts of the state, for the thread's row: */
    struct str values;     /* JSON; absent: none */
    struct str interrupts; /* JSON: {task: [interrupt, …], …} */
    bool is_waiting;       /* some node has not run yet */
};

struct item_request {
    struct item_row row; /* in: owner (unless it is a job's), ns, key; PUT: value, ttl_ms.
                            TOUCH, out: value, created, updated */
    bool is_found;       /* TOUCH, out */
};

struct assistant_request {
    struct assistant_row row; /* in: CREATE: all; PATCH: id, and what is to change; CHOOSE: id
                                 and version; DELETE: id.  Out but DELETE: the one that counts
                               */
    bool if_absent;           /* CREATE, in: an existing one is no error */
};

struct cron_request {
    struct cron_row row; /* in: CREATE: all but next and times; PATCH: id, and what is to
                            change; DELETE: id.  Out but DELETE: the cron */
    bool sets_end;       /* PATCH, in: end_time is given; 0 removes it */
    bool sets_enabled;   /* PATCH, in: enabled is given */
};

enum webhook_change {
    WEBHOOK_CLAIM, /* an attempt begins; until it has ended, or `ms` have passed, no other does
                    */
    WEBHOOK_SENT,
    WEBHOOK_FAILED, /* it is tried again in `ms` */
    WEBHOOK_DEAD,
    WEBHOOK_RESEND, /* by hand: it is due now, and new */
    WEBHOOK_CHANGE_MAX = WEBHOOK_RESEND
};

/* ERR_CLOSED: it has another version, is not pending, or for RESEND, its run has not ended. */
struct webhook_request {
    struct str id;              /* in */
    enum webhook_change change; /* in */
    int64_t version;            /* in: that it has; RESEND: any.  Out: its new one */
    int64_t ms;                 /* in: CLAIM, FAILED; for SENT and DEAD: how long it is kept */
    int64_t http_status;        /* in: SENT, FAILED, DEAD: of the answer; 0: none */
    struct str reason;          /* in: FAILED, DEAD */
};

/* --- the server's own ---------------------------------------------------------- */

/* How far one job is published to Redis. */
struct journal_mark {
    int64_t key;       /* of the job */
    int64_t published; /* the last published record; -1: nothing more to publish */
};

struct publish_request {
    const struct journal_mark *marks; /* in */
    size_t n_marks;
};

/* The running gateways that share the database. */
struct gateways_request {
    const struct str *ids; /* in */
    size_t n;
};

/* Lease requests that wait at a gateway, since a job may come from any shard. */
struct waiters_request {
    struct str gateway;                /* in: its id */
    const struct journal_worker *list; /* in: worker, agents; `seen`: so many ms ago */
    size_t n;
};

/* --- the request --------------------------------------------------------------- */

struct journal_request {
    struct journal_request *next; /* used by the journal */
    struct loop_call loop_call;   /* answered after the commit; then the caller owns the request
                                     again */
    struct arena mem;             /* for the texts of the answer */
    enum journal_op op;

    /* In: the subject, and the caller. */
    struct str job;
    struct str thread;  /* absent: none.  For CANCEL and DELETE: the job must be a run of it */
    int64_t thread_key; /* used by the journal */
    struct lease_shown lease;          /* with the job's key: a reused id is another job */
    struct lease_caller caller;        /* for requests of workers */
    const struct job_scope *job_scope; /* jobs outside of it are not found; NULL: all */
    atomic_bool withdrawn; /* LEASE, CALL, HEARTBEAT: the caller has disconnected; set by its
                              thread */
    bool is_forwarded;     /* another gateway has sent it: it is not sent on */
    bool is_pinned;        /* for `shard` alone, whichever its job is in */
    bool is_repeat;        /* it may have been done before, as the same operation */
    struct str operation;  /* its id, never used again; absent: the request is not sent again */
    struct journal_router *router; /* sees the answer first; NULL: none */

    /* Out, for requests of workers about a job. */
    bool cancel;      /* stop the work */
    bool pause;       /* stop at the next step, and finish as interrupted */
    int64_t lease_ms; /* also for LEASE */

    /* Out.  ERR_NOT_FOUND, ERR_REFUSED (conflict: taken, fenced, not in that state),
     * ERR_CLOSED (the job is final), ERR_TYPE (bad value), ERR_BUSY (not stored: try again),
     * ERR_LIMIT (max_jobs, max_queued).  ERR_MOVED: it was forwarded, and this gateway does not
     * own the jobs.  ERR_ELSEWHERE: `shard` has the job, or the thread. */
    int code;
    struct error why;
    int64_t shard;       /* in, if it is pinned; out, for ERR_ELSEWHERE */
    struct job_row *row; /* the job, in `mem`; NULL: not found, or the operation does not return
                            it */

    union {
        struct submit_request submit;
        struct cancel_request stop;
        struct reply_request reply;
        struct channel_request feed;
        struct work_request work;
        struct beat_request beat;
        struct append_request append;
        struct finish_request finish;
        struct return_request handed_back;
        struct count_request count;
        struct workers_request workers;
        struct agents_request agents;
        struct report_request report;
        struct call_request call;
        struct answer_request answer;
        struct thread_request new_thread;
        struct checkpoint_request checkpoint;
        struct item_request item;
        struct assistant_request assistant;
        struct cron_request cron;
        struct cron_tick tick;
        struct webhook_request webhook;
        struct publish_request published;
        struct gateways_request gateways;
        struct waiters_request waiters;
        const struct journal_settings *settings; /* borrowed, with all that it points to, as
                                                    long as the journal */
    };
};

_Static_assert(sizeof(struct journal_request) <= 872, "a request is small: see request.h");

/* @answered gets its answers on the loop of @home; see loop/loop_call.h. */
void journal_request_init(struct journal_request *req,
                          struct mailbox *home,
                          void *owner,
                          void (*answered)(struct loop_call *call));
/* Not while it is pending. */
void journal_request_done(struct journal_request *req);
/* Makes @req an empty request of that kind; frees the last answer. */
struct journal_request *journal_request_begin(struct journal_request *req, enum journal_op op);
static inline struct journal_request *journal_request_of(struct loop_call *call)
{
    return container_of(call, struct journal_request, loop_call);
}
/* Who has posted a request to one of several shards. */
struct journal_router {
    /* The request was done.  True: it is not answered, but the router's again.  On the thread
     * that answers. */
    bool (*answered)(struct journal_router *router, struct journal_request *req);
};
/* For whoever has done the request: answers it. */
void journal_request_answer(struct journal_request *req);
/* Turns a LEASE that got a job or a call into the request that returns it; does nothing if it
 * is one already. */
void journal_request_hand_back(struct journal_request *req);

#endif
