/* A serving: one call of the queue that is ours, from taking it to its result.
 *
 * The loop of the server only. */
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
    struct serving *next; /* its owner's */
    void *owner;
    void (*over)(struct serving *t);
    struct arq_context *context; /* borrowed */
    enum serving_phase phase;
    char id[SERVING_MAX_ID + 1], in_progress[SERVING_MAX_ID + 32], key[SERVING_MAX_ID + 32];
    struct arq_task call;
    const struct arq_function *function; /* NULL: the one that ends waiting */
    struct journal_request post;
    struct buf input; /* JSON: of the job, or its answer */
    struct journal_reply reply;
    char job[80]; /* ours */
    struct arq_ending ending;
    struct buf output, error, error_type; /* of the ending */
    int64_t renew_at;                     /* on the steady clock */
    unsigned n_flying;
    bool is_read; /* `call` is good */
    bool is_aborted;
    bool was_aborted; /* before it began */
    bool cancel_told;
};

/* Begins to take the call of that id; NULL: no memory, or no Redis.  @over is called when it is
 * done or somebody else has it, never from inside this call, and frees it. */
struct serving *serving_new(struct arq_context *d,
                            struct str id,
                            void (*over)(struct serving *),
                            void *owner);
void serving_free(struct serving *t);

/* At every tick.  It may be over then. */
void serving_move_on(struct serving *t);
/* The server stops: unfinished calls are returned to the queue.  It may be over then. */
void serving_stop(struct serving *t);
/* A client has aborted it in ARQ. */
void serving_abort(struct serving *t);
/* Redis was away, and its key may have run out: it is set at the next tick. */
void serving_renew(struct serving *t);

#endif
