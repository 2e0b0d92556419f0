/* Threads and their runs on the disk. */
#include "memory_store.h"

#include "base/error.h"
#include "store/checkpoints.h"

#include <stdlib.h>

static struct thread_row copy_thread(const struct thread_row *from)
{
    struct thread_row row = *from;

    disk_own(&thread_texts, &row);
    return row;
}

static void threads_add(struct disk_threads *t, const struct thread_row *row)
{
    t->rows = disk_must(realloc(t->rows, (t->n + 1) * sizeof(*t->rows)));
    t->rows[t->n++] = copy_thread(row);
}

void disk_threads_free(struct disk_threads *t)
{
    for (size_t i = 0; i < t->n; i++)
        row_disown(&thread_texts, &t->rows[i]);
    free(t->rows);
    *t = (struct disk_threads){ 0 };
}

static void runs_add(struct disk_runs *r, const struct run_row *row)
{
    r->rows = disk_must(realloc(r->rows, (r->n + 1) * sizeof(*r->rows)));
    r->rows[r->n] = *row;
    disk_own(&run_texts, &r->rows[r->n++]);
}

void disk_runs_free(struct disk_runs *r)
{
    for (size_t i = 0; i < r->n; i++)
        row_disown(&run_texts, &r->rows[i]);
    free(r->rows);
    *r = (struct disk_runs){ 0 };
}

void disk_threads_copy(struct disk_threads *to, const struct disk_threads *from)
{
    disk_threads_free(to);
    for (size_t i = 0; i < from->n; i++)
        threads_add(to, &from->rows[i]);
}

void disk_runs_copy(struct disk_runs *to, const struct disk_runs *from)
{
    disk_runs_free(to);
    for (size_t i = 0; i < from->n; i++)
        runs_add(to, &from->rows[i]);
}

static struct thread_row *find_thread(struct disk *d, int64_t key)
{
    for (size_t i = 0; i < d->threads.n; i++)
        if (d->threads.rows[i].key == key)
            return &d->threads.rows[i];
    return NULL;
}

void disk_forget_kwargs(struct disk *d, int64_t job)
{
    for (size_t i = 0; i < d->runs.n; i++) {
        if (d->runs.rows[i].job != job)
            continue;
        free((char *)(uintptr_t)d->runs.rows[i].kwargs.p);
        d->runs.rows[i].kwargs = disk_copy_text(STR("{}"));
    }
}

void disk_forget_run(struct disk *d, const struct job_row *job)
{
    struct thread_row *thread = find_thread(d, job->thread);

    for (size_t i = 0; i < d->runs.n; i++) {
        if (d->runs.rows[i].job != job->key)
            continue;
        row_disown(&run_texts, &d->runs.rows[i]);
        d->runs.rows[i] = d->runs.rows[--d->runs.n];
        break;
    }
    if (thread != NULL && thread->is_temporary != 0) {
        row_disown(&thread_texts, thread);
        *thread = d->threads.rows[--d->threads.n];
    }
}

int memory_thread_insert(struct store *s, struct thread_row *row, struct error *err)
{
    struct disk *d = disk_of(s);
    struct thread_row copy = copy_thread(row); /* its texts may be ours */
    int code = memory_begin_write(s, DISK_THREAD, err);

    for (size_t i = 0; code == 0 && i < d->threads.n; i++)
        if (str_eq(d->threads.rows[i].id, copy.id))
            code = error_set(err, ERR_REFUSED, "the id is taken");
    if (code == 0) {
        if (copy.key == 0)
            row->key = copy.key = ++d->last_thread;
        threads_add(&d->threads, &copy);
    }
    row_disown(&thread_texts, &copy);
    return code;
}

