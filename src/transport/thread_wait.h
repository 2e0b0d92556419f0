/* Who waits on a loop for a new run of a LangGraph thread.
 *
 * A run that another gateway has created is told without its thread: then everybody who waits
 * looks, at most once a second. */
#ifndef TRANSPORT_THREAD_WAIT_H
#define TRANSPORT_THREAD_WAIT_H

#include "hub/hub.h"

#include <stdint.h>

struct streams;

/* The owner embeds it and sets key and wake. */
struct thread_wait {
    struct thread_wait *prev, *next;
    int64_t key; /* of the thread; 0: not known yet, so that every new run may be one of it */
    void (*wake)(struct thread_wait *w); /* there may be a new run; may leave */
};

/* All of a loop; a member of struct streams. */
struct thread_waits {
    struct hub_listener listener;
    struct thread_wait all; /* list head */
    bool is_due;            /* a change without a thread has been heard */
};

void thread_waits_init(struct thread_waits *all);
/* About once a second. */
void thread_waits_tick(struct thread_waits *all);

void thread_wait_join(struct streams *l, struct thread_wait *w);
void thread_wait_leave(struct streams *l, struct thread_wait *w);

#endif
