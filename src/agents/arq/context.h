/* What the ARQ server and its servings share: options, Redis, the store, counts.
 *
 * On the thread of the server's loop only. */
#ifndef AGENTS_ARQ_CONTEXT_H
#define AGENTS_ARQ_CONTEXT_H

#include "agents/arq/server.h"
#include "redis/connection.h"

struct mailbox;

struct arq_context {
    struct arq_server_options opt;
    struct mailbox *box; /* owned by the server, as the next two */
    struct redis *redis;
    struct store *store; /* for reading */
    struct arq_server_counts counts;
    bool is_stopping;
};

void arq_context_say(const struct arq_context *d, struct str job, const char *what);
struct str arq_context_queue(const struct arq_context *d);

/* A number as an argument of a command. */
struct arq_number {
    char text[24];
};

struct arq_number arq_context_number_of(int64_t value);

/* Sends a command.  False: Redis is not connected, or out of memory; @cb is not called.  Else
 * @flying (may be NULL) counts it, and @cb must decrement that. */
bool arq_context_send(struct arq_context *d,
                      const struct str *args,
                      size_t n,
                      redis_reply_cb cb,
                      void *arg,
                      unsigned *flying);

#define ARQ_CONTEXT_ARGS(...) \
    (struct str[]){ __VA_ARGS__ }, sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str)
/* Sends a command and ignores its reply. */
#define ARQ_CONTEXT_TELL(d, ...) \
    ((void)arq_context_send((d), ARQ_CONTEXT_ARGS(__VA_ARGS__), NULL, NULL, NULL))

#endif
