/* Deliveries of webhooks: what a run's end changes, and what a sender asks for.
 *
 *     SUBMIT with a URL ──▶ waiting
 *     the run ends ───────▶ pending ◀──┐        in the transaction of the end
 *     api/langgraph/webhook_sender.c:  │
 *              CLAIM ──▶ an attempt ───┤ FAILED: later again
 *                                      ├▶ SENT
 *                                      └▶ DEAD ── RESEND ──▶ pending
 *
 * A claim moves the time at which the delivery is due, so that no other gateway sends it while
 * this one does; if this one dies, the delivery is due again when that time has come.  The
 * store changes a delivery only if it still has the version that the turn has read: it belongs
 * to a run of any shard, and its sender asks the first one. */
#include "base/json.h"
#include "jobs/run_status.h"
#include "journal/active_job.h"

/* --- runs ----------------------------------------------------------------------------------
 */

/* As LangGraph's servers show a run, without what changes until its end. */
static void put_run(struct buf *b, const struct journal_request *req)
{
    const struct run_row *run = &req->submit.run;

    json_begin(b);
    json_add_str(b, "run_id", req->submit.id);
    json_add_str(b, "thread_id", req->thread);
    json_add_str(b, "assistant_id", run->assistant);
    json_add_raw(b, "metadata", run->metadata);
    json_add_raw(b, "kwargs", run->kwargs);
    json_add_str(b, "multitask_strategy", run->strategy);
    json_end(b);
}

int webhooks_submitted(struct active_job *job, const struct journal_request *req)
{
    struct journal *j = job->journal;
    struct webhook_row row = { .id = req->submit.id,
                               .job = job->row.key,
                               .thread = req->thread,
                               .owner = req->submit.owner,
                               .url = req->submit.webhook,
                               .created = job->row.created };
    struct buf run LOCAL_BUF(SIZE_MAX / 4);

    job->is_untold = str_absent(row.url);
    if (job->is_untold)
        return 0;
    put_run(&run, req);
    if (run.error != 0 || !arena_copy(&j->mem, buf_text(&run), &row.run))
        return ERR_NOMEM;
    return store_batch_webhook_insert(&j->batch, &row);
}

int webhooks_ended(struct active_job *job, struct str error)
{
    struct journal *j = job->journal;
    struct webhook_end end = { .job = job->row.key,
                               .thread = job->row.thread,
                               .status = run_status(&job->row),
                               .started = job->row.started,
                               .now = j->now };

    if (!str_absent(error) && !arena_copy(&j->mem, error, &end.error))
        return ERR_NOMEM;
    return store_batch_webhook_end(&j->batch, &end);
}

/* --- requests ------------------------------------------------------------------------------
 */

static void claim(const struct journal *j,
                  const struct webhook_request *req,
                  struct webhook_row *row)
{
    row->attempts++;
    row->tried = j->now;
    row->due = j->now + req->ms;
}

static void end_attempt(const struct journal *j,
                        const struct webhook_request *req,
                        struct webhook_row *row)
{
    bool is_over = req->change != WEBHOOK_FAILED;

    row->state = req->change == WEBHOOK_SENT   ? STR("sent")
                 : req->change == WEBHOOK_DEAD ? STR("dead")
                                               : STR("pending");
    row->reason = req->reason;
    row->code = req->http_status;
    row->due = is_over ? row->due : j->now + req->ms;
    row->expires = is_over ? j->now + req->ms : 0;
}

static void send_again(const struct journal *j, struct webhook_row *row)
{
    row->state = STR("pending");
    row->since = row->due = j->now;
    row->attempts = 0;
    row->expires = 0;
}

static int change(struct journal *j, struct journal_request *req)
{
    struct webhook_request *w = &req->webhook;
    struct webhook_row row;
    int err = read_webhook(j, w->id, &row);

    if (err == ERR_NOT_FOUND)
        return error_set(&req->why, err, "no delivery has the id '%.*s'",
                         STR_ARG(str_head(w->id, 80)));
    if (err != 0)
        return err;
    if (w->change == WEBHOOK_RESEND
            ? str_is(row.state, "waiting")
            : row.version != w->version || !str_is(row.state, "pending"))
        return error_set(&req->why, ERR_CLOSED, "%s",
                         str_is(row.state, "waiting") ? "its run has not ended yet"
                                                      : "the delivery has changed");
    if (w->change == WEBHOOK_RESEND)
        send_again(j, &row);
    else if (w->change == WEBHOOK_CLAIM)
        claim(j, w, &row);
    else
        end_attempt(j, w, &row);
    w->version = row.version + 1;
    return gather_webhook(j, &row);
}

void journal_webhook(struct journal *j, struct journal_request *req)
{
    int err = change(j, req);

    if (err == ERR_CLOSED)
        req->code = err;
    else
        journal_wrote(j, req, err);
}
