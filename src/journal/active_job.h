/* A job in the journal's memory: its row, its fold, and what this turn did to it.
 *
 * Internal to journal/; the journal's thread only. */
#ifndef JOURNAL_ACTIVE_JOB_H
#define JOURNAL_ACTIVE_JOB_H

#include "base/buf.h"
#include "base/table.h"
#include "base/thread_owner.h"
#include "journal/agent_counts.h"
#include "journal/counts.h"
#include "journal/gather.h"
#include "journal/known.h"
#include "journal/wanted.h"
#include "journal/journal.h"
#include "journal/call_cache.h"
#include "journal/worker_errors.h"
#include "record/record.h"
#include "store/batch.h"

struct fold;
struct intake;
struct job_ending;
struct rebuild;

enum {
    ROW_EVERY_MS = 1000,
    CHUNK_BYTES = 1900, /* two rows to a page */
    /* Of records: a turn with more flushes before its end. */
    FLUSH_BYTES = 8 * 1024 * 1024,
    FLUSH_REMOTE_BYTES = 32 * 1024 /* another process stores these while the turn goes on */
};

struct active_job {
    struct active_job *next_touched;
    struct active_job *prev, *next; /* in its agent's queue, or its owner's, while queued */
    int64_t queued_at;              /* when it was put there; recovered: when it was made */
    struct owner *owner;            /* NULL: no owner */
    bool held;                      /* it is in its owner's queue */
    struct thread *thread;          /* NULL: not a run of a thread */
    struct active_job *next_run;    /* next run of the same thread */
    struct job_row row;             /* texts owned; without the input */
    enum job_state state;
    const struct journal_agent *agent; /* borrowed; NULL: no longer configured */
    struct journal *journal;           /* borrowed */
    struct fold *fold;                 /* NULL: to be rebuilt when needed */
    int fold_error;                    /* why it could not be rebuilt for this turn */
    int64_t force_at;      /* when a cancel that the worker ignores is forced; 0: none */
    uint64_t lease_number; /* of the last request that got this lease */
    struct journal_request *beats; /* heartbeats that wait; see beats.c */
    int64_t leased_at;             /* when this attempt began; 0: before this gateway wrote */
    /* This turn: */
    bool touched, deleted, cancel_news, pause_news, state_news;
    bool queue_news;      /* it may begin now, which was not announced yet */
    bool changed;         /* its row is stored with the turn */
    int64_t behind_since; /* since when the stored row is out of date; 0: it is not */
    uint64_t told_seq;    /* the last record that was published */
    int64_t lost_attempt; /* the attempt whose worker was a process of the crashed server; 0:
                             none */
    bool is_unproven;     /* it was open when the last writer crashed: see suspects.c */
    bool is_unsigned;     /* leased by an earlier version, without a signature: the lease is no
                             longer valid */
    uint64_t damaged;     /* its first damaged record; 0: none */
    bool stale;           /* a failed turn touched it, and it could not be read again yet */
    bool is_untold;       /* nobody is told of its end: it has no webhook; else it may have one
                           */
    bool capture;         /* a reader wants its records as they are made */
    struct record **records;
    size_t n_records, cap_records;
    struct question_news *questions, **last_question; /* in the journal's `mem` */
};

/* Records of one job that will be one row of the store: the end of the batch's `records`. */
struct record_chunk {
    struct active_job *job; /* NULL: none */
    size_t from;            /* offset in batch.records */
};

/* Keys for new rows that are reserved and not used yet. */
struct key_block {
    int64_t next;
    size_t left;
};

struct queue {
    struct active_job head; /* a ring of jobs, oldest first */
    size_t n;
    size_t n_asked;   /* lease requests of this turn that name the agent; while wants are
                         collected */
    size_t n_running; /* of an agent: its jobs with a worker */
    bool has_news;    /* of an agent: held jobs were added, which was not announced yet */
};

/* A lease request in a list of waiting ones: of all agents, or of one. */
struct lease_link {
    struct lease_link *prev, *next; /* a ring; NULL: in no list */
    struct journal_request *req;
};

/* An owner with open jobs. */
struct owner {
    struct key key;
    size_t n_jobs, n_queued, n_running;
    struct queue held; /* jobs that must wait, because the owner has too many running */
    int64_t tried;     /* when owners_try_again() has released them */
    size_t name_n;
    char name[];
};

