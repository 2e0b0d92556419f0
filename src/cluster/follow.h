/* Following: the side of a gateway whose readers wait for jobs that another one writes.
 *
 *     hubs ──▶ watches ══ FRAME_WATCH ══▶ the writer
 *                      ◀══ FRAME_WATCHED  the store is asked once for what came before
 *     hubs ◀── heard ◀════ FRAME_PUSH
 *
 * Part of a link: what goes over its connection besides requests and answers.  On its thread,
 * but for follow_doubt(). */
#ifndef CLUSTER_FOLLOW_H
#define CLUSTER_FOLLOW_H

#include "cluster/frame.h"
#include "cluster/record_push.h"
#include "cluster/watches.h"

#include <pthread.h>

struct follow_options {
    struct watches *watches; /* borrowed; NULL: nothing is followed */
    /* A commit of the writer. */
    void (*heard)(void *arg, const struct record_push *push);
    /* Earlier commits that changed @job may not have been heard. */
    void (*watched)(void *arg, struct str job);
    void *arg;
};

struct follow {
    struct follow_options opt;
    struct watch_queue queue;
    struct record_push_reader *pushes;
    pthread_mutex_t lock;
    bool is_doubted; /* under lock */
};

/* @wake: follow_put() has something.  ERR_NOMEM. */
MUST_CHECK int follow_init(struct follow *f,
                           const struct follow_options *options,
                           void (*wake)(void *arg),
                           void *arg);
void follow_done(struct follow *f);

/* The link is connected: says what is watched. */
void follow_begin(struct follow *f, struct buf *out);
/* The connection is lost. */
void follow_end(struct follow *f);
/* Puts what has changed. */
void follow_put(struct follow *f, struct buf *out);
/* A frame of the writer.  ERR_SYNTAX, ERR_NOMEM. */
MUST_CHECK int follow_take(struct follow *f, const struct frame_in *frame);

/* From any thread: another gateway may write.  When this has returned, nothing is heard until
 * follow_settle(). */
void follow_doubt(struct follow *f);
/* True: there was a doubt, and the connection must be closed. */
bool follow_settle(struct follow *f);

#endif
