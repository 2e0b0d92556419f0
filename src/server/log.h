/* Lines of the server's log on standard error: JSON, for the operator. */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "base/buf.h"

#include <stdint.h>

/* Begins a line, to which members are added; log_end writes it.  What does not fit into
 * PIPE_BUF bytes, or finds no room, is lost: a log that is not read never blocks the server. */
void log_begin(struct buf *out, const char *event);
void log_end(struct buf *out);
/* A worker's line as text for a terminal. */
void log_plain(struct str agent, struct str line);
/* Milliseconds since 1970; also the clock of the server's parts. */
int64_t log_now(void *arg);

#endif
