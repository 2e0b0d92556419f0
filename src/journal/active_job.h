/* A job in the journal's memory: its row, its fold, and what this turn did to it.
 *
 * Internal to journal/; the journal's thread only. */
#ifndef JOURNAL_ACTIVE_JOB_H
#define JOURNAL_ACTIVE_JOB_H

#include "base/buf.h"
#include "base/table.h"
#include "base/thread_owner.h"
#include "journal/counts.h"
#include "journal/gather.h"
#include "journal/known.h"
#include "journal/wanted.h"
#include "journal/journal.h"
#include "journal/call_cache.h"
#include "record/record.h"
#include "store/batch.h"

struct fold;
struct intake;
struct job_ending;
struct rebuild;

enum {
    ROW_EVERY_MS = 1000,
    CHUNK_BYTES = 1900,           /* two rows to a page */
    FLUSH_BYTES = 8 * 1024 * 1024 /* of records: a turn with more does not wait for its end */
};

struct active_job {
    struct active_job *next_touched;
    struct active_job *prev, *next; /* in its agent's queue, or its owner's, while queued */
    struct owner *owner;            /* NULL: nobody's */
    bool held;                      /* it is in its owner's queue */
    struct thread *thread;          /* NULL: it is no run of one */
    struct active_job *next_run;    /* of the same thread */
    struct job_row row;             /* texts owned; without the input */
    enum job_state state;
    const struct journal_agent *agent; /* borrowed; NULL: no longer configured */
    struct journal *journal;           /* borrowed */
    struct fold *fold;                 /* NULL: to be rebuilt when needed */
    int fold_error;                    /* why it could not be rebuilt for this turn */
    int64_t force_at;                  /* a cancel that was not obeyed is forced then; 0: no */
    uint64_t lease_number;             /* of the last request that got its lease */
    /* This turn: */
    bool touched, deleted, cancel_news, pause_news, state_news;
    bool queue_news;      /* it may begin now, which was not told yet */
    bool changed;         /* its row is stored with the turn */
    int64_t behind_since; /* the stored row lacks what happened since; 0: nothing */
    uint64_t told_seq;    /* the last record that was published */
    int64_t lost_attempt; /* its worker was a process of the server that went down; 0: no */
    bool is_unsigned;     /* it was leased by an earlier version: nobody can hold it any more */
    uint64_t damaged;     /* the first of its records that cannot be read; 0: none */
    bool stale;           /* a failed turn touched it, and the store could not be read since */
    bool capture;         /* somebody wants the records */
    struct record **records;
    size_t n_records, cap_records;
    struct question_news *questions, **last_question; /* in the journal's `mem` */
};

/* Records of one job that share a row of the store: the last lines of the turn's batch. */
struct record_chunk {
    struct active_job *job; /* NULL: none */
    size_t from;            /* in batch.records */
};

/* Keys of new rows that were taken and not used yet. */
struct key_block {
    int64_t next;
    size_t left;
};

struct queue {
    struct active_job head; /* a ring of jobs, oldest first */
    size_t n;
    size_t n_asked; /* leases of this turn that name the agent; while wants are collected */
    bool has_news;  /* an agent's: jobs that were held came to it, and that was not told */
};

/* A lease request's place among those that wait: for all agents, or for one. */
struct lease_link {
    struct lease_link *prev, *next; /* a ring; NULL: in none */
    struct journal_request *req;
};

/* Somebody with open jobs. */
struct owner {
    struct key key;
    size_t n_jobs, n_queued, n_running;
    struct queue held; /* jobs that may not begin while so many others are at work */
    size_t name_n;
    char name[];
};

/* A thread with runs that have not ended. */
struct thread {
    struct key key;
    struct journal *journal;  /* borrowed */
    struct active_job *first; /* by ordinal; also those that have ended in this turn */
    struct thread_row row;    /* texts owned; without its values */
    bool has_row;             /* else it is read when needed */
};

