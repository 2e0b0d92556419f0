/* Rows that the journal does not know: checkpoints, items, assistants.
 *
 * Who writes them hands over a function that is called inside the turn's transaction, once it
 * is clear that the caller holds the job, or the call, that it writes for. */
#include "journal/active_job.h"

/* A job without a thread has its own id for one. */
static bool is_about(const struct active_job *l, struct str thread)
{
    struct thread_row row;

    if (str_absent(thread) || l->row.thread == 0)
        return str_absent(thread) || str_eq(thread, l->row.id);
    return store_thread_by_key(l->journal->opt.store, l->row.thread, &row, NULL) == 0 &&
           str_eq(thread, row.id);
}

static bool may_write(struct journal *j, struct journal_request *req)
{
    if (!str_absent(req->call.id)) {
        const struct journal_request *call = journal_taken_call(j, req);

        if (call != NULL && (str_absent(req->thread) || str_eq(req->thread, call->thread)))
            return true;
        refuse(req, ERR_REFUSED, "nobody waits for an answer to this call about this thread");
        return false;
    }
    if (str_absent(req->job))
        return true;
    struct active_job *l = journal_leased_job(j, req);
    if (l == NULL)
        return false;
    bool is_good = is_about(l, req->thread);
    req->row.owner = l->row.owner;
    if (is_good)
        journal_renew(l);
    else
        refuse(req, ERR_REFUSED, "this job is not one of this thread");
    return is_good;
}

void journal_write_rows(struct journal *j, struct journal_request *req)
{
    if (!may_write(j, req))
        return;
    req->code = req->write(req, j->opt.store, j->now, &req->why);
    if (!str_absent(req->job))
        req->row.owner = STR_NONE; /* the job's own, which may be gone when this is answered */
    if (req->code == 0 || req->code == ERR_REFUSED || req->code == ERR_NOT_FOUND ||
        req->code == ERR_TYPE || req->code == ERR_TOO_LARGE)
        return;
    j->failure = req->why;
    journal_broke(j, req, req->code);
}
