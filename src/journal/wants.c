/* The rows that the requests of a turn need and that are not in memory; read before the turn
 * begins.
 *
 * Nothing is decided here: an unnecessary want only costs a read.  What a request may need
 * follows from its parameters, from the jobs in memory, and from the known rows.  Rows that
 * refer to others are read first, and then the functions here are called again.
 *
 * They are called again before a request is executed, if the turn has changed something since:
 * if a row is unknown then, the request is put off to the next turn (journal.c).  So each of
 * them must name all rows that its request may read.
 *
 * A worker's append to a job whose fold is in memory wants nothing. */
#define _GNU_SOURCE /* memmem */
#include "ingest/fold.h"
#include "journal/active_job.h"

/* --- jobs -------------------------------------------------------------------- */

/* The rows for the answer to a lease of this job. */
static void want_order(const struct active_job *job)
{
    struct journal *j = job->journal;

    (void)want_job(j, job->row.id); /* its input */
    if (job->row.max_running > 0)
        want_owner(j, job->row.owner);
    if (job->row.thread != 0)
        want_run(j, job->row.key);
    if (job->row.resumed != 0)
        want_questions(j, job->row.key);
}

/* Do the rows of jobs that may be leased matter?  Not for the check: a lease request whose
 * job's rows are unknown waits for the next turn (leases.c), and no request has to be put
 * off. */
static bool may_lease(const struct journal *j)
{
    return j->has_leases && !j->wanted.is_checking;
}

/* The job may be queued in this turn, and then leased. */
static void want_requeued(const struct active_job *job)
{
    if (may_lease(job->journal))
        want_order(job);
}

/* The job may end in this turn: then the next run of its thread, and a held job of its owner,
 * may begin. */
static void want_successors(const struct active_job *job)
{
    if (!may_lease(job->journal))
        return;
    for (const struct active_job *o = job->thread != NULL ? job->thread->first : NULL;
         o != NULL; o = o->next_run) {
        if (o != job && o->state == JOB_QUEUED) {
            want_order(o);
            break;
        }
    }
    if (job->owner != NULL && job->owner->held.n > 0)
        want_order(job->owner->held.head.next);
}

/* If the job has not asked anything, the store has no questions, and none need be read. */
static void want_questions_of(const struct active_job *job)
{
    if (active_job_has_asked(job))
        want_questions(job->journal, job->row.key);
    else
        want_no_questions(job->journal, job->row.key);
}

static bool may_ask(const struct active_job *job)
{
    return job->fold == NULL || fold_open_questions(job->fold) > 0;
}

/* The job may ask a question and end, or begin to wait for an answer. */
static void want_question_end(struct active_job *job)
{
    want_questions_of(job);
    if (job->thread != NULL)
        want_state(job);
}

/* A job that is set aside is not folded. */
static void want_fold_unless_aside(struct active_job *job)
{
    if (job->row.set_aside == 0)
        want_fold(job);
}

static bool rolls_back(const struct active_job *job)
{
    return job->thread != NULL && str_is(job->row.outcome, "rollback");
}

/* The job may be ended, asked about or resumed. */
static void want_change(struct active_job *job)
{
    want_fold_unless_aside(job);
    want_thread_of(job);
    want_successors(job);
    if (rolls_back(job))
        want_values(job);
}

static void want_stop(struct active_job *job, bool with_rollback)
{
    want_change(job);
    if (with_rollback && job->thread != NULL)
        want_values(job);
}

void wants_of_time(struct active_job *job)
{
    want_change(job);
    want_requeued(job);
    if (job->state == JOB_WAITING || may_ask(job))
        want_question_end(job);
}

void wants_of_thread(struct journal *j, int64_t thread)
{
    for (struct active_job *job = runs_first(j, thread); job != NULL; job = job->next_run)
        want_change(job);
}

/* --- workers' requests -------------------------------------------------------- */

/* The job of the request, if its caller holds it; NULL: the request will be refused, with the
 * row if the job has ended. */
static struct active_job *held_job(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = active_job_find(j, req->job);

    if (job == NULL)
        (void)want_job(j, req->job);
    return job != NULL && job->state == JOB_RUNNING && job->row.attempt == req->lease.attempt &&
                   job->row.key == req->lease.key
               ? job
               : NULL;
}

