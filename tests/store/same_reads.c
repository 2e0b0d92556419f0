/* Random reads, and how rows are written down. */
#include "same.h"

#include "store/read.h"
#include "store/rows.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- rows -------------------------------------------------------------------------- */

static const char *thread_name(struct player *p, int64_t key)
{
    for (size_t i = 0; key != 0 && i < N_THREADS; i++)
        if (model(p)->threads[i].is_there && model(p)->threads[i].key == key)
            return model(p)->threads[i].id;
    return key == 0 ? "none" : "unknown";
}

void say_job(struct player *p, const struct job_row *row)
{
    struct job_row copy = *row;

    say(p, "\n  job in %s", thread_name(p, row->thread));
    copy.thread = 0; /* a key: another one in each store */
#define TEXT(column) say_text(p, #column, copy.column);
#define INT(column)  say(p, " " #column "=%" PRId64, copy.column);
    JOB_FIXED(TEXT, INT)
    JOB_INDEXED(TEXT, INT)
    JOB_PLAIN(TEXT, INT)
    TEXT(input)
    INT(producer_seq)
    INT(crashed)
    INT(set_aside)
#undef TEXT
#undef INT
    say(p, " seq=%" PRIu64 " first_seq=%" PRIu64, row->seq, row->first_seq);
}

void say_thread(struct player *p, const struct thread_row *row)
{
    say(p, "\n  thread");
    say_text(p, "id", row->id);
    say_text(p, "owner", row->owner);
    say_text(p, "status", row->status);
    say_text(p, "metadata", row->metadata);
    say_text(p, "config", row->config);
    say_text(p, "interrupts", row->interrupts);
    say_text(p, "error", row->error);
    say_text(p, "values", row->values);
    say(p,
        " %" PRId64 " %" PRId64 " %" PRId64 " runs=%" PRId64 " temporary=%" PRId64
        " ttl=%" PRId64,
        row->created, row->updated, row->state_updated, row->n_runs, row->is_temporary,
        row->ttl_ms);
}

void say_run(struct player *p, const struct run_row *row)
{
    say(p, "\n  run");
    say_text(p, "assistant", row->assistant);
    say_text(p, "metadata", row->metadata);
    say_text(p, "kwargs", row->kwargs);
    say_text(p, "strategy", row->strategy);
    say_text(p, "thread", row->thread);
    say(p, " modes=%" PRId64 " subgraphs=%" PRId64, row->modes, row->subgraphs);
}

void say_question(struct player *p, const struct question_row *row)
{
    say(p, "\n  question seq=%" PRIu64 " attempt=%" PRId64, row->seq, row->attempt);
    say_text(p, "id", row->id);
    say_text(p, "on_expiry", row->on_expiry);
    say_text(p, "fallback", row->fallback);
    say_text(p, "schema", row->schema);
    say_text(p, "question", row->question);
    say_text(p, "context", row->context);
    say_text(p, "value", row->value);
    say_text(p, "answer", row->answer);
    say_text(p, "by", row->answered_by);
    say_text(p, "job", row->job_id);
    say_text(p, "agent", row->agent);
    say_text(p, "owner", row->owner);
    say(p, " %" PRId64 " %" PRId64 " %" PRId64 " resumed=%" PRIu64, row->asked, row->expires,
        row->answered, row->resumed);
}

/* --- jobs -------------------------------------------------------------------------- */

/* A list, of which the caller wants only so many. */
struct listing {
    struct player *p;
    size_t left;
};

static struct listing listing(struct player *p)
{
    return (struct listing){ p, one_in(p, 4) ? 1 + below(p, 3) : SIZE_MAX };
}

static int on_job(void *arg, const struct job_row *row)
{
    struct listing *l = arg;

    say_job(l->p, row);
    return --l->left == 0;
}

static bool play_job_get(struct player *p)
{
    struct same_job *job = some_job(p, false);
    struct job_row row;
    struct str id = job != NULL && !one_in(p, 8) ? str_of(job->id) : STR("nobody");

    say(p, "job get %.*s", STR_ARG(id));
    int code = store_job_get(p->s, id, &row, &p->err);
    if (code == 0)
        say_job(p, &row);
    say_answer(p, code);
    return true;
}

static bool play_by_idempotency(struct player *p)
{
    static const char *const keys[] = { "key-1", "key-2", "key-3", "key-4" };
    struct str key = str_of(keys[below(p, 4)]);
    struct job_row row;

    say(p, "job by %.*s", STR_ARG(key));
    int code = store_job_by_idempotency(p->s, key, &row, &p->err);
    if (code == 0)
        say_job(p, &row);
    say_answer(p, code);
    return true;
}

