/* Questions to people: asked by a graph, answered by a client, or expired.
 *
 *     job.interrupt ─▶ row ──reply──▶ answered ─┐
 *                       │                       ├─ none is open ─▶ job.resumed, queued
 *                       └──time──▶ its default ─┘
 *                                  or the job fails, or is cancelled
 *
 * A question may be answered as soon as its record is committed, while the worker that asked is
 * still finishing; the job resumes once it has finished.  The next lease has the answers, and
 * so has every later one until the job asks again: a lost worker may not have used them. */
#include "journal/active_job.h"

#include "base/json.h"
#include "ingest/fold.h"
#include "schema/json_schema.h"
#include "store/rows.h"

#include <stdio.h>

#define CLOSED_BY "another run" /* instead of the name of who answered */

enum { MAX_EXPIRES_S = 1000 * 1000 * 1000 };

/* --- changes ----------------------------------------------------------------- */

void questions_forget(struct active_job *job)
{
    job->questions = NULL;
    job->last_question = NULL;
}

/* For readers of the system topic; the change is lost when memory runs out. */
static void tell(struct active_job *job,
                 const struct question_row *row,
                 enum question_state state)
{
    struct arena *mem = &job->journal->mem;
    struct question_news *news = arena_alloc(mem, sizeof(*news));
    bool is_open = state == QUESTION_OPEN;

    if (news == NULL)
        return;
    *news = (struct question_news){ .state = state, .expires = is_open ? row->expires : 0 };
    if (!arena_copy(mem, row->id, &news->id) ||
        !arena_copy(mem, is_open ? row->question : STR_NONE, &news->question))
        return;
    struct question_news **last = job->questions != NULL ? job->last_question : &job->questions;
    *last = news;
    job->last_question = &news->next;
}

/* --- asking ------------------------------------------------------------------ */

/* Reads what an interrupt's value says about its answer: expires_in, on_expiry, default,
 * schema.  Texts are put into @b. */
static void read_terms(const yyjson_val *value, struct question_row *row, struct buf *b)
{
    int64_t expires = json_int(json_at(value, "expires_in"), -1);
    struct str on_expiry = json_text(json_at(value, "on_expiry"));
    const yyjson_val *schema = json_at(value, "schema");
    size_t from = b->n;

    if (expires >= 0)
        row->expires = expires > 0 && expires < MAX_EXPIRES_S ? row->asked + expires * 1000 : 0;
    if (str_is(on_expiry, "default") || str_is(on_expiry, "cancel"))
        row->on_expiry = str_is(on_expiry, "default") ? STR("default") : STR("cancel");
    if (json_at(value, "default") != NULL)
        json_put_value(b, json_at(value, "default"));
    size_t middle = b->n;
    if (yyjson_is_obj((yyjson_val *)(uintptr_t)schema))
        json_put_value(b, schema);
    if (b->error != 0)
        return;
    if (middle > from)
        row->fallback = str_make(b->p + from, middle - from);
    if (b->n > middle)
        row->schema = str_make(b->p + middle, b->n - middle);
}

static void bring_forward(struct active_job *job, int64_t expires)
{
    if (expires != 0 && (job->row.answer_by == 0 || expires < job->row.answer_by))
        job->row.answer_by = expires;
}

/* All questions of a job. */
struct questions {
    struct arena *mem;
    struct question_row *rows;
    size_t n, cap;
    int err;
};

static int load(struct journal *j, int64_t key, struct arena *mem, struct questions *ret);

/* A lost attempt asked the same question and did not use the answer: uses it again, so that
 * nobody has to repeat it. */
static int answer_again(struct active_job *job, const struct question_row *row)
{
    struct journal *j = job->journal;
    const struct question_row *found = NULL;
    struct questions q;
    struct arena mem;

    arena_init(&mem);
    int err = load(j, job->row.key, &mem, &q);
    for (size_t i = 0; err == 0 && i < q.n; i++)
        if (str_eq(q.rows[i].id, row->id) && q.rows[i].seq < row->seq &&
            q.rows[i].resumed > (uint64_t)job->row.resumed &&
            !str_is(q.rows[i].answered_by, CLOSED_BY))
            found = &q.rows[i];
    if (found != NULL)
        err = gather_answer(j, row->job, row->seq, found->answer, found->answered_by);
    arena_done(&mem);
    return err;
}

