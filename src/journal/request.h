/* A request to the journal: a small header that all have, and what its operation takes and
 * gives.
 *
 * The caller owns it, except between journal_post() and the answer.  Texts in are borrowed
 * until then, texts out are in its `mem`.  The members of an operation are marked `in` or
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
#include "store/items.h"
#include "store/store.h"

#include <stdatomic.h>

struct job_scope;
struct journal_request;
struct journal_settings;
struct lease_link;

enum journal_op {
    /* Of jobs. */
    JOURNAL_SUBMIT,          /* submit → row */
    JOURNAL_CANCEL,          /* job (thread), stop → row */
    JOURNAL_DELETE,          /* job (thread): cancelled if it is not final, then gone */
    JOURNAL_RELEASE,         /* job: it is set aside no longer, and no suspect → row */
    JOURNAL_ANSWER_QUESTION, /* job, reply → row: answers to its questions */
    JOURNAL_PAUSE,           /* job: asks its worker to stop at the next step → row */
    JOURNAL_RESUME,          /* job → row */
    JOURNAL_EXPIRE,          /* job: the time for its open questions is over → row */
    JOURNAL_FEED, /* job, feed: what came over its channel.  No job: all that run are still
                     being heard */

    /* Of workers: job and lease; `caller` must hold it.  LEASE and TAKE ask for work. */
    JOURNAL_LEASE,     /* work → row, or work.call; ERR_NOT_FOUND when none came */
    JOURNAL_APPEND,    /* append */
    JOURNAL_HEARTBEAT, /* → lease_ms, cancel, pause */
    JOURNAL_FINISH,    /* finish */
    JOURNAL_RETURN,    /* handed_back: returns the job without using up an attempt */
    JOURNAL_LOSE,      /* finish: its worker is gone, as when a lease runs out */
    JOURNAL_COUNT,     /* count: how many jobs wait */
    JOURNAL_WORKERS,   /* → workers: who holds a lease, then who waits for one */

    /* Calls: short questions to workers (calls.c). */
    JOURNAL_CALL, /* call (thread): answered when a worker has */
    JOURNAL_TAKE, /* work → work.call, if one waits, else ERR_NOT_FOUND: of the server's own
                     processes */
    JOURNAL_ANSWER_CALL, /* answer */

    /* Threads: thread is its id; new_thread → new_thread.row. */
    JOURNAL_THREAD_CREATE,
    JOURNAL_THREAD_PATCH,
    JOURNAL_THREAD_COPY,
    JOURNAL_THREAD_DELETE, /* with all its runs */
    JOURNAL_THREAD_THIN,   /* only its newest checkpoints stay */

    /* What graphs store: thread, checkpoint; job and lease, or checkpoint.call: only while its
     * caller holds that, and it is about the thread. */
    JOURNAL_CHECKPOINT_PUT,     /* of, channels */
    JOURNAL_CHECKPOINT_WRITES,  /* of, writes */
    JOURNAL_CHECKPOINT_STATE,   /* of, state, …: with a call, the thread shows it */
    JOURNAL_CHECKPOINTS_HOLD,   /* writes nothing: may they be read? */
    JOURNAL_CHECKPOINTS_DELETE, /* all of the thread */
    /* item; with a job and lease: its owner's, only while its caller holds it. */
    JOURNAL_ITEM_PUT,
    JOURNAL_ITEM_DELETE,
    JOURNAL_ITEM_TOUCH,       /* its time begins anew */
    JOURNAL_ASSISTANT_CREATE, /* assistant */
    JOURNAL_ASSISTANT_PATCH,  /* one more version */
    JOURNAL_ASSISTANT_CHOOSE, /* the version that counts */
    JOURNAL_ASSISTANT_DELETE, /* with all its versions */

    JOURNAL_MARK_PUBLISHED, /* published: how far jobs are published to Redis */
    JOURNAL_SETTINGS,       /* settings: in the place of those that there were */
    JOURNAL_OP_MAX
};

/* Does a worker ask for it?  Then `caller` says who that is, else `job_scope` what it may see.
 */
bool journal_op_is_workers(enum journal_op op);

/* --- jobs ---------------------------------------------------------------------- */

