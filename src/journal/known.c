/* See known.h.  Rows are in the journal's arena of the turn; the table finds them by a kind and
 * an id or a key. */
#include "journal/active_job.h"
#include "store/rows.h"

#include <stdlib.h>

enum { PAGE = 1000 }; /* records */

/* Name spaces of known.rows, and what is there. */
enum known_kind {
    KNOWN_JOB,         /* struct known_job */
    KNOWN_IDEMPOTENCY, /* the same */
    KNOWN_RUN,         /* struct known_run_row */
    KNOWN_QUESTIONS,   /* struct known_questions */
    KNOWN_THREAD,      /* struct known_thread */
    KNOWN_THREAD_KEY   /* the same */
};

/* --- the table --------------------------------------------------------------- */

void known_init(struct known *k)
{
    *k = (struct known){ 0 };
    table_init(&k->rows);
}

void known_done(struct known *k)
{
    table_done(&k->rows);
    free(k->wants);
}

void known_clear(struct known *k)
{
    if (k->rows.n > 0) {
        table_done(&k->rows);
        table_init(&k->rows);
    }
    k->expired = NULL;
    k->n_wants = 0;
    k->error = 0;
    memset(k->n_new, 0, sizeof(k->n_new));
}

/* Keys are the store's: nobody outside chooses them. */
static struct key key_of(enum known_kind kind, int64_t key)
{
    return (struct key){ (uint64_t)key * 0x9E3779B97F4A7C15u + kind, (uint64_t)key };
}

static struct key text_key(const struct journal *j, enum known_kind kind, struct str text)
{
    return table_key(&j->known.rows, kind, text);
}

/* A new entry, all zero, in its place; NULL: no memory. */
static void *add(struct journal *j, struct key k, size_t size)
{
    void *entry = arena_alloc(&j->mem, size);

    if (entry == NULL)
        return NULL;
    memset(entry, 0, size);
    return table_put(&j->known.rows, k, entry) == 0 ? entry : NULL;
}

struct known_job *known_find_job(const struct journal *j, struct str id)
{
    return table_get(&j->known.rows, text_key(j, KNOWN_JOB, id));
}

struct known_thread *known_find_thread(const struct journal *j, int64_t key)
{
    return table_get(&j->known.rows, key_of(KNOWN_THREAD_KEY, key));
}

struct known_questions *known_find_questions(const struct journal *j, int64_t job)
{
    return table_get(&j->known.rows, key_of(KNOWN_QUESTIONS, job));
}

int known_new_job(struct journal *j, const struct job_row *row)
{
    struct known_job *known = add(j, text_key(j, KNOWN_JOB, row->id), sizeof(*known));

    if (known == NULL)
        return ERR_NOMEM;
    *known = (struct known_job){ .row = *row, .is_there = true };
    if (row->idempotency_key.p != NULL &&
        table_put(&j->known.rows, text_key(j, KNOWN_IDEMPOTENCY, row->idempotency_key),
                  known) != 0)
        return ERR_NOMEM;
    return add(j, key_of(KNOWN_QUESTIONS, row->key), sizeof(struct known_questions)) != NULL
               ? 0
               : ERR_NOMEM;
}

int known_forget_job(struct journal *j, struct str id)
{
    struct known_job *known = known_find_job(j, id);

    if (known == NULL)
        known = add(j, text_key(j, KNOWN_JOB, id), sizeof(*known));
    if (known == NULL)
        return ERR_NOMEM;
    known->is_there = false;
    return 0;
}

int known_new_run(struct journal *j, const struct run_row *row)
{
    struct known_run_row *known = add(j, key_of(KNOWN_RUN, row->job), sizeof(*known));

    if (known == NULL)
        return ERR_NOMEM;
    *known = (struct known_run_row){ .row = *row, .is_there = true };
    return 0;
}

struct known_thread *known_new_thread(struct journal *j, struct str id)
{
    struct known_thread *known = add(j, text_key(j, KNOWN_THREAD, id), sizeof(*known));

    if (known != NULL)
        known->has_jobs = true; /* none */
    return known;
}

/* --- wanted before the turn --------------------------------------------------- */