struct journal {
    struct thread_owner owner;
    struct journal_options opt;
    uint64_t commit_us;           /* what the last commit took */
    struct table active_jobs;     /* id, and request id of the lease -> struct live */
    struct table owners;          /* of live jobs -> struct owner */
    struct table threads;         /* of live jobs -> struct thread */
    size_t n_running, n_queued;   /* jobs */
    size_t n_set_aside;           /* which are in neither */
    struct queue *queues;         /* one per agent, same index */
    struct journal_agent *agents; /* owned; opt.agents once they were replaced, NULL before */
    size_t lease_turn;            /* whose agent is looked at first */
    uint64_t n_leases;            /* that were asked for */
    struct active_job *touched;
    struct intake *intake;
    struct agent *fallback;   /* owned; for jobs whose agent is no longer configured */
    struct store_batch batch; /* what this turn writes */
    struct wanted wanted;     /* what it reads */
    struct known known;       /* what it has read */
    bool has_leases;          /* somebody asks for jobs in it */
    bool is_changed;          /* something happened in it that requests may depend on */
    bool is_late, was_late; /* something has to wait for the next turn, which reads its rows */
    struct journal_request *put_off; /* requests that do; oldest first */
    uint64_t put_off_since_us;       /* when the oldest of them arrived */
    struct record_chunk chunk;
    struct key_block keys[STORE_KEYS_MAX];
    struct json_reader reader;
    int64_t now;       /* see clock.c */
    int64_t offset;    /* from the steady clock to it */
    int64_t noted;     /* the time that was stored last */
    int64_t next_look; /* at leases and deadlines */
    int64_t last_turn; /* when it began: nothing is heard while a turn lasts */
    /* Nobody could be heard before: commits failed, or the whole process stood still. */
    int64_t heard_since;
    int64_t next_expire;
    int64_t next_thread; /* look at those whose time has come */
    bool turn_failed;
    bool settling;     /* the last turn: no row stays behind */
    bool stuck;        /* and that was told */
    int64_t failed_at; /* the last turn that did */
    struct error failure;
    struct lease_link leases;        /* that wait, oldest first; see waiting.c */
    struct lease_link *agent_leases; /* the same, one ring per agent, same index */
    size_t n_waiting_leases;
    struct journal_request *calls;  /* that wait, oldest first */
    struct journal_request *takers; /* of calls; answered with the turn */
    size_t n_calls;
    struct call_cache kept;  /* answers to calls */
    struct active_job **all; /* every live job, for looking at time */
    size_t n_all, cap_all;
    struct arena mem; /* of this turn */
    struct buf gone;  /* ids of final jobs that this turn has deleted, each with a NUL behind */
    struct journal_counts counts;
    struct tally tally; /* of this turn */
    uint64_t since_us;  /* when the oldest request of this turn arrived; 0: there is none */
    uint64_t bad_lines;
    struct error bad_why;
    struct error bad_question; /* of the job that is being fed; code 0: none */
    uint64_t bad_line;
    struct inbox *inbox; /* owned; see inbox.h */
};

/* --- active_job.c ------------------------------------------------------------------ */

struct active_job *active_job_find(struct journal *j, struct str id);
/* The one whose lease was asked for with @request_id. */
struct active_job *active_job_find_lease(struct journal *j, struct str request_id);
/* Its lease was asked for with @request_id (absent: with none, or it is over). */
int active_job_set_request(struct active_job *job, struct str request_id);
/* A new one for @row (texts copied); it is entered. */
int active_job_add(struct journal *j, const struct job_row *row, struct active_job **ret);
/* Forgets it. */
void active_job_remove(struct active_job *job);
/* It takes part in this turn.  What a worker's sign of life changes (when the lease ends,
 * what came last) is stored with its row within ROW_EVERY_MS: nobody needs it to recover. */