/* A thread with runs that have not ended. */
struct thread {
    struct key key;
    struct journal *journal;  /* borrowed */
    struct active_job *first; /* by ordinal; including runs that ended in this turn */
    struct thread_row row;    /* texts owned; without its values */
    bool has_row;             /* else it is read when needed */
};

struct journal {
    struct thread_owner owner;
    struct journal_options opt;
    uint64_t commit_us;           /* duration of the last commit */
    bool has_begun;               /* the transaction of the next turn */
    struct table active_jobs;     /* id, and request id of the lease -> struct active_job */
    struct table owners;          /* of active jobs -> struct owner */
    struct table threads;         /* of active jobs -> struct thread */
    size_t n_running, n_queued;   /* jobs */
    size_t n_set_aside;           /* not counted in these two */
    struct queue *queues;         /* one per agent, same index */
    struct journal_agent *agents; /* owned; equal to opt.agents after a reload, NULL before */
    size_t lease_turn;            /* the agent whose queue is tried first */
    uint64_t n_leases;            /* lease requests so far */
    struct active_job *touched;
    struct intake *intake;
    struct agent *fallback;   /* owned; for jobs whose agent is no longer configured */
    struct store_batch batch; /* the writes of this turn */
    struct wanted wanted;     /* the rows that it must read */
    struct known known;       /* the rows that it has read */
    bool has_leases;          /* the turn has lease requests */
    bool is_changed;          /* the turn has changed something that requests may depend on */
    bool is_late, was_late;   /* something must wait for the next turn, which reads its rows */
    struct journal_request *put_off; /* requests that were put off, oldest first */
    uint64_t put_off_since_us;       /* when the oldest of them arrived */
    /* After the crash of another writer: see suspects.c. */
    struct {
        size_t n_unproven;      /* jobs */
        struct active_job *now; /* the one that this turn folds; NULL: none */
        int64_t left;           /* that writer had named this job; 0: none */
        bool is_named;          /* the store has a name that is to be removed */
    } caution;
    struct record_chunk chunk;
    struct key_block keys[STORE_KEYS_MAX];
    struct json_reader reader;
    int64_t now;       /* see clock.c */
    int64_t offset;    /* add it to the steady clock to get `now` */
    int64_t noted;     /* the time that was last stored */
    int64_t next_look; /* next check of leases and deadlines */
    int64_t last_turn; /* when it began: during a turn no requests are received */
    /* No requests could be handled before this time: commits failed, or the process was
     * suspended. */
    int64_t heard_since;
    int64_t next_expire;
    int64_t next_thread; /* next check for expired threads */
    int64_t next_owners; /* next owners_try_again() */
    bool turn_failed;
    bool settling;        /* the last turn: all changed rows are stored */
    bool stuck;           /* commits fail, and that was reported */
    int64_t failed_at;    /* time of the last failed turn */
    unsigned n_conflicts; /* turns one after another that another transaction was in the way of
                           */
    struct error failure;
    struct lease_link leases;        /* waiting lease requests, oldest first; see waiting.c */
    struct lease_link *agent_leases; /* the same, one ring per agent, same index */
    size_t n_waiting_leases;
    struct journal_request *calls;  /* waiting calls, oldest first */
    struct journal_request *takers; /* requests that take calls; answered with the turn */
    size_t n_calls;
    struct call_cache kept; /* cached answers to calls */
    struct worker_errors worker_errors;
    struct gateway_waiters *waiters; /* owned; see waiters.c */
    struct active_job **all;         /* every active job, for the checks of time */
    size_t n_all, cap_all;
    struct arena mem; /* of this turn */
    struct buf gone;  /* ids of final jobs that this turn has deleted, NUL-terminated */
    struct journal_counts counts;
    struct agent_counts agent_counts;
    struct tally tally; /* of this turn */
    uint64_t since_us;  /* when the oldest request of this turn arrived; 0: there is none */
    struct operation *operations; /* of this turn, to be stored; see operations.c */
    struct operation *repeated;   /* that it has found stored */
    uint64_t bad_lines;
    struct error bad_why;
    struct error bad_question; /* invalid question of the job being fed; code 0: none */
    uint64_t bad_line;
    struct inbox *inbox; /* owned; see inbox.h */
};

