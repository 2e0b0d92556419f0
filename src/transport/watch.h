/* A watch: the states of all jobs that the reader may see, on a multiplexed connection.
 *
 * A change is told as it comes and kept for nobody; one that a slow reader cannot take is
 * left out, and then it is told that there is a gap. */
#ifndef TRANSPORT_WATCH_H
#define TRANSPORT_WATCH_H

#include "hub/hub.h"

struct mux;

struct watch {
    struct hub_listener listener;
    bool is_on;
    bool has_missed; /* something was left out */
};

void watch_start(struct mux *m);
/* All that waited is out: true when there is something to say about what was left out. */
bool watch_catch_up(struct mux *m);
void watch_stop(struct mux *m);

#endif
