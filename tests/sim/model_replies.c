/* The answers of the journal to requests: each must fit what is committed. */
#include "model.h"
#include "script.h"

#include <inttypes.h>
#include <string.h>

static const char *const op_names[JOURNAL_OP_MAX] = {
    [JOURNAL_SUBMIT] = "submit",
    [JOURNAL_LEASE] = "lease",
    [JOURNAL_APPEND] = "append",
    [JOURNAL_HEARTBEAT] = "heartbeat",
    [JOURNAL_FINISH] = "finish",
    [JOURNAL_RETURN] = "return",
    [JOURNAL_LOSE] = "lose",
    [JOURNAL_COUNT] = "count",
    [JOURNAL_CANCEL] = "cancel",
    [JOURNAL_DELETE] = "delete",
    [JOURNAL_ANSWER_QUESTION] = "answer",
    [JOURNAL_PAUSE] = "pause",
    [JOURNAL_RESUME] = "resume",
    [JOURNAL_EXPIRE] = "expire",
    [JOURNAL_FEED] = "feed",
};

static void complain(struct call *c, const char *what)
{
    const struct journal_request *r = &c->req;

    sim_fail(c->sim,
             "%s of %.*s (attempt %" PRId64 ", seq %" PRId64 ") was answered %d \"%s\": %s",
             op_names[r->op], STR_ARG(r->job), r->lease.attempt,
             r->op == JOURNAL_APPEND ? r->append.producer_seq : -1, r->code, r->why.text, what);
}

/* The newest job of that id (and @key, unless it is 0) that was there before or after this
 * commit. */
static struct truth *subject(struct call *c, struct str id, int64_t key)
{
    struct model *m = c->sim->model;

    for (struct truth *t = m->truths; t != NULL; t = t->next)
        if (str_eq(t->job->row.id, id) && (key == 0 || key == t->job->row.key) &&
            (t->gone == 0 || t->gone == m->n_commits))
            return t;
    return NULL;
}

/* A holder's request was granted: it must have held the job. */
static void check_held(struct call *c)
{
    const struct journal_request *r = &c->req;
    struct model *m = c->sim->model;
    struct truth *t = subject(c, r->job, r->lease.key);

    if (t == NULL)
        complain(c, "this job is long gone");
    if (t->gone == m->n_commits)
        return; /* deleted in the same turn */
    /* A sign of life, and a batch that came before, need not be stored. */
    if (t->changed != m->n_commits && r->op != JOURNAL_HEARTBEAT &&
        !(r->op == JOURNAL_APPEND && r->append.taken.accepted == 0))
        complain(c, "nothing was stored");
    if (r->lease.attempt < t->attempt_before || r->lease.attempt > t->attempt)
        complain(c, "this attempt is fenced");
    if (r->lease.attempt == t->attempt_before && t->state_before != JOB_RUNNING)
        complain(c, "the lease was no longer its own");
    if (r->op == JOURNAL_RETURN && r->handed_back.number != 0 &&
        r->lease.attempt == t->lease_attempt && r->handed_back.number < t->last_number)
        complain(c, "somebody else has this lease by now");
    /* It has asked, and the answer was there before it had come to an end. */
    bool resumed = t->job->row.resumed != 0 && t->job->row.attempt >= r->lease.attempt;
    if (r->op == JOURNAL_FINISH && !truth_is_final(t) && t->state != JOB_WAITING && !resumed)
        complain(c, "the job goes on");
    if ((r->op == JOURNAL_APPEND || r->op == JOURNAL_HEARTBEAT) &&
        r->lease.attempt == t->attempt) {
        t->lease_attempt = r->lease.attempt;
        t->leased_until = c->sim->now + t->agent->lease_ms;
        if (r->cancel != (t->job->row.cancel_requested != 0) && t->created != m->n_commits &&
            !r->cancel && t->job->row.cancel_requested < sim_stored_now(c->sim))
            complain(c, "it does not tell of the cancellation");
    }
    if (c->batch != NULL && c->batch->begun != 1)
        complain(c, "the batch is not in the store");
}

/* The job that is held by who asked with the same request id as @r. */
static struct truth *held_with(struct model *m, const struct journal_request *r)
{
    for (struct truth *t = m->truths; t != NULL && r->work.request_id.p != NULL; t = t->next)
        if (t->gone == 0 && t->state == JOB_RUNNING &&
            str_eq(t->job->row.request_id, r->work.request_id))
            return t;
    return NULL;
}