/* --- active_job.c ------------------------------------------------------------------ */

struct active_job *active_job_find(struct journal *j, struct str id);
/* The job whose lease was asked for with @request_id. */
struct active_job *active_job_find_lease(struct journal *j, struct str request_id);
/* Sets the request id of its lease (absent: none, or the lease has ended). */
int active_job_set_request(struct active_job *job, struct str request_id);
/* Adds a job for @row; copies the texts. */
int active_job_add(struct journal *j, const struct job_row *row, struct active_job **ret);
/* Removes it from memory. */
void active_job_remove(struct active_job *job);
/* The job takes part in this turn.  Changes by a worker's sign of life (end of the lease, last
 * batch) are stored with its row within ROW_EVERY_MS: recovery does not need them. */
void active_job_touch(struct active_job *job);
/* The same, and its row is stored with the turn. */
void active_job_change(struct active_job *job);
/* Records the number of its last batch. */
void active_job_took_batch(struct active_job *job, int64_t batch, bool with_records);
/* Ends the open record chunk; later records go to another row of the store. */
int journal_end_chunk(struct journal *j);
int active_job_set_text(struct str *place, struct str text);
/* May the store have questions of this job? */
bool active_job_has_asked(const struct active_job *job);
/* Its fold, which was wanted (wants.c) before the turn, or is new. */
int active_job_fold(struct active_job *job, struct fold **ret);
/* Changes the state if the table of moves allows it, else ERR_REFUSED. */
int active_job_move(struct active_job *job, enum job_state to);
/* Ends the job: closes open runs, and adds the terminal record and the state. */
int active_job_end(struct active_job *job, const struct job_ending *ending);
/* The same without an output. */
int active_job_finish(struct active_job *job,
                      enum job_end end,
                      struct str error,
                      struct str type);
/* Takes over the final state that the worker's own event has put into the log. */
int active_job_follow_fold(struct active_job *job);
/* Its worker is lost: requeues the job if it has attempts left, else fails it.  If it has asked
 * a question, its attempt counts as finished and is not used up. */
int active_job_lose_worker(struct active_job *job, struct str why, struct str type);
int active_job_lose(struct active_job *job, const struct job_ending *ending);
/* The same without using up an attempt, as when a worker returns it. */
int active_job_requeue(struct active_job *job, struct str why);
/* The turn has ended: clears what it did to the job. */
void active_job_end_turn(struct active_job *job);
/* Sets it aside since @since; 0: releases it. */
void active_job_set_aside(struct active_job *job, int64_t since);
/* The turn failed: reads the job from the store again; removes it when it is not there. */
void active_job_reload(struct active_job *job);

const struct journal_agent *journal_agent_of(const struct journal *j, struct str name);

/* Rebuilds a fold from records that are read before the turn (known.c): begins, takes each
 * record, and ends, complete or not; then the job has its fold.  At the end of the turn, a fold
 * that was not needed is freed. */
struct rebuild *rebuild_begin(struct active_job *job); /* NULL: not possible now */
int rebuild_record(struct rebuild *r, uint64_t seq, struct str stored);
void rebuild_end(struct rebuild *r, bool is_complete);
void rebuild_done(const struct rebuild *r);

/* --- wants.c ----------------------------------------------------------------- */

/* Collects the rows that the requests, and deadlines, may need: see known.h. */
void wants_collect(struct journal *j, const struct journal_request *list);
/* The rows that a deadline of this job may need. */
void wants_of_time(struct active_job *job);
/* The rows that the deletion of the thread, with its runs, needs. */
void wants_of_thread(struct journal *j, int64_t thread);
/* Are all rows known that the request may need now?  The next functions ask the same for a
 * deadline of the job, for leasing it, and for deleting the thread. */
bool wants_are_known(struct journal *j, const struct journal_request *req);
bool wants_of_time_are_known(struct active_job *job);
bool wants_of_lease_are_known(struct active_job *job);
bool wants_of_thread_are_known(struct journal *j, int64_t thread);

/* --- beats.c ----------------------------------------------------------------- */

bool journal_heartbeat(struct journal *j, struct journal_request *req);
/* Answers waiting heartbeats that this turn has news for; at times also those that have waited
 * long enough. */
