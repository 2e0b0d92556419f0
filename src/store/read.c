/* Reads what is wanted, one want after another. */
#include "store/read.h"

#include "base/error.h"

enum { RECORDS_PAGE = 1000, EXPIRED_THREADS = 20 };

struct prefetch {
    struct store *store;
    const struct store_want *want;
    store_found_cb cb;
    void *arg;
    const struct thread_row *thread; /* whose jobs are told */
    uint64_t last;                   /* record */
    int code;                        /* of the callback, or of a call that it made */
    struct error *err;
};

static int tell(struct prefetch *r, const struct store_found *found)
{
    r->code = r->cb(r->arg, r->want, found);
    return r->code;
}

static int on_job(void *arg, const struct job_row *row)
{
    struct prefetch *r = arg;

    return tell(r, &(struct store_found){ .job = row, .thread = r->thread });
}

static int on_question(void *arg, const struct question_row *row)
{
    return tell(arg, &(struct store_found){ .question = row });
}

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct prefetch *r = arg;

    r->last = seq;
    return tell(r, &(struct store_found){ .seq = seq, .stored = stored });
}

static int on_expired(void *arg, const struct thread_row *row)
{
    struct prefetch *r = arg;

    if (tell(r, &(struct store_found){ .thread = row }) != 0)
        return r->code;
    r->thread = row;
    int code = store_thread_jobs(r->store, row->key, on_job, r, r->err);
    r->thread = NULL;
    if (r->code == 0)
        r->code = code;
    return r->code;
}

static int read_job(struct prefetch *r)
{
    struct job_row row;
    int code = r->want->kind == WANT_JOB
                   ? store_job_get(r->store, r->want->text, &row, r->err)
                   : store_job_by_idempotency(r->store, r->want->text, &row, r->err);

    return code == 0 ? tell(r, &(struct store_found){ .job = &row }) : code;
}

static int read_run(struct prefetch *r)
{
    struct run_row row;
    int code = store_run_get(r->store, r->want->key, &row, r->err);

    return code == 0 ? tell(r, &(struct store_found){ .run = &row }) : code;
}

static int read_records(struct prefetch *r)
{
    uint64_t before;
    int code;

    r->last = 0;
    do {
        before = r->last;
        code = store_records(r->store, r->want->key, before, RECORDS_PAGE, SIZE_MAX, on_record,
                             r, r->err);
    } while (code == 0 && r->code == 0 && r->last > before);
    return code;
}

static int read_thread(struct prefetch *r)
{
    struct thread_row row;
    int code = r->want->kind == WANT_THREAD_BY_KEY
                   ? store_thread_by_key(r->store, r->want->key, &row, r->err)
                   : store_thread_get(r->store, r->want->text, &row, r->err);

    if (code == 0 && r->want->kind == WANT_THREAD_JOBS)
        return store_thread_jobs(r->store, row.key, on_job, r, r->err);
    return code == 0 ? tell(r, &(struct store_found){ .thread = &row }) : code;
}

static int read_one(struct prefetch *r)
{
    switch (r->want->kind) {
    case WANT_JOB:
    case WANT_JOB_BY_IDEMPOTENCY:
        return read_job(r);
    case WANT_RUN:
        return read_run(r);
    case WANT_QUESTIONS:
        return store_questions(r->store, r->want->key, on_question, r, r->err);
    case WANT_RECORDS:
        return read_records(r);
    case WANT_THREAD:
    case WANT_THREAD_BY_KEY:
    case WANT_THREAD_JOBS:
        return read_thread(r);
    case WANT_THREADS_EXPIRED:
        return store_threads_expired(r->store, r->want->key, EXPIRED_THREADS, on_expired, r,
                                     r->err);
    }
    return ERR_TYPE; /* no kind is left */
}

int store_read_each(struct store *s,
                    const struct store_want *wants,
                    size_t n,
                    store_found_cb cb,
                    void *arg,
                    struct error *err)
{
    struct prefetch r = { .store = s, .cb = cb, .arg = arg, .err = err };

    for (size_t i = 0; i < n; i++) {
        r.want = &wants[i];
        int code = read_one(&r);
        if (r.code != 0)
            return r.code;
        if (code != 0 && code != ERR_NOT_FOUND)
            return code;
    }
    return 0;
}