/* If answers cannot be checked against a question's schema, its job fails when all of the batch
 * is stored (active_job_follow_fold). */
static bool is_checkable(struct active_job *job, const struct question_row *row)
{
    struct json_schema_problem problem;

    if (row->schema.p == NULL || json_schema_usable(row->schema, &problem) || problem.no_memory)
        return true; /* out of memory: answers will be checked anyway */
    (void)error_set(&job->journal->bad_question, ERR_TYPE,
                    "the schema of question %.*s cannot be used: %s",
                    STR_ARG(str_head(row->id, 60)), problem.text);
    return false;
}

/* Before the job's first question: the store has none, which need not be read. */
static void note_first(struct active_job *job)
{
    if (!active_job_has_asked(job))
        want_no_questions(job->journal, job->row.key);
}

void questions_paused(struct active_job *job)
{
    note_first(job);
    job->journal->is_changed = true; /* it will end otherwise: requests must be checked again */
}

int questions_asked(struct active_job *job, const struct record *rec)
{
    struct journal *j = job->journal;
    int64_t wait_ms = job->agent != NULL ? job->agent->answer_ms : 0;
    struct question_row row = {
        .job = job->row.key,
        .seq = rec->seq,
        .id = rec->id,
        .attempt = job->row.attempt,
        .asked = j->now,
        .expires = wait_ms > 0 ? j->now + wait_ms : 0,
        .on_expiry = STR("fail"),
        .question = rec->question,
        .context = rec->context,
        .value = rec->data,
    };
    struct json json;
    struct buf texts;

    note_first(job);
    buf_init(&texts, SIZE_MAX / 4);
    if (rec->data.p != NULL && json_read(&j->reader, rec->data, &json, NULL) == 0)
        read_terms(json.root, &row, &texts);
    if (texts.error == 0 && !is_checkable(job, &row)) {
        buf_done(&texts);
        return 0;
    }
    int err = texts.error != 0 ? texts.error : gather_question(j, &row);
    buf_done(&texts);
    active_job_change(job);
    bring_forward(job, row.expires);
    tell(job, &row, QUESTION_OPEN);
    return err == 0 && job->row.attempt > 1 ? answer_again(job, &row) : err;
}

/* --- all questions of a job -------------------------------------------------- */

static bool grow(struct questions *q)
{
    size_t cap = q->cap > 0 ? q->cap * 2 : 8;
    struct question_row *rows = arena_alloc(q->mem, cap * sizeof(*rows));

    if (rows == NULL)
        return false;
    if (q->n > 0)
        memcpy(rows, q->rows, q->n * sizeof(*rows));
    q->rows = rows;
    q->cap = cap;
    return true;
}

static int on_question(void *arg, const struct question_row *row)
{
    struct questions *q = arg;
    struct question_row copy = *row;

    copy.question = copy.context = copy.value = STR_NONE;
    bool ok = (q->n < q->cap || grow(q)) && row_copy(q->mem, &question_texts, &copy);
    q->err = ok ? 0 : ERR_NOMEM;
    if (ok)
        q->rows[q->n++] = copy;
    return q->err;
}

static int load(struct journal *j, int64_t key, struct arena *mem, struct questions *ret)
{
    *ret = (struct questions){ .mem = mem };
    int err = read_questions(j, key, on_question, ret);
    return err == 0 ? ret->err : err;
}

static size_t count_open(const struct questions *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        n += q->rows[i].answered == 0;
    return n;
}

/* --- resuming ---------------------------------------------------------------- */

/* Closes the open questions: a run that starts again asks them again. */
static int close_open(struct active_job *job, const struct questions *q)
{
    struct journal *j = job->journal;
    int err = 0;

    for (size_t i = 0; err == 0 && i < q->n; i++) {
        if (q->rows[i].answered != 0)
            continue;
        err = gather_answer(j, job->row.key, q->rows[i].seq, STR("null"), STR(CLOSED_BY));
        tell(job, &q->rows[i], QUESTION_CLOSED);
    }
    return err;
}