struct submit_request {
    /* In. */
    struct str id, agent, input; /* input: JSON */
    bool is_new_id;              /* the server made the id: nobody else has it */
    struct str owner;            /* absent: nobody's */
    struct str idempotency_key;  /* absent: none; unique */
    struct str request_hash;     /* of the body that came with it */
    int64_t expiry_seconds;      /* how long it is kept after its end; 0: the default */
    int64_t max_running;         /* jobs of its owner at work with which it may begin; 0: any */
    int64_t max_jobs, max_queued; /* that its owner may have open, and queued; 0: no limit */
    int64_t delay_ms;             /* it may not begin before */
    /* Further jobs, made with this one or not at all; they are not answered. */
    struct journal_request *more;
    /* Of a run of the thread of the header. */
    struct run_row run; /* with kwargs it is a run; also out */
    struct str resume;  /* what it answers its thread's questions with: JSON; or absent */
    bool makes_thread;  /* if there is none */
    bool is_temporary;  /* the thread is new, its id the server's, and it goes with the run */
    struct str asked;   /* the journal's: the thread's questions */
    /* Out. */
    bool existed; /* the same request came before */
};

struct cancel_request {
    struct str reason; /* in; absent: by user */
    bool rolls_back;   /* in: as if the run had never been */
    bool had_worker;   /* out: a worker had it */
};

/* An answer to a question of a job. */
struct journal_reply {
    struct str id;    /* of the question; absent: the only one that is open */
    struct str value; /* JSON */
    uint64_t seq;     /* the journal's: of the question */
};

/* ANSWER_QUESTION */
struct reply_request {
    struct journal_reply *replies; /* in */
    size_t n_replies;
    struct str who;   /* in: answers */
    bool expired;     /* out: the question was, before the answer came */
    struct str first; /* out, refused: the first answer */
};

/* A line that came over a job's channel (channel.c). */
struct journal_line {
    struct str text;      /* behind the text of the line before, with a newline between */
    int64_t producer_seq; /* -1: none */
    bool asks;            /* graph.interrupt, graph.paused: its last line before an answer */
    bool ends;            /* job.done, job.failed */
};

/* What became of events. */
struct events_taken {
    uint64_t accepted, rejected;
    uint64_t repeated; /* FEED: lines, by their numbers.  APPEND: 1 when it was stored before */
    uint64_t missing;  /* FEED: lines, by their numbers */
};

struct channel_request {
    const struct journal_line *lines; /* in */
    size_t n_lines;
    struct str worker;         /* in: who speaks */
    struct str agent;          /* in; absent: an unknown job is ERR_NOT_FOUND */
    struct events_taken taken; /* out */
    bool made;                 /* out: the job is new */
};

/* --- workers ------------------------------------------------------------------- */

/* A call that a worker has got. */
struct taken_call {
    struct str id; /* absent: none */
    struct str agent, name, params;
};

/* LEASE, TAKE */
struct work_request {
    /* In. */
    const struct str *agents; /* the first with work, starting at a different one each time */
    size_t n_agents;
    struct str worker;     /* who it is, for people */
    struct str request_id; /* asking with the same one again gives the same lease, while
                              it is held; absent: every request is a new one.  A call
                              that the first one got waits again.  All callers share one name
                              space: whoever asks for somebody else says for whom in it */
    int64_t wait_ms;
    bool takes_calls; /* a call may be the answer instead of a job */
    /* Out. */
    struct taken_call call;
    struct str answers; /* {id: value, …} to go on with; absent: it is a start */
    struct run_row run; /* of a run */
    uint64_t number;    /* its place among all leases */
    /* The journal's. */
    int64_t deadline;
    struct lease_link *links; /* while it waits */
};

struct append_request {
    struct str bytes;          /* in: whole lines */
    int64_t producer_seq;      /* in; -1: none */
    struct events_taken taken; /* out */
};

/* FINISH; LOSE: error, error_type, details. */
struct finish_request {
    enum job_end end;
    bool interrupted;   /* not ended: it waits for an answer, or a pause to end */
    bool end_of_stream; /* the process ended without an end of the job: decide by what is
                           open */
    struct str error, error_type;
    struct str details; /* of a failure, a JSON object; or absent */
    struct str phase;   /* where it failed, a literal; absent: by what ran */
    struct str output;  /* JSON, or absent */
};

struct return_request {
    uint64_t number; /* in: only unless a later one has got the same lease; 0: anyway */
};

