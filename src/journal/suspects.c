/* Jobs that the server was folding when it crashed.
 *
 *     fold(J) ──crash──▶ start: J is a suspect ──▶ fold(J) ──crash──▶ start: J is set aside
 *                                    │                                      │
 *                                    └── an hour without a crash over it    └── release
 *
 * While a job is folded, its key is in the breadcrumb, a memory page that survives the process.
 * If the server finds a key there at its start, it stores that the job is a suspect before it
 * folds anything.  When that happens a second time within SUSPECT_MS, the job is set aside: it
 * can be read and deleted, but requests that would fold it are refused, and it is in no queue.
 * So one job causes at most two crashes, and other jobs continue.
 *
 * Of several gateways, the next writer may be on another machine, where that page is not.  So a
 * writer whose predecessor has crashed is cautious: for the first events of each job that was
 * open then, it stores the job's name before it folds them, and removes it in the transaction
 * that stores them.  Such a turn folds the events of one of these jobs only.  If this writer
 * crashes as well, the next one finds the name: that was the second crash.  In other times no
 * names are stored.  (A writer that is killed from outside in between leaves a name, too.) */
#include "ingest/fold.h"
#include "journal/active_job.h"

enum { SUSPECT_MS = 60 * 60 * 1000 }; /* a later crash does not count as a crash loop */

#define WHY JOURNAL_SET_ASIDE_WHY

/* --- what is refused ---------------------------------------------------------- */

bool suspects_refuse(const struct active_job *job, struct journal_request *req)
{
    if (job->row.set_aside == 0)
        return false;
    refuse(req, ERR_REFUSED,
           "this job is set aside, because " WHY ": `spoolwire jobs release %.*s` frees it",
           STR_ARG(str_head(job->row.id, 64)));
    return true;
}

/* --- after a crash ------------------------------------------------------------ */

static bool is_suspect(const struct journal *j, const struct job_row *row)
{
    return row->key == breadcrumb_get(&j->opt.breadcrumb) || row->key == j->caution.left;
}

void suspects_take(struct journal *j, struct job_row *row)
{
    if (is_suspect(j, row)) {
        bool again = row->key == j->caution.left ||
                     (row->crashed != 0 && j->now - row->crashed < SUSPECT_MS);

        row->crashed = j->now;
        if (again && row->set_aside == 0)
            row->set_aside = j->now;
    }
    if (row->set_aside == 0)
        return;
    /* Its worker lost it in the crash, and its slot is free. */
    row->lease_until = 0;
    row->worker = row->request_id = STR_NONE;
}

static int store_it(struct journal *j, const struct active_job *job, struct error *err)
{
    int code = store_begin(j->opt.store, err);

    if (code != 0)
        return code;
    code = store_suspect(j->opt.store, job->row.key, job->row.crashed, job->row.set_aside, err);
    if (code == 0)
        code = store_job_update(j->opt.store, &job->row, err);
    if (code == 0)
        return store_commit(j->opt.store, err);
    store_rollback(j->opt.store);
    return code;
}

static void tell(const struct journal *j, const struct active_job *job, struct str why)
{
    const struct journal_events *events = &j->opt.events;

    if (events->suspected != NULL)
        events->suspected(events->arg, job->row.id, job->row.set_aside != 0, why);
}

/* Stores it.  If that fails, the job stays set aside until the next start, so that a further
 * crash cannot go uncounted. */
static void note(struct journal *j, struct active_job *job)
{
    struct error err = { 0 };
    int code = store_it(j, job, &err);

    if (code == 0 && job->row.set_aside == 0) {
        tell(j, job, STR("the server crashed while it took in the events of this job"));
        return;
    }
    if (code != 0 && job->row.set_aside == 0)
        active_job_set_aside(job, j->now);
    tell(j, job, code == 0 ? STR(WHY) : str_of(err.text));
}

void suspects_recovered(struct journal *j)
{
    for (size_t i = 0; i < j->n_all; i++) {
        struct active_job *job = j->all[i];

        if (is_suspect(j, &job->row))
            note(j, job);
        else if (job->row.set_aside != 0)
            tell(j, job, STR(WHY));
    }
    breadcrumb_set(&j->opt.breadcrumb, 0);
    j->caution.left = 0;
    counter_set(&j->counts.set_aside, j->n_set_aside);
}