int questions_passed(struct active_job *job, const struct record *rec)
{
    struct questions q;
    struct arena mem;

    arena_init(&mem);
    int err = load(job->journal, job->row.key, &mem, &q);
    if (err == 0)
        err = close_open(job, &q);
    if (err == 0 && q.n > 0)
        err = gather_resumed(job->journal, job->row.key, rec->seq);
    if (err == 0 && q.n > 0) {
        active_job_change(job);
        job->row.answer_by = 0;
    }
    arena_done(&mem);
    return err;
}

/* Was it paused before a worker took it?  Then the next lease is as without the pause: a start,
 * or the answers that no worker has got yet.  In rows of older versions pause_requested does
 * not tell, but a job that was never leased was in the queue. */
static bool was_paused_in_queue(const struct active_job *job)
{
    return job->row.pause_requested < 0 || job->row.attempt == 0;
}

static int go_on(struct active_job *job)
{
    struct journal *j = job->journal;
    struct fold *fold;
    int err = active_job_fold(job, &fold);

    if (err == 0)
        err = fold_resume(fold, j->now); /* calls questions_passed */
    if (err != 0)
        return err;
    active_job_change(job);
    if (!was_paused_in_queue(job))
        job->row.resumed = (int64_t)job->row.seq;
    job->row.pause_requested = job->row.answer_by = 0;
    /* The time that people took does not count as run time. */
    if (job->row.run_seconds > 0 && job->row.started != 0)
        job->row.run_deadline = j->now + job->row.run_seconds * 1000;
    if (job->row.started == 0 && job->row.queue_deadline != 0 && job->agent != NULL)
        job->row.queue_deadline = j->now + job->agent->queue_ms;
    return active_job_move(job, JOB_QUEUED);
}

static int look_at_open(struct active_job *job, const struct questions *q)
{
    struct fold *fold;

    active_job_change(job);
    job->row.answer_by = 0;
    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].answered == 0)
            bring_forward(job, q->rows[i].expires);
    if (job->state != JOB_WAITING || count_open(q) > 0)
        return 0;
    int err = active_job_fold(job, &fold);
    return err == 0 && !fold_is_paused(fold) ? go_on(job) : err;
}

int questions_go_on(struct active_job *job)
{
    struct questions q;
    struct arena mem;

    arena_init(&mem);
    int err = load(job->journal, job->row.key, &mem, &q);
    if (err == 0)
        err = look_at_open(job, &q);
    arena_done(&mem);
    return err;
}

int questions_answered_elsewhere(struct active_job *job)
{
    struct journal *j = job->journal;
    struct questions q;
    struct arena mem;

    arena_init(&mem);
    int err = load(j, job->row.key, &mem, &q);
    for (size_t i = 0; err == 0 && i < q.n; i++)
        if (q.rows[i].answered == 0)
            err = gather_answer(j, job->row.key, q.rows[i].seq, STR("null"), STR("channel"));
    arena_done(&mem);
    return err == 0 ? go_on(job) : err;
}

/* --- time -------------------------------------------------------------------- */

static int end_unanswered(struct active_job *job, const struct question_row *row)
{
    char why[160];

    tell(job, row, QUESTION_EXPIRED);
    (void)snprintf(why, sizeof(why), "answer deadline: nobody answered question %.*s in %lld s",
                   STR_ARG(str_head(row->id, 60)),
                   (long long)(row->expires - row->asked) / 1000);
    if (str_is(row->on_expiry, "cancel"))
        return active_job_finish(job, JOB_END_CANCELLED, str_of(why), STR_NONE);
    return active_job_finish(job, JOB_END_FAILED, str_of(why), STR("AnswerDeadline"));
}

static int expire_all(struct active_job *job, struct questions *q)
{
    struct journal *j = job->journal;

    for (size_t i = 0; i < q->n; i++) {
        struct question_row *row = &q->rows[i];
        int err;

        if (row->answered != 0 || row->expires == 0 || row->expires > j->now)
            continue;
        if (!str_is(row->on_expiry, "default"))
            return end_unanswered(job, row);
        err =
            gather_answer(j, row->job, row->seq,
                          row->fallback.p != NULL ? row->fallback : STR("null"), STR("expiry"));
        if (err != 0)
            return err;
        tell(job, row, QUESTION_EXPIRED);
        row->answered = j->now;
    }
    return look_at_open(job, q);
}

