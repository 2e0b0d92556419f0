/* The requests, one function each.
 *
 * A request is refused before it has written anything, so a refusal harms nobody.  What
 * fails after that (memory, disk) fails the whole turn. */
#include "ingest/fold.h"
#include "ingest/intake.h"
#include "jobs/reach.h"
#include "journal/live.h"

void journal_fail_turn(struct journal *j, const struct error *why)
{
    if (!j->turn_failed && why != NULL)
        j->failure = *why;
    j->turn_failed = true;
}

void journal_broke(struct journal *j, struct journal_request *req, int code)
{
    if (code == ERR_NOMEM)
        (void)error_set(&j->failure, ERR_NOMEM, "out of memory");
    journal_fail_turn(j, NULL);
    refuse(req, ERR_BUSY, "%.200s", j->failure.text);
}

/* --- answers ----------------------------------------------------------------- */

static bool keep(struct journal_request *req, struct str text, struct str *place)
{
    return arena_copy(&req->mem, text, place);
}

void journal_answer_row(struct journal_request *req, const struct job_row *row)
{
    struct job_row out = *row;

    if (keep(req, row->id, &out.id) && keep(req, row->agent, &out.agent) &&
        keep(req, row->state, &out.state) && keep(req, row->input, &out.input) &&
        keep(req, row->owner, &out.owner) && keep(req, row->worker, &out.worker) &&
        keep(req, row->holder, &out.holder) && keep(req, row->error, &out.error) &&
        keep(req, row->error_type, &out.error_type) && keep(req, row->outcome, &out.outcome)) {
        out.idempotency_key = out.request_hash = STR_NONE;
        req->row = out;
        return;
    }
    refuse(req, ERR_BUSY, "out of memory");
}

static void not_found(struct journal_request *req)
{
    refuse(req, ERR_NOT_FOUND, "Job not found: %.*s", STR_ARG(str_head(req->job, 100)));
}

/* Is it there, for who asks? */
static bool is_visible(const struct journal_request *req, const struct job_row *row)
{
    return reach_includes(req->reach, row->id, row->owner) &&
           (req->thread_row.key == 0 || req->thread_row.key == row->thread) &&
           (str_absent(req->holder) || str_absent(row->holder) ||
            str_eq(req->holder, row->holder));
}

struct live *journal_job_of(struct journal *j, struct journal_request *req)
{
    struct live *l = live_find(j, req->job);
    struct job_row row;

    if (l != NULL && l->stale) {
        refuse(req, ERR_BUSY, "the job could not be read from the store yet");
        return NULL;
    }
    if (l != NULL && !is_visible(req, &l->row)) {
        not_found(req);
        return NULL;
    }
    if (l != NULL && !l->deleted && !job_state_is_final(l->state))
        return l;
    if (l != NULL && !l->deleted) { /* it ended in this very turn */
        journal_answer_row(req, &l->row);
        refuse(req, ERR_CLOSED, "the job has ended: %.*s", STR_ARG(l->row.state));
        return NULL;
    }
    int err =
        l != NULL ? ERR_NOT_FOUND : store_job_get(j->opt.store, req->job, &row, &req->why);
    if (err == 0 && !is_visible(req, &row))
        err = ERR_NOT_FOUND;
    if (err == ERR_NOT_FOUND)
        not_found(req);
    else if (err != 0)
        req->code = ERR_BUSY;
    if (err != 0)
        return NULL;
    journal_answer_row(req, &row);
    refuse(req, ERR_CLOSED, "the job has ended: %.*s", STR_ARG(req->row.state));
    return NULL;
}

/* The same, and the caller must hold the lease. */
static struct live *leased_job(struct journal *j, struct journal_request *req)
{
    struct live *l = journal_job_of(j, req);

    if (l == NULL)
        return NULL;
    if (l->row.key != req->key) {
        refuse(req, ERR_REFUSED, "this lease is of an earlier job with the same id");
        return NULL;
    }
    if (l->state != JOB_RUNNING || l->row.attempt != req->attempt) {
        refuse(req, ERR_REFUSED,
               "attempt %lld does not hold this job: it is %.*s at attempt %lld",
               (long long)req->attempt, STR_ARG(l->row.state), (long long)l->row.attempt);
        return NULL;
    }
    return l;
}