static void take_grant(struct truth *t, const struct journal_request *r, int64_t now)
{
    if (r->row->attempt != t->lease_attempt)
        t->last_number = 0;
    if (r->work.number > t->last_number)
        t->last_number = r->work.number;
    t->lease_attempt = r->row->attempt;
    t->leased_until = now + t->agent->lease_ms;
}

/* --- questions ------------------------------------------------------------------ */

/* What the job goes on with: the answers that were taken, each once. */
static void check_answers(struct call *c)
{
    const struct disk_questions *q = disk_questions(c->sim->disk);
    const struct journal_request *r = &c->req;
    bool is_first = true;
    struct buf want;

    buf_init(&want, SIZE_MAX / 4);
    buf_char(&want, '{');
    for (size_t i = 0; i < q->n; i++) {
        if (q->rows[i].job != r->row->key || q->rows[i].resumed != (uint64_t)r->row->resumed)
            continue;
        if (!is_first)
            buf_char(&want, ',');
        is_first = false;
        json_put_str(&want, q->rows[i].id);
        buf_char(&want, ':');
        buf_str(&want, q->rows[i].answer);
    }
    buf_char(&want, '}');
    if (r->work.answers.p != NULL && !str_eq(buf_text(&want), r->work.answers))
        complain(c, "these are not the answers that were given");
    buf_done(&want);
}

static const struct question_row *stored_question(struct call *c, int64_t job, uint64_t seq)
{
    const struct disk_questions *q = disk_questions(c->sim->disk);

    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].job == job && q->rows[i].seq == seq)
            return &q->rows[i];
    return NULL;
}

/* An answer that was taken is in the store, and no other is in its place. */
static void check_answered(struct call *c)
{
    const struct journal_request *r = &c->req;
    const struct question_row *row = stored_question(c, r->row->key, c->reply.seq);

    if (row == NULL || row->answered == 0 || !str_eq(row->answer, c->reply.value))
        complain(c, "the answer is not in the store");
}

/* What was open is answered, or the job is over. */
static void check_expired(struct call *c, const struct truth *t)
{
    const struct disk_questions *q = disk_questions(c->sim->disk);

    for (size_t i = 0; i < q->n && !truth_is_final(t); i++)
        if (q->rows[i].job == t->job->row.key && q->rows[i].answered == 0 &&
            q->rows[i].asked < sim_stored_now(c->sim))
            complain(c, "a question is still open");
}

/* Whoever is told the first answer is told the one that counts. */
static void check_late(struct call *c)
{
    const struct disk_questions *q = disk_questions(c->sim->disk);
    const struct journal_request *r = &c->req;

    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].answered != 0 && str_eq(q->rows[i].answer, r->reply.first))
            return;
    complain(c, "nobody has given that answer");
}

/* --- leases --------------------------------------------------------------------- */

static void check_lease(struct call *c)
{
    const struct journal_request *r = &c->req;
    struct truth *t = subject(c, r->row->id, r->row->key);
    uint64_t bit = r->row->attempt < 64 ? (uint64_t)1 << r->row->attempt : 0;

    if (t == NULL)
        complain(c, "there is no such job");
    if (t->gone != 0)
        return; /* deleted in the same turn */
    const struct truth *held = held_with(c->sim->model, r);
    bool again = r->work.request_id.p != NULL &&
                 str_eq(r->work.request_id, str_of(t->request)) &&
                 r->row->attempt == t->request_attempt;
    if (held != NULL && held != t)
        complain(c, "it holds another job");
    if (r->row->attempt <= 0 || r->row->attempt > t->job->row.attempt ||
        r->row->attempt + again <=
            (t->created == c->sim->model->n_commits ? 0 : t->attempt_before))
        complain(c, "this attempt cannot be");
    if ((t->given & bit) != 0 && !again)
        complain(c, "this attempt was given before");
    t->given |= bit;
    if (!again && r->row->producer_seq != -1)
        complain(c, "its batches are numbered on from those of the attempt before");
    if (!str_starts(r->row->input, STR("{\"number\":")))
        complain(c, "the input is missing");
    if ((r->row->resumed != 0) != (r->work.answers.p != NULL))
        complain(c, "it goes on without its answers, or begins with some");
    if (r->row->resumed == t->job->row.resumed)
        check_answers(c);
    if (r->row->attempt == t->job->row.attempt)
        take_grant(t, r, c->sim->now);
}

