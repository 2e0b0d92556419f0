/* See known.h.  Rows are in the journal's arena of the turn. */
#include "journal/active_job.h"
#include "store/rows.h"

#include <assert.h>

/* --- the table --------------------------------------------------------------- */

void known_init(struct known *k)
{
    *k = (struct known){ 0 };
    table_init(&k->rows);
}

void known_done(struct known *k)
{
    table_done(&k->rows);
}

void known_clear(struct known *k)
{
    if (k->rows.n > 0) {
        table_done(&k->rows);
        table_init(&k->rows);
    }
    k->expired = NULL;
}

/* The store makes these keys, so nobody can choose them to collide. */
struct key known_key(enum known_kind kind, int64_t key)
{
    return (struct key){ (uint64_t)key * 0x9E3779B97F4A7C15u + kind, (uint64_t)key };
}

struct key known_text_key(const struct journal *j, enum known_kind kind, struct str text)
{
    return table_key(&j->known.rows, kind, text);
}

struct key known_item_key(const struct journal *j, const struct item_row *row)
{
    struct key owner = known_text_key(j, KNOWN_ITEM, row->owner);
    struct key ns = known_text_key(j, KNOWN_ITEM, row->ns);
    struct key key = known_text_key(j, KNOWN_ITEM, row->key);

    return (struct key){ owner.a + 3 * ns.a + 5 * key.a, owner.b + 3 * ns.b + 5 * key.b };
}

struct key known_version_key(const struct journal *j, struct str id, int64_t version)
{
    struct key k = known_text_key(j, KNOWN_ASSISTANT_VERSION, id);

    return (struct key){ k.a + (uint64_t)version, k.b };
}

/* A new zeroed entry, which replaces an older one; NULL: out of memory. */
void *known_add(struct journal *j, struct key k, size_t size)
{
    void *entry = arena_alloc(&j->mem, size);

    if (entry == NULL)
        return NULL;
    memset(entry, 0, size);
    return table_put(&j->known.rows, k, entry) == 0 ? entry : NULL;
}

static struct known_job *find_job(const struct journal *j, struct str id)
{
    return table_get(&j->known.rows, known_text_key(j, KNOWN_JOB, id));
}

struct known_thread *known_find_thread(const struct journal *j, int64_t key)
{
    return table_get(&j->known.rows, known_key(KNOWN_THREAD_KEY, key));
}

struct known_questions *known_find_questions(const struct journal *j, int64_t job)
{
    return table_get(&j->known.rows, known_key(KNOWN_QUESTIONS, job));
}

int known_new_job(struct journal *j, const struct job_row *row)
{
    struct known_job *known =
        known_add(j, known_text_key(j, KNOWN_JOB, row->id), sizeof(*known));

    if (known == NULL)
        return ERR_NOMEM;
    *known = (struct known_job){ .row = *row, .is_there = true };
    if (row->idempotency_key.p != NULL &&
        table_put(&j->known.rows, known_text_key(j, KNOWN_IDEMPOTENCY, row->idempotency_key),
                  known) != 0)
        return ERR_NOMEM;
    return known_add(j, known_key(KNOWN_QUESTIONS, row->key), sizeof(struct known_questions)) !=
                   NULL
               ? 0
               : ERR_NOMEM;
}

int known_forget_job(struct journal *j, struct str id)
{
    struct known_job *known = find_job(j, id);

    if (known == NULL)
        known = known_add(j, known_text_key(j, KNOWN_JOB, id), sizeof(*known));
    if (known == NULL)
        return ERR_NOMEM;
    known->is_there = false;
    return 0;
}

int known_new_run(struct journal *j, const struct run_row *row)
{
    struct known_run_row *known = known_add(j, known_key(KNOWN_RUN, row->job), sizeof(*known));

    if (known == NULL)
        return ERR_NOMEM;
    *known = (struct known_run_row){ .row = *row, .is_there = true };
    return 0;
}

struct known_thread *known_new_thread(struct journal *j, struct str id)
{
    struct known_thread *known =
        known_add(j, known_text_key(j, KNOWN_THREAD, id), sizeof(*known));

    if (known != NULL)
        known->has_jobs = true; /* it has none */
    return known;
}

/* The current row, from memory or from the known rows; ERR_NOT_FOUND. */
int known_thread_row(const struct journal *j, int64_t key, struct thread_row *ret)
{
    const struct thread *t = runs_thread(j, key);
    const struct known_thread *known = known_find_thread(j, key);

    if (t != NULL && t->has_row)
        *ret = t->row;
    else if (known != NULL && known->is_there)
        *ret = known->row;
    else
        return ERR_NOT_FOUND;
    return 0;
}

