/* What the client of a multiplexed socket says, done and answered. */
#ifndef TRANSPORT_MUX_IN_H
#define TRANSPORT_MUX_IN_H

#include "base/str.h"

struct mux;

void mux_take(struct mux *m, struct str text);

#endif