void beats_serve(struct journal *j, bool is_time, struct journal_request **answered);
/* Takes the waiting ones out of the job. */
struct journal_request *beats_take(struct active_job *job);
/* The job leaves the memory: they are executed again, without waiting. */
void beats_orphaned(struct active_job *job);

/* --- owner.c ----------------------------------------------------------------- */

/* NULL: it has no active jobs. */
const struct owner *owner_find(const struct journal *j, struct str name);
/* Counts a new job for its owner, or removes it from the count. */
int owner_join(struct active_job *job);
void owner_leave(struct active_job *job);
/* May the job begin, within the owner's limit? */
bool owner_has_room(const struct active_job *job);
/* A job of the owner no longer runs: held jobs that may begin now move to their agents'
 * queues. */
void owner_release(struct owner *o); /* may be NULL */
/* The owner's open jobs in other shards, if this turn has read them; else none. */
struct owner_counts owner_others(const struct journal *j, struct str name);
/* Of several shards: now and then, held jobs are tried again, since jobs of other shards may
 * have ended. */
void owners_try_again(struct journal *j);
/* At the end of a turn, stored or not: announces these jobs to workers. */
void owners_tell(struct journal *j);

/* --- suspects.c -------------------------------------------------------------- */

/* If the job is set aside: refuses the request, and returns true. */
bool suspects_refuse(const struct active_job *job, struct journal_request *req);
/* After a crash: was this job being folded?  Changes the row, before it is added. */
void suspects_take(struct journal *j, struct job_row *row);
/* After it was added. */
void suspects_added(struct active_job *job);
/* After all jobs are added: stores what suspects_take has changed, and reports it. */
void suspects_recovered(struct journal *j);
/* Before the jobs are added: what has the writer before left behind? */
void suspects_look_behind(struct journal *j);
/* Leaves in the list the requests that fold at most one unproven job, and puts off the rest. */
void suspects_cut(struct journal *j, struct journal_request *list);
/* Before the turn begins: stores the name of that job.  */
int suspects_name(struct journal *j);
/* In the turn's transaction: removes the name. */
int suspects_remove_name(struct journal *j);
/* The turn is stored. */
void suspects_stored(struct journal *j);
/* The job is no longer in memory. */
void suspects_forget(struct active_job *job);
void journal_release(struct journal *j, struct journal_request *req);

/* --- queue.c ----------------------------------------------------------------- */

void queue_init(struct queue *q);
/* Puts it into its agent's queue, or its owner's; into none when its agent is not
 * configured. */
void active_job_enqueue(struct active_job *job);
void active_job_dequeue(struct active_job *job);

/* --- agents.c ---------------------------------------------------------------- */

/* An empty queue for each agent. */
struct queue *journal_queues_new(size_t n_agents);
void journal_set_settings(struct journal *j, struct journal_request *req);

/* --- questions.c ------------------------------------------------------------- */

/* Clears this turn's changes of its questions. */
void questions_forget(struct active_job *job);
/* Its fold has emitted a question. */
int questions_asked(struct active_job *job, const struct record *rec);
/* Its fold has emitted a pause. */
void questions_paused(struct active_job *job);
/* Its fold has emitted that the job resumes, whatever the reason. */
int questions_passed(struct active_job *job, const struct record *rec);
/* A question was answered, or the job has just begun to wait: resumes it if no question is
 * open. */
int questions_go_on(struct active_job *job);
/* The first deadline of its questions has passed. */
int questions_expire(struct active_job *job);
void journal_expire_questions(struct active_job *job, struct journal_request *req);
/* For a lease: the answers with which the job resumes. */
int questions_put_answers(struct active_job *job, struct journal_request *req);
void journal_reply(struct journal *j, struct journal_request *req);
void journal_pause(struct active_job *job, struct journal_request *req);
void journal_resume(struct active_job *job, struct journal_request *req);

/* The job resumes, with answers that were given elsewhere and are not known here. */
int questions_answered_elsewhere(struct active_job *job);

/* --- channel.c --------------------------------------------------------------- */

void journal_feed(struct journal *j, struct journal_request *req);
/* May messages of the job be lost while no gateway listens to its channel? */
bool journal_may_miss_messages(const struct active_job *job);

/* --- runs.c ------------------------------------------------------------------ */

