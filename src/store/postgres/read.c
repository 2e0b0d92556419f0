/* Reads the rows that a turn needs, in one round trip: a statement for each want, all sent
 * before the first result is read.
 *
 *     begin, fence, want, want, …, sync ──▶
 *                      ◀── rows, rows, …
 *
 * The results are kept until all have arrived, and then returned in the order of the wants,
 * since reading the rest of a long job takes further statements in between. */
#include "store/chunk.h"
#include "store/postgres/postgres.h"

#include <stdlib.h>

enum { PAGE_ROWS = 512 };

struct wants_reading {
    struct store *s;
    const struct store_want *want;
    store_found_cb cb;
    void *arg;
    int code; /* of the callback */
    struct error *err;
};

static int tell(struct wants_reading *r, const struct store_found *found)
{
    r->code = r->cb(r->arg, r->want, found);
    return r->code;
}

static enum postgres_statement statement_of(enum store_want_kind kind)
{
    switch (kind) {
    case WANT_JOB:
        return SQL_JOB_BY_ID;
    case WANT_JOB_BY_IDEMPOTENCY:
        return SQL_JOB_BY_IDEMPOTENCY;
    case WANT_RUN:
        return SQL_RUN;
    case WANT_OWNER:
        return SQL_OTHERS;
    case WANT_QUESTIONS:
        return SQL_QUESTIONS;
    case WANT_RECORDS:
        return SQL_RECORDS;
    case WANT_THREAD:
        return SQL_THREAD_BY_ID;
    case WANT_THREAD_BY_KEY:
        return SQL_THREAD_BY_KEY;
    case WANT_THREAD_JOBS:
        return SQL_THREAD_JOBS_BY_ID;
    case WANT_STATE:
        return SQL_STATE_NEWEST;
    case WANT_ITEM:
        return SQL_ITEM;
    case WANT_ASSISTANT:
        return SQL_ASSISTANT;
    case WANT_ASSISTANT_VERSION:
        return SQL_ASSISTANT_VERSION;
    case WANT_CRON:
        return SQL_CRON;
    case WANT_WEBHOOK:
        return SQL_WEBHOOK_HEAD;
    case WANT_VALUES_BEFORE:
        return SQL_VALUES_BEFORE;
    case WANT_THREADS_EXPIRED: /* needs two steps: the threads, then the jobs of each */
        break;
    }
    return SQL_STATEMENT_MAX;
}

static void params_of(struct postgres_params *p, struct store *s, const struct store_want *w)
{
    params_init(p, s, statement_of(w->kind));
    if (w->kind == WANT_ITEM) {
        params_text(p, w->item->owner);
        params_text(p, w->item->ns);
        params_text(p, w->item->key);
    }
    if (!str_absent(w->text))
        params_text(p, w->text);
    else
        params_int(p, w->key);
    if (w->kind == WANT_ASSISTANT_VERSION || w->kind == WANT_VALUES_BEFORE)
        params_int(p, w->number);
    if (w->kind == WANT_OWNER)
        params_int(p, postgres_of(s)->shard);
    if (w->kind == WANT_RECORDS) {
        params_int(p, 0);
        params_int(p, PAGE_ROWS);
    }
}

/* --- returning rows --------------------------------------------------------------- */

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    return tell(arg, &(struct store_found){ .seq = seq, .stored = stored });
}

static int give_records(struct wants_reading *r, const PGresult *rows)
{
    struct chunk_page page = {
        .limit = SIZE_MAX, .max_bytes = SIZE_MAX, .cb = on_record, .arg = r
    };
    uint64_t before = 0;
    int code = 0;

    for (int i = 0; i < PQntuples(rows) && r->code == 0; i++)
        (void)chunk_give(&page, (uint64_t)cell_int(rows, i, 0), cell_text(rows, i, 1));
    if (PQntuples(rows) == PAGE_ROWS && r->code == 0) /* there may be more */
        before = page.given;
    if (before > 0)
        code = postgres_records(r->s, r->want->key, before, SIZE_MAX, SIZE_MAX, on_record, r,
                                r->err);
    return code;
}

/* The values may have been deleted. */
static void give_values(struct wants_reading *r, const PGresult *rows, int i)
{
    int n = PQnfields(rows);
    struct str chunk = cell_text(rows, i, n - 1), stored = STR_NONE;
    uint64_t last = (uint64_t)cell_int(rows, i, n - 2);
    struct job_row job = { 0 };

    job_row_at(rows, i, &job);
    if (!str_absent(chunk) && chunk_cut(&chunk, last, (uint64_t)job.values_seq))
        stored = chunk_take(&chunk);
    (void)tell(r, &(struct store_found){ .job = &job, .stored = stored });
}