static bool play_jobs(struct player *p)
{
    static const char *const states[] = { NULL, "queued", "running", "succeeded" };
    struct same_job *before = one_in(p, 2) ? some_job(p, false) : NULL;
    struct job_filter filter = { .state = str_of(states[below(p, 4)]),
                                 .agent = one_in(p, 2) ? STR("a") : STR_NONE,
                                 .owner = one_in(p, 3) ? STR("acme") : STR_NONE,
                                 .before = before != NULL ? before->key : 0,
                                 .limit = 1 + below(p, N_JOBS) };
    struct listing l = listing(p);

    say(p, "jobs before %s", before != NULL ? before->id : "none");
    say_text(p, "state", filter.state);
    say_answer(p, store_jobs(p->s, &filter, on_job, &l, &p->err));
    return true;
}

static bool play_job_lists(struct player *p)
{
    struct listing l = listing(p);

    switch (below(p, 3)) {
    case 0:
        say(p, "open jobs");
        say_answer(p, store_open_jobs(p->s, on_job, &l, &p->err));
        break;
    case 1:
        say(p, "unpublished jobs");
        say_answer(p, store_unpublished_jobs(p->s, on_job, &l, &p->err));
        break;
    default:
        say(p, "jobs set aside");
        say_answer(p, store_jobs_set_aside(p->s, on_job, &l, &p->err));
    }
    return true;
}

/* --- records ----------------------------------------------------------------------- */

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct listing *l = arg;

    say(l->p, "\n  record %" PRIu64, seq);
    say_text(l->p, "stored", stored);
    return --l->left == 0;
}

static bool play_records(struct player *p)
{
    struct same_job *job = some_job(p, false);
    struct listing l = listing(p);

    if (job == NULL)
        return false;
    uint64_t after = one_in(p, 2) ? 0 : below(p, job->seq + 2);
    size_t limit = one_in(p, 2) ? SIZE_MAX : 1 + below(p, 20);
    size_t bytes = one_in(p, 2) ? SIZE_MAX : below(p, 5000);
    say(p, "records of %s after %" PRIu64 ", %zu, %zu bytes", job->id, after, limit, bytes);
    say_answer(p, store_records(p->s, job->key, after, limit, bytes, on_record, &l, &p->err));
    return true;
}

static bool play_record(struct player *p)
{
    struct same_job *job = some_job(p, false);
    struct str stored;

    if (job == NULL)
        return false;
    uint64_t seq = 1 + below(p, job->seq + 1);
    say(p, "record %" PRIu64 " of %s", seq, job->id);
    int code = store_record(p->s, job->key, seq, &stored, &p->err);
    if (code == 0)
        say_text(p, "stored", stored);
    say_answer(p, code);
    return true;
}

/* --- questions --------------------------------------------------------------------- */

static int on_question(void *arg, const struct question_row *row)
{
    struct listing *l = arg;

    say_question(l->p, row);
    return --l->left == 0;
}

static bool play_questions(struct player *p)
{
    struct same_job *job = some_job(p, false);
    struct listing l = listing(p);

    if (job == NULL)
        return false;
    say(p, "questions of %s", job->id);
    say_answer(p, store_questions(p->s, job->key, on_question, &l, &p->err));
    return true;
}

static bool play_open_questions(struct player *p)
{
    struct same_job *job = one_in(p, 2) ? some_job(p, false) : NULL;
    struct listing l = listing(p);
    uint64_t seq = below(p, 20);

    say(p, "open questions after %s, %" PRIu64, job != NULL ? job->id : "none", seq);
    say_answer(p, store_open_questions(p->s, job != NULL ? job->key : 0, seq, on_question, &l,
                                       &p->err));
    return true;
}

/* --- threads ----------------------------------------------------------------------- */

static int on_thread(void *arg, const struct thread_row *row)
{
    struct listing *l = arg;

    say_thread(l->p, row);
    return --l->left == 0;
}

static bool play_thread_get(struct player *p)
{
    struct same_thread *thread = some_thread(p);
    struct thread_row row;

    if (thread == NULL)
        return false;
    say(p, "thread get %s", thread->id);
    int code = one_in(p, 2) ? store_thread_get(p->s, str_of(thread->id), &row, &p->err)
                            : store_thread_by_key(p->s, thread->key, &row, &p->err);
    if (code == 0)
        say_thread(p, &row);
    say_answer(p, code);
    return true;
}

static bool play_threads(struct player *p)
{
    enum thread_order order = (enum thread_order)below(p, 4);
    bool ascending = one_in(p, 2);
    struct str owner = one_in(p, 3) ? STR("acme") : STR_NONE;
    struct listing l = listing(p);

    say(p, "threads by %d %d", (int)order, ascending);
    say_answer(p, store_threads(p->s, order, ascending, owner, on_thread, &l, &p->err));
    return true;
}

struct expired {
    char ids[N_THREADS][ID_BYTES + 1];
    size_t n;
};