int memory_thread_update(struct store *s, const struct thread_row *row, struct error *err)
{
    int code = memory_begin_write(s, DISK_THREAD, err);
    struct thread_row *there = code == 0 ? find_thread(disk_of(s), row->key) : NULL;

    if (code != 0 || there == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    struct thread_row next = *row;
    next.id = there->id;
    next.owner = there->owner;
    next.values = there->values;
    next.created = there->created;
    next.is_temporary = there->is_temporary;
    next = copy_thread(&next);
    row_disown(&thread_texts, there);
    *there = next;
    return 0;
}

int memory_thread_values(struct store *s,
                         int64_t key,
                         struct str values,
                         int64_t now,
                         struct error *err)
{
    int code = memory_begin_write(s, DISK_THREAD, err);
    struct thread_row *there = code == 0 ? find_thread(disk_of(s), key) : NULL;

    if (code != 0 || there == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    free((char *)(uintptr_t)there->values.p);
    there->values = disk_copy_text(values);
    there->updated = there->state_updated = now;
    return 0;
}

int memory_thread_delete(struct store *s, int64_t key, struct error *err)
{
    int code = memory_begin_write(s, DISK_THREAD, err);
    struct thread_row *there = code == 0 ? find_thread(disk_of(s), key) : NULL;

    if (code != 0 || there == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    row_disown(&thread_texts, there);
    *there = disk_of(s)->threads.rows[--disk_of(s)->threads.n];
    return 0;
}

/* Nobody saves anything here. */
/* Nobody is told of the ends of runs here. */
int memory_webhook_insert(struct store *s, const struct webhook_row *row, struct error *err)
{
    (void)s, (void)row, (void)err;
    return 0;
}

int memory_webhook_end(struct store *s, const struct webhook_end *end, struct error *err)
{
    (void)s, (void)end, (void)err;
    return 0;
}

int memory_webhook_forget(struct store *s, int64_t job, struct error *err)
{
    (void)s, (void)job, (void)err;
    return 0;
}

/* There are no crons here. */
int memory_crons_forget(struct store *s,
                        struct str thread,
                        struct str assistant,
                        struct error *err)
{
    (void)s, (void)thread, (void)assistant, (void)err;
    return 0;
}

int memory_thread_forget(struct store *s, struct str thread, struct error *err)
{
    (void)thread;
    return memory_begin_write(s, DISK_THREAD, err);
}

int memory_states(struct store *s,
                  const struct checkpoint_filter *filter,
                  store_state_cb cb,
                  void *arg,
                  struct error *err)
{
    (void)s, (void)filter, (void)cb, (void)arg, (void)err;
    return 0;
}

int memory_run_forget(struct store *s, struct str thread, struct str run, struct error *err)
{
    (void)thread, (void)run;
    return memory_begin_write(s, DISK_THREAD, err);
}

int memory_thread_copy(struct store *s, struct str from, struct str to, struct error *err)
{
    (void)from, (void)to;
    return memory_begin_write(s, DISK_THREAD, err);
}

int memory_run_insert(struct store *s, const struct run_row *row, struct error *err)
{
    int code = memory_begin_write(s, DISK_THREAD, err);

    if (code == 0)
        runs_add(&disk_of(s)->runs, row);
    return code;
}

int memory_run_read(struct store *s, int64_t job, struct error *err)
{
    struct disk_runs *r = &disk_of(s)->runs;
    int code = memory_begin_write(s, DISK_THREAD, err);

    for (size_t i = 0; code == 0 && i < r->n; i++) {
        if (r->rows[i].job == job) {
            r->rows[i].modes |= RUN_IS_READ;
            return 0;
        }
    }
    return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such run");
}

/* What is handed out is the disk's own: good until the transaction ends. */
static int get_thread(struct store *s,
                      const struct thread_row *row,
                      struct thread_row *ret,
                      struct error *err)
{
    int code = memory_fault(s, DISK_THREADS, err);

    if (code != 0 || row == NULL)
        return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such thread");
    *ret = *row;
    return 0;
}

int memory_thread_get(struct store *s, struct str id, struct thread_row *ret, struct error *err)
{
    const struct disk_threads *t = &disk_of(s)->threads;
    const struct thread_row *row = NULL;

    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->rows[i].id, id))
            row = &t->rows[i];
    return get_thread(s, row, ret, err);
}

int memory_thread_by_key(struct store *s,
                         int64_t key,
                         struct thread_row *ret,
                         struct error *err)
{
    return get_thread(s, find_thread(disk_of(s), key), ret, err);
}

int memory_threads_expired(struct store *s,
                           int64_t now,
                           size_t limit,
                           store_thread_cb cb,
                           void *arg,
                           struct error *err)
{
    const struct disk_threads *t = &disk_of(s)->threads;
    int code = memory_fault(s, DISK_THREADS, err);

    for (size_t i = 0, n = 0; code == 0 && i < t->n && n < limit; i++) {
        const struct thread_row *row = &t->rows[i];

        if (row->ttl_ms == 0 || row->updated + row->ttl_ms > now || str_is(row->status, "busy"))
            continue;
        n++;
        if (cb(arg, row) != 0)
            break;
    }
    return code;
}

static struct str thread_id_of(struct disk *d, int64_t job)
{
    const struct disk_job *of = disk_find_key(d, job);
    const struct thread_row *thread = of != NULL ? find_thread(d, of->row.thread) : NULL;

    return thread != NULL ? thread->id : STR_NONE;
}

int memory_run_get(struct store *s, int64_t job, struct run_row *ret, struct error *err)
{
    const struct disk_runs *r = &disk_of(s)->runs;
    int code = memory_fault(s, DISK_THREADS, err);

    for (size_t i = 0; code == 0 && i < r->n; i++) {
        if (r->rows[i].job == job) {
            *ret = r->rows[i];
            ret->thread = thread_id_of(disk_of(s), job);
            return 0;
        }
    }
    return code != 0 ? code : error_set(err, ERR_NOT_FOUND, "there is no such run");
}

int memory_thread_jobs(struct store *s,
                       int64_t thread,
                       store_job_cb cb,
                       void *arg,
                       struct error *err)
{
    int64_t below = INT64_MAX;
    int code = memory_fault(s, DISK_THREADS, err);

    while (code == 0) {
        struct disk_job *next = NULL;

        for (struct disk_job *job = disk_of(s)->jobs; job != NULL; job = job->next)
            if (!job->gone && job->row.thread == thread && job->row.ordinal < below &&
                (next == NULL || job->row.ordinal > next->row.ordinal))
                next = job;
        if (next == NULL || disk_give(next, cb, arg) != 0)
            break;
        below = next->row.ordinal;
    }
    return code;
}
