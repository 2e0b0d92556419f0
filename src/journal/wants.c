/* What the requests of a turn need that is not in memory, asked for before the turn begins.
 *
 * Nothing is decided here: a want that turns out to be needless costs a read, and one that is
 * missing is read in the middle of the turn (known.h).  So each function looks only at what
 * its request names and at the jobs in memory.
 *
 * A worker's append to a job whose fold is there wants nothing. */
#include "ingest/fold.h"
#include "journal/active_job.h"

/* --- jobs -------------------------------------------------------------------- */

/* What whoever leases it is told besides. */
static void want_order(const struct active_job *l)
{
    struct journal *j = l->journal;

    want_job(j, l->row.id); /* its input */
    if (l->row.thread != 0)
        want_run(j, l->row.key);
    if (l->row.resumed != 0)
        want_questions(j, l->row.key);
}

/* It may be queued in this turn, and leased. */
static void want_requeued(const struct active_job *l)
{
    if (l->journal->has_leases)
        want_order(l);
}

/* It may end in this turn: then its thread's next run may begin, and one of its owner's. */
static void want_successors(const struct active_job *l)
{
    if (!l->journal->has_leases)
        return;
    for (const struct active_job *o = l->thread != NULL ? l->thread->first : NULL; o != NULL;
         o = o->next_run) {
        if (o != l && o->state == JOB_QUEUED) {
            want_order(o);
            break;
        }
    }
    if (l->owner != NULL && l->owner->held.n > 0)
        want_order(l->owner->held.head.next);
}

static bool may_ask(const struct active_job *l)
{
    return l->fold == NULL || fold_open_questions(l->fold) > 0;
}

/* It may be ended, asked about or set going. */
static void want_change(struct active_job *l)
{
    want_fold(l);
    want_thread_of(l);
    want_successors(l);
}

void wants_of_time(struct active_job *l)
{
    want_change(l);
    want_requeued(l);
    if (l->state == JOB_WAITING || may_ask(l))
        want_questions(l->journal, l->row.key);
}

/* --- workers' requests -------------------------------------------------------- */

/* The job that its worker holds; NULL: its word is refused, with the row if it has ended. */
static struct active_job *held_job(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = active_job_find(j, req->job);

    if (l == NULL)
        want_job(j, req->job);
    return l != NULL && l->state == JOB_RUNNING && l->row.attempt == req->lease.attempt &&
                   l->row.key == req->lease.key
               ? l
               : NULL;
}

static void of_heartbeat(struct journal *j, const struct journal_request *req)
{
    (void)held_job(j, req);
}

static void of_append(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = held_job(j, req);

    if (l == NULL)
        return;
    want_fold(l);
    want_thread_of(l);
}

static void of_finish(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = held_job(j, req);

    if (l == NULL)
        return;
    want_change(l);
    want_requeued(l);
    if (may_ask(l) ||
        (req->op == JOURNAL_FINISH && (req->finish.interrupted || req->finish.end_of_stream)))
        want_questions(j, l->row.key);
}

static void of_worker_row(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = !str_absent(req->job) ? held_job(j, req) : NULL;

    if (l != NULL)
        want_thread_of(l);
}

static void of_state(struct journal *j, const struct journal_request *req)
{
    of_worker_row(j, req);
    if (str_absent(req->job))
        want_thread(j, req->thread);
}

/* The oldest of each queue go to those who ask: as many as there are of these. */
static void of_lease(struct journal *j, const struct journal_request *req)
{
    const struct active_job *l = active_job_find_lease(j, req->work.request_id);

    if (l != NULL) {
        want_order(l);
        return;
    }
    for (size_t i = 0; i < req->work.n_agents; i++) {
        const struct journal_agent *a = journal_agent_of(j, req->work.agents[i]);

        if (a != NULL)
            j->queues[a - j->opt.agents].n_asked++;
    }
}

static void of_queues(struct journal *j)
{
    for (size_t i = 0; i < j->opt.n_agents; i++) {
        struct queue *q = &j->queues[i];
        size_t n = q->n_asked + waiting_count_of(j, i, q->n);
        const struct active_job *l = q->head.next;

        for (; n > 0 && l != &q->head; n--, l = l->next)
            want_order(l);
        q->n_asked = 0;
    }
}

/* --- requests about a job ------------------------------------------------------ */

static struct active_job *named_job(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = active_job_find(j, req->job);

    if (l == NULL)
        want_job(j, req->job);
    return l != NULL && journal_is_visible(req, &l->row) ? l : NULL;
}

static void of_stop(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = named_job(j, req);

    if (!str_absent(req->thread))
        want_thread(j, req->thread);
    if (l != NULL)
        want_change(l);
}

static void of_pause(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = named_job(j, req);

    if (l != NULL)
        want_fold(l);
}

static void of_answer(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = named_job(j, req);

    if (l == NULL)
        return;
    want_change(l);
    want_requeued(l);
    want_questions(j, l->row.key);
}

static void of_call(struct journal *j, const struct journal_request *req)
{
    for (size_t i = 0; i < req->call.n_named; i++) {
        if (active_job_find(j, req->call.named[i].id) != NULL)
            continue;
        want_job(j, req->call.named[i].id);
        if (req->call.named[i].is_thread)
            want_thread(j, req->call.named[i].id);
    }
}

