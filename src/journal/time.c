/* Timers of jobs: deadlines, expired leases, retention. */
#include "journal/active_job.h"

#include <stdio.h>

enum {
    LOOK_EVERY_MS = 250,
    AWAY_MS = 2000, /* between two turns: a longer gap means that the process was suspended */
    EXPIRE_EVERY_MS = 10000,
    EXPIRE_MORE_MS = 10, /* while there is more to delete than */
    EXPIRE_ROWS = 500
};

/* Time in which heartbeats could not be received does not count. */
static bool lease_is_over(const struct journal *j, const struct active_job *job)
{
    return j->now >= job->row.lease_until &&
           j->now >= j->heard_since + active_job_lease_ms(job);
}

static bool has_come(const struct journal *j, int64_t time)
{
    return time != 0 && j->now >= time;
}

/* Would look_at() do anything? */
static bool is_due(const struct journal *j, const struct active_job *job)
{
    const struct job_row *row = &job->row;

    if (job->stale || row->set_aside != 0)
        return false;
    if (job->damaged != 0)
        return true;
    if (job->state == JOB_WAITING)
        return has_come(j, row->answer_by);
    if (has_come(j, row->run_deadline))
        return true;
    if (job->state == JOB_RUNNING)
        return has_come(j, job->force_at) || job->is_unsigned ||
               job->lost_attempt == row->attempt || lease_is_over(j, job);
    return has_come(j, row->queue_deadline) && row->started == 0 && runs_may_begin(job);
}

void journal_want_time(struct journal *j)
{
    if (j->failed_at >= j->heard_since || j->now - j->last_turn > AWAY_MS)
        j->heard_since = j->now;
    for (size_t i = 0; i < j->n_all && j->now >= j->next_look; i++)
        if (is_due(j, j->all[i]))
            wants_of_time(j->all[i]);
    if (j->now >= j->next_thread)
        want_expired_threads(j);
    for (const struct known_thread *t = j->known.expired; t != NULL; t = t->next_expired)
        wants_of_thread(j, t->row.key);
}

static int look_at(struct journal *j, struct active_job *job)
{
    char why[96];

    if (job->deleted || job_state_is_final(job->state))
        return 0; /* it ended in this turn */
    if (job->row.set_aside != 0)
        return 0;
    if (job->damaged != 0) {
        (void)snprintf(why, sizeof(why), "damaged: record %llu of this job cannot be read",
                       (unsigned long long)job->damaged);
        return active_job_finish(job, JOB_END_FAILED, str_of(why), STR("DamagedRecord"));
    }
    if (job->state == JOB_RUNNING && job->force_at != 0 && j->now >= job->force_at)
        return active_job_finish(job, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    if (job->row.run_deadline != 0 && j->now >= job->row.run_deadline &&
        job->state != JOB_WAITING) {
        (void)snprintf(why, sizeof(why), "run deadline: longer than %lld s",
                       (long long)job->row.run_seconds);
        return active_job_finish(job, JOB_END_FAILED, str_of(why), STR("RunDeadline"));
    }
    if (job->state == JOB_QUEUED)
        runs_release(job);
    if (job->row.queue_deadline != 0 && j->now >= job->row.queue_deadline &&
        job->state == JOB_QUEUED && job->row.started == 0 && runs_may_begin(job))
        return active_job_finish(job, JOB_END_FAILED,
                                 STR("queue deadline: no worker took the job in time"),
                                 STR("QueueDeadline"));
    if (job->state == JOB_WAITING && job->row.answer_by != 0 && j->now >= job->row.answer_by)
        return questions_expire(job);
    if (job->state == JOB_RUNNING && job->is_unsigned &&
        job->row.attempt == job->row.unsigned_attempt)
        return active_job_requeue(job, STR("leased by an earlier version of the server"));
    if (job->state == JOB_RUNNING && job->lost_attempt == job->row.attempt)
        return active_job_lose_worker(job, STR("worker lost: it went down with the server"),
                                      STR("ServerRestart"));
    if (job->state == JOB_RUNNING && lease_is_over(j, job))
        return active_job_lose_worker(job, STR("worker lost: its lease ran out"),
                                      STR("LeaseExpired"));
    return 0;
}

/* If this ends a running job, its worker does not know: it is told to stop. */
static void look_once(struct journal *j, struct active_job *job)
{
    bool was_running = job->state == JOB_RUNNING;

    if (job->stale || (is_due(j, job) && !wants_of_time_are_known(job)))
        return;
    if (look_at(j, job) != 0)
        journal_fail_turn(j, NULL);
    breadcrumb_set(&j->opt.breadcrumb, 0);
    if (job->behind_since != 0 && (j->settling || j->now - job->behind_since >= ROW_EVERY_MS))
        active_job_change(job);
    job->cancel_news |= was_running && job_state_is_final(job->state);
}

bool journal_look_at_time(struct journal *j)
{
    bool is_time = j->now >= j->next_look;

    if (is_time) {
        j->next_look = j->now + LOOK_EVERY_MS;
        for (size_t i = 0; i < j->n_all; i++) /* jobs are only removed at the end of the turn */
            look_once(j, j->all[i]);
    }
    owners_try_again(j);
    threads_expire(j);
    return is_time;
}

/* In a transaction of its own, so that a problem with old rows does not affect current jobs. */
void journal_expire(struct journal *j)
{
    struct error err;
    size_t n = 0;

    if (j->now < j->next_expire)
        return;
    j->next_expire = j->now + EXPIRE_EVERY_MS;
    gather_drop_keys(j);
    if (store_begin(j->opt.store, &err) != 0)
        return;
    if (store_expire(j->opt.store, j->now, j->opt.history_ms, EXPIRE_ROWS, &n, &err) != 0) {
        store_rollback(j->opt.store);
        return;
    }
    if (store_commit(j->opt.store, &err) != 0)
        return;
    counter_add(&j->counts.expired, n);
    if (n == EXPIRE_ROWS)
        j->next_expire = j->now + EXPIRE_MORE_MS;
}
