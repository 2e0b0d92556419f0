/* A serving: one call of the ARQ queue that this server has taken, until its result is written.
 *
 * On the thread of the server's loop only. */
#ifndef AGENTS_ARQ_SERVING_H
#define AGENTS_ARQ_SERVING_H

#include "agents/arq/context.h"
#include "journal/journal.h"

enum { SERVING_MAX_ID = 200 };

enum serving_phase {
    SERVING_TAKING,
    SERVING_FETCHING,
    SERVING_TELLING,
    SERVING_WAITING,
    SERVING_WRITING,
    SERVING_OVER
};

struct serving {
    struct serving *next; /* in its owner's list */
    void *owner;
    void (*over)(struct serving *t);
    struct arq_context *context; /* borrowed */
    enum serving_phase phase;
    char id[SERVING_MAX_ID + 1], in_progress[SERVING_MAX_ID + 32], key[SERVING_MAX_ID + 32];
    struct arq_task call;
    const struct arq_function *function; /* NULL: it is the expire function */
    struct journal_request post;
    struct buf input; /* JSON: the job's input, or the answer */
    struct journal_reply reply;
    char job[80]; /* id of our job */
    struct arq_ending ending;
    struct buf output, error, error_type; /* of the finished job */
    int64_t renew_at;                     /* on the steady clock */
    unsigned n_flying;
    bool is_read; /* `call` is parsed */
    bool is_aborted;
    bool was_aborted; /* before it was started */
    bool cancel_told;
};

/* Begins to take the call with that id; NULL: out of memory, or Redis is not connected.  @over
 * is called, and frees it, when the call is done or another worker has it; never from inside
 * this call. */
struct serving *serving_new(struct arq_context *d,
                            struct str id,
                            void (*over)(struct serving *),
                            void *owner);
void serving_free(struct serving *t);

/* Called at every tick.  May free it. */
void serving_move_on(struct serving *t);
/* The server stops: unfinished calls are returned to the queue.  May free it. */
void serving_stop(struct serving *t);
/* A client has aborted it in ARQ. */
void serving_abort(struct serving *t);
/* Redis was disconnected, and the in-progress key may have expired: sets it at the next
 * tick. */
void serving_renew(struct serving *t);

#endif
