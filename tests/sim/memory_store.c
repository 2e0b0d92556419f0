#include "disk.h"

#include "base/error.h"
#include "jobs/job.h"
#include "store/checkpoints.h"

#include <stdio.h>
#include <stdlib.h>

enum undo_kind { UNDO_INSERT, UNDO_ROW, UNDO_APPEND, UNDO_GONE, UNDO_EXPIRED };

struct undo {
    enum undo_kind kind;
    struct disk_job *job;
    struct job_row row; /* UNDO_ROW: as it was; its texts are in `texts` */
    char *texts;        /* owned */
    size_t n;           /* UNDO_EXPIRED: as it was */
};

enum transaction { TRANSACTION_NONE, TRANSACTION_OPEN, TRANSACTION_FAILED };

struct disk {
    struct disk_job *jobs, **last;
    struct disk_job *dirty;
    struct disk_questions questions, safe_questions;
    struct disk_threads threads, safe_threads;
    struct disk_runs runs, safe_runs;
    int64_t last_thread;
    int64_t last_key;
    struct undo *undo; /* owned */
    size_t n_undo, cap_undo;
    enum transaction transaction;
    unsigned planned[2][DISK_OP_MAX]; /* [writer][op]: calls until it fails; 0: it does not */
    unsigned n_faults, n_read_faults, n_begins;
    bool full;
    size_t expire_rows;
    disk_committed_cb committed;
    void *arg;
};

struct store {
    struct disk *disk; /* borrowed */
    bool writes;
    char *out; /* owned; the texts that were handed out last */
    size_t n_out;
};

/* --- memory ------------------------------------------------------------------- */

enum { N_TEXTS = 13 };

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static void texts_of(struct job_row *row, struct str *texts[N_TEXTS])
{
    struct str *const all[N_TEXTS] = { &row->id,           &row->agent,   &row->state,
                                       &row->input,        &row->worker,  &row->error,
                                       &row->error_type,   &row->outcome, &row->idempotency_key,
                                       &row->request_hash, &row->owner,   &row->holder,
                                       &row->request_id };

    memcpy(texts, all, sizeof(all));
}

/* A copy of @from whose texts are in one block, which is returned. */
static char *copy_row(const struct job_row *from, struct job_row *to, size_t *ret_n)
{
    struct str *texts[N_TEXTS];
    size_t n = 1;

    *to = *from;
    texts_of(to, texts);
    for (size_t i = 0; i < N_TEXTS; i++)
        n += texts[i]->n;
    char *block = must(malloc(n)), *at = block;
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (texts[i]->p == NULL)
            continue;
        memcpy(at, texts[i]->p, texts[i]->n);
        texts[i]->p = at;
        at += texts[i]->n;
    }
    if (ret_n != NULL)
        *ret_n = n;
    return block;
}

/* What was handed out before is rubbish from here on. */
static void take_back(struct store *s)
{
    if (s->out != NULL)
        memset(s->out, '#', s->n_out);
    free(s->out);
    s->out = NULL;
}

/* The row as it was stored, and what the runs behind it know better. */
static char *copy_job(const struct disk_job *job, struct job_row *ret, size_t *ret_n)
{
    char *texts = copy_row(&job->row, ret, ret_n);

    for (size_t i = (size_t)job->row.seq; i < job->n; i++)
        if (job->recs[i].batch >= 0)
            ret->producer_seq = job->recs[i].batch;
    if (ret->seq < job->n)
        ret->seq = job->n;
    return texts;
}

static void hand_out(struct store *s, const struct disk_job *job, struct job_row *ret)
{
    s->out = copy_job(job, ret, &s->n_out);
}

/* --- questions ---------------------------------------------------------------- */

enum { N_QUESTION_TEXTS = 9 };

static void question_texts(struct question_row *row, struct str *texts[N_QUESTION_TEXTS])
{
    struct str *const all[N_QUESTION_TEXTS] = {
        &row->id,      &row->on_expiry, &row->fallback, &row->schema,     &row->question,
        &row->context, &row->value,     &row->answer,   &row->answered_by
    };

    memcpy(texts, all, sizeof(all));
}

