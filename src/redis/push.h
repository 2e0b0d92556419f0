/* What Redis sends to a connection that has subscribed: an array for each message, unasked.
 *
 *     *4  $8 pmessage  $6 jobs:*  $6 jobs:1  $2 {}
 *
 * hiredis makes ten allocations of each; here the texts are those in the buffer that was read
 * into. */
#ifndef REDIS_PUSH_H
#define REDIS_PUSH_H

#include "base/buf.h"

enum push_kind {
    PUSH_MESSAGE, /* channel, payload */
    PUSH_OTHER,   /* it has subscribed, say */
    PUSH_ERROR    /* payload: what Redis says */
};

struct push {
    enum push_kind kind;
    struct str channel, payload;
};

/* Reads the one at the start of @bytes.  Returns its length; 0: its end has not come yet;
 * ERR_SYNTAX: not the Redis protocol; ERR_TOO_LARGE. */
int64_t push_read(struct str bytes, struct push *ret);

/* False: no more for now.  Texts are good until it returns. */
typedef bool (*push_cb)(void *arg, const struct push *push);

struct pushes {
    struct buf in; /* what has come of the next ones */
};

void pushes_init(struct pushes *p);
void pushes_done(struct pushes *p);

/* Reads what there is from @fd, which does not block, and hands over what is complete.  0;
 * ERR_CLOSED: the other side has closed it; ERR_IO: see errno; those of push_read(); ERR_NOMEM.
 * After a callback that returned false nothing of @p is touched any more. */
int pushes_take(struct pushes *p, int fd, push_cb cb, void *arg);

#endif
