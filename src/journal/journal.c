/* A turn: all waiting requests, one commit, then changes and answers.
 *
 *     begin ─▶ read ─▶ do each request ─▶ flush ─▶ commit ─▶ tell, answer
 *              │            │               │
 *              │            │               └─ store_batch: all writes, in order
 *              │            └─ memory only: active jobs, and rows that are known (known.h)
 *              └─ what the requests need that is not in memory, in one call (wants.c)
 *
 * The number of calls to the store is the same for one request and for a thousand;
 * unit/journal/turn_test.c checks that.  A request may need rows that were not read, because an
 * earlier request of the turn has changed something.  Then it is put off to the next turn,
 * which reads these rows.  All requests after it are put off too, so that requests are executed
 * in the order of arrival.  The first request of a turn is never put off.
 *
 * If reading, flushing or committing fails, nothing has changed: the requests are answered
 * ERR_BUSY, and the jobs that the turn touched are read again. */
#include "journal/journal.h"

#include "base/clock.h"
#include "ingest/agent.h"
#include "ingest/intake.h"
#include "journal/inbox.h"
#include "journal/active_job.h"

#include <stdlib.h>

/* MAX_CONFLICTS: how often a turn is repeated.
 * STUCK_MS: without a failure, until commits count as working again.  SETTLE_MS: how long the
 * last turns are tried again when the journal stops. */
enum { STUCK_MS = 5000, SETTLE_MS = 3000, MAX_CONFLICTS = 10 };

/* --- life -------------------------------------------------------------------- */