int64_t live_lease_ms(const struct live *l)
{
    return l->agent != NULL ? l->agent->lease_ms : 60000;
}

void journal_renew(struct live *l)
{
    live_touch(l);
    l->row.lease_until = l->journal->now + live_lease_ms(l);
}

static void answer_lease(struct live *l, struct journal_request *req)
{
    req->code = 0;
    req->cancel = l->row.cancel_requested != 0;
    req->pause = l->row.pause_requested != 0;
    req->lease_ms = live_lease_ms(l);
}

/* What a run has besides. */
static int put_run(struct journal *j, int64_t key, struct journal_request *req)
{
    struct run_row *run = &req->run;
    int err = store_run_get(j->opt.store, key, run, &j->failure);

    if (err != 0)
        return err;
    return keep(req, run->assistant, &run->assistant) &&
                   keep(req, run->metadata, &run->metadata) &&
                   keep(req, run->kwargs, &run->kwargs) &&
                   keep(req, run->strategy, &run->strategy) &&
                   keep(req, run->thread, &run->thread)
               ? 0
               : ERR_NOMEM;
}

/* --- submit ------------------------------------------------------------------ */

static bool submitted_before(struct journal *j, struct journal_request *req)
{
    struct job_row row;

    if (req->row.idempotency_key.p == NULL)
        return false;
    int err = store_job_by_idempotency(j->opt.store, req->row.idempotency_key, &row, &req->why);
    if (err == ERR_NOT_FOUND)
        return false;
    if (err != 0) {
        req->code = ERR_BUSY;
        return true;
    }
    if (!str_eq(row.request_hash, req->row.request_hash)) {
        refuse(req, ERR_REFUSED, "this Idempotency-Key was used with another request");
        return true;
    }
    req->existed = true;
    req->code = 0;
    journal_answer_row(req, &row);
    if (req->code == 0 && req->row.thread != 0) {
        if (put_run(j, req->row.key, req) != 0)
            refuse(req, ERR_BUSY, "the run could not be read");
        req->thread_row.id = req->run.thread;
    }
    return true;
}

static void fill_row(const struct journal *j,
                     const struct journal_agent *agent,
                     struct job_row *row)
{
    row->state = STR("queued");
    row->created = row->updated = j->now;
    row->attempts_left = agent->attempts;
    row->queue_deadline = agent->queue_ms > 0 ? j->now + agent->queue_ms : 0;
    row->run_seconds = (agent->run_ms + 999) / 1000;
    row->producer_seq = -1;
    row->published = agent->is_published ? 0 : -1;
    row->first_seq = 1;
    row->seq = 0;
    if (row->expiry_seconds == 0)
        row->expiry_seconds = j->opt.default_expiry_seconds;
}

static bool has_too_many(const struct journal *j, struct journal_request *req)
{
    const struct owner *o = owner_find(j, req->row.owner);

    if (o != NULL && req->max_jobs > 0 && o->n_jobs >= (uint64_t)req->max_jobs)
        refuse(req, ERR_LIMIT, "%lld jobs of yours have not ended, and that is the most",
               (long long)req->max_jobs);
    else if (o != NULL && req->max_queued > 0 && o->n_queued >= (uint64_t)req->max_queued)
        refuse(req, ERR_LIMIT, "%lld jobs of yours wait for a worker, and that is the most",
               (long long)req->max_queued);
    else
        return false;
    return true;
}

void journal_submit(struct journal *j, struct journal_request *req)
{
    const struct journal_agent *agent = journal_agent_of(j, req->row.agent);
    bool is_run = !str_absent(req->run.kwargs);
    struct job_row row = req->row;
    struct thread_row thread;
    struct live *l;
    struct fold *fold;

    if (agent == NULL) {
        refuse(req, ERR_TYPE, "unknown agent: %.*s", STR_ARG(str_head(req->row.agent, 80)));
        return;
    }
    if (submitted_before(j, req))
        return;
    if (has_too_many(j, req))
        return;
    if (live_find(j, req->row.id) != NULL && live_find(j, req->row.id)->deleted) {
        refuse(req, ERR_BUSY, "the job of this id is being deleted");
        return;
    }
    if (is_run ? !threads_may_enter(j, req, &thread) : threads_have(j, req, row.id))
        return;
    fill_row(j, agent, &row);
    int err = is_run ? threads_enter(j, req, &thread, &row) : 0;
    if (err == 0)
        err = store_job_insert(j->opt.store, &row, &j->failure);
    if (err == ERR_REFUSED) {
        refuse(req, ERR_REFUSED, "Job already exists: %.*s", STR_ARG(str_head(row.id, 100)));
        return;
    }
    if (err == 0)
        err = live_add(j, &row, &l);
    if (err == 0) {
        l->state_news = true;
        live_touch(l);
        err = live_fold(l, &fold);
    }
    if (err == 0)
        err = fold_begin(fold, j->now);
    if (err == 0 && is_run)
        err = threads_entered(l, req);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(req, &l->row);
}