/* Adds a new job to its thread, or removes it. */
int runs_join(struct active_job *job);
void runs_leave(struct active_job *job);
/* The runs of the thread with this key, linked by next_run. */
struct active_job *runs_first(const struct journal *j, int64_t thread);
/* A thread with open runs; it can be found by id only when its row is known.  NULL: none. */
struct thread *runs_thread(const struct journal *j, int64_t key);
struct thread *runs_thread_by_id(const struct journal *j, struct str id);
/* Keeps a copy of its row; ERR_NOMEM. */
int thread_keep_row(struct thread *t, const struct thread_row *row);
/* A turn has failed: rows in memory may differ from the store. */
void runs_forget_rows(struct journal *j);
/* May the run begin?  Not before its time, nor while another run of its thread is running or
 * comes first. */
bool runs_may_begin(const struct active_job *job);
/* Puts it into its queue, if it may begin and is not there yet. */
void runs_release(struct active_job *job);
/* Its fold has emitted a record that may contain the graph's state. */
int runs_saw(struct active_job *job, const struct record *rec);
/* The run has ended: updates its thread. */
int runs_ended(struct active_job *job);

/* --- threads.c --------------------------------------------------------------- */

/* The thread @id, if the caller may see it, with its texts in the request's memory.  False when
 * the request was refused. */
bool journal_thread_of(struct journal *j,
                       struct journal_request *req,
                       struct str id,
                       struct thread_row *ret);
/* Is @id in use by a job (or by a thread)?  Then the request was refused: see threads.c. */
bool jobs_have(struct journal *j, struct journal_request *req, struct str id);
bool threads_have(struct journal *j, struct journal_request *req, struct str id);
/* May the run enter the thread?  Reads @ret_thread; its key is 0 when it has to be created.
 * False when the request was refused. */
bool threads_may_enter(struct journal *j,
                       struct journal_request *req,
                       struct thread_row *ret_thread);
/* Applies the run's multitask strategy, and gives @row its ordinal. */
int threads_enter(struct journal *j,
                  struct journal_request *req,
                  struct thread_row *thread,
                  struct job_row *row);
/* After the job was created. */
int threads_entered(struct active_job *job, struct journal_request *req);
/* Deletes expired threads, a few at a time. */
void threads_expire(struct journal *j);
void journal_thread_create(struct journal *j, struct journal_request *req);
void journal_thread_patch(struct journal *j, struct journal_request *req);
void journal_thread_copy(struct journal *j, struct journal_request *req);
void journal_thread_delete(struct journal *j, struct journal_request *req);
void journal_thread_thin(struct journal *j, struct journal_request *req);

/* --- ops.c ------------------------------------------------------------------- */

/* The turn cannot be stored. */
void journal_fail_turn(struct journal *j, const struct error *why);
/* Refuses a request before anything was written. */
#define refuse(req, code_, ...) \
    ((void)((req)->code = error_set(&(req)->why, (code_), __VA_ARGS__)))
/* An error after something was written: fails the turn. */
void journal_broke(struct journal *j, struct journal_request *req, int code);
/* A write of other rows than a job's ended with @code; `why` has the reason.  An error of the
 * rows themselves refuses the request and has changed nothing; any other error fails the
 * turn. */
void journal_wrote(struct journal *j, struct journal_request *req, int code);
/* Does the job exist, and may the caller see it? */
bool journal_is_visible(const struct journal_request *req, const struct job_row *row);
/* Is it not this journal's?  Then the request was refused: it goes there. */
bool journal_is_elsewhere(const struct journal *j, struct journal_request *req, int64_t shard);
/* Refuses: there is no such job, or the caller may not see it. */
void journal_not_found(struct journal_request *req);
/* The job of a request; for a final job ERR_CLOSED, with its row.  journal_job_of also refuses
 * a job that is set aside. */
struct active_job *journal_find_job(struct journal *j, struct journal_request *req);
struct active_job *journal_job_of(struct journal *j, struct journal_request *req);
void journal_answer_row(struct journal *j,
                        struct journal_request *req,
                        const struct job_row *row);
/* Also answers with the row of its run. */
int journal_answer_run(struct journal *j,
                       int64_t key,
                       struct journal_request *req,
                       struct run_row *ret);
/* Cancels the job, on request. */
int journal_stop_job(struct active_job *job, struct str reason);
/* Deletes the job with this turn.  @job is NULL when it had ended before.  Uses id, key and
 * thread of @row. */