static void of_heartbeat(struct journal *j, const struct journal_request *req)
{
    (void)held_job(j, req);
}

/* May these events contain a question?  Every format has the word interrupt for it, whose
 * letters may be escaped: backslash, u, 00, and 4 to 7. */
static bool may_have_question(struct str events)
{
    const char *end = events.p + events.n;

    if (memmem(events.p, events.n, "nterrupt", 8) != NULL)
        return true;
    for (const char *p = events.p;
         (p = memmem(p, (size_t)(end - p), "\\u00", 4)) != NULL && p + 4 < end; p += 4)
        if (p[4] >= '4' && p[4] <= '7')
            return true;
    return false;
}

static void of_append(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = held_job(j, req);

    if (job == NULL)
        return;
    want_fold_unless_aside(job);
    want_thread_of(job);
    if (rolls_back(job))
        want_values(job);
    if (active_job_has_asked(job) && (may_ask(job) || may_have_question(req->append.bytes)))
        want_questions_of(job);
}

static void of_finish(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = held_job(j, req);

    if (job == NULL)
        return;
    want_change(job);
    want_requeued(job);
    if (may_ask(job) ||
        (req->op == JOURNAL_FINISH && (req->finish.interrupted || req->finish.end_of_stream)))
        want_question_end(job);
}

static void of_worker_row(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = !str_absent(req->job) ? held_job(j, req) : NULL;

    if (job != NULL)
        want_thread_of(job);
}

static void of_state(struct journal *j, const struct journal_request *req)
{
    of_worker_row(j, req);
    if (str_absent(req->job))
        (void)want_thread(j, req->thread);
}

/* The oldest jobs of each queue: as many as there are lease requests. */
static void of_lease(struct journal *j, const struct journal_request *req)
{
    if (req->work.looks)
        return;
    const struct active_job *job = active_job_find_lease(j, req->work.request_id);

    if (job == NULL && j->wanted.is_checking)
        job = journal_next_for(j, req);
    if (job != NULL)
        want_order(job);
    if (job != NULL || j->wanted.is_checking)
        return;
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
        const struct active_job *job = q->head.next;

        for (; n > 0 && job != &q->head; job = job->next) {
            if (!runs_may_begin(job) || !owner_has_room(job))
                continue; /* it cannot be leased now */
            want_order(job);
            n--;
        }
        q->n_asked = 0;
    }
}

/* The last turn could not serve all waiting lease requests: maybe one already holds a job, and
 * asks for it again. */
static void of_waiting(struct journal *j)
{
    for (const struct journal_request *r = waiting_first(j); r != NULL;
         r = waiting_after(j, r)) {
        const struct active_job *job = active_job_find_lease(j, r->work.request_id);

        if (job != NULL)
            want_order(job);
    }
}

/* --- requests about a job ------------------------------------------------------ */

static struct active_job *named_job(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = active_job_find(j, req->job);

    if (job == NULL)
        (void)want_job(j, req->job);
    return job != NULL && journal_is_visible(req, &job->row) ? job : NULL;
}

static void of_stop(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = named_job(j, req);

    if (!str_absent(req->thread))
        (void)want_thread(j, req->thread);
    if (job != NULL)
        want_stop(job, req->op == JOURNAL_CANCEL && req->stop.rolls_back);
    if (job != NULL && req->op == JOURNAL_RELEASE && job->state == JOB_RUNNING)
        want_fold(job); /* even if it is set aside */
}

static void of_pause(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = named_job(j, req);

    if (job != NULL)
        want_fold_unless_aside(job);
}

static void of_named_job(struct journal *j, const struct journal_request *req)
{
    (void)named_job(j, req); /* it is read, if it is not in memory */
}

/* For a job that has ended, the answer is looked up. */
static void of_answer(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = named_job(j, req);
    const struct job_row *ended =
        active_job_find(j, req->job) == NULL ? want_job(j, req->job) : NULL;

    if (ended != NULL)
        want_questions(j, ended->key);
    else if (job == NULL)
        want_more(j);
    if (job == NULL)
        return;
    want_change(job);
    want_requeued(job);
    want_questions_of(job);
}

