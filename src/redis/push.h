/* Parses the messages that Redis pushes to a subscribed connection: one array per message.
 *
 *     *4  $8 pmessage  $6 jobs:*  $6 jobs:1  $2 {}
 *
 * hiredis makes ten allocations for each; here the texts point into the read buffer. */
#ifndef REDIS_PUSH_H
#define REDIS_PUSH_H

#include "base/buf.h"

enum push_kind {
    PUSH_MESSAGE, /* channel, payload */
    PUSH_OTHER,   /* for example the reply to a subscription */
    PUSH_ERROR    /* payload: Redis's error message */
};

struct push {
    enum push_kind kind;
    struct str channel, payload;
};

/* Parses the message at the start of @bytes.  Returns its length; 0: incomplete; ERR_SYNTAX:
 * not the Redis protocol; ERR_TOO_LARGE. */
int64_t push_read(struct str bytes, struct push *ret);

/* Returns false to stop for now.  Texts are valid until it returns. */
typedef bool (*push_cb)(void *arg, const struct push *push);

struct pushes {
    struct buf in; /* bytes that are not parsed yet */
};

void pushes_init(struct pushes *p);
void pushes_done(struct pushes *p);

/* Reads from @fd, which is non-blocking, and calls back for complete messages.  0; ERR_CLOSED:
 * the peer closed it; ERR_IO: see errno; errors of push_read(); ERR_NOMEM.  After a callback
 * returned false, @p is not touched: the callback may have freed it. */
int pushes_take(struct pushes *p, int fd, push_cb cb, void *arg);

#endif
