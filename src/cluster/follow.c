#include "cluster/follow.h"

#include "base/error.h"

int follow_init(struct follow *f,
                const struct follow_options *options,
                void (*wake)(void *arg),
                void *arg)
{
    f->opt = *options;
    (void)pthread_mutex_init(&f->lock, NULL); /* cannot fail on Linux */
    if (f->opt.watches == NULL)
        return 0;
    f->queue.wake = wake;
    f->queue.arg = arg;
    watches_add_queue(f->opt.watches, &f->queue);
    return record_push_reader_new(&f->pushes);
}

void follow_done(struct follow *f)
{
    if (f->opt.watches != NULL)
        watches_remove_queue(f->opt.watches, &f->queue);
    record_push_reader_free(f->pushes);
    (void)pthread_mutex_destroy(&f->lock);
}

void follow_begin(struct follow *f, struct buf *out)
{
    if (f->opt.watches != NULL)
        watches_begin(f->opt.watches, &f->queue, out);
}

void follow_end(struct follow *f)
{
    if (f->opt.watches == NULL)
        return;
    watches_end(f->opt.watches, &f->queue);
    record_push_reader_forget(f->pushes, STR_NONE);
}

void follow_put(struct follow *f, struct buf *out)
{
    if (f->opt.watches != NULL)
        watches_take(f->opt.watches, &f->queue, out);
}

/* The writer has forgotten which header records it has sent of these jobs. */
static void take_watched(struct follow *f, struct str jobs)
{
    while (jobs.n > 0) {
        struct str id = str_head(jobs, str_find(jobs, '\n'));

        record_push_reader_forget(f->pushes, id);
        f->opt.watched(f->opt.arg, id);
        jobs = str_skip(jobs, id.n < jobs.n ? id.n + 1 : id.n);
    }
}

static int take_push(struct follow *f, struct str bytes)
{
    struct record_push push;
    int err = record_push_read(f->pushes, bytes, &push);

    (void)pthread_mutex_lock(&f->lock);
    if (err == 0 && !f->is_doubted)
        f->opt.heard(f->opt.arg, &push);
    (void)pthread_mutex_unlock(&f->lock);
    return err;
}

int follow_take(struct follow *f, const struct frame_in *frame)
{
    if (f->opt.watches == NULL)
        return ERR_SYNTAX;
    if (frame->kind == FRAME_PUSH)
        return take_push(f, frame->payload);
    if (frame->kind != FRAME_WATCHED)
        return ERR_SYNTAX;
    take_watched(f, frame->payload);
    return 0;
}

void follow_doubt(struct follow *f)
{
    (void)pthread_mutex_lock(&f->lock);
    f->is_doubted = true;
    (void)pthread_mutex_unlock(&f->lock);
}

bool follow_settle(struct follow *f)
{
    (void)pthread_mutex_lock(&f->lock);
    bool was_doubted = f->is_doubted;
    f->is_doubted = false;
    (void)pthread_mutex_unlock(&f->lock);
    return was_doubted;
}
