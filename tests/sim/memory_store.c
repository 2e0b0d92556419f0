/* The store upon the disk: transactions, jobs and their records.  Questions and threads have
 * files of their own; they are few, and saved whole at every commit. */
#include "memory_store.h"

#include "base/error.h"
#include "jobs/job.h"
#include "store/batch.h"
#include "store/read.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_SEQ = 1000 * 1000 };

/* --- the store ---------------------------------------------------------------- */

void memory_take_back(struct store *s)
{
    if (memory_of(s)->out != NULL)
        memset(memory_of(s)->out, '#', memory_of(s)->n_out);
    free(memory_of(s)->out);
    memory_of(s)->out = NULL;
}

static void hand_out(struct store *s, const struct disk_job *job, struct job_row *ret)
{
    memory_of(s)->out = disk_copy_job(job, ret, &memory_of(s)->n_out);
}

/* Nobody in the simulator uses what graphs and tokens store. */
#define ENTRY(name)  STORE_ENTRY(memory, name)
#define ABSENT(name) .name = NULL,
static const struct store_ops memory_ops = {
    .max_seq = MAX_SEQ,
    /* clang-format off */
    ABSENT(checkpoint_put) ABSENT(channel_put) ABSENT(write_put) ABSENT(state_put)
    ABSENT(thread_thin) ABSENT(checkpoints) ABSENT(channels) ABSENT(writes) ABSENT(states_after)
    STORE_ITEM_OPS(ABSENT)
    STORE_ASSISTANT_OPS(ABSENT)
    STORE_TOKEN_OPS(ABSENT)
    STORE_JOB_OPS(ENTRY)
    STORE_QUESTION_OPS(ENTRY)
    STORE_THREAD_OPS(ENTRY)
    ENTRY(thread_forget) ENTRY(crons_forget) ENTRY(webhook_insert) ENTRY(webhook_end) ENTRY(webhook_forget)
    ENTRY(run_forget) ENTRY(thread_copy) ENTRY(states)
    /* clang-format on */
};
#undef ENTRY
#undef ABSENT

struct store *disk_open(struct disk *d, bool writes)
{
    struct memory_store *s = disk_must(calloc(1, sizeof(*s)));

    s->base.ops = &memory_ops;
    s->disk = d;
    s->writes = writes;
    return &s->base;
}

void memory_close(struct store *s)
{
    if (memory_of(s)->is_shared)
        memory_leave(s);
    else if (memory_of(s)->writes && disk_of(s)->transaction != TRANSACTION_NONE)
        memory_rollback(s);
    memory_take_back(s);
    free(memory_of(s));
}

int memory_fault(struct store *s, enum disk_op op, struct error *err)
{
    unsigned *planned = &disk_of(s)->planned[memory_of(s)->writes][op];
    bool full = op == DISK_COMMIT && disk_of(s)->full;

    memory_take_back(s);
    int code = memory_session(s, err);
    if (code != 0)
        return code;
    if (!full && (*planned == 0 || --*planned > 0))
        return 0;
    disk_of(s)->n_faults += memory_of(s)->writes;
    disk_of(s)->n_read_faults += memory_of(s)->writes && op >= DISK_GET;
    return error_set(err, ERR_IO, "a fault in %s", disk_op_name(op));
}

/* --- undoing ------------------------------------------------------------------ */

static struct undo *remember(struct disk *d, enum undo_kind kind, struct disk_job *job)
{
    if (d->n_undo == d->cap_undo) {
        d->cap_undo = d->cap_undo > 0 ? d->cap_undo * 2 : 64;
        d->undo = disk_must(realloc(d->undo, d->cap_undo * sizeof(*d->undo)));
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
    disk_questions_copy(&d->questions, &d->safe_questions);
    disk_threads_copy(&d->threads, &d->safe_threads);
    d->moved = d->safe_moved;
    d->noted = d->safe_noted;
    disk_runs_copy(&d->runs, &d->safe_runs);
    disk_operations_undo(d);
    (void)end_transaction(d); /* nobody hears of it */
}

/* --- transactions ------------------------------------------------------------- */

void memory_demand(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "the store was misused: %s\n", what);
        abort();
    }
}