/* --- caution ------------------------------------------------------------------ */

void suspects_look_behind(struct journal *j)
{
    struct store_left left;

    store_left_behind(j->opt.store, &left);
    j->caution.left = left.suspect;
    j->caution.is_named = left.has_crashed;
}

void suspects_added(struct active_job *job)
{
    struct journal *j = job->journal;

    job->is_unproven = j->caution.is_named && job->row.set_aside == 0;
    j->caution.n_unproven += job->is_unproven;
}

static void prove(struct active_job *job)
{
    job->journal->caution.n_unproven -= job->is_unproven;
    job->is_unproven = false;
}

void suspects_forget(struct active_job *job)
{
    struct journal *j = job->journal;

    prove(job);
    if (j->caution.now == job)
        j->caution.now = NULL;
}

/* The unproven job whose events the request has; NULL: none. */
static struct active_job *unproven_of(struct journal *j, const struct journal_request *req)
{
    bool has_events =
        req->op == JOURNAL_APPEND || req->op == JOURNAL_FEED || req->op == JOURNAL_FINISH;
    struct active_job *job =
        has_events && !str_absent(req->job) ? active_job_find(j, req->job) : NULL;

    return job != NULL && job->is_unproven ? job : NULL;
}

void suspects_cut(struct journal *j, struct journal_request *list)
{
    struct journal_request *last = NULL;

    j->caution.now = NULL;
    if (j->caution.n_unproven == 0)
        return;
    for (struct journal_request *req = list; req != NULL; last = req, req = req->next) {
        struct active_job *job = unproven_of(j, req);

        if (job == NULL || job == j->caution.now)
            continue;
        if (j->caution.now != NULL) {
            last->next = NULL;
            j->put_off = req;
            j->put_off_since_us = j->since_us;
            return;
        }
        j->caution.now = job;
    }
}

int suspects_name(struct journal *j)
{
    if (j->caution.now == NULL)
        return 0;
    int err = j->has_begun ? 0 : store_begin(j->opt.store, &j->failure);
    j->has_begun = false;
    if (err != 0)
        return err;
    err = store_name_suspect(j->opt.store, j->caution.now->row.key, &j->failure);
    if (err != 0) {
        store_rollback(j->opt.store);
        return err;
    }
    j->caution.is_named = true;
    return store_commit(j->opt.store, &j->failure);
}

int suspects_remove_name(struct journal *j)
{
    return j->caution.is_named ? store_name_suspect(j->opt.store, 0, &j->failure) : 0;
}

void suspects_stored(struct journal *j)
{
    j->caution.is_named = false;
    if (j->caution.now != NULL)
        prove(j->caution.now);
    j->caution.now = NULL;
}

/* --- release ------------------------------------------------------------------ */

/* It continues where it was; one that was running is requeued without using up an attempt. */
static int go_on(struct active_job *job)
{
    struct journal *j = job->journal;
    struct fold *fold;
    int err;

    if (job->state == JOB_QUEUED) {
        active_job_enqueue(job);
        job->queue_news = true;
    }
    if (job->state != JOB_RUNNING)
        return 0;
    if (job->row.cancel_requested != 0)
        return active_job_finish(job, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    err = active_job_fold(job, &fold);
    if (err == 0)
        err = fold_new_attempt(fold, job->row.attempt + 1, STR("it was set aside"), j->now);
    return err == 0 ? active_job_move(job, JOB_QUEUED) : err;
}

void journal_release(struct journal *j, struct journal_request *req)
{
    struct active_job *job = active_job_find(j, req->job);

    if (job == NULL || job->deleted || job->stale || job_state_is_final(job->state) ||
        !journal_is_visible(req, &job->row)) {
        (void)journal_find_job(j, req); /* sets the reason */
        return;
    }
    bool was_aside = job->row.set_aside != 0;
    active_job_change(job); /* before the first change, so that a failed turn reloads the job */
    active_job_set_aside(job, 0);
    job->row.crashed = 0;
    int err = store_batch_suspect(&j->batch, job->row.key, 0, 0);
    if (err == 0 && was_aside)
        err = go_on(job);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}