static struct str copy_text(struct str s)
{
    if (s.p == NULL)
        return s;
    char *p = must(malloc(s.n + 1));
    memcpy(p, s.p, s.n);
    return str_make(p, s.n);
}

static void questions_add(struct disk_questions *q, const struct question_row *row)
{
    struct str *texts[N_QUESTION_TEXTS];

    q->rows = must(realloc(q->rows, (q->n + 1) * sizeof(*q->rows)));
    q->rows[q->n] = *row;
    question_texts(&q->rows[q->n++], texts);
    for (size_t i = 0; i < N_QUESTION_TEXTS; i++)
        *texts[i] = copy_text(*texts[i]);
}

static void questions_free(struct disk_questions *q)
{
    struct str *texts[N_QUESTION_TEXTS];

    for (size_t i = 0; i < q->n; i++) {
        question_texts(&q->rows[i], texts);
        for (size_t k = 0; k < N_QUESTION_TEXTS; k++)
            free((char *)(uintptr_t)texts[k]->p);
    }
    free(q->rows);
    *q = (struct disk_questions){ 0 };
}

static void questions_copy(struct disk_questions *to, const struct disk_questions *from)
{
    questions_free(to);
    for (size_t i = 0; i < from->n; i++)
        questions_add(to, &from->rows[i]);
}

/* --- threads and runs ---------------------------------------------------------- */

enum { N_THREAD_TEXTS = 8, N_RUN_TEXTS = 5 };

static void thread_texts(struct thread_row *row, struct str *texts[N_THREAD_TEXTS])
{
    struct str *const all[N_THREAD_TEXTS] = { &row->id,       &row->owner,  &row->status,
                                              &row->metadata, &row->config, &row->interrupts,
                                              &row->error,    &row->values };

    memcpy(texts, all, sizeof(all));
}

static void run_texts(struct run_row *row, struct str *texts[N_RUN_TEXTS])
{
    struct str *const all[N_RUN_TEXTS] = { &row->assistant, &row->metadata, &row->kwargs,
                                           &row->strategy, &row->thread };

    memcpy(texts, all, sizeof(all));
}

static struct thread_row copy_thread(const struct thread_row *from)
{
    struct thread_row row = *from;
    struct str *texts[N_THREAD_TEXTS];

    thread_texts(&row, texts);
    for (size_t i = 0; i < N_THREAD_TEXTS; i++)
        *texts[i] = copy_text(*texts[i]);
    return row;
}

static void free_thread(struct thread_row *row)
{
    struct str *texts[N_THREAD_TEXTS];

    thread_texts(row, texts);
    for (size_t i = 0; i < N_THREAD_TEXTS; i++)
        free((char *)(uintptr_t)texts[i]->p);
}

static void threads_add(struct disk_threads *t, const struct thread_row *row)
{
    t->rows = must(realloc(t->rows, (t->n + 1) * sizeof(*t->rows)));
    t->rows[t->n++] = copy_thread(row);
}

static void threads_free(struct disk_threads *t)
{
    for (size_t i = 0; i < t->n; i++)
        free_thread(&t->rows[i]);
    free(t->rows);
    *t = (struct disk_threads){ 0 };
}

static void runs_add(struct disk_runs *r, const struct run_row *row)
{
    struct str *texts[N_RUN_TEXTS];

    r->rows = must(realloc(r->rows, (r->n + 1) * sizeof(*r->rows)));
    r->rows[r->n] = *row;
    run_texts(&r->rows[r->n++], texts);
    for (size_t i = 0; i < N_RUN_TEXTS; i++)
        *texts[i] = copy_text(*texts[i]);
}

static void runs_free(struct disk_runs *r)
{
    struct str *texts[N_RUN_TEXTS];

    for (size_t i = 0; i < r->n; i++) {
        run_texts(&r->rows[i], texts);
        for (size_t k = 0; k < N_RUN_TEXTS; k++)
            free((char *)(uintptr_t)texts[k]->p);
    }
    free(r->rows);
    *r = (struct disk_runs){ 0 };
}