int memory_begin(struct store *s, struct error *err)
{
    memory_demand(memory_of(s)->writes &&
                      (memory_of(s)->is_ended || disk_of(s)->transaction == TRANSACTION_NONE),
                  "begin");
    disk_moment(s, DISK_BEGUN);
    disk_of(s)->n_begins++;
    int code = memory_fault(s, DISK_BEGIN, err);
    if (code == 0)
        disk_of(s)->transaction = TRANSACTION_OPEN;
    return code;
}

void memory_rollback(struct store *s)
{
    memory_take_back(s);
    if (!memory_of(s)->is_ended) /* else that was done already */
        disk_crash(disk_of(s));
}

int memory_commit(struct store *s, struct error *err)
{
    struct disk *d = disk_of(s);

    disk_moment(s, DISK_COMMITTING);
    int code = memory_fence(s, err);
    if (code != 0)
        return code;
    memory_demand(d->transaction != TRANSACTION_NONE, "commit");
    code = memory_fault(s, DISK_COMMIT, err);
    if (code == 0 && d->transaction == TRANSACTION_FAILED)
        code = error_set(err, ERR_IO, "an earlier fault");
    if (code != 0) {
        disk_crash(d);
        return code;
    }
    disk_questions_copy(&d->safe_questions, &d->questions);
    disk_threads_copy(&d->safe_threads, &d->threads);
    d->safe_moved = d->moved;
    d->safe_noted = d->noted;
    disk_runs_copy(&d->safe_runs, &d->runs);
    disk_operations_keep(d);
    struct disk_job *dirty = end_transaction(d);
    d->committed(d->arg, dirty);
    disk_moment(s, DISK_STORED);
    return 0;
}

int memory_flush(struct store *s, struct store_batch *b, struct error *err)
{
    return store_flush_each(s, b, err);
}

int memory_read(struct store *s,
                const struct store_want *wants,
                size_t n,
                store_found_cb cb,
                void *arg,
                struct error *err)
{
    return store_read_each(s, wants, n, cb, arg, err);
}

int memory_begin_write(struct store *s, enum disk_op op, struct error *err)
{
    struct disk *d = disk_of(s);

    memory_demand(memory_of(s)->writes && d->transaction != TRANSACTION_NONE, disk_op_name(op));
    if (d->transaction == TRANSACTION_FAILED)
        return error_set(err, ERR_IO, "an earlier fault");
    int code = memory_fault(s, op, err);
    if (code != 0)
        d->transaction = TRANSACTION_FAILED;
    return code;
}

/* --- writing ------------------------------------------------------------------ */

int memory_take_keys(struct store *s,
                     enum store_keys kind,
                     size_t n,
                     int64_t *ret_first,
                     struct error *err)
{
    int64_t *last = kind == STORE_JOB_KEYS ? &disk_of(s)->last_key : &disk_of(s)->last_thread;
    int code = memory_fault(s, DISK_NOTED, err);

    if (code != 0)
        return code;
    *ret_first = *last + 1;
    *last += (int64_t)n;
    return 0;
}

static int taken(const struct disk_job *job, const struct job_row *row, struct error *err)
{
    if (str_eq(job->row.id, row->id))
        return error_set(err, ERR_REFUSED, "another job has the id \"%.*s\"", STR_ARG(row->id));
    return error_set(err, ERR_REFUSED, "another job has the idempotency key \"%.*s\"",
                     STR_ARG(row->idempotency_key));
}

