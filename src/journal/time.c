/* Timers of jobs: deadlines, expired leases, retention. */
#include "journal/active_job.h"

#include <stdio.h>

enum {
    LOOK_EVERY_MS = 250,
    AWAY_MS = 2000, /* from turn to turn: longer than it takes anybody who is not stopped */
    EXPIRE_EVERY_MS = 10000,
    EXPIRE_MORE_MS = 10, /* while there is more of it than */
    EXPIRE_ROWS = 500
};

/* Time in which heartbeats could not be received does not count. */
static bool lease_is_over(const struct journal *j, const struct active_job *l)
{
    return j->now >= l->row.lease_until && j->now >= j->heard_since + active_job_lease_ms(l);
}

static bool has_come(const struct journal *j, int64_t time)
{
    return time != 0 && j->now >= time;
}

/* May look_at() do anything? */
static bool is_due(const struct journal *j, const struct active_job *l)
{
    const struct job_row *row = &l->row;

    if (l->stale || row->set_aside != 0)
        return false;
    if (l->damaged != 0)
        return true;
    if (l->state == JOB_WAITING)
        return has_come(j, row->answer_by);
    if (has_come(j, row->run_deadline))
        return true;
    if (l->state == JOB_RUNNING)
        return has_come(j, l->force_at) || l->is_unsigned || l->lost_attempt == row->attempt ||
               lease_is_over(j, l);
    return has_come(j, row->queue_deadline) && row->started == 0 && runs_may_begin(l);
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

static int look_at(struct journal *j, struct active_job *l)
{
    char why[96];

    if (l->deleted || job_state_is_final(l->state))
        return 0; /* it ended in this very turn */
    if (l->row.set_aside != 0)
        return 0;
    if (l->damaged != 0) {
        (void)snprintf(why, sizeof(why), "damaged: record %llu of this job cannot be read",
                       (unsigned long long)l->damaged);
        return active_job_finish(l, JOB_END_FAILED, str_of(why), STR("DamagedRecord"));
    }
    if (l->state == JOB_RUNNING && l->force_at != 0 && j->now >= l->force_at)
        return active_job_finish(l, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    if (l->row.run_deadline != 0 && j->now >= l->row.run_deadline && l->state != JOB_WAITING) {
        (void)snprintf(why, sizeof(why), "run deadline: longer than %lld s",
                       (long long)l->row.run_seconds);
        return active_job_finish(l, JOB_END_FAILED, str_of(why), STR("RunDeadline"));
    }
    if (l->state == JOB_QUEUED)
        runs_release(l);
    if (l->row.queue_deadline != 0 && j->now >= l->row.queue_deadline &&
        l->state == JOB_QUEUED && l->row.started == 0 && runs_may_begin(l))
        return active_job_finish(l, JOB_END_FAILED,
                                 STR("queue deadline: no worker took the job in time"),
                                 STR("QueueDeadline"));
    if (l->state == JOB_WAITING && l->row.answer_by != 0 && j->now >= l->row.answer_by)
        return questions_expire(l);
    if (l->state == JOB_RUNNING && l->is_unsigned && l->row.attempt == l->row.unsigned_attempt)
        return active_job_requeue(l, STR("leased by an earlier version of the server"));
    if (l->state == JOB_RUNNING && l->lost_attempt == l->row.attempt)
        return active_job_lose_worker(l, STR("worker lost: it went down with the server"),
                                      STR("ServerRestart"));
    if (l->state == JOB_RUNNING && lease_is_over(j, l))
        return active_job_lose_worker(l, STR("worker lost: its lease ran out"),
                                      STR("LeaseExpired"));
    return 0;
}

/* What is ended here has a worker that does not know: it is told to stop. */
static void look_once(struct journal *j, struct active_job *l)
{
    bool was_running = l->state == JOB_RUNNING;

    if (l->stale || (is_due(j, l) && !wants_of_time_are_known(l)))
        return;
    if (look_at(j, l) != 0)
        journal_fail_turn(j, NULL);
    breadcrumb_set(&j->opt.breadcrumb, 0);
    if (l->behind_since != 0 && (j->settling || j->now - l->behind_since >= ROW_EVERY_MS))
        active_job_change(l);
    l->cancel_news |= was_running && job_state_is_final(l->state);
}

bool journal_look_at_time(struct journal *j)
{
    bool is_time = j->now >= j->next_look;

    if (is_time) {
        j->next_look = j->now + LOOK_EVERY_MS;
        for (size_t i = 0; i < j->n_all; i++) /* jobs are only removed at the end of the turn */
            look_once(j, j->all[i]);
    }
    threads_expire(j);
    return is_time;
}

/* In a transaction of its own: what it meets in old rows is no concern of today's jobs. */
void journal_expire(struct journal *j)
{
    struct error err;
    size_t n = 0;

    if (j->now < j->next_expire)
        return;
    j->next_expire = j->now + EXPIRE_EVERY_MS;
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
