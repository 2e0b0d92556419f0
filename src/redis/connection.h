/* A connection to a Redis server that reconnects whenever it is lost.
 *
 * It lives on one loop and is used by that loop's thread alone; another thread needs a
 * connection of its own.  It is ready when the server has accepted AUTH and SELECT (and the
 * subscription).  Until then, and after a loss, redis_send() refuses commands, and it
 * reconnects with exponential backoff and jitter.
 *
 * The host name is resolved on the loop's thread, which blocks it. */
#ifndef REDIS_CONNECTION_H
#define REDIS_CONNECTION_H

#include "base/counter.h"
#include "base/must_check.h"
#include "config/values/redis_url.h"
#include "base/str.h"

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <uv.h>

struct redis;

/* Counters that any thread may read. */
struct redis_counts {
    struct counter connected; /* 0 or 1 */
    struct counter connects;  /* successful connects */
    struct counter losses;
    struct counter failures; /* failed attempts to connect */
};

struct redis_options {
    const struct redis_url *url; /* copied */
    const char *name;            /* shown in CLIENT LIST; NULL: none */
    int64_t command_ms;          /* default deadline of commands; 0: 10 s */
    /* Called once for each change between connected (@why absent) and disconnected, also when
     * the first try fails. May be NULL. */
    void (*state)(void *arg, bool connected, struct str why);
    /* With a pattern, every connection subscribes to it and takes no commands.  Texts are valid
     * until the callback returns. */
    const char *pattern;
    void (*message)(void *arg, struct str channel, struct str payload);
    /* redis_subscribe_again() was executed.  May be NULL. */
    void (*subscribed)(void *arg);
    void *arg;
    struct redis_counts *counts; /* borrowed; where to count; NULL: nowhere */
};

/* Begins to connect; no callback runs inside this call.  ERR_NOMEM, or libuv's. */
int redis_open(uv_loop_t *loop, const struct redis_options *options, struct redis **ret);
/* Pending commands are answered with NULL; @closed is the last callback. May be called from any
 * callback of the connection. */
void redis_close(struct redis *r, void (*closed)(void *arg), void *arg);

bool redis_is_connected(const struct redis *r);

/* NULL: the connection was lost, or the deadline passed, and it is unknown whether the command
 * was executed.  A REDIS_REPLY_ERROR is a normal reply. */
typedef void (*redis_reply_cb)(void *arg, const redisReply *reply);

enum { REDIS_ARGS_MAX = 32 };

/* Sends a command; replies arrive in the order of the commands.  On 0, @cb (may be NULL) is
 * called once and never from inside this call; otherwise never: ERR_BUSY (not connected),
 * ERR_TOO_LARGE (arguments), ERR_NOMEM.
 *
 * @deadline_ms (0: the default) is how long its reply may take after all earlier ones.  When it
 * passes, the connection is closed, because the commands after it would be as late. */
int redis_send(struct redis *r,
               const struct str *args,
               size_t n_args,
               int64_t deadline_ms,
               redis_reply_cb cb,
               void *arg);

/* Subscribes to the pattern once more, which changes nothing: `subscribed` is called behind all
 * messages that were published before Redis has executed it.  ERR_BUSY (not connected),
 * ERR_NOMEM: it will not be called.  Nor is it if the connection is lost. */
MUST_CHECK int redis_subscribe_again(struct redis *r);

/* While held, nothing is read from the socket: Redis buffers our messages, up to its own
 * limit. */
void redis_hold(struct redis *r, bool hold);

#endif