void active_job_touch(struct active_job *job);
/* And its row is stored with the turn. */
void active_job_change(struct active_job *job);
/* Its last batch has been taken. */
void active_job_took_batch(struct active_job *job, int64_t batch, bool with_records);
/* What is emitted from now on goes into another row of the store. */
int journal_end_chunk(struct journal *j);
int active_job_set_text(struct str *place, struct str text);
/* May the store have questions of it? */
bool active_job_has_asked(const struct active_job *job);
/* Its fold, which was wanted before the turn, or is new. */
int active_job_fold(struct active_job *job, struct fold **ret);
/* Makes the move if the table allows it, else ERR_REFUSED. */
int active_job_move(struct active_job *job, enum job_state to);
/* Ends the job: closes what is open, the terminal record and the state. */
int active_job_end(struct active_job *job, const struct job_ending *ending);
/* The same without an output. */
int active_job_finish(struct active_job *job,
                      enum job_end end,
                      struct str error,
                      struct str type);
/* Takes over the final state that the worker's own event has put into the log. */
int active_job_follow_fold(struct active_job *job);
/* Its worker is lost: requeued within the budget, else failed.  If it has asked a question, its
 * attempt counts as finished and is not used up. */
int active_job_lose_worker(struct active_job *job, struct str why, struct str type);
int active_job_lose(struct active_job *job, const struct job_ending *ending);
/* The same without using up an attempt, as when a worker returns it. */
int active_job_requeue(struct active_job *job, struct str why);
/* The turn is over: forgets what it did. */
void active_job_end_turn(struct active_job *job);
/* It is set aside since @since; 0: it is not. */
void active_job_set_aside(struct active_job *job, int64_t since);
/* The turn failed: as it is in the store; gone when it is not there. */
void active_job_reload(struct active_job *job);

const struct journal_agent *journal_agent_of(const struct journal *j, struct str name);

/* For a fold that is rebuilt from records that are read before the turn (known.c): a rebuild
 * begins, takes each record, and ends, complete or not; then the job has its fold.  At the end
 * of the turn, a fold that was not needed goes. */
struct rebuild *rebuild_begin(struct active_job *job); /* NULL: it cannot be now */
int rebuild_record(struct rebuild *r, uint64_t seq, struct str stored);
void rebuild_end(struct rebuild *r, bool is_complete);
void rebuild_done(const struct rebuild *r);

/* --- wants.c ----------------------------------------------------------------- */

/* Collects what the requests, and time, may need: see known.h. */
void wants_collect(struct journal *j, const struct journal_request *list);
/* Time may bring something to this job. */
void wants_of_time(struct active_job *job);
/* The thread, whose runs are these, may be deleted. */
void wants_of_thread(struct journal *j, int64_t thread);
/* Is everything known that the request may need now?  And what time may bring to the job, who
 * leases it is told, and the deletion of the thread needs? */
bool wants_are_known(struct journal *j, const struct journal_request *req);
bool wants_of_time_are_known(struct active_job *job);
bool wants_of_lease_are_known(struct active_job *job);
bool wants_of_thread_are_known(struct journal *j, int64_t thread);

/* --- owner.c ----------------------------------------------------------------- */

/* NULL: it has no live jobs. */
const struct owner *owner_find(const struct journal *j, struct str name);
/* A new job counts as its owner's, or does so no longer. */
int owner_join(struct active_job *job);
void owner_leave(struct active_job *job);
/* May it begin? */
bool owner_has_room(const struct active_job *job);
/* Some job of its has ended or the like: those that may begin now go to their queues. */
void owner_release(struct owner *o); /* may be NULL */
/* At the end of a turn, stored or not: whoever works is told of them. */
void owners_tell(struct journal *j);

/* --- suspects.c -------------------------------------------------------------- */