static void threads_copy(struct disk_threads *to, const struct disk_threads *from)
{
    threads_free(to);
    for (size_t i = 0; i < from->n; i++)
        threads_add(to, &from->rows[i]);
}

static void runs_copy(struct disk_runs *to, const struct disk_runs *from)
{
    runs_free(to);
    for (size_t i = 0; i < from->n; i++)
        runs_add(to, &from->rows[i]);
}

/* --- the disk ----------------------------------------------------------------- */

const char *disk_op_name(enum disk_op op)
{
    static const char *const names[DISK_OP_MAX] = {
        "begin",  "commit", "insert", "update", "delete",  "append", "expire",    "question",
        "thread", "get",    "by_key", "open",   "records", "record", "questions", "threads"
    };

    return names[op];
}

struct disk *disk_new(disk_committed_cb committed, void *arg)
{
    struct disk *d = must(calloc(1, sizeof(*d)));

    d->last = &d->jobs;
    d->committed = committed;
    d->arg = arg;
    d->expire_rows = SIZE_MAX;
    return d;
}

static void free_job(struct disk_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        free(job->recs[i].p);
    free(job->recs);
    free(job->texts);
    free(job);
}

void disk_free(struct disk *d)
{
    while (d->jobs != NULL) {
        struct disk_job *next = d->jobs->next;

        free_job(d->jobs);
        d->jobs = next;
    }
    questions_free(&d->questions);
    questions_free(&d->safe_questions);
    threads_free(&d->threads);
    threads_free(&d->safe_threads);
    runs_free(&d->runs);
    runs_free(&d->safe_runs);
    free(d->undo);
    free(d);
}

struct store *disk_open(struct disk *d, bool writes)
{
    struct store *s = must(calloc(1, sizeof(*s)));

    s->disk = d;
    s->writes = writes;
    return s;
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    if (s->writes && s->disk->transaction != TRANSACTION_NONE)
        store_rollback(s);
    take_back(s);
    free(s);
}

struct disk_job *disk_jobs(struct disk *d)
{
    return d->jobs;
}

const struct disk_questions *disk_questions(const struct disk *d)
{
    return &d->safe_questions;
}

const struct disk_threads *disk_threads(const struct disk *d)
{
    return &d->threads;
}

struct disk_job *disk_find(struct disk *d, struct str id)
{
    for (struct disk_job *job = d->jobs; job != NULL; job = job->next)
        if (!job->gone && str_eq(job->row.id, id))
            return job;
    return NULL;
}

static struct disk_job *find_key(struct disk *d, int64_t key)
{
    for (struct disk_job *job = d->jobs; job != NULL; job = job->next)
        if (!job->gone && job->row.key == key)
            return job;
    return NULL;
}

/* --- faults ------------------------------------------------------------------- */

void disk_fail(struct disk *d, bool writer, enum disk_op op, unsigned n)
{
    d->planned[writer][op] = n;
}

void disk_set_full(struct disk *d, bool full)
{
    d->full = full;
}

void disk_heal(struct disk *d)
{
    memset(d->planned, 0, sizeof(d->planned));
    d->full = false;
}

unsigned disk_faults(const struct disk *d)
{
    return d->n_faults;
}

unsigned disk_begins(const struct disk *d)
{
    return d->n_begins;
}

unsigned disk_read_faults(const struct disk *d)
{
    return d->n_read_faults;
}

void disk_set_expire_rows(struct disk *d, size_t n)
{
    d->expire_rows = n;
}

static int fault(struct store *s, enum disk_op op, struct error *err)
{
    unsigned *planned = &s->disk->planned[s->writes][op];
    bool full = op == DISK_COMMIT && s->disk->full;

    take_back(s);
    if (!full && (*planned == 0 || --*planned > 0))
        return 0;
    s->disk->n_faults += s->writes;
    s->disk->n_read_faults += s->writes && op >= DISK_GET;
    return error_set(err, ERR_IO, "a fault in %s", disk_op_name(op));
}