/* Requests of this turn that need it must be checked again (journal.c). */
void known_forget(struct journal *j, struct key k)
{
    table_remove(&j->known.rows, k);
    j->is_changed = true;
}

void known_forget_state(struct journal *j, struct str thread)
{
    known_forget(j, known_text_key(j, KNOWN_STATE, thread));
}

void known_forget_item(struct journal *j, const struct item_row *row)
{
    known_forget(j, known_item_key(j, row));
}

void known_forget_assistant(struct journal *j, struct str id)
{
    known_forget(j, known_text_key(j, KNOWN_ASSISTANT, id));
}

void known_forget_cron(struct journal *j, struct str id)
{
    known_forget(j, known_text_key(j, KNOWN_CRON, id));
}

void known_forget_webhook(struct journal *j, struct str id)
{
    known_forget(j, known_text_key(j, KNOWN_WEBHOOK, id));
}

int known_put_thread(struct journal *j, struct known_thread *to, const struct thread_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &thread_texts, &to->row) &&
                   table_put(&j->known.rows, known_key(KNOWN_THREAD_KEY, row->key), to) == 0;
    return to->is_there ? 0 : ERR_NOMEM;
}

int known_add_question(struct journal *j,
                       struct known_questions *q,
                       const struct question_row *row)
{
    if (q->n == q->cap) {
        size_t cap = q->cap > 0 ? q->cap * 2 : 8;
        struct question_row *rows = arena_alloc(&j->mem, cap * sizeof(*rows));

        if (rows == NULL)
            return ERR_NOMEM;
        if (q->n > 0)
            memcpy(rows, q->rows, q->n * sizeof(*rows));
        q->rows = rows;
        q->cap = cap;
    }
    q->rows[q->n] = *row;
    if (!row_copy(&j->mem, &question_texts, &q->rows[q->n]))
        return ERR_NOMEM;
    q->n++;
    return 0;
}

/* --- lookups -------------------------------------------------------- */

int known_miss(struct journal *j, struct error *err, const char *what)
{
#ifdef THREAD_CHECKS
    assert(what == NULL); /* a row was not wanted before the turn: see wants.c */
#endif
    counter_add(&j->counts.missing_rows, 1);
    (void)error_set(&j->failure, ERR_BUSY, "the %s was not read before the turn", what);
    return err != NULL ? error_set(err, ERR_BUSY, "%s", j->failure.text) : ERR_BUSY;
}

static int absent(struct error *err, const char *what)
{
    return error_set(err, ERR_NOT_FOUND, "there is no such %s", what);
}

int read_job(struct journal *j, struct str id, struct job_row *ret, struct error *err)
{
    const struct known_job *known = find_job(j, id);

    if (known == NULL)
        return known_miss(j, err, "job");
    if (!known->is_there)
        return absent(err, "job");
    *ret = known->row;
    return 0;
}

/* The id may belong to another job by now. */
bool known_is_gone(const struct journal *j, struct str id, int64_t key)
{
    const struct known_job *now = find_job(j, id);

    return now != NULL && (!now->is_there || now->row.key != key);
}

int read_job_by_idempotency(struct journal *j,
                            struct str key,
                            struct job_row *ret,
                            struct error *err)
{
    const struct known_job *known =
        table_get(&j->known.rows, known_text_key(j, KNOWN_IDEMPOTENCY, key));

    if (known == NULL)
        return known_miss(j, err, "job of an Idempotency-Key");
    if (!known->is_there || known_is_gone(j, known->row.id, known->row.key))
        return absent(err, "job");
    *ret = known->row;
    return 0;
}

int read_run(struct journal *j, int64_t job, struct run_row *ret, struct error *err)
{
    const struct known_run_row *known = table_get(&j->known.rows, known_key(KNOWN_RUN, job));

    if (known == NULL)
        return known_miss(j, err, "run");
    if (!known->is_there)
        return absent(err, "run");
    *ret = known->row;
    return 0;
}

int read_questions(struct journal *j, int64_t job, store_question_cb cb, void *arg)
{
    const struct known_questions *q = known_find_questions(j, job);

    if (q == NULL)
        return known_miss(j, NULL, "questions of a job");
    for (size_t i = 0; i < q->n; i++)
        if (cb(arg, &q->rows[i]) != 0)
            break;
    return 0;
}

