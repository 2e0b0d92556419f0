/* What the end of a worker's process says about its job, in words. */
#ifndef AGENTS_VERDICT_H
#define AGENTS_VERDICT_H

#include "base/buf.h"

#include <stdint.h>

struct tail;

/* The error of a process that failed:
 *
 *     ValueError: no such repository       the last line of stderr, or "exit status 3";
 *                                          "killed by signal 11 (SIGSEGV)" for a signal
 *     stderr:
 *     Traceback (most recent call last):   its tail, when that says more
 *     ...
 *
 * Returns the type of the error. */
struct str verdict_put(struct buf *out, int64_t status, int signal, const struct tail *tail);

#endif