static void of_call(struct journal *j, const struct journal_request *req)
{
    for (size_t i = 0; i < req->call.n_named; i++) {
        if (active_job_find(j, req->call.named[i].id) == NULL)
            (void)want_job(j, req->call.named[i].id);
        if (req->call.named[i].is_thread)
            (void)want_thread(j, req->call.named[i].id);
    }
}

/* May the job begin to wait for an answer after these events? */
static bool may_stop(struct str events)
{
    return may_have_question(events) || memmem(events.p, events.n, "pause", 5) != NULL;
}

static struct str fed_events(const struct channel_request *feed)
{
    const struct journal_line *first = feed->lines, *last = feed->lines + feed->n_lines - 1;

    return feed->n_lines > 0
               ? str_make(first->text.p, (size_t)(last->text.p - first->text.p) + last->text.n)
               : STR("");
}

static void of_feed(struct journal *j, const struct journal_request *req)
{
    for (size_t i = 0; i < j->n_all && str_absent(req->job) && req->feed.was_deaf; i++)
        if (journal_may_miss_messages(j->all[i]))
            want_fold(j->all[i]);
    struct active_job *job = !str_absent(req->job) ? active_job_find(j, req->job) : NULL;

    if (job == NULL && !str_absent(req->job)) {
        (void)want_job(j, req->job);
        if (!str_absent(req->feed.agent)) { /* the job may be created */
            (void)want_thread(j, req->job);
            want_key(j, STORE_JOB_KEYS);
        }
    }
    if (job == NULL)
        return;
    want_change(job);
    if (job->state != JOB_RUNNING || may_ask(job) || may_stop(fed_events(&req->feed)))
        want_question_end(job);
}

/* --- new jobs, and threads ----------------------------------------------------- */

/* Runs of the thread that may have to be cancelled for another, or deleted with it. */
static void want_runs(struct journal *j, struct str thread, bool with_rollback)
{
    const struct thread_row *row = want_thread(j, thread);

    if (row == NULL)
        want_more(j);
    for (struct active_job *job = row != NULL ? runs_first(j, row->key) : NULL; job != NULL;
         job = job->next_run)
        want_stop(job, with_rollback);
}

static void want_run_of_thread(struct journal *j, const struct journal_request *req)
{
    if (req->submit.makes_thread)
        want_key(j, STORE_THREAD_KEYS);
    if (req->submit.is_temporary)
        return;
    (void)want_thread(j, req->thread);
    if (req->submit.makes_thread)
        (void)want_job(j, req->thread);
    if (!str_is(req->submit.run.strategy, "enqueue"))
        want_runs(j, req->thread, str_is(req->submit.run.strategy, "rollback"));
}

/* The job of an earlier submit with this key, and its run, for the answer. */
static void want_first_submit(struct journal *j, struct str idempotency_key)
{
    const struct job_row *row = want_idempotency(j, idempotency_key);

    if (row == NULL)
        want_more(j);
    else if (row->thread != 0)
        want_run(j, row->key);
}

static void of_submit(struct journal *j, const struct journal_request *first)
{
    if (!str_absent(first->submit.tick.cron))
        want_cron(j, first->submit.tick.cron);
    for (const struct journal_request *req = first; req != NULL; req = req->submit.more) {
        want_key(j, STORE_JOB_KEYS);
        if (req->submit.max_jobs > 0 || req->submit.max_queued > 0)
            want_owner(j, req->submit.owner);
        if (req->submit.idempotency_key.p != NULL)
            want_first_submit(j, req->submit.idempotency_key);
        if (!req->submit.is_new_id && active_job_find(j, req->submit.id) == NULL)
            (void)want_job(j, req->submit.id);
        if (!str_absent(req->submit.run.kwargs))
            want_run_of_thread(j, req);
        else if (!req->submit.is_new_id)
            (void)want_thread(j, req->submit.id);
    }
}

static void of_thread(struct journal *j, const struct journal_request *req)
{
    (void)want_thread(j, req->thread);
}