static void want(struct journal *j, const struct store_want *w)
{
    struct known *k = &j->known;

    if (k->n_wants == k->cap_wants) {
        size_t cap = k->cap_wants > 0 ? k->cap_wants * 2 : 64;
        struct store_want *wants = realloc(k->wants, cap * sizeof(*wants));

        if (wants == NULL) {
            k->error = ERR_NOMEM;
            return;
        }
        k->wants = wants;
        k->cap_wants = cap;
    }
    k->wants[k->n_wants++] = *w;
}

/* Wants what is not known yet. */
static void *want_new(struct journal *j, struct key k, size_t size, struct store_want w)
{
    if (table_get(&j->known.rows, k) != NULL)
        return NULL;
    w.place = add(j, k, size);
    if (w.place == NULL)
        j->known.error = ERR_NOMEM;
    else
        want(j, &w);
    return w.place;
}

void want_job(struct journal *j, struct str id)
{
    (void)want_new(j, text_key(j, KNOWN_JOB, id), sizeof(struct known_job),
                   (struct store_want){ .kind = WANT_JOB, .text = id });
}

void want_idempotency(struct journal *j, struct str key)
{
    (void)want_new(j, text_key(j, KNOWN_IDEMPOTENCY, key), sizeof(struct known_job),
                   (struct store_want){ .kind = WANT_JOB_BY_IDEMPOTENCY, .text = key });
}

void want_run(struct journal *j, int64_t job)
{
    (void)want_new(j, key_of(KNOWN_RUN, job), sizeof(struct known_run_row),
                   (struct store_want){ .kind = WANT_RUN, .key = job });
}

void want_questions(struct journal *j, int64_t job)
{
    (void)want_new(j, key_of(KNOWN_QUESTIONS, job), sizeof(struct known_questions),
                   (struct store_want){ .kind = WANT_QUESTIONS, .key = job });
}

void want_thread(struct journal *j, struct str id)
{
    (void)want_new(j, text_key(j, KNOWN_THREAD, id), sizeof(struct known_thread),
                   (struct store_want){ .kind = WANT_THREAD, .text = id });
}

void want_thread_jobs(struct journal *j, struct str id)
{
    want_thread(j, id);
    struct known_thread *t = table_get(&j->known.rows, text_key(j, KNOWN_THREAD, id));
    if (t == NULL || t->has_jobs)
        return;
    t->has_jobs = true;
    want(j, &(struct store_want){ .kind = WANT_THREAD_JOBS, .text = id, .place = t });
}

void want_expired_threads(struct journal *j)
{
    want(j, &(struct store_want){ .kind = WANT_THREADS_EXPIRED, .key = j->now });
}

void want_thread_of(struct active_job *l)
{
    if (l->thread == NULL || l->thread->has_row || l->thread->is_wanted)
        return;
    l->thread->is_wanted = true;
    want(l->journal, &(struct store_want){ .kind = WANT_THREAD_BY_KEY,
                                           .key = l->row.thread,
                                           .place = l->thread });
}

void want_fold(struct active_job *l)
{
    bool is_needed = l->fold == NULL && l->rebuild == NULL && l->row.seq > 0 && !l->stale &&
                     l->row.set_aside == 0;
    struct rebuild *r = is_needed ? rebuild_begin(l) : NULL;

    if (r != NULL)
        want(l->journal,
             &(struct store_want){ .kind = WANT_RECORDS, .key = l->row.key, .place = r });
}

/* --- reading before the turn -------------------------------------------------- */

static int keep_job(struct journal *j, struct known_job *to, const struct job_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &job_texts, &to->row);
    return to->is_there ? 0 : ERR_NOMEM;
}

int known_put_thread(struct journal *j, struct known_thread *to, const struct thread_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &thread_texts, &to->row) &&
                   table_put(&j->known.rows, key_of(KNOWN_THREAD_KEY, row->key), to) == 0;
    return to->is_there ? 0 : ERR_NOMEM;
}