int read_thread(struct journal *j, struct str id, struct thread_row *ret, struct error *err)
{
    const struct known_thread *known =
        table_get(&j->known.rows, known_text_key(j, KNOWN_THREAD, id));

    if (known == NULL)
        return known_miss(j, err, "thread");
    if (!known->is_there)
        return absent(err, "thread");
    *ret = known->row;
    return 0;
}

/* The texts are copied, because gathering a change replaces those of the thread in memory. */
int read_thread_by_key(struct journal *j, int64_t key, struct thread_row *ret)
{
    int err = known_thread_row(j, key, ret);

    if (err == ERR_NOT_FOUND && known_find_thread(j, key) == NULL &&
        table_get(&j->known.rows, known_key(KNOWN_THREAD_OF, key)) == NULL)
        return known_miss(j, NULL, "thread of a run");
    if (err != 0)
        return err;
    return row_copy(&j->mem, &thread_texts, ret) ? 0 : ERR_NOMEM;
}

int read_thread_jobs(struct journal *j, struct str id, const struct known_run **ret)
{
    const struct known_thread *t =
        table_get(&j->known.rows, known_text_key(j, KNOWN_THREAD, id));

    if (t == NULL || !t->has_jobs)
        return known_miss(j, NULL, "list of a thread's runs");
    *ret = t->jobs;
    return 0;
}

static int read_text(struct journal *j, struct key k, const char *what, struct str *ret)
{
    const struct known_text *known = table_get(&j->known.rows, k);

    if (known == NULL)
        return known_miss(j, NULL, what);
    *ret = known->text;
    return 0;
}

int read_state(struct journal *j, struct str thread, struct str *ret)
{
    return read_text(j, known_text_key(j, KNOWN_STATE, thread), "state of a thread", ret);
}

int read_values(struct active_job *job, struct str *ret)
{
    struct key k = known_key(KNOWN_VALUES, job->row.key);
    int err = read_text(job->journal, k, "values before a run", ret);

    if (err != 0)
        return err;
    const struct known_text *known = table_get(&job->journal->known.rows, k);
    return known->key != 0 && str_absent(*ret) ? ERR_NOT_FOUND : 0;
}

int read_item(struct journal *j, const struct item_row *row, struct item_row *ret)
{
    const struct known_item *known = table_get(&j->known.rows, known_item_key(j, row));

    if (known == NULL || !str_eq(known->row.owner, row->owner) ||
        !str_eq(known->row.ns, row->ns) || !str_eq(known->row.key, row->key))
        return known_miss(j, NULL, "item");
    *ret = known->row;
    return known->is_there ? 0 : ERR_NOT_FOUND;
}

static int get_assistant(struct journal *j, struct key k, struct assistant_row *ret)
{
    const struct known_assistant *known = table_get(&j->known.rows, k);

    if (known == NULL)
        return known_miss(j, NULL, "assistant");
    *ret = known->row;
    return known->is_there ? 0 : ERR_NOT_FOUND;
}

int read_assistant(struct journal *j, struct str id, struct assistant_row *ret)
{
    return get_assistant(j, known_text_key(j, KNOWN_ASSISTANT, id), ret);
}

int read_assistant_version(struct journal *j,
                           struct str id,
                           int64_t version,
                           struct assistant_row *ret)
{
    return get_assistant(j, known_version_key(j, id, version), ret);
}

int read_cron(struct journal *j, struct str id, struct cron_row *ret)
{
    const struct known_cron *known =
        table_get(&j->known.rows, known_text_key(j, KNOWN_CRON, id));

    if (known == NULL)
        return known_miss(j, NULL, "cron");
    *ret = known->row;
    return known->is_there ? 0 : ERR_NOT_FOUND;
}

int read_webhook(struct journal *j, struct str id, struct webhook_row *ret)
{
    const struct known_webhook *known =
        table_get(&j->known.rows, known_text_key(j, KNOWN_WEBHOOK, id));

    if (known == NULL)
        return known_miss(j, NULL, "delivery");
    *ret = known->row;
    return known->is_there ? 0 : ERR_NOT_FOUND;
}

void known_keep_thread(struct journal *j, struct thread *t, int64_t key)
{
    const struct known_thread *known = known_find_thread(j, key);

    if (known != NULL && known->is_there)
        (void)thread_keep_row(t, &known->row); /* without memory it is read when needed */
}
