/* A watch: the states of all jobs that the reader may see, on a multiplexed connection.
 *
 * Changes are sent as they happen and are not stored; if a slow reader misses some, it gets a
 * gap event. */
#ifndef TRANSPORT_WATCH_H
#define TRANSPORT_WATCH_H

#include "hub/hub.h"

struct mux;

struct watch {
    struct hub_listener listener;
    bool is_on;
    bool has_missed; /* a change was dropped */
};

void watch_start(struct mux *m);
/* The reader has caught up: adds the gap event if changes were dropped, and returns true
 * then. */
bool watch_catch_up(struct mux *m);
void watch_stop(struct mux *m);

#endif
