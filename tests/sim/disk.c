/* The disk: what is stored, and the faults that are planned. */
#include "memory_store.h"

#include <stdlib.h>

/* --- memory ------------------------------------------------------------------- */

void *disk_must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

struct str disk_copy_text(struct str s)
{
    if (s.p == NULL)
        return s;
    char *p = disk_must(malloc(s.n + 1));
    memcpy(p, s.p, s.n);
    return str_make(p, s.n);
}

void disk_own(const struct row_texts *texts, void *row)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct str *text = row_text(texts, row, i);

        *text = disk_copy_text(*text);
    }
}

char *disk_copy_row(const struct job_row *from, struct job_row *to, size_t *ret_n)
{
    size_t n = 1;

    *to = *from;
    for (size_t i = 0; i < job_texts.n; i++)
        n += row_text(&job_texts, to, i)->n;
    char *block = disk_must(malloc(n)), *at = block;
    for (size_t i = 0; i < job_texts.n; i++) {
        struct str *text = row_text(&job_texts, to, i);

        if (text->p == NULL)
            continue;
        memcpy(at, text->p, text->n);
        text->p = at;
        at += text->n;
    }
    if (ret_n != NULL)
        *ret_n = n;
    return block;
}

char *disk_copy_job(const struct disk_job *job, struct job_row *ret, size_t *ret_n)
{
    char *texts = disk_copy_row(&job->row, ret, ret_n);

    for (size_t i = (size_t)job->row.seq; i < job->n; i++)
        if (job->recs[i].batch >= 0)
            ret->producer_seq = job->recs[i].batch;
    if (ret->seq < job->n)
        ret->seq = job->n;
    return texts;
}

/* --- the disk ----------------------------------------------------------------- */

const char *disk_op_name(enum disk_op op)
{
    static const char *const names[DISK_OP_MAX] = { "begin",   "commit",  "insert", "update",
                                                    "delete",  "append",  "expire", "question",
                                                    "thread",  "clock",   "get",    "by_key",
                                                    "open",    "records", "record", "questions",
                                                    "threads", "noted" };

    return names[op];
}

struct disk *disk_new(disk_committed_cb committed, void *arg)
{
    struct disk *d = disk_must(calloc(1, sizeof(*d)));

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
    disk_questions_free(&d->questions);
    disk_questions_free(&d->safe_questions);
    disk_threads_free(&d->threads);
    disk_threads_free(&d->safe_threads);
    disk_runs_free(&d->runs);
    disk_runs_free(&d->safe_runs);
    disk_operations_free(d);
    free(d->undo);
    free(d);
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

struct disk_job *disk_find_key(struct disk *d, int64_t key)
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

void disk_set_lenient(struct disk *d)
{
    d->lenient = true;
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