int memory_job_insert(struct store *s, struct job_row *row, struct error *err)
{
    struct disk *d = disk_of(s);

    memory_demand(row->id.p != NULL && row->agent.p != NULL && row->state.p != NULL, "insert");
    int code = memory_begin_write(s, DISK_INSERT, err);
    if (code != 0)
        return code;
    for (struct disk_job *job = d->jobs; job != NULL; job = job->next)
        if (!job->gone &&
            (str_eq(job->row.id, row->id) ||
             (row->idempotency_key.p != NULL && job->row.idempotency_key.p != NULL &&
              str_eq(job->row.idempotency_key, row->idempotency_key))))
            return taken(job, row, err);
    struct disk_job *job = disk_must(calloc(1, sizeof(*job)));
    if (row->key == 0)
        row->key = ++d->last_key;
    memory_demand(row->key <= d->last_key, "a key that nobody took");
    job->texts = disk_copy_row(row, &job->row, NULL);
    *d->last = job;
    d->last = &job->next;
    (void)remember(d, UNDO_INSERT, job);
    return 0;
}

int memory_job_update(struct store *s, const struct job_row *row, struct error *err)
{
    struct disk *d = disk_of(s);
    int code = memory_begin_write(s, DISK_UPDATE, err);

    if (code != 0)
        return code;
    struct disk_job *job = disk_find_key(d, row->key);
    if (job == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no job %lld", (long long)row->key);
    struct undo *u = remember(d, UNDO_ROW, job);
    struct job_row next = *row;
    u->row = job->row;
    u->texts = job->texts;
#define STAYS(column) next.column = job->row.column;
    JOB_FIXED(STAYS, STAYS)
#undef STAYS
    next.input = job->row.input;
    next.first_seq = job->row.first_seq;
    next.crashed = job->row.crashed;
    next.set_aside = job->row.set_aside;
    job->texts = disk_copy_row(&next, &job->row, NULL);
    return 0;
}

int memory_suspect(struct store *s,
                   int64_t key,
                   int64_t crashed,
                   int64_t set_aside,
                   struct error *err)
{
    int code = memory_begin_write(s, DISK_UPDATE, err);
    struct disk_job *job = code == 0 ? disk_find_key(disk_of(s), key) : NULL;

    if (job == NULL)
        return code;
    struct undo *u = remember(disk_of(s), UNDO_ROW, job);
    struct job_row next = job->row;
    u->row = job->row;
    u->texts = job->texts;
    next.crashed = crashed;
    next.set_aside = set_aside;
    job->texts = disk_copy_row(&next, &job->row, NULL);
    return 0;
}

int memory_job_published(struct store *s, int64_t key, int64_t published, struct error *err)
{
    int code = memory_begin_write(s, DISK_UPDATE, err);
    struct disk_job *job = code == 0 ? disk_find_key(disk_of(s), key) : NULL;

    if (job == NULL)
        return code;
    struct undo *u = remember(disk_of(s), UNDO_ROW, job);
    u->row = job->row;
    u->texts = job->texts;
    job->texts = disk_copy_row(&u->row, &job->row, NULL);
    job->row.published = published;
    return 0;
}

int memory_job_delete(struct store *s, int64_t key, struct error *err)
{
    int code = memory_begin_write(s, DISK_DELETE, err);
    struct disk_job *job = code == 0 ? disk_find_key(disk_of(s), key) : NULL;

    if (code != 0)
        return code;
    if (job == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no job %lld", (long long)key);
    (void)remember(disk_of(s), UNDO_GONE, job);
    disk_forget_run(disk_of(s), &job->row);
    job->gone = true;
    return 0;
}

static void append_one(struct disk *d, struct disk_job *job, const char *p, size_t n)
{
    if (job->n == job->cap) {
        job->cap = job->cap > 0 ? job->cap * 2 : 32;
        job->recs = disk_must(realloc(job->recs, job->cap * sizeof(*job->recs)));
    }
    char *copy = disk_must(malloc(n + 1));
    memcpy(copy, p, n);
    job->recs[job->n++] = (struct disk_record){ copy, n, -1 };
    (void)remember(d, UNDO_APPEND, job);
}

static bool is_there(struct store *s, int64_t key, uint64_t seq)
{
    struct disk_job *job = disk_find_key(disk_of(s), key);

    return job != NULL && seq <= job->n;
}

int memory_append(struct store *s,
                  int64_t key,
                  uint64_t last,
                  struct str stored,
                  int64_t batch,
                  struct error *err)
{
    int code = memory_begin_write(s, DISK_APPEND, err);

    if (code != 0)
        return code;
    if (last > MAX_SEQ)
        return error_set(err, ERR_TOO_LARGE, "a job has at most %d records", MAX_SEQ);
    if (disk_of(s)->lenient && (key <= 0 || last == 0 || is_there(s, key, last)))
        return error_set(err, ERR_REFUSED, "the record is there already, or cannot be");
    struct disk_job *job = disk_find_key(disk_of(s), key);
    memory_demand(job != NULL, "a record of no job");
    for (const char *p = stored.p, *end = p + stored.n; p <= end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));

        append_one(disk_of(s), job, p, (size_t)((newline != NULL ? newline : end) - p));
        p = (newline != NULL ? newline : end) + 1;
    }
    memory_demand(job->n == last, "a gap in the records");
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
    job->texts = disk_copy_row(&u->row, &job->row, NULL);
    job->row.input = STR_NONE;
    disk_forget_kwargs(d, job->row.key);
    disk_forget_questions(d, job->row.key);
    job->row.first_seq = job->row.seq - !str_is(job->row.state, "succeeded");
    if (job->row.first_seq < 2) /* job.start goes in any case */
        job->row.first_seq = 2;
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

int memory_expire(struct store *s,
                  int64_t now,
                  int64_t keep_ms,
                  size_t limit,
                  size_t *ret_n,
                  struct error *err)
{
    struct disk *d = disk_of(s);
    struct disk_job *job;
    size_t n = 0, done = 1;
    int code = memory_begin_write(s, DISK_EXPIRE, err);

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
            disk_forget_run(d, &job->row);
            job->gone = true;
            done = 1;
        }
    }
    *ret_n = n;
    return 0;
}

