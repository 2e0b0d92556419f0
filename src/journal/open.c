/* A journal that is open only at times: of several gateways, one owns the jobs.
 *
 *     closed ──journal_open──▶ open ──journal_close──▶ closed
 *     requests are            a store, jobs in memory,
 *     forwarded               a thread
 *
 * Nothing is answered before recovery, and no request is lost in between: whoever posts one
 * finds the inbox open or closed, under its lock.  Memory is a cache of the store, so closing
 * drops all of it. */
#include "journal/active_job.h"
#include "journal/inbox.h"

int journal_open(struct journal *j,
                 struct store *store,
                 struct breadcrumb breadcrumb,
                 const struct str *dead,
                 size_t n_dead,
                 struct error *err)
{
    j->opt.store = store;
    j->opt.breadcrumb = breadcrumb;
    j->last_turn = 0; /* no lease expires before its worker had the time to be heard */
    journal_take_over(j);
    int code = journal_recover(j, dead, n_dead, err);
    if (code == 0)
        code = journal_start(j, err);
    if (code == 0)
        inbox_open(j->inbox);
    else
        journal_forget(j);
    return code;
}

static void forward(struct journal *j, struct journal_request *list)
{
    if (list != NULL)
        j->opt.forward(j->opt.forward_arg, list);
}

/* What waits for work, for a worker's answer, or for news of a job. */
static void forward_waiting(struct journal *j)
{
    forward(j, j->put_off);
    j->put_off = NULL;
    for (struct journal_request *req; (req = waiting_first(j)) != NULL;) {
        waiting_remove(j, req);
        req->next = NULL;
        forward(j, req);
    }
    for (struct journal_request *req = j->calls, *next; req != NULL; req = next) {
        next = req->next;
        req->next = NULL;
        req->call.is_taken = req->call.is_answered = false;
        forward(j, req);
    }
    j->calls = NULL;
    j->n_calls = 0;
    for (size_t i = 0; i < j->n_all; i++)
        forward(j, beats_take(j->all[i]));
}

void journal_forget(struct journal *j)
{
    struct journal_events events = j->opt.events;

    j->opt.events.queued = NULL; /* nobody shall come for the next one */
    while (j->n_all > 0)
        active_job_remove(j->all[j->n_all - 1]);
    j->touched = NULL; /* the next run of a thread was, when the one before it was removed */
    j->opt.events = events;
    call_cache_clear(&j->kept);
    waiters_forget(j);
    worker_errors_clear(&j->worker_errors);
    known_clear(&j->known);
    wanted_clear(&j->wanted);
    store_batch_clear(&j->batch);
    memset(j->keys, 0, sizeof(j->keys)); /* they were the store's */
    j->noted = j->next_look = j->next_expire = j->next_thread = j->failed_at = 0;
    j->settling = j->stuck = j->turn_failed = j->is_late = j->has_begun = false;
    j->opt.store = NULL;
    j->opt.breadcrumb = (struct breadcrumb){ 0 };
    memset(&j->caution, 0, sizeof(j->caution));
    counter_set(&j->counts.lost, 0);
    journal_count_look(j);
    agent_counts_clear(&j->agent_counts);
}

void journal_close(struct journal *j)
{
    forward(j, inbox_close(j->inbox));
    journal_stop(j);
    forward_waiting(j);
    journal_forget(j);
}

bool journal_is_open(struct journal *j)
{
    return inbox_is_open(j->inbox);
}

void journal_apply_settings(struct journal *j, struct journal_request *req)
{
    req->code = 0;
    thread_owner_take(&j->owner);
    journal_set_settings(j, req);
}
