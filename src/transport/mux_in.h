/* Executes and answers the commands of a multiplexed socket's client. */
#ifndef TRANSPORT_MUX_IN_H
#define TRANSPORT_MUX_IN_H

#include "base/str.h"

struct mux;

void mux_take(struct mux *m, struct str text);

#endif