/* --- what was granted, and what was refused --------------------------------------- */

static void check_submitted(struct call *c)
{
    const struct journal_request *r = &c->req;
    const struct truth *t = subject(c, r->row->id, r->row->key);

    if (t == NULL || !str_eq(r->row->id, str_of(c->sub->id)))
        complain(c, "there is no such job");
    if (r->submit.existed && !str_eq(t->job->row.request_hash, c->hash))
        complain(c, "it was another request");
    if (!r->submit.existed && t->created != c->sim->model->n_commits)
        complain(c, "it was there before");
}

/* It was answered, paused or the like. */
static void check_moved_on(struct call *c)
{
    const struct journal_request *r = &c->req;
    struct truth *t = subject(c, r->job, r->row->key);

    if (t == NULL)
        complain(c, "there is no such job");
    if (r->op == JOURNAL_ANSWER_QUESTION && t->gone == 0)
        check_answered(c);
    if (r->op == JOURNAL_EXPIRE && t->gone == 0)
        check_expired(c, t);
}

/* What came over a channel is stored once, and is a sign of life. */
static void check_fed(struct call *c)
{
    struct truth *t = subject(c, c->req.job, 0);

    if (t == NULL)
        complain(c, "there is no such job");
    if (t->gone != 0)
        return;
    if (t->agent->fed != FED_ALONE)
        complain(c, "the job is not fed from a channel");
    if (c->req.feed.taken.accepted > 0 && c->batch->begun != 1)
        complain(c, "the batch is not in the store");
    if (t->state == JOB_RUNNING) {
        t->lease_attempt = t->attempt;
        t->leased_until = c->sim->now + t->agent->lease_ms;
    }
}

static void check_granted(struct call *c)
{
    const struct journal_request *r = &c->req;
    struct model *m = c->sim->model;
    struct truth *t;

    switch (r->op) {
    case JOURNAL_SUBMIT:
        check_submitted(c);
        return;
    case JOURNAL_LEASE:
        check_lease(c);
        return;
    case JOURNAL_APPEND:
    case JOURNAL_HEARTBEAT:
    case JOURNAL_FINISH:
    case JOURNAL_RETURN:
    case JOURNAL_LOSE:
        check_held(c);
        return;
    case JOURNAL_FEED:
        check_fed(c);
        return;
    case JOURNAL_CANCEL:
        t = subject(c, r->job, r->row->key);
        if (t == NULL ||
            (t->gone == 0 && t->job->row.cancel_requested == 0 && t->state != JOB_CANCELLED))
            complain(c, "the job is not cancelled");
        return;
    case JOURNAL_DELETE:
        t = subject(c, r->job, 0);
        if (t != NULL && t->gone == 0 && t->created != m->n_commits)
            complain(c, "the job is still there");
        return;
    case JOURNAL_ANSWER_QUESTION:
    case JOURNAL_PAUSE:
    case JOURNAL_RESUME:
    case JOURNAL_EXPIRE:
        check_moved_on(c);
        return;
    case JOURNAL_RELEASE:
    case JOURNAL_RUN_READ:
    case JOURNAL_COUNT:
    case JOURNAL_WORKERS:
    case JOURNAL_AGENTS:
    case JOURNAL_REPORT:
    case JOURNAL_GATEWAYS:
    case JOURNAL_WAITERS:
    case JOURNAL_SETTINGS:
    case JOURNAL_CALL:
    case JOURNAL_TAKE:
    case JOURNAL_ANSWER_CALL:
    case JOURNAL_THREAD_THIN:
    case JOURNAL_CHECKPOINT_PUT:
    case JOURNAL_CHECKPOINT_WRITES:
    case JOURNAL_CHECKPOINT_STATE:
    case JOURNAL_CHECKPOINTS_HOLD:
    case JOURNAL_CHECKPOINTS_DELETE:
    case JOURNAL_ITEM_PUT:
    case JOURNAL_ITEM_DELETE:
    case JOURNAL_ITEM_TOUCH:
    case JOURNAL_ASSISTANT_CREATE:
    case JOURNAL_ASSISTANT_PATCH:
    case JOURNAL_ASSISTANT_CHOOSE:
    case JOURNAL_ASSISTANT_DELETE:
    case JOURNAL_CRON_CREATE:
    case JOURNAL_CRON_PATCH:
    case JOURNAL_CRON_DELETE:
    case JOURNAL_CRON_SKIP:
    case JOURNAL_WEBHOOK:
    case JOURNAL_MARK_PUBLISHED:
    case JOURNAL_THREAD_CREATE:
    case JOURNAL_THREAD_PATCH:
    case JOURNAL_THREAD_COPY:
    case JOURNAL_THREAD_DELETE:
    case JOURNAL_OP_MAX:
        return;
    }
}

