/* What a server of ARQ and its servings share: options, Redis, the store, counts.
 *
 * The loop of the server only. */
#ifndef AGENTS_ARQ_DESK_H
#define AGENTS_ARQ_DESK_H

#include "agents/arq_server.h"
#include "bus/redis.h"

struct mailbox;

struct arq_desk {
    struct arq_server_options opt;
    struct mailbox *box; /* owned by the server, as the next two */
    struct redis *redis;
    struct store *store; /* reads */
    struct arq_server_counts counts;
    bool is_stopping;
};

void desk_say(const struct arq_desk *d, struct str job, const char *what);
struct str desk_queue(const struct arq_desk *d);

/* A number as an argument of a command. */
struct desk_number {
    char text[24];
};

struct desk_number desk_number_of(int64_t value);

/* False: Redis is away, or no memory; @cb is not called.  Else it counts in @flying (may be
 * NULL) until @cb takes it back. */
bool desk_send(struct arq_desk *d,
               const struct str *args,
               size_t n,
               redis_reply_cb cb,
               void *arg,
               unsigned *flying);

#define DESK_ARGS(...) \
    (struct str[]){ __VA_ARGS__ }, sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str)
/* Forgotten as soon as it is sent. */
#define DESK_TELL(d, ...) ((void)desk_send((d), DESK_ARGS(__VA_ARGS__), NULL, NULL, NULL))

#endif