/* --- undoing ------------------------------------------------------------------ */

static struct undo *remember(struct disk *d, enum undo_kind kind, struct disk_job *job)
{
    if (d->n_undo == d->cap_undo) {
        d->cap_undo = d->cap_undo > 0 ? d->cap_undo * 2 : 64;
        d->undo = must(realloc(d->undo, d->cap_undo * sizeof(*d->undo)));
    }
    d->undo[d->n_undo] = (struct undo){ .kind = kind, .job = job };
    if (!job->dirty) {
        job->dirty = true;
        job->next_dirty = d->dirty;
        d->dirty = job;
    }
    return &d->undo[d->n_undo++];
}

static void undo_one(struct undo *u)
{
    struct disk_job *job = u->job;

    switch (u->kind) {
    case UNDO_INSERT:
        job->gone = true;
        break;
    case UNDO_ROW:
        free(job->texts);
        job->row = u->row;
        job->texts = u->texts;
        break;
    case UNDO_APPEND:
        free(job->recs[--job->n].p);
        break;
    case UNDO_GONE:
        job->gone = false;
        break;
    case UNDO_EXPIRED:
        job->n_expired = u->n;
        break;
    }
}

static void undo_to(struct disk *d, size_t n)
{
    while (d->n_undo > n)
        undo_one(&d->undo[--d->n_undo]);
}

static struct disk_job *end_transaction(struct disk *d)
{
    struct disk_job *dirty = d->dirty;

    for (size_t i = 0; i < d->n_undo; i++)
        if (d->undo[i].kind == UNDO_ROW)
            free(d->undo[i].texts);
    d->n_undo = 0;
    d->dirty = NULL;
    d->transaction = TRANSACTION_NONE;
    for (struct disk_job *job = dirty; job != NULL; job = job->next_dirty)
        job->dirty = false;
    return dirty;
}

void disk_crash(struct disk *d)
{
    undo_to(d, 0);
    questions_copy(&d->questions, &d->safe_questions);
    threads_copy(&d->threads, &d->safe_threads);
    runs_copy(&d->runs, &d->safe_runs);
    (void)end_transaction(d); /* nobody hears of it */
}

/* --- transactions ------------------------------------------------------------- */

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "the store was misused: %s\n", what);
        abort();
    }
}

int store_begin(struct store *s, struct error *err)
{
    check(s->writes && s->disk->transaction == TRANSACTION_NONE, "begin");
    s->disk->n_begins++;
    int code = fault(s, DISK_BEGIN, err);
    if (code == 0)
        s->disk->transaction = TRANSACTION_OPEN;
    return code;
}

void store_rollback(struct store *s)
{
    take_back(s);
    disk_crash(s->disk);
}

int store_commit(struct store *s, struct error *err)
{
    struct disk *d = s->disk;

    check(d->transaction != TRANSACTION_NONE, "commit");
    int code = fault(s, DISK_COMMIT, err);
    if (code == 0 && d->transaction == TRANSACTION_FAILED)
        code = error_set(err, ERR_IO, "an earlier fault");
    if (code != 0) {
        disk_crash(d);
        return code;
    }
    questions_copy(&d->safe_questions, &d->questions);
    threads_copy(&d->safe_threads, &d->threads);
    runs_copy(&d->safe_runs, &d->runs);
    struct disk_job *dirty = end_transaction(d);
    d->committed(d->arg, dirty);
    return 0;
}

static int begin_write(struct store *s, enum disk_op op, struct error *err)
{
    struct disk *d = s->disk;

    check(s->writes && d->transaction != TRANSACTION_NONE, disk_op_name(op));
    if (d->transaction == TRANSACTION_FAILED)
        return error_set(err, ERR_IO, "an earlier fault");
    int code = fault(s, op, err);
    if (code != 0)
        d->transaction = TRANSACTION_FAILED;
    return code;
}

/* --- writing ------------------------------------------------------------------ */