/* --- leases ------------------------------------------------------------------ */

static const struct journal_agent *leasable(const struct journal *j, struct str agent)
{
    const struct journal_agent *a = journal_agent_of(j, agent);

    return a != NULL && a->fed != FED_ALONE ? a : NULL;
}

static struct live *next_for(struct journal *j, const struct journal_request *req)
{
    for (size_t i = 0; i < req->n_agents; i++) {
        const struct journal_agent *a =
            leasable(j, req->agents[(i + j->lease_turn) % req->n_agents]);
        struct queue *q = a != NULL ? &j->queues[a - j->opt.agents] : NULL;

        while (q != NULL && q->n > 0) {
            struct live *l = q->head.next;

            if (runs_may_begin(l) && owner_has_room(l))
                return l;
            live_dequeue(l);
            live_enqueue(l); /* it is held, or waits for its thread */
        }
    }
    return NULL;
}

int journal_begin_attempt(struct live *l, const struct journal_request *req)
{
    struct journal *j = l->journal;
    int err = live_move(l, JOB_RUNNING);

    if (err == 0)
        err = live_set_text(&l->row.worker, req->worker);
    if (err == 0)
        err = live_set_text(&l->row.holder, req->holder);
    if (err == 0)
        err = live_set_request(l, req->request_id);
    if (err != 0)
        return err;
    l->row.attempt++;
    l->row.producer_seq = -1;
    if (l->row.started == 0) {
        l->row.started = j->now;
        l->row.run_deadline = l->row.run_seconds > 0 ? j->now + l->row.run_seconds * 1000 : 0;
    }
    return 0;
}

static void answer_order(struct live *l, struct journal_request *req, bool again)
{
    struct journal *j = l->journal;
    struct job_row stored;
    /* The input may be large and is not kept in memory. */
    int err = store_job_get(j->opt.store, l->row.id, &stored, &j->failure);

    if (err == 0 && !keep(req, stored.input, &req->row.input))
        err = ERR_NOMEM;
    struct str input = req->row.input;
    if (err == 0)
        err = questions_put_answers(l, req);
    if (err == 0 && l->thread != NULL)
        err = put_run(j, l->row.key, req);
    if (err == 0 && !again)
        err = journal_begin_attempt(l, req);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    journal_renew(l);
    answer_lease(l, req);
    journal_answer_row(req, &l->row);
    req->row.input = input;
    if (!again || req->lease_number > l->lease_number)
        l->lease_number = req->lease_number;
}

static bool is_for(const struct live *l, const struct journal_request *req)
{
    for (size_t i = 0; i < req->n_agents; i++)
        if (str_eq(req->agents[i], l->row.agent))
            return true;
    return false;
}

/* The answer to this request was lost, or is on its way to nobody. */
static bool give_again(struct journal *j, struct journal_request *req)
{
    struct live *l = live_find_lease(j, req->request_id);

    if (l == NULL)
        return false;
    if (l->stale)
        refuse(req, ERR_BUSY, "the job could not be read from the store yet");
    else if (!is_for(l, req))
        refuse(req, ERR_REFUSED, "this request_id holds a job of another agent");
    else if (!is_visible(req, &l->row))
        refuse(req, ERR_REFUSED, "this request_id is another worker's");
    else
        answer_order(l, req, true);
    return true;
}

static bool give(struct journal *j, struct journal_request *req)
{
    if (give_again(j, req))
        return true;
    struct live *l = next_for(j, req);
    if (l == NULL)
        return false;
    j->lease_turn++;
    answer_order(l, req, false);
    return true;
}

