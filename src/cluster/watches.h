/* Watches: the jobs that readers of this gateway wait for, and which gateways were told.
 *
 *     hubs ──watches_add──▶ list ──▶ a queue for each link ══ FRAME_WATCH ══▶ writers
 *
 * Which shard a job belongs to is not known here, so all writers are told.
 *
 * From any thread. */
#ifndef CLUSTER_WATCHES_H
#define CLUSTER_WATCHES_H

#include "base/buf.h"
#include "base/must_check.h"

struct watches;

MUST_CHECK int watches_new(struct watches **ret);
void watches_free(struct watches *w);

/* Each loop with readers of @job adds it once. */
void watches_add(struct watches *w, struct str job);
void watches_remove(struct watches *w, struct str job);

/* What one link still has to say.  Its owner embeds it, and sets the first two. */
struct watch_queue {
    void (*wake)(void *arg); /* from any thread: there is something to take */
    void *arg;
    struct watch_queue *next;
    struct buf frames;
    bool is_on;
};

void watches_add_queue(struct watches *w, struct watch_queue *queue);
void watches_remove_queue(struct watches *w, struct watch_queue *queue);
/* The link is connected: puts a frame with all jobs, and goes on with what changes. */
void watches_begin(struct watches *w, struct watch_queue *queue, struct buf *out);
/* What has changed since. */
void watches_take(struct watches *w, struct watch_queue *queue, struct buf *out);
/* The connection is lost. */
void watches_end(struct watches *w, struct watch_queue *queue);

#endif
