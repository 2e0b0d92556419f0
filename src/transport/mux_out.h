/* What a multiplexed connection sends: always {"job","id","event","data"}, whatever carries it.
 */
#ifndef TRANSPORT_MUX_OUT_H
#define TRANSPORT_MUX_OUT_H

#include "base/str.h"

struct mux;
struct subscription;

/* Frames that only this connection gets, without an id.  @job may be absent. */
void mux_put(struct mux *m, struct str job, struct str event, struct str data);
/* One without data. */
void mux_put_type(struct mux *m, struct str job, const char *type);
void mux_put_error(struct mux *m, struct str job, int status, const char *text);

/* Over SSE: the lines in *@bytes become events, each with the places in all jobs behind it as
 * its id.  False when there is no memory: the stream is cut. */
bool mux_translate(struct mux *m, const struct subscription *sub, struct str *bytes);

#endif