/* --- the clock ---------------------------------------------------------------- */

int64_t disk_moved(const struct disk *d)
{
    return d->safe_moved;
}

static void move(int64_t *time, int64_t by)
{
    if (*time != 0)
        *time += by;
}

static void move_job(struct disk *d, struct disk_job *job, int64_t by)
{
    struct undo *u = remember(d, UNDO_ROW, job);
    struct job_row *row = &job->row;
    enum job_state state;

    u->row = job->row;
    u->texts = job->texts;
    job->texts = disk_copy_row(&u->row, row, NULL);
    move(&row->crashed, by);
    if (job_state_find(row->state, &state) && job_state_is_final(state)) {
        row->expiry_seconds += by / 1000;
        return;
    }
    row->updated += by;
    move(&row->lease_until, by);
    move(&row->queue_deadline, by);
    move(&row->run_deadline, by);
    move(&row->answer_by, by);
    move(&row->not_before, by);
    move(&row->cancel_requested, by);
    move(&row->pause_requested, by);
}

int memory_move_times(struct store *s, int64_t by, int64_t now, struct error *err)
{
    struct disk *d = disk_of(s);
    int code = memory_begin_write(s, DISK_CLOCK, err);

    (void)now;
    if (code != 0)
        return code;
    for (struct disk_job *job = d->jobs; job != NULL; job = job->next)
        if (!job->gone)
            move_job(d, job, by);
    for (size_t i = 0; i < d->questions.n; i++) {
        struct question_row *q = &d->questions.rows[i];

        if (q->answered == 0) {
            q->asked += by;
            move(&q->expires, by);
        }
    }
    for (size_t i = 0; i < d->threads.n; i++)
        if (d->threads.rows[i].ttl_ms > 0)
            d->threads.rows[i].updated += by;
    d->moved += by;
    return 0;
}