/* A refusal is a statement too, and must be true of what is stored. */
static void check_refused(struct call *c)
{
    const struct journal_request *r = &c->req;
    struct model *m = c->sim->model;
    struct truth *t = subject(c, r->op == JOURNAL_SUBMIT ? str_of(c->sub->id) : r->job, 0);
    bool moving = t != NULL && (t->gone != 0 || t->created == m->n_commits);

    if (r->op == JOURNAL_LEASE) {
        t = held_with(m, r);
        if (r->code == ERR_NOT_FOUND && !r->withdrawn && t != NULL &&
            t->changed != m->n_commits)
            complain(c, "it holds a job");
        return;
    }
    bool committed = c->sim->server->turn_committed;
    if (r->op == JOURNAL_ANSWER_QUESTION && r->code == ERR_REFUSED &&
        r->reply.first.p != NULL && committed && !moving)
        check_late(c);
    enum job_state before = t == NULL                                 ? JOB_QUEUED
                            : committed && t->changed == m->n_commits ? t->state_before
                                                                      : t->state;
    if (r->code == ERR_NOT_FOUND && t != NULL && !moving && c->reply.id.p == NULL)
        complain(c, "it is there");
    if (r->code == ERR_CLOSED && t != NULL && !moving && !truth_is_final(t))
        complain(c, "the job has not ended");
    if (r->code == ERR_CLOSED && t == NULL)
        complain(c, "there is no such job");
    if (r->code == ERR_REFUSED && r->op == JOURNAL_SUBMIT && t == NULL)
        complain(c, "nothing is in its way");
    if (r->code == ERR_REFUSED && r->op != JOURNAL_SUBMIT && t != NULL && !moving &&
        t->job->row.key == r->lease.key && t->attempt == r->lease.attempt &&
        t->state == JOB_RUNNING && before == JOB_RUNNING &&
        (r->op != JOURNAL_RETURN || r->handed_back.number == 0) &&
        (c->batch == NULL || !c->sim->p.pipelining))
        complain(c, "it holds the job");
    if (c->batch != NULL && c->batch->n_posts == 1 && c->batch->begun > 0 && !moving)
        complain(c, "the batch was stored all the same");
}

/* "Not now" although all is well: the id's old job goes in this very turn, or a batch has
 * overtaken another one. */
static bool may_be_busy(struct call *c)
{
    struct model *m = c->sim->model;

    if (c->req.op == JOURNAL_APPEND)
        return c->sim->p.pipelining;
    for (struct truth *t = m->truths; t != NULL && c->req.op == JOURNAL_SUBMIT; t = t->next)
        if (str_eq(t->job->row.id, str_of(c->sub->id)) && t->gone == m->n_commits)
            return true;
    return false;
}

/* A batch that has overtaken another one is refused; that its worker lives is known all the
 * same. */
static void note_early_batch(struct call *c)
{
    const struct journal_request *r = &c->req;
    struct truth *t = r->op == JOURNAL_APPEND && strstr(r->why.text, "has not arrived yet")
                          ? subject(c, r->job, 0)
                          : NULL;

    if (t == NULL || t->gone != 0 || r->lease.attempt != t->attempt)
        return;
    t->lease_attempt = r->lease.attempt;
    t->leased_until = c->sim->now + t->agent->lease_ms;
}

void model_check_reply(struct call *c)
{
    const struct server *server = c->sim->server;
    bool faulty = disk_faults(c->sim->disk) > server->turn_faults || may_be_busy(c);

    if (c->req.code == 0 && !server->turn_committed)
        complain(c, "nothing was committed");
    if (c->req.code == ERR_BUSY && server->turn_committed && !faulty)
        complain(c, "the turn was committed");
    if (c->req.code == 0) {
        check_granted(c);
        return;
    }
    check_refused(c);
    if (c->req.code == ERR_BUSY && server->turn_committed)
        note_early_batch(c);
}