static int keep_run(struct journal *j, struct known_run_row *to, const struct run_row *row)
{
    to->row = *row;
    to->is_there = row_copy(&j->mem, &run_texts, &to->row);
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

static int add_thread_job(struct arena *mem, struct known_run **list, const struct job_row *row)
{
    struct known_run *run = arena_alloc(mem, sizeof(*run));

    if (run == NULL || !arena_copy(mem, row->id, &run->id))
        return ERR_NOMEM;
    run->key = row->key;
    run->next = *list; /* they come newest first */
    *list = run;
    return 0;
}

/* A thread whose time has come, or one of its jobs. */
static int keep_expired(struct journal *j, const struct store_found *found)
{
    struct known *k = &j->known;
    struct key key = text_key(j, KNOWN_THREAD, found->thread->id);
    struct known_thread *t = table_get(&k->rows, key);

    if (found->job != NULL)
        return t->takes_jobs ? add_thread_job(&j->mem, &t->jobs, found->job) : 0;
    if (t == NULL)
        t = add(j, key, sizeof(*t));
    if (t == NULL)
        return ERR_NOMEM;
    t->takes_jobs = !t->has_jobs;
    t->has_jobs = true;
    t->next_expired = k->expired;
    k->expired = t;
    return known_put_thread(j, t, found->thread);
}

static int on_found(void *arg, const struct store_want *w, const struct store_found *found)
{
    struct journal *j = arg;

    switch (w->kind) {
    case WANT_JOB:
    case WANT_JOB_BY_IDEMPOTENCY:
        return keep_job(j, w->place, found->job);
    case WANT_RUN:
        return keep_run(j, w->place, found->run);
    case WANT_QUESTIONS:
        return known_add_question(j, w->place, found->question);
    case WANT_RECORDS:
        return rebuild_record(w->place, found->seq, found->stored);
    case WANT_THREAD:
        return known_put_thread(j, w->place, found->thread);
    case WANT_THREAD_BY_KEY:
        return thread_keep_row(w->place, found->thread);
    case WANT_THREAD_JOBS: {
        struct known_thread *t = w->place;

        return add_thread_job(&j->mem, &t->jobs, found->job);
    }
    case WANT_THREADS_EXPIRED:
        return keep_expired(j, found);
    }
    return 0;
}

int known_read(struct journal *j)
{
    struct known *k = &j->known;
    int err = k->error;

    if (err == 0 && k->n_wants > 0)
        err = store_read(j->opt.store, k->wants, k->n_wants, on_found, j, &j->failure);
    for (size_t i = 0; i < k->n_wants; i++) {
        if (k->wants[i].kind == WANT_RECORDS)
            rebuild_end(k->wants[i].place, err == 0);
        if (k->wants[i].kind == WANT_THREAD_BY_KEY)
            ((struct thread *)k->wants[i].place)->is_wanted = false;
    }
    breadcrumb_set(&j->opt.breadcrumb, 0);
    if (err == ERR_NOMEM)
        (void)error_set(&j->failure, ERR_NOMEM, "out of memory");
    return err == 0 ? gather_take_keys(j) : err;
}

void known_end_turn(struct journal *j)
{
    const struct known *k = &j->known;

    for (size_t i = 0; i < k->n_wants; i++)
        if (k->wants[i].kind == WANT_RECORDS)
            rebuild_done(k->wants[i].place);
}

/* --- reading in the turn ------------------------------------------------------ */

int read_in_turn(struct journal *j)
{
    counter_add(&j->counts.mid_turn_reads, 1);
    return journal_flush(j);
}

static int absent(struct error *err, const char *what)
{
    return error_set(err, ERR_NOT_FOUND, "there is no such %s", what);
}

int read_job(struct journal *j, struct str id, struct job_row *ret, struct error *err)
{
    const struct known_job *known = known_find_job(j, id);

    if (known == NULL) {
        int code = read_in_turn(j);

        return code == 0 ? store_job_get(j->opt.store, id, ret, err) : code;
    }
    if (!known->is_there)
        return absent(err, "job");
    *ret = known->row;
    return 0;
}

/* Its id may be another's by now. */
bool known_is_gone(const struct journal *j, struct str id, int64_t key)
{
    const struct known_job *now = known_find_job(j, id);

    return now != NULL && (!now->is_there || now->row.key != key);
}

int read_job_by_idempotency(struct journal *j,
                            struct str key,
                            struct job_row *ret,
                            struct error *err)
{
    const struct known_job *known =
        table_get(&j->known.rows, text_key(j, KNOWN_IDEMPOTENCY, key));

    if (known == NULL) {
        int code = read_in_turn(j);

        return code == 0 ? store_job_by_idempotency(j->opt.store, key, ret, err) : code;
    }
    if (!known->is_there || known_is_gone(j, known->row.id, known->row.key))
        return absent(err, "job");
    *ret = known->row;
    return 0;
}

int read_run(struct journal *j, int64_t job, struct run_row *ret, struct error *err)
{
    const struct known_run_row *known = table_get(&j->known.rows, key_of(KNOWN_RUN, job));

    if (known == NULL) {
        int code = read_in_turn(j);

        return code == 0 ? store_run_get(j->opt.store, job, ret, err) : code;
    }
    if (!known->is_there)
        return absent(err, "run");
    *ret = known->row;
    return 0;
}

int read_questions(struct journal *j, int64_t job, store_question_cb cb, void *arg)
{
    const struct known_questions *q = known_find_questions(j, job);

    if (q == NULL) {
        int code = read_in_turn(j);

        return code == 0 ? store_questions(j->opt.store, job, cb, arg, &j->failure) : code;
    }
    for (size_t i = 0; i < q->n; i++)
        if (cb(arg, &q->rows[i]) != 0)
            break;
    return 0;
}

int read_thread(struct journal *j, struct str id, struct thread_row *ret, struct error *err)
{
    const struct known_thread *known = table_get(&j->known.rows, text_key(j, KNOWN_THREAD, id));

    if (known == NULL) {
        int code = read_in_turn(j);

        return code == 0 ? store_thread_get(j->opt.store, id, ret, err) : code;
    }
    if (!known->is_there)
        return absent(err, "thread");
    *ret = known->row;
    return 0;
}

/* The texts are copied: gathering a change replaces those of the thread in memory. */
int read_thread_by_key(struct journal *j, int64_t key, struct thread_row *ret)
{
    const struct thread *t = runs_thread(j, key);
    int code = 0;

    if (t != NULL && t->has_row) {
        *ret = t->row;
    } else {
        code = read_in_turn(j);
        if (code == 0)
            code = store_thread_by_key(j->opt.store, key, ret, &j->failure);
    }
    if (code != 0)
        return code;
    return row_copy(&j->mem, &thread_texts, ret) ? 0 : ERR_NOMEM;
}

struct job_list {
    struct arena *mem;
    struct known_run *first;
    int err;
};

static int on_thread_job(void *arg, const struct job_row *row)
{
    struct job_list *list = arg;

    list->err = add_thread_job(list->mem, &list->first, row);
    return list->err;
}

int read_thread_jobs(struct journal *j,
                     struct str id,
                     int64_t key,
                     struct arena *mem,
                     struct known_run **ret)
{
    const struct known_thread *t = table_get(&j->known.rows, text_key(j, KNOWN_THREAD, id));
    struct job_list list = { .mem = mem };
    int code = 0;

    if (t == NULL || !t->has_jobs || t->row.key != key) {
        code = read_in_turn(j);
        if (code == 0)
            code = store_thread_jobs(j->opt.store, key, on_thread_job, &list, &j->failure);
        *ret = list.first;
        return code == 0 ? list.err : code;
    }
    *ret = t->jobs;
    return 0;
}

int read_records(struct journal *j, int64_t job, uint64_t after, store_record_cb cb, void *arg)
{
    int code = read_in_turn(j);

    return code == 0
               ? store_records(j->opt.store, job, after, PAGE, SIZE_MAX, cb, arg, &j->failure)
               : code;
}

int read_earlier_runs(struct journal *j, int64_t thread, store_job_cb cb, void *arg)
{
    int code = read_in_turn(j);

    return code == 0 ? store_thread_jobs(j->opt.store, thread, cb, arg, &j->failure) : code;
}

int read_record(struct journal *j, int64_t job, uint64_t seq, struct str *ret)
{
    int code = read_in_turn(j);

    return code == 0 ? store_record(j->opt.store, job, seq, ret, &j->failure) : code;
}

int read_state(struct journal *j, struct str thread, store_state_cb cb, void *arg)
{
    const struct checkpoint_filter newest = { .thread = thread, .ns = STR("") };
    int code = read_in_turn(j);

    return code == 0 ? store_states(j->opt.store, &newest, cb, arg, &j->failure) : code;
}

void known_keep_thread(struct journal *j, struct thread *t, int64_t key)
{
    const struct known_thread *known = known_find_thread(j, key);

    if (known != NULL && known->is_there)
        (void)thread_keep_row(t, &known->row); /* without memory it is read when needed */
}
