/* The error message for a worker's process that failed. */
#ifndef AGENTS_PROCESS_VERDICT_H
#define AGENTS_PROCESS_VERDICT_H

#include "base/buf.h"

#include <stdint.h>

struct tail;

/* Puts the error of a process that failed: the message of the exception that ended it, else
 * the last line of its stderr, else "exit status 3"; for a signal "killed by signal 11
 * (SIGSEGV)".  Returns the type: the exception's class, else "ExitStatus" or "Signal".
 * @ret_raised: it is an exception. */
struct str verdict_put(struct buf *out,
                       int64_t status,
                       int signal,
                       const struct tail *tail,
                       bool *ret_raised);

/* The details of that error: {"exit_status":1,"stderr":"Traceback …"}, or {"signal":11,…};
 * without stderr when there was none. */
void verdict_put_details(struct buf *out, int64_t status, int signal, const struct tail *tail);

#endif
