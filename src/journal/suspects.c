/* Jobs over which the server has crashed.
 *
 *     fold(J) ──crash──▶ start: J is a suspect ──▶ fold(J) ──crash──▶ start: J is set aside
 *                                    │                                      │
 *                                    └── an hour without a crash over it    └── release
 *
 * While a job is folded, its key is in the breadcrumb, a page that outlives the process.  A
 * start that finds one there stores that the job is a suspect before it folds anything.  When
 * that happens a second time within SUSPECT_MS, the job is set aside: it can be read and
 * deleted, everything else that would fold it is refused, and it is in no queue.  So one job
 * causes at most two crashes, and other jobs go on. */
#include "ingest/fold.h"
#include "journal/active_job.h"

enum { SUSPECT_MS = 60 * 60 * 1000 }; /* a crash that comes later is no loop */

#define WHY JOURNAL_SET_ASIDE_WHY

/* --- what is refused ---------------------------------------------------------- */

bool suspects_refuse(const struct active_job *l, struct journal_request *req)
{
    if (l->row.set_aside == 0)
        return false;
    refuse(req, ERR_REFUSED,
           "this job is set aside, because " WHY ": `spoolwire jobs release %.*s` frees it",
           STR_ARG(str_head(l->row.id, 64)));
    return true;
}

/* --- after a crash ------------------------------------------------------------ */

void suspects_take(struct journal *j, struct job_row *row)
{
    if (row->key == breadcrumb_get(&j->opt.breadcrumb)) {
        bool again = row->crashed != 0 && j->now - row->crashed < SUSPECT_MS;

        row->crashed = j->now;
        if (again && row->set_aside == 0)
            row->set_aside = j->now;
    }
    if (row->set_aside == 0)
        return;
    /* Its worker has lost it with the crash, and its slot is free. */
    row->lease_until = 0;
    row->worker = row->request_id = STR_NONE;
}

static int store_it(struct journal *j, const struct active_job *l, struct error *err)
{
    int code = store_begin(j->opt.store, err);

    if (code != 0)
        return code;
    code = store_suspect(j->opt.store, l->row.key, l->row.crashed, l->row.set_aside, err);
    if (code == 0)
        code = store_job_update(j->opt.store, &l->row, err);
    if (code == 0)
        return store_commit(j->opt.store, err);
    store_rollback(j->opt.store);
    return code;
}

static void tell(const struct journal *j, const struct active_job *l, struct str why)
{
    const struct journal_events *events = &j->opt.events;

    if (events->suspected != NULL)
        events->suspected(events->arg, l->row.id, l->row.set_aside != 0, why);
}

/* What cannot be stored is set aside until the next start, so that no crash goes uncounted. */
static void note(struct journal *j, struct active_job *l)
{
    struct error err = { 0 };
    int code = store_it(j, l, &err);

    if (code == 0 && l->row.set_aside == 0) {
        tell(j, l, STR("the server crashed while it took in the events of this job"));
        return;
    }
    if (code != 0 && l->row.set_aside == 0)
        active_job_set_aside(l, j->now);
    tell(j, l, code == 0 ? STR(WHY) : str_of(err.text));
}

void suspects_recovered(struct journal *j)
{
    int64_t suspect = breadcrumb_get(&j->opt.breadcrumb);

    for (size_t i = 0; i < j->n_all; i++) {
        struct active_job *l = j->all[i];

        if (l->row.key == suspect)
            note(j, l);
        else if (l->row.set_aside != 0)
            tell(j, l, STR(WHY));
    }
    breadcrumb_set(&j->opt.breadcrumb, 0);
    counter_set(&j->counts.set_aside, j->n_set_aside);
}

/* --- release ------------------------------------------------------------------ */

/* It continues where it was; one that was running is requeued without using up an attempt. */
static int go_on(struct active_job *l)
{
    struct journal *j = l->journal;
    struct fold *fold;
    int err;

    if (l->state == JOB_QUEUED) {
        active_job_enqueue(l);
        l->queue_news = true;
    }
    if (l->state != JOB_RUNNING)
        return 0;
    if (l->row.cancel_requested != 0)
        return active_job_finish(l, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    err = active_job_fold(l, &fold);
    if (err == 0)
        err = fold_new_attempt(fold, l->row.attempt + 1, STR("it was set aside"), j->now);
    return err == 0 ? active_job_move(l, JOB_QUEUED) : err;
}

void journal_release(struct journal *j, struct journal_request *req)
{
    struct active_job *l = active_job_find(j, req->job);

    if (l == NULL || l->deleted || l->stale || job_state_is_final(l->state) ||
        !journal_is_visible(req, &l->row)) {
        (void)journal_find_job(j, req); /* which says why not */
        return;
    }
    bool was_aside = l->row.set_aside != 0;
    active_job_change(l); /* before the first change, so that a turn that fails takes it back */
    active_job_set_aside(l, 0);
    l->row.crashed = 0;
    int err = store_batch_suspect(&j->batch, l->row.key, 0, 0);
    if (err == 0 && was_aside)
        err = go_on(l);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &l->row);
}