int questions_expire(struct active_job *job)
{
    struct questions q;
    struct arena mem;

    arena_init(&mem);
    int err = load(job->journal, job->row.key, &mem, &q);
    if (err == 0)
        err = expire_all(job, &q);
    arena_done(&mem);
    return err;
}

void journal_expire_questions(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;
    struct questions q;

    int err = load(j, job->row.key, &req->mem, &q);
    if (err == 0 && (job->state != JOB_WAITING || count_open(&q) == 0)) {
        refuse(req, ERR_REFUSED, "the job does not wait for an answer");
        return;
    }
    for (size_t i = 0; err == 0 && i < q.n; i++)
        q.rows[i].expires = j->now;
    if (err == 0)
        err = expire_all(job, &q);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}

/* --- answers ----------------------------------------------------------------- */

/* The question that a reply is about: the last one with its id; without an id the only open
 * one, else the last. */
static const struct question_row *find(const struct questions *q, struct str id)
{
    const struct question_row *found = NULL;

    for (size_t i = 0; i < q->n; i++)
        if (str_absent(id) ? q->rows[i].answered == 0 : str_eq(q->rows[i].id, id))
            found = &q->rows[i];
    return found == NULL && str_absent(id) && q->n > 0 ? &q->rows[q->n - 1] : found;
}

/* Refuses an answer to a job that has ended, or to a question that was answered. */
static void refuse_late(struct journal_request *req, const struct question_row *row)
{
    req->reply.expired = str_is(row->answered_by, "expiry") ||
                         (row->answered == 0 && row->expires != 0 && req->code == ERR_CLOSED &&
                          req->row->finished >= row->expires);
    req->reply.first = row->answer;
    if (req->reply.expired)
        refuse(req, ERR_REFUSED, "question %.*s has expired", STR_ARG(str_head(row->id, 80)));
    else if (row->answered != 0)
        refuse(req, ERR_REFUSED, "question %.*s has been answered",
               STR_ARG(str_head(row->id, 80)));
}

static bool fits(struct journal_request *req, const struct question_row *row, struct str value)
{
    struct json_schema_problem problem;

    if (row->schema.p == NULL || json_schema_check(row->schema, value, &problem))
        return true;
    refuse(req, problem.no_memory ? ERR_NOMEM : ERR_TYPE,
           "the answer does not fit question %.*s: %s", STR_ARG(str_head(row->id, 60)),
           problem.text);
    return false;
}

static bool place_reply(struct journal *j,
                        struct journal_request *req,
                        struct questions *q,
                        struct journal_reply *reply)
{
    size_t n_open = count_open(q);
    const struct question_row *row =
        str_absent(reply->id) && n_open > 1 ? NULL : find(q, reply->id);

    if (row == NULL && str_absent(reply->id))
        refuse(req, n_open > 1 ? ERR_TYPE : ERR_REFUSED,
               n_open > 1 ? "%zu questions are open: say which by interrupt_id"
                          : "%zu questions are open",
               n_open);
    else if (row == NULL)
        refuse(req, ERR_NOT_FOUND, "no question %.*s in this job",
               STR_ARG(str_head(reply->id, 80)));
    else if (row->answered != 0)
        refuse_late(req, row);
    if (row == NULL || row->answered != 0 || !fits(req, row, reply->value))
        return false;
    reply->seq = row->seq;
    reply->id = row->id;
    q->rows[row - q->rows].answered = j->now;
    return true;
}

static void reply_to_ended(struct journal *j, struct journal_request *req)
{
    struct questions q;

    if (req->code != ERR_CLOSED || load(j, req->row->key, &req->mem, &q) != 0)
        return;
    const struct question_row *row = find(&q, req->reply.replies[0].id);
    if (row != NULL)
        refuse_late(req, row);
}

