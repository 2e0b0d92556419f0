#include "cluster/watches.h"

#include "base/error.h"
#include "base/table.h"
#include "cluster/frame.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_FRAMES = 64 * 1024 * 1024 };

struct waited_job {
    unsigned n_loops;
    size_t id_n;
    char id[80];
};

struct watches {
    pthread_mutex_t lock;
    /* Under lock: */
    struct table jobs;          /* id -> struct waited_job, owned */
    struct watch_queue *queues; /* borrowed */
};

int watches_new(struct watches **ret)
{
    struct watches *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&w->lock, NULL); /* cannot fail on Linux */
    table_init(&w->jobs);
    *ret = w;
    return 0;
}

void watches_free(struct watches *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->jobs.cap; i++)
        free(w->jobs.slots[i].value);
    table_done(&w->jobs);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

static void put_job(struct buf *b, const struct waited_job *job)
{
    buf_put(b, job->id, job->id_n);
    buf_char(b, '\n');
}

/* Under lock.  Without memory for the frame, the link is told with its next connection; until
 * then a re-check finds the job's records. */
static void tell(struct watches *w, enum frame_kind kind, const struct waited_job *job)
{
    for (struct watch_queue *f = w->queues; f != NULL; f = f->next) {
        if (!f->is_on)
            continue;
        size_t from = frame_begin(&f->frames, kind, 0);
        put_job(&f->frames, job);
        frame_end(&f->frames, from);
        f->wake(f->arg);
    }
}

void watches_add(struct watches *w, struct str id)
{
    struct key k = table_key(&w->jobs, 0, id);

    (void)pthread_mutex_lock(&w->lock);
    struct waited_job *job = table_get(&w->jobs, k);
    if (job == NULL && id.n <= sizeof(job->id)) {
        job = calloc(1, sizeof(*job));
        if (job != NULL && table_put(&w->jobs, k, job) != 0) {
            free(job);
            job = NULL;
        }
        if (job != NULL) {
            str_copy(job->id, id);
            job->id_n = id.n;
            tell(w, FRAME_WATCH, job);
        }
    }
    if (job != NULL)
        job->n_loops++;
    (void)pthread_mutex_unlock(&w->lock);
}

void watches_remove(struct watches *w, struct str id)
{
    struct key k = table_key(&w->jobs, 0, id);

    (void)pthread_mutex_lock(&w->lock);
    struct waited_job *job = table_get(&w->jobs, k);
    if (job != NULL && --job->n_loops == 0) {
        tell(w, FRAME_UNWATCH, job);
        table_remove(&w->jobs, k);
        free(job);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* --- queues --------------------------------------------------------------------------------
 */

void watches_add_queue(struct watches *w, struct watch_queue *queue)
{
    buf_init(&queue->frames, MAX_FRAMES);
    (void)pthread_mutex_lock(&w->lock);
    queue->next = w->queues;
    w->queues = queue;
    (void)pthread_mutex_unlock(&w->lock);
}

void watches_remove_queue(struct watches *w, struct watch_queue *queue)
{
    struct watch_queue **at = &w->queues;

    (void)pthread_mutex_lock(&w->lock);
    while (*at != NULL && *at != queue)
        at = &(*at)->next;
    if (*at != NULL)
        *at = queue->next;
    (void)pthread_mutex_unlock(&w->lock);
    buf_done(&queue->frames);
}

void watches_begin(struct watches *w, struct watch_queue *queue, struct buf *out)
{
    size_t from = frame_begin(out, FRAME_WATCH, 0);

    (void)pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < w->jobs.cap; i++)
        if (w->jobs.slots[i].value != NULL)
            put_job(out, w->jobs.slots[i].value);
    queue->is_on = true;
    (void)pthread_mutex_unlock(&w->lock);
    frame_end(out, from);
}

void watches_take(struct watches *w, struct watch_queue *queue, struct buf *out)
{
    (void)pthread_mutex_lock(&w->lock);
    if (queue->frames.n > 0 && queue->frames.error == 0)
        buf_str(out, buf_text(&queue->frames));
    buf_clear(&queue->frames);
    (void)pthread_mutex_unlock(&w->lock);
}

void watches_end(struct watches *w, struct watch_queue *queue)
{
    (void)pthread_mutex_lock(&w->lock);
    queue->is_on = false;
    buf_clear(&queue->frames);
    (void)pthread_mutex_unlock(&w->lock);
}