/* Refuses a request for a job that is set aside; true if it did. */
bool suspects_refuse(const struct active_job *job, struct journal_request *req);
/* After a crash: is it the one that was being folded?  Changes the row, before it is added. */
void suspects_take(struct journal *j, struct job_row *row);
/* All are added: stores what suspects_take has changed, and tells. */
void suspects_recovered(struct journal *j);
void journal_release(struct journal *j, struct journal_request *req);

/* --- queue.c ----------------------------------------------------------------- */

void queue_init(struct queue *q);
/* Into its agent's queue, or its owner's; nowhere when its agent is not configured. */
void active_job_enqueue(struct active_job *job);
void active_job_dequeue(struct active_job *job);

/* --- agents.c ---------------------------------------------------------------- */

/* A ring for each agent's queue, empty. */
struct queue *journal_queues_new(size_t n_agents);
void journal_set_settings(struct journal *j, struct journal_request *req);

/* --- questions.c ------------------------------------------------------------- */

/* What this turn did to its questions is done with. */
void questions_forget(struct active_job *job);
/* Its fold has emitted one. */
int questions_asked(struct active_job *job, const struct record *rec);
/* It has emitted a pause. */
void questions_paused(struct active_job *job);
/* Its fold has said that it goes on, whoever has decided that. */
int questions_passed(struct active_job *job, const struct record *rec);
/* Something was answered, or it has just come to wait: goes on if nothing is open. */
int questions_go_on(struct active_job *job);
/* The first deadline has come. */
int questions_expire(struct active_job *job);
void journal_expire_questions(struct active_job *job, struct journal_request *req);
/* For a lease: the answers that the job goes on with. */
int questions_put_answers(struct active_job *job, struct journal_request *req);
void journal_reply(struct journal *j, struct journal_request *req);
void journal_pause(struct active_job *job, struct journal_request *req);
void journal_resume(struct active_job *job, struct journal_request *req);

/* It goes on, and with which answers is not known here. */
int questions_answered_elsewhere(struct active_job *job);

/* --- channel.c --------------------------------------------------------------- */

void journal_feed(struct journal *j, struct journal_request *req);

/* --- runs.c ------------------------------------------------------------------ */

/* A new job is one of its thread's, or is so no longer. */
int runs_join(struct active_job *job);
void runs_leave(struct active_job *job);
/* Those of the thread of this key, linked by next_run. */
struct active_job *runs_first(const struct journal *j, int64_t thread);
/* A thread with open runs; by its id only when its row is known.  NULL: there is none. */
struct thread *runs_thread(const struct journal *j, int64_t key);
struct thread *runs_thread_by_id(const struct journal *j, struct str id);
/* Keeps a copy of its row; ERR_NOMEM. */
int thread_keep_row(struct thread *t, const struct thread_row *row);
/* A turn has failed: rows in memory may be other than those in the store. */
void runs_forget_rows(struct journal *j);
/* May it begin?  Not before its time, nor while another run of its thread is at work or has
 * its turn. */
bool runs_may_begin(const struct active_job *job);
/* Into its queue, if it may begin and is not there. */
void runs_release(struct active_job *job);
/* Its fold has emitted a record that may have the graph's state. */
int runs_saw(struct active_job *job, const struct record *rec);
/* It has come to its end: what that makes of its thread. */
int runs_ended(struct active_job *job);

/* --- threads.c --------------------------------------------------------------- */

/* The thread @id, if who asks may see it, with its texts in the request's memory.  False when
 * it was refused. */
bool journal_thread_of(struct journal *j,
                       struct journal_request *req,
                       struct str id,
                       struct thread_row *ret);
/* Is @id a job's, or a thread's?  Then it was refused: see threads.c. */
bool jobs_have(struct journal *j, struct journal_request *req, struct str id);
bool threads_have(struct journal *j, struct journal_request *req, struct str id);
/* May a run be entered?  Reads @ret_thread, without a key when it has to be made.  False when
 * it was refused. */
bool threads_may_enter(struct journal *j,
                       struct journal_request *req,
                       struct thread_row *ret_thread);