int store_job_insert(struct store *s, struct job_row *row, struct error *err)
{
    struct disk *d = s->disk;

    check(row->id.p != NULL && row->agent.p != NULL && row->state.p != NULL, "insert");
    int code = begin_write(s, DISK_INSERT, err);
    if (code != 0)
        return code;
    for (struct disk_job *job = d->jobs; job != NULL; job = job->next)
        if (!job->gone && (str_eq(job->row.id, row->id) ||
                           (row->idempotency_key.p != NULL &&
                            str_eq(job->row.idempotency_key, row->idempotency_key))))
            return error_set(err, ERR_REFUSED, "the id or the idempotency key is taken");
    struct disk_job *job = must(calloc(1, sizeof(*job)));
    row->key = ++d->last_key;
    job->texts = copy_row(row, &job->row, NULL);
    *d->last = job;
    d->last = &job->next;
    (void)remember(d, UNDO_INSERT, job);
    return 0;
}

int store_job_update(struct store *s, const struct job_row *row, struct error *err)
{
    struct disk *d = s->disk;
    int code = begin_write(s, DISK_UPDATE, err);

    if (code != 0)
        return code;
    struct disk_job *job = find_key(d, row->key);
    if (job == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no job %lld", (long long)row->key);
    struct undo *u = remember(d, UNDO_ROW, job);
    struct job_row next = *row;
    u->row = job->row;
    u->texts = job->texts;
    next.id = job->row.id;
    next.agent = job->row.agent;
    next.input = job->row.input;
    next.idempotency_key = job->row.idempotency_key;
    next.created = job->row.created;
    next.published = job->row.published;
    next.first_seq = job->row.first_seq;
    job->texts = copy_row(&next, &job->row, NULL);
    return 0;
}

int store_job_published(struct store *s, int64_t key, int64_t published, struct error *err)
{
    int code = begin_write(s, DISK_UPDATE, err);
    struct disk_job *job = find_key(s->disk, key);

    if (code == 0 && job != NULL)
        job->row.published = published; /* never taken back: nobody in the simulation looks */
    return code;
}

int store_job_delete(struct store *s, int64_t key, struct error *err)
{
    int code = begin_write(s, DISK_DELETE, err);
    struct disk_job *job = code == 0 ? find_key(s->disk, key) : NULL;

    if (code != 0)
        return code;
    if (job == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no job %lld", (long long)key);
    (void)remember(s->disk, UNDO_GONE, job);
    job->gone = true;
    return 0;
}

static void append_one(struct disk *d, struct disk_job *job, const char *p, size_t n)
{
    if (job->n == job->cap) {
        job->cap = job->cap > 0 ? job->cap * 2 : 32;
        job->recs = must(realloc(job->recs, job->cap * sizeof(*job->recs)));
    }
    char *copy = must(malloc(n + 1));
    memcpy(copy, p, n);
    job->recs[job->n++] = (struct disk_record){ copy, n, -1 };
    (void)remember(d, UNDO_APPEND, job);
}

int store_append(struct store *s,
                 int64_t key,
                 uint64_t last,
                 struct str stored,
                 int64_t batch,
                 struct error *err)
{
    int code = begin_write(s, DISK_APPEND, err);

    if (code != 0)
        return code;
    struct disk_job *job = find_key(s->disk, key);
    check(job != NULL, "a record of no job");
    for (const char *p = stored.p, *end = p + stored.n; p <= end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));

        append_one(s->disk, job, p, (size_t)((newline != NULL ? newline : end) - p));
        p = (newline != NULL ? newline : end) + 1;
    }
    check(job->n == last, "a gap in the records");
    job->recs[job->n - 1].batch = batch;
    return 0;
}

/* --- retention ---------------------------------------------------------------- */

/* The final job that has waited for the longest time, whole or expired already. */
static struct disk_job *find_final(struct disk *d, bool expired, int64_t before)
{
    struct disk_job *found = NULL;

