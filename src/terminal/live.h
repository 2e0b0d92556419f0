/* The live view of a job on a terminal, fed with frames of the `agent` dialect. */
#ifndef TERMINAL_LIVE_H
#define TERMINAL_LIVE_H

#include "base/str.h"

struct client;
struct client_follow;
struct live_view;
struct term;

/* What a tick returns after a signal to stop. */
enum { LIVE_STOPPED = 1 };

/* @term is borrowed, like @answers, by which the answers to the job's questions are sent; NULL:
 * they are only shown.  NULL when memory ran out. */
struct live_view *live_new(struct term *term, struct str job, struct client *answers);
/* Erases the live lines; the other lines stay on the screen. */
void live_free(struct live_view *l);

/* Sets the callbacks. */
void live_follow(struct live_view *l, struct client_follow *f);

/* After LIVE_STOPPED: ends the program as the signal would have. */
void live_die(struct live_view *l);

#endif
