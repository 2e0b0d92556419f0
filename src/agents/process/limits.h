/* Limits of a process that has just been started. */
#ifndef AGENTS_PROCESS_LIMITS_H
#define AGENTS_PROCESS_LIMITS_H

#include <stddef.h>
#include <sys/types.h>

/* @max_bytes of address space, @max_cpu_seconds; 0: no limit.  libuv has no hook between fork
 * and exec, so they are set from outside right after the start: before the worker has its job,
 * if not before its first instruction.  0, or a negative errno. */
int limits_set(pid_t pid, size_t max_bytes, unsigned max_cpu_seconds);

#endif