static bool lease(struct journal *j, struct journal_request *req)
{
    bool known = false;

    req->lease_number = ++j->n_leases;
    for (size_t i = 0; i < req->n_agents; i++)
        known |= leasable(j, req->agents[i]) != NULL;
    if (!known) {
        refuse(req, ERR_TYPE, "none of these agents is configured here");
        return false;
    }
    if (give(j, req))
        return false;
    refuse(req, ERR_NOT_FOUND, "no job is waiting");
    if (req->wait_ms <= 0)
        return false;
    req->deadline = j->now + req->wait_ms;
    req->next = NULL;
    struct journal_request **last = &j->leases;
    while (*last != NULL)
        last = &(*last)->next;
    *last = req;
    return true;
}

void journal_serve_leases(struct journal *j, struct journal_request **answered)
{
    struct journal_request **at = &j->leases;

    while (*at != NULL) {
        struct journal_request *req = *at;

        if (!req->withdrawn && !give(j, req) && j->now < req->deadline) {
            at = &req->next;
            continue;
        }
        *at = req->next;
        req->next = *answered;
        *answered = req;
    }
}

static void hand_back(struct journal *j, struct journal_request *req)
{
    struct live *l = leased_job(j, req);
    struct fold *fold;

    if (l == NULL)
        return;
    if (req->lease_number != 0 && req->lease_number != l->lease_number) {
        refuse(req, ERR_REFUSED, "somebody has asked for this lease again and has it");
        return;
    }
    int err = l->row.cancel_requested != 0
                  ? live_finish(l, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE)
                  : live_fold(l, &fold);
    if (err == 0 && l->row.cancel_requested == 0) {
        err = fold_new_attempt(fold, l->row.attempt + 1, STR("handed back by its worker"),
                               j->now);
        if (err == 0)
            err = live_move(l, JOB_QUEUED);
    }
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

static void lose(struct journal *j, struct journal_request *req)
{
    struct live *l = leased_job(j, req);

    if (l == NULL)
        return;
    int err = live_lose_worker(l, req->error, req->error_type);
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

static void count_waiting(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i < req->n_agents; i++) {
        const struct journal_agent *a = journal_agent_of(j, req->agents[i]);

        req->accepted += a != NULL ? j->queues[a - j->opt.agents].n : 0;
    }
    req->code = 0;
}

/* --- the worker's word ------------------------------------------------------- */

static void on_bad_line(void *arg, uint64_t line, const struct error *why)
{
    struct journal *j = arg;

    if (j->bad_lines++ == 0) {
        j->bad_line = line;
        j->bad_why = *why;
    }
}

int journal_take_bytes(struct live *l, struct str bytes, uint64_t *ret_events)
{
    struct journal *j = l->journal;
    struct intake_options options = {
        .max_line = j->opt.max_line, .max_depth = j->opt.max_depth, .bad = on_bad_line, .arg = j
    };
    struct intake_stats before = { 0 }, after;
    struct fold *fold;
    int err = live_fold(l, &fold);

    if (err == 0 && j->intake == NULL)
        err = intake_new(&options, &j->intake);
    if (err != 0)
        return err;
    intake_stats(j->intake, &before);
    intake_begin(j->intake, fold);
    j->bad_lines = 0;
    err = intake_feed(j->intake, bytes, j->now);
    if (err == 0)
        err = intake_end(j->intake, j->now);
    intake_stats(j->intake, &after);
    *ret_events = after.events - before.events;
    return err;
}

static void append(struct journal *j, struct journal_request *req)
{
    struct live *l = leased_job(j, req);

    if (l == NULL)
        return;
    journal_renew(l);
    answer_lease(l, req);
    if (req->producer_seq >= 0 && req->producer_seq <= l->row.producer_seq) {
        j->tally.repeated++;
        return; /* it came before: acknowledged again, stored once */
    }
    if (req->producer_seq > l->row.producer_seq + 1) {
        refuse(req, ERR_BUSY, "batch %lld has not arrived yet",
               (long long)l->row.producer_seq + 1);
        return;
    }
    uint64_t before = l->row.seq;
    int err = journal_take_bytes(l, req->bytes, &req->accepted);
    if (err == 0)
        err = live_follow_fold(l);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    if (req->producer_seq >= 0)
        live_took_batch(l, req->producer_seq, l->row.seq > before);
    req->rejected = j->bad_lines;
    if (j->bad_lines > 0)
        (void)error_set(&req->why, 0, "line %llu: %s", (unsigned long long)j->bad_line,
                        j->bad_why.text);
}

static void heartbeat(struct journal *j, struct journal_request *req)
{
    struct live *l = leased_job(j, req);

    if (l == NULL)
        return;
    journal_renew(l);
    answer_lease(l, req);
}

/* Waiting for a human, or for a pause to end. */
int journal_wait_for_answer(struct live *l, bool interrupted)
{
    struct fold *fold;
    int err = live_fold(l, &fold);

    if (err == 0 && interrupted && l->row.pause_requested != 0)
        err = fold_pause(fold, l->journal->now); /* as it was asked to */
    if (err == 0)
        err = fold_end_of_stream(fold, l->journal->now);
    if (err == 0 && fold_ended(fold))
        return live_follow_fold(l); /* nothing was open: it has simply ended */
    if (err == 0)
        err = live_move(l, JOB_WAITING);
    return err == 0 ? questions_go_on(l) : err; /* the answer may be there */
}

/* A run of a thread does not wait: its thread has the question, and its next run the answer. */
static int end_at_question(struct live *l)
{
    struct last_word word = { .end = JOB_END_SUCCEEDED, .outcome = STR("interrupted") };
    struct fold *fold;

    live_change(l); /* before the first change, so that a turn that fails takes it back */
    int err = live_set_text(&l->row.outcome, word.outcome);
    if (err == 0)
        err = live_fold(l, &fold);
    if (err == 0 && fold_open_questions(fold) > 0)
        err = fold_end_of_stream(fold, l->journal->now); /* what it left open is interrupted */
    return err == 0 ? live_end(l, &word) : err;
}

/* By the worker's word; its output was JSON when it came, and has its limits. */
static int end_as_told(struct live *l, const struct journal_request *req)
{
    struct last_word word = { req->end, req->error, req->error_type, NULL, STR_NONE };
    struct journal *j = l->journal;
    struct json json;
    int err =
        req->output.p != NULL ? json_read(&j->reader, req->output, &json, &j->failure) : 0;

    if (err == 0 && req->output.p != NULL)
        word.output = json.root;
    return err == 0 ? live_end(l, &word) : err;
}

static void finish(struct journal *j, struct journal_request *req)
{
    struct live *l = leased_job(j, req);
    struct fold *fold;
    int err;

    if (l == NULL)
        return;
    err = live_fold(l, &fold);
    bool asks = err == 0 && fold_open_questions(fold) > 0;
    if (err == 0 && l->row.cancel_requested != 0)
        err = live_finish(l, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    else if (err == 0 && l->thread != NULL &&
             (req->interrupted || (asks && req->end != JOB_END_FAILED)))
        err = end_at_question(l);
    else if (err == 0 && (req->interrupted || req->end_of_stream ||
                          (asks && req->end == JOB_END_SUCCEEDED)))
        err = journal_wait_for_answer(l, req->interrupted);
    else if (err == 0)
        err = end_as_told(l, req);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(req, &l->row);
}

/* --- rows that the journal does not know --------------------------------------- */

/* A job without a thread has its own id for one. */
static bool is_about(const struct live *l, struct str thread)
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
    struct live *l = leased_job(j, req);
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

static void write_rows(struct journal *j, struct journal_request *req)
{
    if (!may_write(j, req))
        return;
    req->code = req->write(req, j->opt.store, j->now, &req->why);
    if (req->code == 0 || req->code == ERR_REFUSED || req->code == ERR_NOT_FOUND ||
        req->code == ERR_TYPE || req->code == ERR_TOO_LARGE)
        return;
    j->failure = req->why;
    journal_broke(j, req, req->code);
}

/* --- from outside ------------------------------------------------------------ */

int journal_stop_job(struct live *l, struct str reason)
{
    struct journal *j = l->journal;
    struct fold *fold;
    int err = live_fold(l, &fold);

    if (err == 0)
        err = fold_cancel_requested(fold, reason, j->now);
    if (err != 0)
        return err;
    live_change(l);
    l->row.cancel_requested = j->now;
    l->cancel_news = true;
    l->force_at = j->now + (l->agent != NULL ? l->agent->cancel_grace_ms : 10000);
    return l->state == JOB_RUNNING ? 0 : live_finish(l, JOB_END_CANCELLED, reason, STR_NONE);
}

static void cancel(struct journal *j, struct journal_request *req)
{
    struct live *l = journal_job_of(j, req);
    struct str reason = req->error.p != NULL ? req->error : STR("cancelled by user");
    int err = 0;

    if (l == NULL) {
        /* Cancelling what was cancelled is no error, however often. */
        if (req->code == ERR_CLOSED && str_is(req->row.state, "cancelled"))
            req->code = 0;
        return;
    }
    req->had_worker = l->state == JOB_RUNNING;
    live_change(l);
    if (req->rolls_back && l->thread != NULL)
        err = live_set_text(&l->row.outcome, STR("rollback"));
    if (err == 0 && l->row.cancel_requested == 0)
        err = journal_stop_job(l, reason);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(req, &l->row);
}

int journal_remove_job(struct journal *j, struct live *l, struct str id, int64_t key)
{
    int err = 0;

    if (l != NULL && !job_state_is_final(l->state))
        err = live_finish(l, JOB_END_CANCELLED, STR("deleted"), STR_NONE);
    if (l != NULL) {
        live_touch(l);
        l->deleted = true;
    } else {
        buf_put(&j->gone, id.p, id.n);
        buf_char(&j->gone, '\0');
        err = j->gone.error;
    }
    if (err == 0)
        err = journal_store_run(j);
    if (err == 0)
        err = store_job_delete(j->opt.store, key, &j->failure);
    j->next_expire = j->now; /* its records go at once, as far as there is time for it */
    return err;
}

static void delete_job(struct journal *j, struct journal_request *req)
{
    struct live *l = live_find(j, req->job);
    int err;

    if (l == NULL || l->deleted || l->stale || !is_visible(req, &l->row)) {
        (void)journal_job_of(j, req);
        if (req->code != ERR_CLOSED)
            return;
        l = NULL;
    }
    err = journal_remove_job(j, l, req->job, l != NULL ? l->row.key : req->row.key);
    if (err != 0)
        journal_broke(j, req, err);
    else
        req->code = 0;
}

/* --- dispatch ---------------------------------------------------------------- */

bool journal_do(struct journal *j, struct journal_request *req)
{
    static void (*const ops[JOURNAL_OP_MAX])(struct journal *, struct journal_request *) = {
        [JOURNAL_SUBMIT] = journal_submit,
        [JOURNAL_APPEND] = append,
        [JOURNAL_HEARTBEAT] = heartbeat,
        [JOURNAL_FINISH] = finish,
        [JOURNAL_RETURN] = hand_back,
        [JOURNAL_CANCEL] = cancel,
        [JOURNAL_DELETE] = delete_job,
        [JOURNAL_LOSE] = lose,
        [JOURNAL_COUNT] = count_waiting,
        [JOURNAL_SETTINGS] = journal_set_settings,
        [JOURNAL_ANSWER] = journal_answer,
        [JOURNAL_REPLY] = journal_reply,
        [JOURNAL_PAUSE] = journal_pause,
        [JOURNAL_RESUME] = journal_resume,
        [JOURNAL_EXPIRE] = journal_expire_questions,
        [JOURNAL_THREAD_CREATE] = journal_thread_create,
        [JOURNAL_THREAD_PATCH] = journal_thread_patch,
        [JOURNAL_THREAD_COPY] = journal_thread_copy,
        [JOURNAL_THREAD_DELETE] = journal_thread_delete,
        [JOURNAL_WRITE] = write_rows,
        [JOURNAL_FEED] = journal_feed,
        [JOURNAL_WORKERS] = journal_workers,
    };

    counter_add(&j->counts.requests, 1);
    if (!str_absent(req->thread_row.id) &&
        (req->op == JOURNAL_CANCEL || req->op == JOURNAL_DELETE)) {
        struct thread_row thread;

        if (!journal_thread_of(j, req, &thread))
            return false;
        req->thread_row.key = thread.key;
    }
    if (req->op == JOURNAL_LEASE)
        return lease(j, req);
    if (req->op == JOURNAL_CALL)
        return journal_call(j, req);
    if (req->op == JOURNAL_TAKE) {
        journal_take(j, req);
        return true;
    }
    ops[req->op](j, req);
    return false;
}
