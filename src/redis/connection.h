/* A connection to a Redis server that is made again whenever it is lost.
 *
 * It lives on one loop and is used by that loop's thread alone; another thread needs a
 * connection of its own.  It is ready when the server has accepted login and database (and the
 * subscription). Until then, and after a loss, commands are refused, and it reconnects with
 * exponential backoff and jitter.
 *
 * A host's name is looked up on the loop's thread when the connection is made. */
#ifndef REDIS_CONNECTION_H
#define REDIS_CONNECTION_H

#include "base/counter.h"
#include "config/values/redis_url.h"
#include "base/str.h"

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <uv.h>

struct redis;

/* What any thread may look at. */
struct redis_counts {
    struct counter connected; /* 0, 1 */
    struct counter connects;  /* how often it was made */
    struct counter losses;
    struct counter failures; /* tries that came to nothing */
};

struct redis_options {
    const struct redis_url *url; /* copied */
    const char *name;            /* shown in CLIENT LIST; NULL: none */
    int64_t command_ms;          /* a command's deadline unless it has its own; 0: 10 s */
    /* Called once for each change between connected (@why absent) and disconnected, also when
     * the first try fails. May be NULL. */
    void (*state)(void *arg, bool connected, struct str why);
    /* When there is a pattern, it is subscribed to with every connection; such a one takes
     * no commands.  Texts are good until the function returns. */
    const char *pattern;
    void (*message)(void *arg, struct str channel, struct str payload);
    void *arg;
    struct redis_counts *counts; /* borrowed; where to count; NULL: nowhere */
};

/* Begins to connect; no callback runs inside this call.  ERR_NOMEM, or libuv's. */
int redis_open(uv_loop_t *loop, const struct redis_options *options, struct redis **ret);
/* Pending commands are answered with NULL; @closed is the last callback. May be called from any
 * callback of the connection. */
void redis_close(struct redis *r, void (*closed)(void *arg), void *arg);

bool redis_is_connected(const struct redis *r);

/* NULL: the connection was lost, or the deadline passed, and it is unknown whether the
 * command was done.  An answer of type REDIS_REPLY_ERROR is an answer. */
typedef void (*redis_reply_cb)(void *arg, const redisReply *reply);

enum { REDIS_ARGS_MAX = 32 };

/* Sends a command; answers come in the order of the commands.  On 0, @cb (may be NULL) is
 * called once and never from inside this call; otherwise never: ERR_BUSY (not connected),
 * ERR_TOO_LARGE (arguments), ERR_NOMEM.
 *
 * @deadline_ms (0: the default) is how long its answer may take once it is the next to come;
 * then the connection is given up, for what waits behind it would be as late. */
int redis_send(struct redis *r,
               const struct str *args,
               size_t n_args,
               int64_t deadline_ms,
               redis_reply_cb cb,
               void *arg);

/* While held, nothing is read: Redis buffers what it has for us, up to its own limit. */
void redis_hold(struct redis *r, bool hold);

#endif