static void of_feed(struct journal *j, const struct journal_request *req)
{
    struct active_job *l = !str_absent(req->job) ? active_job_find(j, req->job) : NULL;

    if (l == NULL && !str_absent(req->job)) {
        want_job(j, req->job);
        if (!str_absent(req->feed.agent)) { /* it may be made */
            want_thread(j, req->job);
            j->known.n_new[STORE_JOB_KEYS]++;
        }
    }
    if (l == NULL)
        return;
    want_change(l);
    if (l->state != JOB_RUNNING || may_ask(l))
        want_questions(j, l->row.key);
}

/* --- new jobs, and threads ----------------------------------------------------- */

/* Runs of the thread that stand in the way of another, or go with it. */
static void want_runs(struct journal *j, struct str thread)
{
    const struct thread *t = runs_thread_by_id(j, thread);

    for (struct active_job *l = t != NULL ? t->first : NULL; l != NULL; l = l->next_run)
        want_fold(l);
}

static void want_run_of_thread(struct journal *j, const struct journal_request *req)
{
    if (req->submit.makes_thread)
        j->known.n_new[STORE_THREAD_KEYS]++;
    if (req->submit.is_temporary)
        return;
    want_thread(j, req->thread);
    if (req->submit.makes_thread)
        want_job(j, req->thread);
    if (!str_is(req->submit.run.strategy, "enqueue"))
        want_runs(j, req->thread);
}

static void of_submit(struct journal *j, const struct journal_request *first)
{
    for (const struct journal_request *req = first; req != NULL; req = req->submit.more) {
        j->known.n_new[STORE_JOB_KEYS]++;
        if (req->submit.idempotency_key.p != NULL)
            want_idempotency(j, req->submit.idempotency_key);
        if (!req->submit.is_new_id && active_job_find(j, req->submit.id) == NULL)
            want_job(j, req->submit.id);
        if (!str_absent(req->submit.run.kwargs))
            want_run_of_thread(j, req);
        else if (!req->submit.is_new_id)
            want_thread(j, req->submit.id);
    }
}

static void of_thread(struct journal *j, const struct journal_request *req)
{
    want_thread(j, req->thread);
}

static void of_new_thread(struct journal *j, const struct journal_request *req)
{
    of_thread(j, req);
    j->known.n_new[STORE_THREAD_KEYS]++;
    if (req->op == JOURNAL_THREAD_CREATE)
        want_job(j, req->thread);
}

static void of_thread_deletion(struct journal *j, const struct journal_request *req)
{
    want_thread_jobs(j, req->thread);
    want_runs(j, req->thread);
}

/* --- all of them --------------------------------------------------------------- */

void wants_collect(struct journal *j, const struct journal_request *list)
{
    static void (*const of[JOURNAL_OP_MAX])(struct journal *,
                                            const struct journal_request *) = {
        [JOURNAL_SUBMIT] = of_submit,
        [JOURNAL_LEASE] = of_lease,
        [JOURNAL_APPEND] = of_append,
        [JOURNAL_HEARTBEAT] = of_heartbeat,
        [JOURNAL_FINISH] = of_finish,
        [JOURNAL_RETURN] = of_finish,
        [JOURNAL_LOSE] = of_finish,
        [JOURNAL_CANCEL] = of_stop,
        [JOURNAL_DELETE] = of_stop,
        [JOURNAL_RELEASE] = of_stop,
        [JOURNAL_ANSWER_QUESTION] = of_answer,
        [JOURNAL_EXPIRE] = of_answer,
        [JOURNAL_RESUME] = of_answer,
        [JOURNAL_PAUSE] = of_pause,
        [JOURNAL_CALL] = of_call,
        [JOURNAL_FEED] = of_feed,
        [JOURNAL_THREAD_CREATE] = of_new_thread,
        [JOURNAL_THREAD_PATCH] = of_thread,
        [JOURNAL_THREAD_COPY] = of_new_thread,
        [JOURNAL_THREAD_THIN] = of_thread,
        [JOURNAL_THREAD_DELETE] = of_thread_deletion,
        [JOURNAL_CHECKPOINT_PUT] = of_worker_row,
        [JOURNAL_CHECKPOINT_WRITES] = of_worker_row,
        [JOURNAL_CHECKPOINT_STATE] = of_state,
        [JOURNAL_CHECKPOINTS_HOLD] = of_worker_row,
        [JOURNAL_CHECKPOINTS_DELETE] = of_worker_row,
        [JOURNAL_ITEM_PUT] = of_worker_row,
        [JOURNAL_ITEM_DELETE] = of_worker_row,
        [JOURNAL_ITEM_TOUCH] = of_worker_row,
    };

    j->has_leases = j->n_waiting_leases > 0;
    for (const struct journal_request *req = list; req != NULL; req = req->next)
        j->has_leases |= req->op == JOURNAL_LEASE;
    for (const struct journal_request *req = list; req != NULL; req = req->next)
        if (of[req->op] != NULL)
            of[req->op](j, req);
    if (j->has_leases)
        of_queues(j);
    journal_want_time(j);
}