/* Does what the run's strategy asks for, and gives @row its place. */
int threads_enter(struct journal *j,
                  struct journal_request *req,
                  struct thread_row *thread,
                  struct job_row *row);
/* The job is there. */
int threads_entered(struct active_job *job, struct journal_request *req);
/* Deletes those whose time has come, a few at a time. */
void threads_expire(struct journal *j);
void journal_thread_create(struct journal *j, struct journal_request *req);
void journal_thread_patch(struct journal *j, struct journal_request *req);
void journal_thread_copy(struct journal *j, struct journal_request *req);
void journal_thread_delete(struct journal *j, struct journal_request *req);
void journal_thread_thin(struct journal *j, struct journal_request *req);

/* --- ops.c ------------------------------------------------------------------- */

/* The turn cannot be stored. */
void journal_fail_turn(struct journal *j, const struct error *why);
/* Before anything was written. */
#define refuse(req, code_, ...) \
    ((void)((req)->code = error_set(&(req)->why, (code_), __VA_ARGS__)))
/* Anything that went wrong after that. */
void journal_broke(struct journal *j, struct journal_request *req, int code);
/* A write of rows beside a job's ended with @code; `why` says why.  What the rows themselves
 * are to blame for is refused, and has changed nothing; anything else fails the turn. */
void journal_wrote(struct journal *j, struct journal_request *req, int code);
/* Does the job exist, and may the caller see it? */
bool journal_is_visible(const struct journal_request *req, const struct job_row *row);
/* Refuses: there is no such job, or the caller may not see it. */
void journal_not_found(struct journal_request *req);
/* The job of a request; a job that is final is ERR_CLOSED, with its row.  journal_job_of
 * also refuses one that is set aside. */
struct active_job *journal_find_job(struct journal *j, struct journal_request *req);
struct active_job *journal_job_of(struct journal *j, struct journal_request *req);
void journal_answer_row(struct journal *j,
                        struct journal_request *req,
                        const struct job_row *row);
/* And what a run has besides. */
int journal_answer_run(struct journal *j,
                       int64_t key,
                       struct journal_request *req,
                       struct run_row *ret);
/* Somebody wants it to stop. */
int journal_stop_job(struct active_job *job, struct str reason);
/* It is gone with this turn.  @job is NULL when it had ended before.  Of @row: id, key and
 * thread.
 */
int journal_remove_job(struct journal *j, struct active_job *job, const struct job_row *row);
/* Does one request.  True when it waits (a lease) and will be answered later. */
bool journal_do(struct journal *j, struct journal_request *req);

/* --- submit.c ---------------------------------------------------------------- */

void journal_submit(struct journal *j, struct journal_request *req);

/* --- leases.c ---------------------------------------------------------------- */

/* The job of a request whose caller must hold the lease; NULL: it was refused. */
struct active_job *journal_leased_job(struct journal *j, struct journal_request *req);
int64_t active_job_lease_ms(const struct active_job *job);
/* A sign of life of its worker: renews the lease. */
void journal_renew(struct active_job *job);
/* What each answer tells its worker: cancel, pause. */
void journal_answer_lease(struct active_job *job, struct journal_request *req);
/* It is running from now on, by that worker. */
int journal_begin_attempt(struct active_job *job,
                          struct str worker,
                          struct str holder,
                          struct str request_id);
/* The job that the request would get; NULL: none. */
struct active_job *journal_next_for(struct journal *j, const struct journal_request *req);
/* True when it waits; false when it has its job, or was refused. */
bool journal_lease(struct journal *j, struct journal_request *req);
/* Gives waiting leases what is queued, the oldest first. */
void journal_serve_leases(struct journal *j, struct journal_request **answered);
/* The same, and ends those whose time is over or whose callers have left.  Looks at all. */
void journal_look_at_leases(struct journal *j, struct journal_request **answered);
void journal_hand_back(struct active_job *job, struct journal_request *req);
void journal_lose(struct active_job *job, struct journal_request *req);
void journal_count_waiting(struct journal *j, struct journal_request *req);