int journal_new(const struct journal_options *options, struct journal **ret, struct error *err)
{
    struct journal *j = calloc(1, sizeof(*j));

    if (j == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    j->opt = *options;
    table_init(&j->active_jobs);
    table_init(&j->owners);
    table_init(&j->threads);
    journal_counts_init(&j->counts);
    agent_counts_init(&j->agent_counts);
    store_batch_init(&j->batch);
    known_init(&j->known);
    buf_init(&j->gone, SIZE_MAX / 4);
    json_reader_init(&j->reader, SIZE_MAX / 64, 256);
    j->queues = journal_queues_new(options->n_agents);
    if (waiting_init(j) != 0 || j->queues == NULL || inbox_new(&j->inbox) != 0 ||
        agent_new(STR("agent"), &j->fallback) != 0) {
        journal_free(j);
        return error_set(err, ERR_NOMEM, "out of memory");
    }
    if (options->forward != NULL)
        (void)inbox_close(j->inbox); /* nothing has come yet */
    *ret = j;
    return 0;
}

/* Unlinks it first: the owner may post it again at once, and requests that are still linked to
 * it would be executed a second time. */
static void reply(struct journal_request *req)
{
    journal_request_answer(req);
}

/* Refuse all waiting requests: the server is shutting down. */
static void send_away(struct journal_request *list)
{
    while (list != NULL) {
        struct journal_request *req = list;

        list = req->next;
        req->code = error_set(&req->why, ERR_BUSY, "the server is going down");
        reply(req);
    }
}

void journal_free(struct journal *j)
{
    if (j == NULL)
        return;
    for (struct journal_request *req; (req = waiting_first(j)) != NULL;) {
        waiting_remove(j, req);
        req->next = NULL;
        send_away(req);
    }
    send_away(j->calls);
    send_away(j->put_off);
    if (j->inbox != NULL)
        send_away(inbox_close(j->inbox)); /* what came after the last turn, from a link that
                                             ends */
    j->opt.events.queued = NULL;          /* announce no jobs while it stops */
    while (j->n_all > 0)
        active_job_remove(j->all[j->n_all - 1]);
    table_done(&j->active_jobs);
    table_done(&j->owners);
    table_done(&j->threads);
    call_cache_clear(&j->kept);
    waiters_forget(j);
    worker_errors_clear(&j->worker_errors);
    intake_free(j->intake);
    agent_free(j->fallback);
    store_batch_done(&j->batch);
    known_done(&j->known);
    wanted_done(&j->wanted);
    buf_done(&j->gone);
    arena_done(&j->mem);
    json_reader_done(&j->reader);
    inbox_free(j->inbox);
    agent_counts_done(&j->agent_counts);
    free(j->queues);
    free(j->agent_leases);
    free(j->agents);
    free(j->all);
    free(j);
}

struct inbox *journal_inbox(struct journal *j)
{
    return j->inbox;
}

void journal_post(struct journal *j, struct journal_request *req)
{
    for (struct journal_request *r = req; r != NULL; r = r->next)
        loop_call_start(&r->loop_call);
    if (j->opt.route != NULL)
        j->opt.route(j->opt.route_arg, req);
    else
        journal_post_again(j, req);
}

void journal_post_here(struct journal *j, struct journal_request *req)
{
    for (struct journal_request *r = req; r != NULL; r = r->next)
        loop_call_start(&r->loop_call);
    journal_post_again(j, req);
}

void journal_post_again(struct journal *j, struct journal_request *req)
{
    if (!inbox_put(j->inbox, req))
        j->opt.forward(j->opt.forward_arg, req);
}

void journal_withdraw(struct journal_request *req)
{
    req->withdrawn = true;
}

/* --- the end of a turn ------------------------------------------------------- */

static int store_rows(struct journal *j)
{
    for (struct active_job *job = j->touched; job != NULL; job = job->next_touched) {
        if (job->deleted)
            continue;
        job->row.updated = j->now;
        if (job->behind_since == 0)
            job->behind_since = j->now;
        if (!job->changed)
            continue;
        int err = store_batch_job_update(&j->batch, &job->row);
        if (err != 0)
            return err;
        job->behind_since = 0;
    }
    int err = journal_note_time(j);
    if (err == 0)
        err = journal_flush(j);
    return err == 0 ? operations_store(j) : err;
}

static int commit(struct journal *j)
{
    int err = j->turn_failed ? ERR_BUSY : store_rows(j);

    if (err != 0) {
        store_rollback(j->opt.store);
        return err;
    }
    uint64_t before = clock_monotonic_us();
    err = store_commit(j->opt.store, &j->failure);
    j->commit_us = clock_monotonic_us() - before;
    counter_add(&j->counts.commits, 1);
    if (j->touched != NULL || j->gone.n > 0) /* else there was nothing to sync */
        histogram_add(&j->counts.commit, j->commit_us, 1);
    return err;
}

/* A heartbeat is not a change for readers. */
static bool has_news(const struct active_job *job)
{
    return job->row.seq != job->told_seq || job->state_news || job->cancel_news ||
           job->pause_news || job->deleted || job->questions != NULL;
}

static void tell_queued(struct journal *j)
{
    const struct journal_events *events = &j->opt.events;

    for (struct active_job *job = j->touched; job != NULL && events->queued != NULL;
         job = job->next_touched) {
        if (job->state == JOB_QUEUED && (job->state_news || job->queue_news))
            events->queued(events->arg, job->row.agent);
        job->queue_news = false;
    }
}

/* Publishes a few at a time, so that no job is left out when memory is short. */
struct telling {
    struct journal *journal;
    size_t n;
    struct publication pubs[64];
};

static void tell_all(struct telling *t)
{
    const struct journal_events *events = &t->journal->opt.events;

    if (t->n > 0 && events->published != NULL)
        events->published(events->arg, t->pubs, t->n);
    t->n = 0;
}

static struct publication *next_told(struct telling *t)
{
    if (t->n == sizeof(t->pubs) / sizeof(t->pubs[0]))
        tell_all(t);
    return &t->pubs[t->n++];
}

static struct publication news_of(const struct journal *j, const struct active_job *job)
{
    return (struct publication){ .job = job->row.id,
                                 .agent = job->row.agent,
                                 .owner = job->row.owner,
                                 .key = job->row.key,
                                 .thread = job->row.thread,
                                 .shard = j->opt.shard,
                                 .state = job->state,
                                 .state_changed = job->state_news,
                                 .gone = job->deleted,
                                 .cancel_requested = job->cancel_news,
                                 .pause_requested = job->pause_news,
                                 .attempt = job->row.attempt,
                                 .ts = j->now,
                                 .since_us = j->since_us,
                                 .last_seq = job->row.seq,
                                 .records = job->records,
                                 .n_records = job->n_records,
                                 .questions = job->questions,
                                 .error = job->row.error };
}

static void publish(struct journal *j)
{
    struct telling t;

    t.journal = j;
    t.n = 0;
    for (struct active_job *job = j->touched; job != NULL; job = job->next_touched)
        if (has_news(job))
            *next_told(&t) = news_of(j, job);
    for (const char *id = j->gone.p; id != NULL && id < j->gone.p + j->gone.n;
         id += strlen(id) + 1)
        *next_told(&t) = (struct publication){
            .job = str_of(id), .shard = j->opt.shard, .gone = true, .ts = j->now
        };
    tell_all(&t);
    tell_queued(j);
}

/* Detached first: ending a turn may remove a job. */
static void end_touched(struct journal *j, void (*each)(struct active_job *))
{
    struct active_job *job = j->touched;

    j->touched = NULL;
    while (job != NULL) {
        struct active_job *next = job->next_touched;

        each(job);
        job = next;
    }
}

static void reply_all(struct journal_request *list)
{
    while (list != NULL) {
        struct journal_request *next = list->next;

        reply(list);
        list = next;
    }
}

/* Reports failure once, however many turns fail; one successful turn soon after does not end
 * it. */
static void tell_stuck(struct journal *j, bool failed)
{
    const struct journal_events *events = &j->opt.events;
    bool stuck =
        failed || (j->stuck && (j->touched == NULL || j->now - j->failed_at < STUCK_MS));

    if (failed)
        j->failed_at = j->now;
    counter_set(&j->counts.lost, failed && store_is_lost(j->opt.store));
    if (j->stuck != stuck && events->stuck != NULL)
        events->stuck(events->arg, stuck ? str_of(j->failure.text) : STR_NONE);
    j->stuck = stuck;
}

/* Nothing of the turn was stored, or it is not known: every request is answered ERR_BUSY, with
 * a text that says which. */
static void turn_failed(struct journal *j, int err, struct journal_request *list)
{
    bool is_final = err != ERR_CONFLICT || j->n_conflicts + 1 >= MAX_CONFLICTS;

    if (is_final)
        tell_stuck(j, true);
    gather_drop_keys(j);
    for (struct journal_request *req = list; req != NULL; req = req->next) {
        /* A bad value stays refused; any other answer may depend on what was not stored. */
        if (req->code != ERR_TYPE)
            req->code = error_set(&req->why, ERR_BUSY, "%.200s", j->failure.text);
    }
    if (is_final)
        journal_count_failed(j, list);
    runs_forget_rows(j);
    end_touched(j, active_job_reload);
}

/* What a turn that was not stored has left in it. */
static void forget_answer(struct journal_request *req)
{
    req->row = NULL;
    if (req->op == JOURNAL_APPEND)
        req->append.taken = (struct events_taken){ 0 };
    if (req->op == JOURNAL_FEED)
        req->feed.taken = (struct events_taken){ 0 };
    if (req->op == JOURNAL_COUNT)
        req->count.n_waiting = req->count.n_running = 0;
}

static struct journal_request *reversed(struct journal_request *list)
{
    struct journal_request *ret = NULL;

    while (list != NULL) {
        struct journal_request *next = list->next;

        list->next = ret;
        ret = list;
        list = next;
    }
    return ret;
}

/* The next turn begins with these requests. */
static void repeat(struct journal *j, struct journal_request *list)
{
    struct journal_request **end = &list;

    while (*end != NULL)
        end = &(*end)->next;
    *end = j->put_off;
    j->put_off = list;
    j->put_off_since_us = j->since_us;
}

/* The requests of a turn of which nothing is stored, in order: another gateway does them, if it
 * has taken the jobs over; the next turn does them again, if another transaction was in the
 * way.  Gives what is to be answered. */
static struct journal_request *retry(struct journal *j, int err, struct journal_request *list)
{
    bool is_lost = j->opt.forward != NULL && store_is_lost(j->opt.store);
    bool is_repeated = err == ERR_CONFLICT && ++j->n_conflicts < MAX_CONFLICTS;

    if (list == NULL || (!is_lost && !is_repeated))
        return list;
    for (struct journal_request *req = list; req != NULL; req = req->next)
        forget_answer(req);
    if (is_lost)
        j->opt.forward(j->opt.forward_arg, list);
    else
        repeat(j, list);
    return NULL;
}

/* --- the turn ---------------------------------------------------------------- */

/* Begins the turn, and reads the rows that it needs. */
static int begin(struct journal *j, const struct journal_request *list)
{
    int err = suspects_name(j);

    if (err == 0 && !j->has_begun)
        err = store_begin(j->opt.store, &j->failure);
    j->has_begun = false;
    if (err != 0)
        return err;
    err = suspects_remove_name(j);
    if (err == 0)
        err = operations_read(j, list);
    if (err == 0)
        err = wanted_read(j, list);
    if (err != 0)
        store_rollback(j->opt.store);
    return err;
}

/* Executes the requests; returns those that are answered. */
static struct journal_request *do_all(struct journal *j, struct journal_request *list)
{
    const struct journal_request *first = list;
    struct journal_request *answered = NULL;

    j->is_changed = false;
    while (list != NULL) {
        struct journal_request *req = list;

        if (j->is_changed && req != first && !wants_are_known(j, req)) {
            repeat(j, list);
            break;
        }
        list = req->next;
        bool is_done = operations_repeated(j, req);
        bool waits = !is_done && journal_do(j, req);
        breadcrumb_set(&j->opt.breadcrumb, 0);
        if (waits)
            continue;
        if (!is_done)
            operations_keep(j, req);
        req->next = answered;
        answered = req;
    }
    return answered;
}

static void reload_stale(struct journal *j)
{
    for (size_t i = j->n_all; i-- > 0;) /* from the end: the loop may remove the job */
        if (j->all[i]->stale)
            active_job_reload(j->all[i]);
}

/* The requests that were put off, then new ones. */
static struct journal_request *take_requests(struct journal *j)
{
    struct journal_request *list = j->put_off, **end = &list;
    uint64_t since_us;

    while (*end != NULL)
        end = &(*end)->next;
    *end = inbox_take(j->inbox, &since_us);
    j->since_us = j->put_off != NULL ? j->put_off_since_us : since_us;
    j->put_off = NULL;
    return list;
}

/* The next deadline, if no request arrives. */
static int64_t next_time(const struct journal *j)
{
    if (j->put_off != NULL || j->is_late)
        return 0;
    return j->next_expire < j->next_look ? j->next_expire : j->next_look;
}

void journal_take_over(struct journal *j)
{
    thread_owner_take(&j->owner);
    store_take(j->opt.store);
}

/* Clears what the last turn has left. */
static void prepare(struct journal *j)
{
    j->turn_failed = false;
    j->was_late = j->is_late;
    j->is_late = false;
    if (j->was_late)
        j->next_look = j->now;
    j->tally = (struct tally){ 0 };
    buf_clear(&j->gone);
    arena_reset(&j->mem);
    known_clear(&j->known);
    wanted_clear(&j->wanted);
    store_batch_clear(&j->batch); /* left by a failed turn */
    j->chunk.job = NULL;
    reload_stale(j);
}

/* Executes the requests, and what waits or is due, and commits.  Returns what is answered, the
 * last one first. */
static int execute(struct journal *j,
                   struct journal_request *list,
                   struct journal_request **answered)
{
    *answered = do_all(j, list);
    bool is_look = journal_look_at_time(j);
    if (is_look)
        journal_look_at_leases(j, answered);
    else
        journal_serve_leases(j, answered);
    beats_serve(j, is_look, answered);
    breadcrumb_set(&j->opt.breadcrumb, 0);
    return commit(j);
}

bool journal_turn(struct journal *j)
{
    assert_owner(&j->owner);
    j->now = journal_time(j);
    bool is_time = j->now >= next_time(j);
    struct journal_request *list = take_requests(j);
    if (list == NULL && !is_time)
        return false;
    prepare(j);
    suspects_cut(j, list);
    struct journal_request *answered = list;
    int err = begin(j, list);
    bool is_done = err == 0;
    if (is_done)
        err = execute(j, list, &answered);
    else
        j->turn_failed = true;
    wanted_end_turn(j);
    if (err != 0) {
        answered = is_done ? reversed(answered) : answered;
        turn_failed(j, err, answered);
        if (err != ERR_UNKNOWN) /* what may be stored must not be done again */
            answered = retry(j, err, answered);
    } else {
        j->n_conflicts = 0;
        suspects_stored(j);
        tell_stuck(j, false);
        journal_count_committed(j, answered);
        publish(j);
        end_touched(j, active_job_end_turn);
        answered = reversed(answered); /* a client that sent two may take them in this order */
    }
    owners_tell(j);
    journal_serve_calls(j, &answered); /* after the commit: a failed turn could not undo it */
    journal_count_look(j);
    reply_all(answered);
    journal_expire(j);
    store_compact(j->opt.store); /* does nothing when there is little to move */
    j->last_turn = j->now;
    journal_follow_clock(j);
    return true;
}

/* Not after a turn that failed: what it has left is read again, outside of a transaction. */
void journal_expect(struct journal *j)
{
    j->has_begun =
        !j->stuck && j->n_conflicts == 0 && store_begin(j->opt.store, &j->failure) == 0;
}

uint64_t journal_commit_us(const struct journal *j)
{
    return store_is_remote(j->opt.store) ? j->commit_us : 0;
}

void journal_hurry(struct journal *j)
{
    if (j->opt.store != NULL)
        store_hurry(j->opt.store);
}

void journal_settle(struct journal *j)
{
    int64_t until = clock_monotonic_ms() + SETTLE_MS;
    bool is_time = true;

    j->settling = true;
    j->next_look = 0;
    /* Also handles requests that follow from answers, such as returned jobs. */
    while (is_time && journal_turn(j) && !store_is_lost(j->opt.store))
        is_time = !j->stuck || clock_monotonic_ms() < until;
    if (is_time || j->opt.events.stuck == NULL)
        return;
    struct error why = j->failure;
    (void)error_set(&j->failure, why.code, "going down, nothing more is stored: %.180s",
                    why.text);
    j->opt.events.stuck(j->opt.events.arg, str_of(j->failure.text));
}

int64_t journal_next_ms(struct journal *j)
{
    int64_t left = next_time(j) - journal_time(j);

    if (j->put_off != NULL || j->is_late)
        return 0;
    return left < 1 ? 1 : left > 1000 ? 1000 : left;
}

const struct journal_counts *journal_counts(const struct journal *j)
{
    return &j->counts;
}

/* --- after a crash ----------------------------------------------------------- */

struct recovery {
    struct journal *journal;
    const struct str *dead;
    size_t n_dead;
    int err;
};

static bool is_dead(const struct recovery *r, struct str agent)
{
    for (size_t i = 0; i < r->n_dead; i++)
        if (str_eq(r->dead[i], agent))
            return true;
    return false;
}

/* Does the server itself hold the lease?  Either for a channel, or by the name of a slot, such
 * as "arq:researcher:2". */
static bool is_own(const struct active_job *job)
{
    struct str place = job->row.request_id;

    if (job->agent == NULL)
        return false;
    return job->agent->fed == FED_ALONE ||
           (job->agent->places.n > 0 &&
            str_eq(str_head(place, str_find(place, ':')), job->agent->places));
}

/* The lease of its worker has no signature and is no longer valid.  The server's own leases
 * need none. */
static bool is_unsigned(const struct active_job *job)
{
    return job->row.unsigned_attempt == job->row.attempt && !is_own(job);
}

static int on_open_job(void *arg, const struct job_row *row)
{
    struct recovery *r = arg;
    struct journal *j = r->journal;
    struct job_row taken = *row;
    struct active_job *job;

    suspects_take(j, &taken);
    r->err = active_job_add(j, &taken, &job);
    if (r->err == 0)
        suspects_added(job);
    if (r->err != 0 || job->state != JOB_RUNNING || job->row.set_aside != 0)
        return r->err;
    job->is_unsigned = is_unsigned(job);
    /* A pull worker may have continued while the server was down; a process of the server ended
     * with it. */
    if (is_dead(r, job->row.agent) && !journal_has_gateway(&job->row))
        job->lost_attempt = job->row.attempt;
    if (job->row.cancel_requested != 0)
        job->force_at = j->now + (job->agent != NULL ? job->agent->cancel_grace_ms : 0);
    return 0;
}

int journal_recover(struct journal *j, const struct str *dead, size_t n_dead, struct error *err)
{
    struct recovery r = { .journal = j, .dead = dead, .n_dead = n_dead };

    int code = journal_start_clock(j, err);
    if (code != 0)
        return code;
    counter_set(&j->counts.last_turn_us, clock_monotonic_us()); /* not stuck before the first
                                                                   turn */
    suspects_look_behind(j);
    code = store_open_jobs(j->opt.store, on_open_job, &r, err);
    if (code == 0 && r.err != 0)
        code = error_set(err, r.err, "%s", error_name(r.err));
    if (code == 0)
        suspects_recovered(j);
    return code;
}
