/* Heartbeats that wait: the worker of a silent job hears at once that it shall stop, or that it
 * has lost its lease.
 *
 * A waiting heartbeat is kept with its job.  It is answered by the turn that asks the worker to
 * stop or takes the job away from it, or when its time is over, like one that does not wait at
 * that moment.  It renews the lease only when it arrives. */
#include "journal/active_job.h"

bool journal_heartbeat(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_leased_job(j, req);

    if (job == NULL)
        return false;
    journal_renew(job);
    journal_answer_lease(job, req);
    if (req->beat.wait_ms <= 0 || req->cancel || req->pause || j->settling)
        return false;
    req->beat.deadline = j->now + req->beat.wait_ms;
    req->next = job->beats;
    job->beats = req;
    return true;
}

static bool has_news(const struct active_job *job, const struct journal_request *req)
{
    return job->deleted || job->state != JOB_RUNNING ||
           job->row.attempt != req->lease.attempt || job->row.cancel_requested != 0 ||
           job->row.pause_requested != 0;
}

/* As if it came now, but it renews nothing. */
static void answer(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_leased_job(j, req);

    if (job != NULL)
        journal_answer_lease(job, req);
}

/* Answers those that have news; with @is_time, also those that have waited long enough. */
static void look_at(struct active_job *job, bool is_time, struct journal_request **answered)
{
    struct journal *j = job->journal;

    for (struct journal_request **at = &job->beats; *at != NULL;) {
        struct journal_request *req = *at;
        bool is_over =
            is_time && (req->withdrawn || j->settling || j->now >= req->beat.deadline);

        if (!is_over && !has_news(job, req)) {
            at = &req->next;
            continue;
        }
        *at = req->next;
        answer(j, req);
        req->next = *answered;
        *answered = req;
    }
}

void beats_serve(struct journal *j, bool is_time, struct journal_request **answered)
{
    for (size_t i = 0; is_time && i < j->n_all; i++)
        look_at(j->all[i], true, answered);
    for (struct active_job *job = j->touched; job != NULL; job = job->next_touched)
        look_at(job, false, answered);
}

struct journal_request *beats_take(struct active_job *job)
{
    struct journal_request *list = job->beats;

    job->beats = NULL;
    return list;
}

void beats_orphaned(struct active_job *job)
{
    struct journal *j = job->journal;
    struct journal_request *next;

    for (struct journal_request *req = beats_take(job); req != NULL; req = next) {
        next = req->next;
        req->beat.wait_ms = 0;
        req->next = j->put_off; /* the next turn finds out what has become of the job */
        j->put_off = req;
    }
}