    for (struct disk_job *job = d->jobs; job != NULL; job = job->next) {
        enum job_state state;
        int64_t end = job->row.finished + job->row.expiry_seconds * 1000;

        if (!job->gone && job_state_find(job->row.state, &state) && job_state_is_final(state) &&
            (job->row.first_seq > 1) == expired && end < before) {
            before = end;
            found = job;
        }
    }
    return found;
}

static void withdraw(struct disk *d, struct disk_job *job)
{
    struct undo *u = remember(d, UNDO_ROW, job);

    u->row = job->row;
    u->texts = job->texts;
    job->texts = copy_row(&u->row, &job->row, NULL);
    job->row.first_seq = job->row.seq - !str_is(job->row.state, "succeeded");
}

/* Records that nobody sees any more; says how many went. */
static size_t sweep(struct disk *d, size_t room)
{
    for (struct disk_job *job = d->jobs; job != NULL; job = job->next) {
        size_t left = job->row.first_seq - 1 - job->n_expired, n = left < room ? left : room;

        if (job->gone || job->row.first_seq == 0 || left == 0)
            continue;
        remember(d, UNDO_EXPIRED, job)->n = job->n_expired;
        job->n_expired += n;
        return n;
    }
    return 0;
}

int store_expire(struct store *s,
                 int64_t now,
                 int64_t keep_ms,
                 size_t limit,
                 size_t *ret_n,
                 struct error *err)
{
    struct disk *d = s->disk;
    struct disk_job *job;
    size_t n = 0, done = 1;
    int code = begin_write(s, DISK_EXPIRE, err);

    if (code != 0)
        return code;
    if (limit > d->expire_rows)
        limit = d->expire_rows;
    for (; n < limit && done > 0; n += done) {
        done = sweep(d, limit - n);
        if (done == 0 && (job = find_final(d, false, now)) != NULL) {
            withdraw(d, job);
            done = 1;
        } else if (done == 0 && (job = find_final(d, true, now - keep_ms)) != NULL) {
            (void)remember(d, UNDO_GONE, job);
            job->gone = true;
            done = 1;
        }
    }
    *ret_n = n;
    return 0;
}

int store_question_insert(struct store *s, const struct question_row *row, struct error *err)
{
    int code = begin_write(s, DISK_QUESTION, err);

    if (code == 0)
        questions_add(&s->disk->questions, row);
    return code;
}

int store_question_answer(struct store *s,
                          int64_t job,
                          uint64_t seq,
                          struct str answer,
                          struct str by,
                          int64_t now,
                          struct error *err)
{
    struct disk_questions *q = &s->disk->questions;
    int code = begin_write(s, DISK_QUESTION, err);

    for (size_t i = 0; code == 0 && i < q->n; i++) {
        if (q->rows[i].job != job || q->rows[i].seq != seq)
            continue;
        check(q->rows[i].answered == 0, "an answer to what was answered");
        q->rows[i].answer = copy_text(answer);
        q->rows[i].answered_by = copy_text(by);
        q->rows[i].answered = now;
        return 0;
    }
    check(code != 0, "an answer to no question");
    return code;
}

int store_questions_resumed(struct store *s, int64_t job, uint64_t seq, struct error *err)
{
    struct disk_questions *q = &s->disk->questions;
    int code = begin_write(s, DISK_QUESTION, err);

    for (size_t i = 0; code == 0 && i < q->n; i++)
        if (q->rows[i].job == job && q->rows[i].answered != 0 && q->rows[i].resumed == 0)
            q->rows[i].resumed = seq;
    return code;
}

int store_questions(struct store *s,
                    int64_t job,
                    store_question_cb cb,
                    void *arg,
                    struct error *err)
{
    const struct disk_questions *q = &s->disk->questions;
    int code = fault(s, DISK_QUESTIONS, err);

    for (size_t i = 0; code == 0 && i < q->n; i++)
        if (q->rows[i].job == job && cb(arg, &q->rows[i]) != 0)
            break;
    return code;
}

static struct thread_row *find_thread(struct disk *d, int64_t key)
{
    for (size_t i = 0; i < d->threads.n; i++)
        if (d->threads.rows[i].key == key)
            return &d->threads.rows[i];
    return NULL;
}