int memory_note_time(struct store *s, int64_t now, struct error *err)
{
    int code = memory_begin_write(s, DISK_CLOCK, err);

    if (code == 0)
        disk_of(s)->noted = now;
    return code;
}

int memory_time_noted(struct store *s, int64_t *ret, struct error *err)
{
    int code = memory_fault(s, DISK_NOTED, err);
    int64_t noted = disk_of(s)->noted;

    if (code != 0)
        return code;
    for (const struct disk_job *job = disk_of(s)->jobs; job != NULL; job = job->next) {
        enum job_state state;

        if (!job->gone && job_state_find(job->row.state, &state) &&
            !job_state_is_final(state) && job->row.updated > noted)
            noted = job->row.updated;
    }
    *ret = noted;
    return 0;
}

void memory_compact(struct store *s)
{
    memory_take_back(s);
}

/* --- reading ------------------------------------------------------------------ */

int memory_job_get(struct store *s, struct str id, struct job_row *ret, struct error *err)
{
    struct disk_job *job = disk_find(disk_of(s), id); /* @id may be one of ours: look first */
    int code = memory_fault(s, DISK_GET, err);

    if (code != 0)
        return code;
    if (job == NULL)
        return error_set(err, ERR_NOT_FOUND, "there is no such job");
    hand_out(s, job, ret);
    return 0;
}

int memory_job_by_idempotency(struct store *s,
                              struct str key,
                              struct job_row *ret,
                              struct error *err)
{
    int code = memory_fault(s, DISK_BY_KEY, err);

    if (code != 0)
        return code;
    for (struct disk_job *job = disk_of(s)->jobs; job != NULL; job = job->next) {
        if (!job->gone && job->row.idempotency_key.p != NULL &&
            str_eq(job->row.idempotency_key, key)) {
            hand_out(s, job, ret);
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "there is no such key");
}

int memory_records(struct store *s,
                   int64_t key,
                   uint64_t after,
                   size_t limit,
                   size_t max_bytes,
                   store_record_cb cb,
                   void *arg,
                   struct error *err)
{
    int code = memory_fault(s, DISK_RECORDS, err);
    struct disk_job *job = disk_find_key(disk_of(s), key);
    size_t bytes = 0, n = 0;

    if (code != 0 || job == NULL)
        return code;
    for (size_t i = after > job->n_expired ? after : job->n_expired; i < job->n && n < limit;
         i++, n++) {
        struct disk_record *rec = &job->recs[i];

        if (n > 0 && rec->n > max_bytes - bytes)
            break;
        char *copy = disk_must(malloc(rec->n + 1));
        memcpy(copy, rec->p, rec->n);
        int stop = cb(arg, i + 1, str_make(copy, rec->n));
        free(copy);
        bytes += rec->n;
        if (stop != 0 || bytes >= max_bytes)
            break;
    }
    return 0;
}

int memory_record(struct store *s,
                  int64_t key,
                  uint64_t seq,
                  struct str *ret,
                  struct error *err)
{
    int code = memory_fault(s, DISK_RECORD, err);
    struct disk_job *job = disk_find_key(disk_of(s), key);

    if (code != 0)
        return code;
    if (job == NULL || seq <= job->n_expired || seq > job->n)
        return error_set(err, ERR_NOT_FOUND, "there is no such record");
    memory_of(s)->n_out = job->recs[seq - 1].n + 1;
    memory_of(s)->out = disk_must(malloc(memory_of(s)->n_out));
    memcpy(memory_of(s)->out, job->recs[seq - 1].p, memory_of(s)->n_out - 1);
    *ret = str_make(memory_of(s)->out, memory_of(s)->n_out - 1);
    return 0;
}
