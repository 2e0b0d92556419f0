#include "journal/counts.h"

#include "base/clock.h"
#include "journal/active_job.h"

static const struct {
    const char *name;
    const char *type; /* the error_type that the journal sets */
} failures[FAILURE_MAX] = {
    [FAILURE_WORKER] = { "worker", NULL },
    [FAILURE_RUN_DEADLINE] = { "run_deadline", "RunDeadline" },
    [FAILURE_QUEUE_DEADLINE] = { "queue_deadline", "QueueDeadline" },
    [FAILURE_ANSWER_DEADLINE] = { "answer_deadline", "AnswerDeadline" },
    [FAILURE_LEASE_EXPIRED] = { "lease_expired", "LeaseExpired" },
    [FAILURE_SERVER_RESTART] = { "server_restart", "ServerRestart" },
};

const char *failure_name(enum failure failure)
{
    return failures[failure].name;
}

static enum failure failure_of(struct str error_type)
{
    for (unsigned i = 0; i < FAILURE_MAX; i++)
        if (failures[i].type != NULL && str_eq(error_type, str_of(failures[i].type)))
            return (enum failure)i;
    return FAILURE_WORKER;
}

void journal_counts_init(struct journal_counts *counts)
{
    *counts = (struct journal_counts){ 0 };
    histogram_init(&counts->commit, &scale_latency);
    histogram_init(&counts->append, &scale_latency);
    histogram_init(&counts->batch, &scale_size);
    histogram_init(&counts->queue_wait, &scale_duration);
    histogram_init(&counts->run, &scale_duration);
    histogram_init(&counts->cancel, &scale_duration);
}

static void add_span(struct histogram *h, int64_t from_ms, int64_t to_ms)
{
    if (from_ms > 0) /* else it has not started */
        histogram_add(h, to_ms > from_ms ? (uint64_t)(to_ms - from_ms) * 1000 : 0, 1);
}

static void count_job(struct journal_counts *counts, const struct active_job *job, int64_t now)
{
    if (!job->state_news)
        return;
    if (job->state == JOB_RUNNING && job->row.started == now)
        add_span(&counts->queue_wait, job->row.created, now);
    if (!job_state_is_final(job->state))
        return;
    add_span(&counts->run, job->row.started, now);
    if (job->state == JOB_SUCCEEDED)
        counter_add(&counts->succeeded, 1);
    else if (job->state == JOB_FAILED)
        counter_add(&counts->failed[failure_of(job->row.error_type)], 1);
    else
        counter_add(&counts->cancelled, 1);
    if (job->state == JOB_CANCELLED)
        add_span(&counts->cancel, job->row.cancel_requested, now);
}

static bool is_workers(const struct journal_request *req)
{
    return journal_op_is_workers(req->op) && !str_absent(req->job);
}

/* The number of jobs of a submit, with those in `more`. */
static uint64_t count_new(const struct journal_request *first)
{
    uint64_t n = 0;

    for (const struct journal_request *r = first; r != NULL; r = r->submit.more)
        n += !r->submit.existed;
    return n;
}

/* Returns how many batches were acknowledged. */
static uint64_t count_requests(struct journal_counts *counts,
                               const struct journal_request *answered)
{
    uint64_t batches = 0;

    for (const struct journal_request *r = answered; r != NULL; r = r->next) {
        if (r->code == 0 && r->op == JOURNAL_FEED && r->feed.made)
            counter_add(&counts->submitted, 1);
        if (r->code == 0 && r->op == JOURNAL_SUBMIT)
            counter_add(&counts->submitted, count_new(r));
        if (is_workers(r) && r->code == ERR_REFUSED)
            counter_add(&counts->fenced, 1);
        if ((r->op != JOURNAL_APPEND && r->op != JOURNAL_FEED) || r->code != 0)
            continue;
        const struct events_taken *taken =
            r->op == JOURNAL_APPEND ? &r->append.taken : &r->feed.taken;
        batches++;
        counter_add(&counts->bad_lines, taken->rejected);
        histogram_add(&counts->batch, taken->accepted, 1);
    }
    return batches;
}

/* The later one; 0: never. */
static void take_later(struct counter *to, uint64_t from)
{
    if (from > counter_get(to))
        counter_set(to, from);
}

static void add_all(struct counter *to, const struct counter *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        counter_add(&to[i], counter_get(&from[i]));
}

