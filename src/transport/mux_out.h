/* The output of a multiplexed connection: always {"job","id","event","data"}, over any
 * transport. */
#ifndef TRANSPORT_MUX_OUT_H
#define TRANSPORT_MUX_OUT_H

#include "base/str.h"

struct mux;
struct subscription;

/* Writes a frame for this connection only, without an id.  @job may be absent. */
void mux_put(struct mux *m, struct str job, struct str event, struct str data);
/* One without data. */
void mux_put_type(struct mux *m, struct str job, const char *type);
void mux_put_error(struct mux *m, struct str job, int status, const char *text);

/* Over SSE: makes events of the lines in *@bytes; the id of each is the cursors of all jobs
 * after it.  False: out of memory, and the stream is cut. */
bool mux_translate(struct mux *m, const struct subscription *sub, struct str *bytes);

#endif