int journal_remove_job(struct journal *j, struct active_job *job, const struct job_row *row);
/* Executes one request.  True when it waits (a lease) and will be answered later. */
bool journal_do(struct journal *j, struct journal_request *req);

/* --- submit.c ---------------------------------------------------------------- */

void journal_submit(struct journal *j, struct journal_request *req);

/* --- leases.c ---------------------------------------------------------------- */

/* The job of a request whose caller must hold the lease; NULL: the request was refused. */
struct active_job *journal_leased_job(struct journal *j, struct journal_request *req);
int64_t active_job_lease_ms(const struct active_job *job);
/* A sign of life of the worker: renews the lease. */
void journal_renew(struct active_job *job);
/* Puts into the answer what the worker must be told: cancel, pause. */
void journal_answer_lease(struct active_job *job, struct journal_request *req);
/* Starts an attempt: the job is running from now on, by that worker. */
int journal_begin_attempt(struct active_job *job,
                          struct str worker,
                          struct str holder,
                          struct str request_id);
/* The job that the request would get; NULL: none. */
struct active_job *journal_next_for(struct journal *j, const struct journal_request *req);
/* True when it waits; false when it got a job, or was refused. */
bool journal_lease(struct journal *j, struct journal_request *req);
/* Gives queued jobs to waiting lease requests, the oldest first. */
void journal_serve_leases(struct journal *j, struct journal_request **answered);
/* The same, and answers requests whose time is over or whose callers have disconnected. Checks
 * all waiting requests. */
void journal_look_at_leases(struct journal *j, struct journal_request **answered);
void journal_hand_back(struct active_job *job, struct journal_request *req);
void journal_lose(struct active_job *job, struct journal_request *req);
void journal_count_waiting(struct journal *j, struct journal_request *req);

/* --- waiting.c --------------------------------------------------------------- */

int waiting_init(struct journal *j);
/* Adds it at the end of its lists.  ERR_NOMEM: it does not wait. */
int waiting_add(struct journal *j, struct journal_request *req);
void waiting_remove(struct journal *j, struct journal_request *req);
/* NULL: no (more) requests. */
struct journal_request *waiting_first(const struct journal *j);
struct journal_request *waiting_after(const struct journal *j,
                                      const struct journal_request *req);
/* The oldest request that names the agent of this index. */
struct journal_request *waiting_first_of(const struct journal *j, size_t agent);
/* How many requests name the agent of this index, up to @most. */
size_t waiting_count_of(const struct journal *j, size_t agent, size_t most);
/* The oldest request that names @agent and takes calls. */
struct journal_request *waiting_for_call(const struct journal *j, struct str agent);
/* The agents have changed: takes over @rings, made by waiting_rings_new. */
struct lease_link *waiting_rings_new(size_t n_agents);
void waiting_set_rings(struct journal *j, struct lease_link *rings);

/* --- append.c ------------------------------------------------------------------ */

/* Feeds lines of its worker to the fold; j->bad_lines counts the malformed ones. */
int journal_take_bytes(struct active_job *job, struct str bytes, uint64_t *ret_events);
void journal_append(struct active_job *job, struct journal_request *req);
/* The worker has stopped: the job waits for an answer or for the end of a pause; or it has
 * ended. */
int journal_wait_for_answer(struct active_job *job, bool interrupted);
/* The same for a worker that was lost after its question. */
int journal_stop_at_question(struct active_job *job);
void journal_finish(struct active_job *job, struct journal_request *req);

/* --- checkpoints.c ----------------------------------------------------------- */

void journal_checkpoint_put(struct journal *j, struct journal_request *req);
void journal_checkpoint_writes(struct journal *j, struct journal_request *req);
void journal_checkpoint_state(struct journal *j, struct journal_request *req);
void journal_checkpoints_hold(struct journal *j, struct journal_request *req);
void journal_checkpoints_delete(struct journal *j, struct journal_request *req);

/* --- items.c ----------------------------------------------------------------- */

void journal_item_put(struct journal *j, struct journal_request *req);
void journal_item_delete(struct journal *j, struct journal_request *req);
void journal_item_touch(struct journal *j, struct journal_request *req);
/* The owner of the items that the worker of a job writes. */
struct str journal_item_owner(const struct active_job *job);

