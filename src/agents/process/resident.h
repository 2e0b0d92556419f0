/* The resident memory (RSS) of a process. */
#ifndef AGENTS_PROCESS_RESIDENT_H
#define AGENTS_PROCESS_RESIDENT_H

#include <stddef.h>
#include <sys/types.h>

/* Bytes; 0 when unknown: the process has just exited. */
size_t resident_bytes(pid_t pid);

#endif
