/* Spare file descriptors of a loop, for when the process has reached its limit.
 *
 * A descriptor that is freed to be used again (a spare for a connection, a connection's for a
 * spare) could be taken by another loop's accept in between.  So all of that is done here,
 * under a lock that the loops share: spares and the connections that were accepted with them
 * are never fewer than SPARES together.  (What other parts of the process open can still come
 * between; a later close makes up for it.)
 *
 * Loop thread only, except for the lock. */
#ifndef HTTP_SPARES_H
#define HTTP_SPARES_H

#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

enum { SPARES = 4 };

struct spares {
    uv_mutex_t *lock; /* borrowed; outlives us */
    int fds[SPARES];
    unsigned n;
};

void spares_init(struct spares *s, uv_mutex_t *lock);
void spares_done(struct spares *s);

/* Accepts a connection at @listener; a descriptor or a UV_ code.  @lends: one of the spares,
 * which is there, is given up for it. */
int spares_accept(struct spares *s, int listener, bool lends, struct sockaddr_storage *from);

/* Around the close of any descriptor: if spares are missing, it becomes one. */
void spares_before_close(struct spares *s);
void spares_after_close(struct spares *s);
void spares_close(struct spares *s, int fd);

#endif
