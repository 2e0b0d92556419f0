/* What `aiq` shares with others: its names of a job's states, and frames that `raw` has too. */
#ifndef DIALECT_AIQ_H
#define DIALECT_AIQ_H

#include "base/str.h"

struct connection_frame;
struct frames;

/* "SUCCESS" for succeeded; in lower case when @compat. */
struct str aiq_status(struct str state, bool compat);

/* job.heartbeat and job.shutdown. */
void aiq_put_heartbeat(const struct connection_frame *what, struct frames *out);
void aiq_put_shutdown(const struct connection_frame *what, struct frames *out);

#endif