static int on_expired(void *arg, const struct thread_row *row)
{
    struct expired *e = arg;

    str_copy(e->ids[e->n], str_head(row->id, ID_BYTES));
    return ++e->n == N_THREADS;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* In any order. */
static bool play_threads_expired(struct player *p)
{
    struct expired e = { 0 };
    int code = store_threads_expired(p->s, model(p)->now, N_THREADS, on_expired, &e, &p->err);

    qsort(e.ids, e.n, sizeof(e.ids[0]), by_id);
    say(p, "threads expired");
    for (size_t i = 0; i < e.n; i++)
        say(p, " %s", e.ids[i]);
    say_answer(p, code);
    return true;
}

static bool play_thread_jobs(struct player *p)
{
    struct same_thread *thread = some_thread(p);
    struct listing l = listing(p);

    if (thread == NULL)
        return false;
    say(p, "jobs of %s", thread->id);
    say_answer(p, store_thread_jobs(p->s, thread->key, on_job, &l, &p->err));
    return true;
}

static bool play_run_get(struct player *p)
{
    struct same_job *job = some_job(p, false);
    struct run_row row;

    if (job == NULL)
        return false;
    say(p, "run of %s", job->id);
    int code = store_run_get(p->s, job->key, &row, &p->err);
    if (code == 0)
        say_run(p, &row);
    say_answer(p, code);
    return true;
}

/* --- counts ------------------------------------------------------------------------ */

/* Not its bytes: each backend has its own way to count them. */
static bool play_stats(struct player *p)
{
    struct store_stats stats = { 0 };
    int code = store_stats(p->s, &stats, &p->err);

    say(p, "stats: %" PRId64 " jobs, %" PRId64 " records", stats.jobs, stats.records);
    say_answer(p, code);
    return true;
}

static bool play_time_noted(struct player *p)
{
    int64_t at = 0;
    int code = store_time_noted(p->s, &at, &p->err);

    say(p, "time noted: %" PRId64, at);
    say_answer(p, code);
    return true;
}

/* --- many at once ------------------------------------------------------------------ */

static int on_found(void *arg, const struct store_want *want, const struct store_found *found)
{
    struct player *p = arg;

    say(p, "\n found for %d", (int)want->kind);
    if (found->job != NULL)
        say_job(p, found->job);
    if (found->thread != NULL)
        say_thread(p, found->thread);
    if (found->run != NULL)
        say_run(p, found->run);
    if (found->question != NULL)
        say_question(p, found->question);
    if (want->kind == WANT_RECORDS || want->kind == WANT_VALUES_BEFORE) {
        say(p, " %" PRIu64, found->seq);
        say_text(p, "stored", found->stored);
    }
    return 0;
}

static void want_some(struct player *p, struct store_want *ret)
{
    static const enum store_want_kind kinds[] = {
        WANT_JOB,    WANT_JOB_BY_IDEMPOTENCY, WANT_RUN,         WANT_QUESTIONS,    WANT_RECORDS,
        WANT_THREAD, WANT_THREAD_BY_KEY,      WANT_THREAD_JOBS, WANT_VALUES_BEFORE
    };
    struct same_job *job = some_job(p, false);
    struct same_thread *thread = some_thread(p);
    enum store_want_kind kind = kinds[below(p, sizeof(kinds) / sizeof(kinds[0]))];

    *ret = (struct store_want){ .kind = kind };
    if (kind == WANT_JOB)
        ret->text = str_of(job != NULL ? job->id : "nobody");
    else if (kind == WANT_JOB_BY_IDEMPOTENCY)
        ret->text = STR("key-1");
    else if (kind == WANT_THREAD || kind == WANT_THREAD_JOBS)
        ret->text = str_of(thread != NULL ? thread->id : "nobody");
    else if (kind == WANT_THREAD_BY_KEY || kind == WANT_VALUES_BEFORE)
        ret->key = thread != NULL ? thread->key : INT64_C(1) << 40;
    else
        ret->key = job != NULL ? job->key : INT64_C(1) << 40;
    if (kind == WANT_VALUES_BEFORE)
        ret->number = 1 + (int64_t)below(p, 6);
}

static bool play_read(struct player *p)
{
    struct store_want wants[8];
    size_t n = 1 + below(p, 8);

    for (size_t i = 0; i < n; i++)
        want_some(p, &wants[i]);
    say(p, "read %zu", n);
    for (size_t i = 0; i < n; i++)
        say(p, " %d", (int)wants[i].kind);
    say_answer(p, store_read(p->s, wants, n, on_found, p, &p->err));
    return true;
}

const struct same_choice same_reads[] = {
    { play_job_get, 10 },
    { play_by_idempotency, 3 },
    { play_jobs, 5 },
    { play_job_lists, 6 },
    { play_records, 10 },
    { play_record, 4 },
    { play_questions, 4 },
    { play_open_questions, 4 },
    { play_thread_get, 4 },
    { play_threads, 4 },
    { play_threads_expired, 2 },
    { play_thread_jobs, 4 },
    { play_run_get, 3 },
    { play_stats, 2 },
    { play_time_noted, 2 },
    { play_read, 6 },
    { NULL, 0 },
};