static void of_new_thread(struct journal *j, const struct journal_request *req)
{
    of_thread(j, req);
    want_key(j, STORE_THREAD_KEYS);
    if (req->op == JOURNAL_THREAD_CREATE)
        (void)want_job(j, req->thread);
}

static void of_thread_deletion(struct journal *j, const struct journal_request *req)
{
    want_thread_jobs(j, req->thread);
    want_runs(j, req->thread, false);
}

/* --- items, assistants, crons and webhooks --------------------------------------------- */

static void of_item_touch(struct journal *j, const struct journal_request *req)
{
    struct active_job *job = !str_absent(req->job) ? held_job(j, req) : NULL;
    struct item_row row = req->item.row;

    if (job != NULL)
        row.owner = journal_item_owner(job);
    if (job != NULL || str_absent(req->job))
        want_item(j, &row);
}

static void of_assistant(struct journal *j, const struct journal_request *req)
{
    want_assistant(j, req->assistant.row.id);
    if (req->op == JOURNAL_ASSISTANT_PATCH)
        want_assistant_version(j, req->assistant.row.id, 0);
    if (req->op == JOURNAL_ASSISTANT_CHOOSE)
        want_assistant_version(j, req->assistant.row.id, req->assistant.row.version);
}

static void of_cron(struct journal *j, const struct journal_request *req)
{
    want_cron(j, req->op == JOURNAL_CRON_SKIP ? req->tick.cron : req->cron.row.id);
    if (req->op == JOURNAL_CRON_CREATE && !str_absent(req->thread))
        (void)want_thread(j, req->thread);
}

static void of_webhook(struct journal *j, const struct journal_request *req)
{
    want_webhook(j, req->webhook.id);
}

/* --- the table ----------------------------------------------------------------- */

typedef void (*wants_fn)(struct journal *, const struct journal_request *);

static const wants_fn of[JOURNAL_OP_MAX] = {
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
    [JOURNAL_RUN_READ] = of_named_job,
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
    [JOURNAL_ITEM_TOUCH] = of_item_touch,
    [JOURNAL_ASSISTANT_CREATE] = of_assistant,
    [JOURNAL_ASSISTANT_PATCH] = of_assistant,
    [JOURNAL_ASSISTANT_CHOOSE] = of_assistant,
    [JOURNAL_ASSISTANT_DELETE] = of_assistant,
    [JOURNAL_CRON_CREATE] = of_cron,
    [JOURNAL_CRON_PATCH] = of_cron,
    [JOURNAL_CRON_DELETE] = of_cron,
    [JOURNAL_CRON_SKIP] = of_cron,
    [JOURNAL_WEBHOOK] = of_webhook,
};

void wants_collect(struct journal *j, const struct journal_request *list)
{
    j->has_leases = j->n_waiting_leases > 0;
    for (const struct journal_request *req = list; req != NULL; req = req->next)
        j->has_leases |= req->op == JOURNAL_LEASE;
    for (const struct journal_request *req = list; req != NULL; req = req->next)
        if (of[req->op] != NULL)
            of[req->op](j, req);
    if (j->has_leases)
        of_queues(j);
    if (j->was_late)
        of_waiting(j);
    journal_want_time(j);
}

/* --- checks ----------------------------------------------------------------------- */

bool wants_are_known(struct journal *j, const struct journal_request *req)
{
    if (of[req->op] == NULL)
        return true;
    wanted_check_begin(j);
    of[req->op](j, req);
    return wanted_check_end(j);
}

/* Nobody sends these again as requests, so the next turn must begin at once. */
static bool or_late(struct journal *j, bool is_known)
{
    j->is_late |= !is_known;
    return is_known;
}

bool wants_of_time_are_known(struct active_job *job)
{
    wanted_check_begin(job->journal);
    wants_of_time(job);
    return or_late(job->journal, wanted_check_end(job->journal));
}

bool wants_of_lease_are_known(struct active_job *job)
{
    wanted_check_begin(job->journal);
    want_order(job);
    return or_late(job->journal, wanted_check_end(job->journal));
}

bool wants_of_thread_are_known(struct journal *j, int64_t thread)
{
    wanted_check_begin(j);
    wants_of_thread(j, thread);
    return or_late(j, wanted_check_end(j));
}