int store_thread_insert(struct store *s, struct thread_row *row, struct error *err)
{
    struct disk *d = s->disk;
    struct thread_row copy = copy_thread(row); /* its texts may be ours */
    int code = begin_write(s, DISK_THREAD, err);

    for (size_t i = 0; code == 0 && i < d->threads.n; i++)
        if (str_eq(d->threads.rows[i].id, copy.id))
            code = error_set(err, ERR_REFUSED, "the id is taken");
    if (code == 0) {
        row->key = copy.key = ++d->last_thread;
        threads_add(&d->threads, &copy);
    }
    free_thread(&copy);
    return code;
}

int store_thread_update(struct store *s, const struct thread_row *row, struct error *err)
{
    int code = begin_write(s, DISK_THREAD, err);
    struct thread_row *there = code == 0 ? find_thread(s->disk, row->key) : NULL;

    if (code != 0 || there == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    struct thread_row next = *row;
    next.id = there->id;
    next.owner = there->owner;
    next.values = there->values;
    next.created = there->created;
    next.is_temporary = there->is_temporary;
    next = copy_thread(&next);
    free_thread(there);
    *there = next;
    return 0;
}

int store_thread_values(struct store *s,
                        int64_t key,
                        struct str values,
                        int64_t now,
                        struct error *err)
{
    int code = begin_write(s, DISK_THREAD, err);
    struct thread_row *there = code == 0 ? find_thread(s->disk, key) : NULL;

    if (code != 0 || there == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    free((char *)(uintptr_t)there->values.p);
    there->values = copy_text(values);
    there->updated = there->state_updated = now;
    return 0;
}

int store_thread_delete(struct store *s, int64_t key, struct error *err)
{
    int code = begin_write(s, DISK_THREAD, err);
    struct thread_row *there = code == 0 ? find_thread(s->disk, key) : NULL;

    if (code != 0 || there == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    free_thread(there);
    *there = s->disk->threads.rows[--s->disk->threads.n];
    return 0;
}

/* Nobody saves anything here. */
int store_thread_forget(struct store *s, struct str thread, struct error *err)
{
    (void)thread;
    return begin_write(s, DISK_THREAD, err);
}

int store_states(struct store *s,
                 const struct checkpoint_filter *filter,
                 store_state_cb cb,
                 void *arg,
                 struct error *err)
{
    (void)s, (void)filter, (void)cb, (void)arg, (void)err;
    return 0;
}

int store_run_forget(struct store *s, struct str thread, struct str run, struct error *err)
{
    (void)thread, (void)run;
    return begin_write(s, DISK_THREAD, err);
}

int store_thread_copy(struct store *s, struct str from, struct str to, struct error *err)
{
    (void)from, (void)to;
    return begin_write(s, DISK_THREAD, err);
}

int store_run_insert(struct store *s, const struct run_row *row, struct error *err)
{
    int code = begin_write(s, DISK_THREAD, err);

    if (code == 0)
        runs_add(&s->disk->runs, row);
    return code;
}

/* What is handed out is the disk's own: good until the transaction ends. */
static int get_thread(struct store *s,
                      const struct thread_row *row,
                      struct thread_row *ret,
                      struct error *err)
{
    int code = fault(s, DISK_THREADS, err);

    if (code != 0 || row == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    *ret = *row;
    return 0;
}

int store_thread_get(struct store *s, struct str id, struct thread_row *ret, struct error *err)
{
    const struct disk_threads *t = &s->disk->threads;
    const struct thread_row *row = NULL;

    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->rows[i].id, id))
            row = &t->rows[i];
    return get_thread(s, row, ret, err);
}

int store_thread_by_key(struct store *s, int64_t key, struct thread_row *ret, struct error *err)
{
    return get_thread(s, find_thread(s->disk, key), ret, err);
}

int store_run_get(struct store *s, int64_t job, struct run_row *ret, struct error *err)
{
    const struct disk_runs *r = &s->disk->runs;
    int code = fault(s, DISK_THREADS, err);

    for (size_t i = 0; code == 0 && i < r->n; i++) {
        if (r->rows[i].job == job) {
            *ret = r->rows[i];
            return 0;
        }
    }
    return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such run");
}

int store_thread_jobs(struct store *s,
                      int64_t thread,
                      store_job_cb cb,
                      void *arg,
                      struct error *err)
{
    int64_t below = INT64_MAX;
    int code = fault(s, DISK_THREADS, err);

    while (code == 0) {
        struct disk_job *next = NULL;

        for (struct disk_job *job = s->disk->jobs; job != NULL; job = job->next)
            if (!job->gone && job->row.thread == thread && job->row.ordinal < below &&
                (next == NULL || job->row.ordinal > next->row.ordinal))
                next = job;
        if (next == NULL || cb(arg, &next->row) != 0)
            break;
        below = next->row.ordinal;
    }
    return code;
}

void store_checkpoint(struct store *s)
{
    take_back(s);
}

/* --- reading ------------------------------------------------------------------ */

int store_job_get(struct store *s, struct str id, struct job_row *ret, struct error *err)
{
    struct disk_job *job = disk_find(s->disk, id); /* @id may be one of ours: look first */
    int code = fault(s, DISK_GET, err);

    if (code != 0)
        return code;
    if (job == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no such job");
    hand_out(s, job, ret);
    return 0;
}

int store_job_by_idempotency(struct store *s,
                             struct str key,
                             struct job_row *ret,
                             struct error *err)
{
    int code = fault(s, DISK_BY_KEY, err);

    if (code != 0)
        return code;
    for (struct disk_job *job = s->disk->jobs; job != NULL; job = job->next) {
        if (!job->gone && job->row.idempotency_key.p != NULL &&
            str_eq(job->row.idempotency_key, key)) {
            hand_out(s, job, ret);
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "there is no such key");
}

int store_open_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    int code = fault(s, DISK_OPEN_JOBS, err);

    for (struct disk_job *job = s->disk->jobs; job != NULL && code == 0; job = job->next) {
        enum job_state state;
        struct job_row row;

        if (job->gone || !job_state_find(job->row.state, &state) || job_state_is_final(state))
            continue;
        char *texts = copy_job(job, &row, NULL);
        int stop = cb(arg, &row);
        free(texts);
        if (stop != 0)
            break;
    }
    return code;
}

int store_records(struct store *s,
                  int64_t key,
                  uint64_t after,
                  size_t limit,
                  size_t max_bytes,
                  store_record_cb cb,
                  void *arg,
                  struct error *err)
{
    int code = fault(s, DISK_RECORDS, err);
    struct disk_job *job = find_key(s->disk, key);
    size_t bytes = 0, n = 0;

    if (code != 0 || job == NULL)
        return code;
    for (size_t i = after > job->n_expired ? after : job->n_expired; i < job->n && n < limit;
         i++, n++) {
        struct disk_record *rec = &job->recs[i];

        if (n > 0 && rec->n > max_bytes - bytes)
            break;
        char *copy = must(malloc(rec->n + 1));
        memcpy(copy, rec->p, rec->n);
        int stop = cb(arg, i + 1, str_make(copy, rec->n));
        free(copy);
        bytes += rec->n;
        if (stop != 0 || bytes >= max_bytes)
            break;
    }
    return 0;
}

int store_record(struct store *s, int64_t key, uint64_t seq, struct str *ret, struct error *err)
{
    int code = fault(s, DISK_RECORD, err);
    struct disk_job *job = find_key(s->disk, key);

    if (code != 0)
        return code;
    if (job == NULL || seq <= job->n_expired || seq > job->n)
        return error_set(err, ERR_NOT_FOUND, "there is no such record");
    s->n_out = job->recs[seq - 1].n + 1;
    s->out = must(malloc(s->n_out));
    memcpy(s->out, job->recs[seq - 1].p, s->n_out - 1);
    *ret = str_make(s->out, s->n_out - 1);
    return 0;
}
