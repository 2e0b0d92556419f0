/* Lists of what is on the disk, and counts. */
#include "memory_store.h"

#include "jobs/job.h"

#include <stdlib.h>

/* --- jobs --------------------------------------------------------------------- */

int disk_give(const struct disk_job *job, store_job_cb cb, void *arg)
{
    struct job_row row;
    char *texts = disk_copy_job(job, &row, NULL);
    int stop = cb(arg, &row);

    free(texts);
    return stop;
}

static bool is_final(const struct disk_job *job)
{
    enum job_state state;

    return !job_state_find(job->row.state, &state) || job_state_is_final(state);
}

static bool is_open(const struct disk_job *job)
{
    return !is_final(job);
}

static bool is_unpublished(const struct disk_job *job)
{
    return job->row.published >= 0;
}

static bool is_set_aside(const struct disk_job *job)
{
    return job->row.set_aside != 0;
}

/* Those that are @wanted, oldest first. */
static int each(struct store *s,
                bool (*wanted)(const struct disk_job *),
                store_job_cb cb,
                void *arg,
                struct error *err)
{
    int code = memory_fault(s, DISK_OPEN_JOBS, err);

    for (struct disk_job *job = disk_of(s)->jobs; job != NULL && code == 0; job = job->next)
        if (!job->gone && wanted(job) && disk_give(job, cb, arg) != 0)
            break;
    return code;
}

int memory_open_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    return each(s, is_open, cb, arg, err);
}

int memory_unpublished_jobs(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    return each(s, is_unpublished, cb, arg, err);
}

int memory_jobs_set_aside(struct store *s, store_job_cb cb, void *arg, struct error *err)
{
    return each(s, is_set_aside, cb, arg, err);
}

static bool passes(struct str filter, struct str value)
{
    return str_absent(filter) || (!str_absent(value) && str_eq(filter, value));
}

/* The newest with a key below @below. */
static struct disk_job *next_of(struct disk *d, const struct job_filter *f, int64_t below)
{
    struct disk_job *found = NULL;

    for (struct disk_job *job = d->jobs; job != NULL; job = job->next)
        if (!job->gone && job->row.key < below && passes(f->state, job->row.state) &&
            passes(f->agent, job->row.agent) && passes(f->owner, job->row.owner) &&
            (found == NULL || job->row.key > found->row.key))
            found = job;
    return found;
}

int memory_jobs(struct store *s,
                const struct job_filter *filter,
                store_job_cb cb,
                void *arg,
                struct error *err)
{
    int64_t below = filter->before != 0 ? filter->before : INT64_MAX;
    int code = memory_fault(s, DISK_OPEN_JOBS, err);

    for (size_t n = 0; code == 0 && n < filter->limit; n++) {
        struct disk_job *job = next_of(disk_of(s), filter, below);

        if (job == NULL || disk_give(job, cb, arg) != 0)
            break;
        below = job->row.key;
    }
    return code;
}

int memory_stats(struct store *s, struct store_stats *ret, struct error *err)
{
    int code = memory_fault(s, DISK_OPEN_JOBS, err);

    if (code != 0)
        return code;
    *ret = (struct store_stats){ 0 };
    for (struct disk_job *job = disk_of(s)->jobs; job != NULL; job = job->next) {
        if (job->gone)
            continue;
        ret->jobs++;
        ret->records += (int64_t)(job->row.seq + 1 - job->row.first_seq);
        for (size_t i = job->n_expired; i < job->n; i++)
            ret->bytes += (int64_t)job->recs[i].n;
    }
    return 0;
}

/* --- threads ------------------------------------------------------------------ */

static int compare_texts(struct str a, struct str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare(const struct thread_row *a, const struct thread_row *b, enum thread_order by)
{
    int order = 0;

    if (by == THREADS_BY_UPDATED)
        order = (a->updated > b->updated) - (a->updated < b->updated);
    if (by == THREADS_BY_ID)
        order = compare_texts(a->id, b->id);
    if (by == THREADS_BY_STATUS)
        order = compare_texts(a->status, b->status);
    return order != 0 ? order : (a->key > b->key) - (a->key < b->key);
}

int memory_threads(struct store *s,
                   enum thread_order order,
                   bool ascending,
                   struct str owner,
                   store_thread_cb cb,
                   void *arg,
                   struct error *err)
{
    const struct disk_threads *t = &disk_of(s)->threads;
    const struct thread_row *last = NULL;
    int code = memory_fault(s, DISK_THREADS, err);

    while (code == 0) { /* the next one behind the last */
        const struct thread_row *next = NULL;

        for (size_t i = 0; i < t->n; i++) {
            const struct thread_row *row = &t->rows[i];

            if (row->is_temporary == 0 && passes(owner, row->owner) &&
                (last == NULL || (compare(row, last, order) > 0) == ascending) && row != last &&
                (next == NULL || (compare(row, next, order) < 0) == ascending))
                next = row;
        }
        if (next == NULL || cb(arg, next) != 0)
            break;
        last = next;
    }
    return code;
}