/* --- assistants.c ------------------------------------------------------------ */

void journal_assistant_create(struct journal *j, struct journal_request *req);
void journal_assistant_patch(struct journal *j, struct journal_request *req);
void journal_assistant_choose(struct journal *j, struct journal_request *req);
void journal_assistant_delete(struct journal *j, struct journal_request *req);

/* --- webhooks.c --------------------------------------------------------------- */

void journal_webhook(struct journal *j, struct journal_request *req);
/* Stores the delivery of a new run, which waits for its end. */
int webhooks_submitted(struct active_job *job, const struct journal_request *req);
/* The run has ended: its delivery, if it has one, is pending.  @error: JSON, or absent. */
int webhooks_ended(struct active_job *job, struct str error);

/* --- crons.c ------------------------------------------------------------------ */

void journal_cron_create(struct journal *j, struct journal_request *req);
void journal_cron_patch(struct journal *j, struct journal_request *req);
void journal_cron_delete(struct journal *j, struct journal_request *req);
void journal_cron_skip(struct journal *j, struct journal_request *req);
/* May the run of a tick be created?  False: it was refused. */
bool crons_may_tick(struct journal *j, struct journal_request *req);
/* After the run was created or refused: takes the tick. */
void crons_ticked(struct journal *j, struct journal_request *req);

/* --- calls.c ----------------------------------------------------------------- */

/* True when it waits; false when it was refused. */
bool journal_call(struct journal *j, struct journal_request *req);
void journal_answer(struct journal *j, struct journal_request *req);
/* Does a call wait that this lease request may get? */
bool journal_has_call_for(const struct journal *j, const struct journal_request *lease);
/* The request waits for the end of the turn. */
bool journal_take(struct journal *j, struct journal_request *req);
/* The call @id that the caller of @req has taken; NULL: none. */
const struct journal_request *journal_taken_call(struct journal *j,
                                                 struct str id,
                                                 const struct journal_request *req);
/* A call was given to an earlier request with the request_id of @lease, and did not arrive. */
void journal_lost_call(struct journal *j, const struct journal_request *lease);
/* Gives calls to waiting lease requests, and answers to callers. */
void journal_serve_calls(struct journal *j, struct journal_request **answered);

/* --- workers.c --------------------------------------------------------------- */

void journal_workers(struct journal *j, struct journal_request *req);
void journal_agent_states(struct journal *j, struct journal_request *req);
void journal_report(struct journal *j, struct journal_request *req);

/* --- waiters.c --------------------------------------------------------------- */

void journal_waiters(struct journal *j, struct journal_request *req);
/* Adds those who wait at gateways to the list of workers, up to @max in all.  False: out of
 * memory. */
bool waiters_put(struct journal *j, struct journal_request *req, size_t max);
void waiters_forget(struct journal *j);

/* --- clock.c ----------------------------------------------------------------- */

/* The current time. */
int64_t journal_time(const struct journal *j);
/* Sets the clock, before anything is read from the store. */
int journal_start_clock(struct journal *j, struct error *err);
/* Follows the wall clock when it was set. */
void journal_follow_clock(struct journal *j);
/* Stores the current time, now and then. */
int journal_note_time(struct journal *j);

/* --- time.c ------------------------------------------------------------------ */

/* Before the turn: wants the rows that deadlines of jobs and threads may need. */
void journal_want_time(struct journal *j);
/* Checks deadlines, and workers without a sign of life.  True when a check was due. */
bool journal_look_at_time(struct journal *j);
/* Retention, a few rows at a time. */
void journal_expire(struct journal *j);

/* --- gateways.c -------------------------------------------------------------------- */

/* Does a process of a gateway hold the lease? */
bool journal_has_gateway(const struct job_row *row);
void journal_gateways(struct journal *j, struct journal_request *req);

/* --- operations.c ------------------------------------------------------------------ */

/* Before the first request: looks for repeats in the store. */
int operations_read(struct journal *j, const struct journal_request *list);
/* True: it was done before, and has its answer. */
bool operations_repeated(struct journal *j, struct journal_request *req);
/* It was done: its answer is kept. */
void operations_keep(struct journal *j, struct journal_request *req);
int operations_store(struct journal *j);

#endif
