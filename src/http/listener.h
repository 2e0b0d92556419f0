/* A listening socket: accepts, within the limits of connections and descriptors. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <stdbool.h>
#include <uv.h>

struct http_loop;

struct listener {
    uv_poll_t poll;
    struct http_loop *loop; /* borrowed */
    int fd;                 /* owned */
    bool is_unix;
    bool is_open;
    bool is_resting; /* nothing could be accepted; the next tick tries again */
};

/* Takes @fd, which listens already, also on failure.  Accepting starts with the loop. */
int listener_open(struct listener *l, struct http_loop *loop, int fd, bool is_unix);
void listener_close(struct listener *l);
void listener_retry(struct listener *l);

#endif