struct count_request {
    const struct str *agents; /* in */
    size_t n_agents;
    uint64_t n_waiting; /* out */
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

struct workers_request {
    struct journal_worker *list; /* out */
    size_t n;
};

/* --- calls --------------------------------------------------------------------- */

/* Something that the params of a call name. */
struct journal_named {
    struct str id;
    bool is_thread; /* or a job without a thread, which has its own id for one; else a job */
};

struct call_request {
    /* In. */
    struct str agent;
    struct str id, name, params; /* params: JSON */
    int64_t wait_ms;
    const struct journal_named *named; /* within `job_scope`, or it is refused */
    size_t n_named;
    bool keeps; /* what was answered last will do when no worker is there */
    /* Out. */
    struct str output, error; /* output: JSON; one of them is absent */
    /* The journal's. */
    bool is_taken; /* a worker has it */
    bool is_answered;
    struct str taker;      /* whose it is, as the holder of a lease */
    struct str request_id; /* what the taker asked with */
    uint64_t number;       /* of the taker's request */
    int64_t taken;         /* since */
    int64_t deadline;
};

struct answer_request {
    struct str id;            /* of the call */
    struct str output, error; /* neither: it is handed back */
    uint64_t number;          /* handed back: of the request that got it */
};

/* --- threads and what graphs store --------------------------------------------- */

struct thread_request {
    struct thread_row row; /* in: CREATE: owner, metadata, …; PATCH: metadata and ttl_ms, to be
                              changed; COPY: owner.  Out: the thread */
    struct str copy;       /* COPY, in: the id of the copy */
    bool if_absent;        /* CREATE, in: one that is there is fine */
    bool existed;          /* CREATE, out */
};

/* What a graph saves of a thread. */
struct checkpoint_request {
    struct str call;          /* in: of the call that it answers; absent: `job` is its own */
    struct checkpoint_row of; /* in: PUT: all but thread and run; else ns and id */
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

struct item_request {
    struct item_row row; /* in: owner (unless it is a job's), ns, key; PUT: value, ttl_ms.
                            TOUCH, out: value, created, updated */
    bool is_found;       /* TOUCH, out */
};

struct assistant_request {
    struct assistant_row row; /* in: CREATE: all; PATCH: id, and what is to change; CHOOSE: id
                                 and version; DELETE: id.  Out but DELETE: the one that counts
                               */
    bool if_absent;           /* CREATE, in: one that is there is fine */
};

/* --- the server's own ---------------------------------------------------------- */

/* How far one job is published. */
struct journal_mark {
    int64_t key;       /* the job's */
    int64_t published; /* the last record that was; -1: it needs no more */
};

struct publish_request {
    const struct journal_mark *marks; /* in */
    size_t n_marks;
};

/* --- the request --------------------------------------------------------------- */

struct journal_request {
    struct journal_request *next; /* the journal's */
    struct loop_call loop_call;   /* answered after the commit; it is the caller's again */
    struct arena mem;             /* for the texts of the answer */
    enum journal_op op;

    /* In: what it is about, and who asks. */
    struct str job;
    struct str thread;  /* absent: none.  Of CANCEL, DELETE: the job must be a run of it */
    int64_t thread_key; /* the journal's */
    struct lease_shown lease;          /* its key: an id that is used again is another job */
    struct lease_caller caller;        /* who leases jobs and works on them */
    const struct job_scope *job_scope; /* jobs outside of it are not found; NULL: all */
    atomic_bool withdrawn;             /* LEASE, CALL: the caller has gone; set by its thread */

    /* Out, of workers' operations on a job. */
    bool cancel;      /* stop the work */
    bool pause;       /* stop at the next step, and finish as interrupted */
    int64_t lease_ms; /* LEASE: too */

    /* Out.  ERR_NOT_FOUND, ERR_REFUSED (conflict: taken, fenced, not in that state),
     * ERR_CLOSED (the job is final), ERR_TYPE (bad value), ERR_BUSY (not stored: try again),
     * ERR_LIMIT (max_jobs, max_queued). */
    int code;
    struct error why;
    struct job_row *row; /* the job, in `mem`; NULL: it was not found, or nobody asks for it */

    union {
        struct submit_request submit;
        struct cancel_request stop;
        struct reply_request reply;
        struct channel_request feed;
        struct work_request work;
        struct append_request append;
        struct finish_request finish;
        struct return_request handed_back;
        struct count_request count;
        struct workers_request workers;
        struct call_request call;
        struct answer_request answer;
        struct thread_request new_thread;
        struct checkpoint_request checkpoint;
        struct item_request item;
        struct assistant_request assistant;
        struct publish_request published;
        const struct journal_settings *settings; /* borrowed, with all it names, to the end */
    };
};

_Static_assert(sizeof(struct journal_request) <= 800, "a request is small: see request.h");

/* Its answers come to @answered on the loop of @home; see loop/loop_call.h. */
void journal_request_init(struct journal_request *req,
                          struct mailbox *home,
                          void *owner,
                          void (*answered)(struct loop_call *call));
/* Not while it is pending. */
void journal_request_done(struct journal_request *req);
/* @req, as an empty request of that kind; what the last answer held is gone. */
struct journal_request *journal_request_begin(struct journal_request *req, enum journal_op op);
static inline struct journal_request *journal_request_of(struct loop_call *call)
{
    return container_of(call, struct journal_request, loop_call);
}
/* Makes a LEASE that got a job, or a call, the request that hands it back; one that is that
 * already stays as it is. */
void journal_request_hand_back(struct journal_request *req);

#endif