void journal_reply(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_job_of(j, req);
    struct questions q;

    if (job == NULL) {
        reply_to_ended(j, req);
        return;
    }
    if (job->thread != NULL) {
        refuse(req, ERR_REFUSED,
               "a run of a thread ends with its questions: answer with the thread's next run "
               "(command.resume)");
        return;
    }
    int err = load(j, job->row.key, &req->mem, &q);
    for (size_t i = 0; err == 0 && i < req->reply.n_replies; i++)
        if (!place_reply(j, req, &q, &req->reply.replies[i]))
            return;
    for (size_t i = 0; err == 0 && i < req->reply.n_replies; i++)
        err = gather_answer(j, job->row.key, req->reply.replies[i].seq,
                            req->reply.replies[i].value, req->reply.who);
    if (err == 0)
        err = look_at_open(job, &q);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    for (size_t i = 0; i < req->reply.n_replies; i++)
        tell(job, &(struct question_row){ .id = req->reply.replies[i].id }, QUESTION_ANSWERED);
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}

static void put_answers(const struct questions *q, uint64_t resumed, struct buf *b)
{
    json_begin(b);
    for (size_t i = 0; i < q->n; i++) {
        if (q->rows[i].resumed != resumed)
            continue;
        json_put_key(b, q->rows[i].id);
        buf_str(b, q->rows[i].answer);
    }
    json_end(b);
}

int questions_put_answers(struct active_job *job, struct journal_request *req)
{
    struct questions q;
    struct buf b;

    if (job->row.resumed == 0)
        return 0;
    int err = load(job->journal, job->row.key, &req->mem, &q);
    if (err != 0)
        return err;
    buf_init(&b, SIZE_MAX / 4);
    put_answers(&q, (uint64_t)job->row.resumed, &b);
    if (b.error != 0 || !arena_copy(&req->mem, buf_text(&b), &req->work.answers))
        err = ERR_NOMEM;
    buf_done(&b);
    return err;
}

/* --- pauses ------------------------------------------------------------------ */

static int pause_now(struct active_job *job)
{
    struct fold *fold;
    int err = active_job_fold(job, &fold);

    if (err == 0)
        err = fold_pause(fold, job->journal->now);
    return err == 0 ? active_job_move(job, JOB_WAITING) : err;
}

static int is_paused(struct active_job *job, bool *ret)
{
    struct fold *fold;
    int err = active_job_fold(job, &fold);

    *ret = err == 0 && fold_is_paused(fold);
    return err;
}

void journal_pause(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;
    bool paused = false;

    int err = job->state == JOB_WAITING ? is_paused(job, &paused) : 0;
    if (err == 0 && job->state == JOB_WAITING && !paused) {
        refuse(req, ERR_REFUSED, "the job waits for an answer");
        return;
    }
    if (err == 0 && job->state == JOB_RUNNING && job->agent != NULL && job->agent->is_deaf) {
        refuse(req, ERR_REFUSED,
               "the job runs, and its worker cannot be asked to pause: only pull workers, "
               "processes of a pool, and those of an agent that is `pausable` can");
        return;
    }
    if (err == 0 && !paused) {
        active_job_change(job);
        job->row.pause_requested = job->state == JOB_QUEUED ? -j->now : j->now;
        job->pause_news = job->state == JOB_RUNNING;
        err = job->state == JOB_QUEUED ? pause_now(job) : 0;
    }
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}

void journal_resume(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;
    struct questions q;
    bool paused = false;

    int err = job->state == JOB_WAITING ? is_paused(job, &paused) : 0;
    if (err == 0)
        err = load(j, job->row.key, &req->mem, &q);
    if (err == 0 && job->state == JOB_WAITING && count_open(&q) > 0)
        refuse(req, ERR_REFUSED, "the job waits for an answer");
    else if (err == 0 && !paused && job->row.pause_requested == 0)
        refuse(req, ERR_REFUSED, "the job is not paused");
    else if (err == 0) {
        active_job_change(job);
        err = paused ? go_on(job) : 0;
        job->row.pause_requested = 0;
        req->code = 0;
        journal_answer_row(j, req, &job->row);
    }
    if (err != 0)
        journal_broke(j, req, err);
}