/* Counters that are sums. */
static void add_sums(struct journal_counts *to, const struct journal_counts *from)
{
    add_all(&to->requests, &from->requests, 1);
    add_all(&to->commits, &from->commits, 1);
    add_all(&to->failed_commits, &from->failed_commits, 1);
    add_all(&to->missing_rows, &from->missing_rows, 1);
    add_all(&to->jobs, &from->jobs, 1);
    add_all(&to->queued, &from->queued, 1);
    add_all(&to->running, &from->running, 1);
    add_all(&to->set_aside, &from->set_aside, 1);
    add_all(&to->waiting_leases, &from->waiting_leases, 1);
    add_all(to->records, from->records, REC_KIND_MAX);
    add_all(&to->submitted, &from->submitted, 1);
    add_all(&to->succeeded, &from->succeeded, 1);
    add_all(&to->cancelled, &from->cancelled, 1);
    add_all(to->failed, from->failed, FAILURE_MAX);
    add_all(&to->retried, &from->retried, 1);
    add_all(&to->given_up, &from->given_up, 1);
    add_all(&to->repeated, &from->repeated, 1);
    add_all(&to->fenced, &from->fenced, 1);
    add_all(&to->bad_lines, &from->bad_lines, 1);
    add_all(&to->not_stored, &from->not_stored, 1);
    add_all(&to->expired, &from->expired, 1);
}

void journal_counts_add(struct journal_counts *to, const struct journal_counts *from)
{
    uint64_t oldest = counter_get(&from->oldest_queued_us);

    add_sums(to, from);
    take_later(&to->last_commit, counter_get(&from->last_commit));
    take_later(&to->last_commit_us, counter_get(&from->last_commit_us));
    take_later(&to->last_turn_us, counter_get(&from->last_turn_us));
    take_later(&to->last_failure_us, counter_get(&from->last_failure_us));
    take_later(&to->lost, counter_get(&from->lost));
    take_later(&to->clock_steps, counter_get(&from->clock_steps)); /* all see the same clock */
    if (oldest != 0 && (counter_get(&to->oldest_queued_us) == 0 ||
                        oldest < counter_get(&to->oldest_queued_us)))
        counter_set(&to->oldest_queued_us, oldest);
    histogram_merge(&to->commit, &from->commit);
    histogram_merge(&to->append, &from->append);
    histogram_merge(&to->batch, &from->batch);
    histogram_merge(&to->queue_wait, &from->queue_wait);
    histogram_merge(&to->run, &from->run);
    histogram_merge(&to->cancel, &from->cancel);
}

void journal_count_committed(struct journal *j, const struct journal_request *answered)
{
    struct journal_counts *counts = &j->counts;
    const struct tally *turn = &j->tally;
    uint64_t batches = count_requests(counts, answered);

    if (batches > 0)
        histogram_add(&counts->append, clock_monotonic_us() - j->since_us, batches);
    for (unsigned i = 0; i < REC_KIND_MAX; i++)
        counter_add(&counts->records[i], turn->records[i]);
    counter_add(&counts->retried, turn->retried);
    counter_add(&counts->given_up, turn->given_up);
    counter_add(&counts->repeated, turn->repeated);
    for (const struct active_job *job = j->touched; job != NULL; job = job->next_touched)
        count_job(counts, job, j->now);
    if (j->touched != NULL || j->gone.n > 0) {
        counter_set(&counts->last_commit, (uint64_t)j->now);
        counter_set(&counts->last_commit_us, clock_monotonic_us());
    }
}

void journal_count_failed(struct journal *j, const struct journal_request *answered)
{
    counter_add(&j->counts.failed_commits, 1);
    counter_set(&j->counts.last_failure_us, clock_monotonic_us());
    for (const struct journal_request *r = answered; r != NULL; r = r->next)
        if (r->op == JOURNAL_APPEND && r->code == ERR_BUSY)
            counter_add(&j->counts.not_stored, 1);
}

void journal_count_look(struct journal *j)
{
    struct journal_counts *counts = &j->counts;
    uint64_t now_us = clock_monotonic_us();
    int64_t oldest = 0;

    for (size_t i = 0; i < j->opt.n_agents; i++) {
        const struct queue *q = &j->queues[i];

        /* A waiting job is not changed, so `updated` is when it was queued. */
        if (q->n > 0 && (oldest == 0 || q->head.next->row.updated < oldest))
            oldest = q->head.next->row.updated;
    }
    agent_counts_look(&j->agent_counts, j, now_us);
    counter_set(&counts->last_turn_us, now_us);
    counter_set(&counts->jobs, j->n_all);
    counter_set(&counts->queued, j->n_queued);
    counter_set(&counts->running, j->n_running);
    counter_set(&counts->set_aside, j->n_set_aside);
    counter_set(&counts->waiting_leases, j->n_waiting_leases);
    /* May wrap around: it may be before the start of the clock. */
    counter_set(&counts->oldest_queued_us,
                oldest != 0 ? now_us - (uint64_t)(j->now - oldest) * 1000 : 0);
}