static void give_row(struct wants_reading *r, const PGresult *rows, int i)
{
    struct job_row job = { 0 };
    struct thread_row thread;
    struct run_row run;
    struct question_row question;
    struct item_row item;
    struct assistant_row assistant;
    struct cron_row cron;
    struct webhook_row webhook;
    struct owner_counts owner;

    switch (r->want->kind) {
    case WANT_JOB:
    case WANT_JOB_BY_IDEMPOTENCY:
    case WANT_THREAD_JOBS:
        job_row_at(rows, i, &job);
        (void)tell(r, &(struct store_found){ .job = &job });
        return;
    case WANT_THREAD:
    case WANT_THREAD_BY_KEY:
        thread = thread_row_at(rows, i);
        (void)tell(r, &(struct store_found){ .thread = &thread });
        return;
    case WANT_RUN:
        run = run_row_at(rows, i);
        (void)tell(r, &(struct store_found){ .run = &run });
        return;
    case WANT_QUESTIONS:
        question = question_row_at(rows, i);
        (void)tell(r, &(struct store_found){ .question = &question });
        return;
    case WANT_STATE:
        (void)tell(r, &(struct store_found){ .stored = cell_text(rows, i, 4) });
        return;
    case WANT_ITEM:
        item = item_row_at(rows, i, r->want->item->owner);
        (void)tell(r, &(struct store_found){ .item = &item });
        return;
    case WANT_ASSISTANT:
    case WANT_ASSISTANT_VERSION:
        assistant = assistant_row_at(rows, i);
        (void)tell(r, &(struct store_found){ .assistant = &assistant });
        return;
    case WANT_CRON:
        cron = cron_row_at(rows, i);
        (void)tell(r, &(struct store_found){ .cron = &cron });
        return;
    case WANT_WEBHOOK:
        webhook = webhook_row_at(rows, i);
        (void)tell(r, &(struct store_found){ .webhook = &webhook });
        return;
    case WANT_OWNER:
        owner = (struct owner_counts){ cell_int(rows, i, 0), cell_int(rows, i, 1),
                                       cell_int(rows, i, 2) };
        (void)tell(r, &(struct store_found){ .owner = &owner });
        return;
    case WANT_VALUES_BEFORE:
        give_values(r, rows, i);
        return;
    case WANT_RECORDS:
    case WANT_THREADS_EXPIRED:
        return; /* read separately */
    }
}

static int give(struct wants_reading *r, const PGresult *rows)
{
    if (statement_of(r->want->kind) == SQL_STATEMENT_MAX)
        return store_read_each(r->s, r->want, 1, r->cb, r->arg, r->err);
    if (r->want->kind == WANT_RECORDS)
        return give_records(r, rows);
    for (int i = 0; i < PQntuples(rows) && r->code == 0; i++)
        give_row(r, rows, i);
    return 0;
}

/* --- sending the wants ------------------------------------------------------------ */

static int order(struct str a, struct str b)
{
    int differ = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return differ != 0 ? differ : a.n < b.n ? -1 : a.n > b.n;
}

static size_t count_owners(const struct store_want *wants, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += wants[i].kind == WANT_OWNER; /* each is wanted once */
    return found;
}

static size_t count(const struct store_want *wants, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += statement_of(wants[i].kind) != SQL_STATEMENT_MAX;
    return found;
}

/* The next owner after @last, in the order of their names; absent: none. */
static struct str next_owner(const struct store_want *wants, size_t n, struct str last)
{
    struct str next = STR_NONE;

    for (size_t i = 0; i < n; i++)
        if (wants[i].kind == WANT_OWNER &&
            (str_absent(last) || order(last, wants[i].text) < 0) &&
            (str_absent(next) || order(wants[i].text, next) < 0))
            next = wants[i].text;
    return next;
}

/* In one order everywhere, so that two shards never wait for each other. */
static int lock_owners(struct store *s,
                       const struct store_want *wants,
                       size_t n,
                       struct error *err)
{
    struct postgres_params p;
    int code = 0;

    for (struct str o = next_owner(wants, n, STR_NONE); !str_absent(o) && code == 0;
         o = next_owner(wants, n, o)) {
        params_init(&p, s, SQL_OWNER_LOCK);
        params_text(&p, o);
        code = reading_send(&p, err);
    }
    return code;
}

static int ask(struct store *s,
               const struct store_want *wants,
               size_t n,
               PGresult **ret,
               size_t n_ret,
               struct error *err)
{
    struct postgres_params p;
    int code = reading_begin(postgres_of(s), err);

    if (code == 0)
        code = lock_owners(s, wants, n, err);

    for (size_t i = 0; i < n && code == 0; i++)
        if (statement_of(wants[i].kind) != SQL_STATEMENT_MAX) {
            params_of(&p, s, &wants[i]);
            code = reading_send(&p, err);
        }
    return code == 0 ? reading_end(postgres_of(s), ret, n_ret, err) : code;
}

int postgres_read(struct store *s,
                  const struct store_want *wants,
                  size_t n,
                  store_found_cb cb,
                  void *arg,
                  struct error *err)
{
    struct wants_reading r = { .s = s, .cb = cb, .arg = arg, .err = err };
    size_t next = count_owners(wants, n), n_results = next + count(wants, n);
    PGresult **results = calloc(n_results + 1, sizeof(PGresult *));

    if (results == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    int code = n_results > 0 ? ask(s, wants, n, results, n_results, err) : 0;
    for (size_t i = 0; i < n && code == 0 && r.code == 0; i++) {
        bool has_result = statement_of(wants[i].kind) != SQL_STATEMENT_MAX;

        r.want = &wants[i];
        code = give(&r, has_result ? results[next] : NULL);
        next += has_result;
    }
    for (size_t i = 0; i < n_results; i++)
        PQclear(results[i]);
    free(results);
    return r.code != 0 ? r.code : code;
}