/* --- waiting.c --------------------------------------------------------------- */

int waiting_init(struct journal *j);
/* Behind all others.  ERR_NOMEM: it does not wait. */
int waiting_add(struct journal *j, struct journal_request *req);
void waiting_remove(struct journal *j, struct journal_request *req);
/* NULL: there is none (left). */
struct journal_request *waiting_first(const struct journal *j);
struct journal_request *waiting_after(const struct journal *j,
                                      const struct journal_request *req);
/* The oldest that names the agent of this index. */
struct journal_request *waiting_first_of(const struct journal *j, size_t agent);
/* How many name the agent of this index, up to @most. */
size_t waiting_count_of(const struct journal *j, size_t agent, size_t most);
/* The oldest that names @agent and takes calls. */
struct journal_request *waiting_for_call(const struct journal *j, struct str agent);
/* The agents have changed: @rings is from waiting_rings_new, and owned from now on. */
struct lease_link *waiting_rings_new(size_t n_agents);
void waiting_set_rings(struct journal *j, struct lease_link *rings);

/* --- append.c ------------------------------------------------------------------ */

/* Its worker's lines, as far as they are good: j->bad_lines says of how many that is not so. */
int journal_take_bytes(struct active_job *job, struct str bytes, uint64_t *ret_events);
void journal_append(struct active_job *job, struct journal_request *req);
void journal_heartbeat(struct active_job *job, struct journal_request *req);
/* Its worker is done for now: waiting for a human, or for a pause to end; or for nothing. */
int journal_wait_for_answer(struct active_job *job, bool interrupted);
/* The same, of a worker that is lost after its question. */
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
/* Whose items the worker of a job writes. */
struct str journal_item_owner(const struct active_job *job);

/* --- assistants.c ------------------------------------------------------------ */

void journal_assistant_create(struct journal *j, struct journal_request *req);
void journal_assistant_patch(struct journal *j, struct journal_request *req);
void journal_assistant_choose(struct journal *j, struct journal_request *req);
void journal_assistant_delete(struct journal *j, struct journal_request *req);

/* --- calls.c ----------------------------------------------------------------- */

/* True when it waits; false when it was refused. */
bool journal_call(struct journal *j, struct journal_request *req);
void journal_answer(struct journal *j, struct journal_request *req);
/* It waits for the end of the turn. */
bool journal_take(struct journal *j, struct journal_request *req);
/* The call @id that the caller of @req has; NULL: none. */
const struct journal_request *journal_taken_call(struct journal *j,
                                                 struct str id,
                                                 const struct journal_request *req);
/* A call that was handed to a request of the same request_id as @lease did not arrive. */
void journal_lost_call(struct journal *j, const struct journal_request *lease);
/* Hands calls to leases that wait, and answers to callers. */
void journal_serve_calls(struct journal *j, struct journal_request **answered);

/* --- workers.c --------------------------------------------------------------- */

void journal_workers(struct journal *j, struct journal_request *req);

/* --- clock.c ----------------------------------------------------------------- */

/* What time it is. */
int64_t journal_time(const struct journal *j);
/* Sets the time, before anything is read from the store. */
int journal_start_clock(struct journal *j, struct error *err);
/* Goes along when the wall clock was set. */
void journal_follow_clock(struct journal *j);
/* Stores what time it is, now and then. */
int journal_note_time(struct journal *j);

/* --- time.c ------------------------------------------------------------------ */

/* Before the turn: what time may bring to jobs and threads is wanted. */
void journal_want_time(struct journal *j);
/* Deadlines, and workers that are silent.  True when it was time to look. */
bool journal_look_at_time(struct journal *j);
/* Retention, a little at a time. */
void journal_expire(struct journal *j);

#endif
