/* Reads the wanted rows, one want after another. */
#include "store/read.h"

#include "base/error.h"

enum { RECORDS_PAGE = 1000, EXPIRED_THREADS = 20 };

struct prefetch {
    struct store *store;
    const struct store_want *want;
    store_found_cb cb;
    void *arg;
    const struct thread_row *thread; /* the thread whose jobs are being read */
    uint64_t last;                   /* the last record */
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

/* Searches the run whose values a thread gets back. */
struct earlier {
    int64_t ordinal; /* only runs below this */
    struct prefetch *read;
    int code;
};

static int on_earlier(void *arg, const struct job_row *row)
{
    struct earlier *e = arg;
    struct prefetch *r = e->read;
    struct str stored;

    if (row->ordinal >= e->ordinal || row->values_seq == 0 || str_is(row->outcome, "rollback"))
        return 0;
    e->code = store_record(r->store, row->key, (uint64_t)row->values_seq, &stored, r->err);
    if (e->code == ERR_NOT_FOUND)
        stored = STR_NONE;
    if (e->code == 0 || e->code == ERR_NOT_FOUND)
        (void)tell(r, &(struct store_found){ .job = row, .stored = stored });
    return 1;
}

static int read_values_before(struct prefetch *r)
{
    struct earlier e = { .ordinal = r->want->number, .read = r };
    int code = store_thread_jobs(r->store, r->want->key, on_earlier, &e, r->err);

    return code == 0 ? e.code : code;
}

static int on_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    (void)of;
    (void)tell(arg, &(struct store_found){ .stored = state });
    return 1; /* the first match is the newest */
}

static int read_state(struct prefetch *r)
{
    const struct checkpoint_filter root = { .thread = r->want->text, .ns = STR("") };

    return store_states(r->store, &root, on_state, r, r->err);
}

static int on_item(void *arg, const struct item_row *row)
{
    return tell(arg, &(struct store_found){ .item = row });
}

static int on_assistant(void *arg, const struct assistant_row *row)
{
    struct prefetch *r = arg;
    int64_t number = r->want->kind == WANT_ASSISTANT_VERSION ? r->want->number : 0;

    if (number != 0 && row->version != number)
        return 0;
    (void)tell(r, &(struct store_found){ .assistant = row });
    return 1;
}

static int on_cron(void *arg, const struct cron_row *row)
{
    return tell(arg, &(struct store_found){ .cron = row });
}

static int on_webhook(void *arg, const struct webhook_row *row)
{
    return tell(arg, &(struct store_found){ .webhook = row });
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
    case WANT_VALUES_BEFORE:
        return read_values_before(r);
    case WANT_STATE:
        return read_state(r);
    case WANT_ITEM:
        return store_item(r->store, r->want->item, r->want->key, on_item, r, r->err);
    case WANT_ASSISTANT:
        return store_assistant(r->store, r->want->text, on_assistant, r, r->err);
    case WANT_ASSISTANT_VERSION:
        return store_assistants(r->store, r->want->text, on_assistant, r, r->err);
    case WANT_CRON:
        return store_cron(r->store, r->want->text, on_cron, r, r->err);
    case WANT_WEBHOOK:
        return store_webhook(r->store, r->want->text, on_webhook, r, r->err);
    case WANT_OWNER:
        return 0; /* there are no other shards */
    }
    return ERR_TYPE; /* not reached: all kinds are handled */
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
