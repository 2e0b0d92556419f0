/* How much memory a process has in RAM. */
#ifndef AGENTS_PROCESS_RESIDENT_H
#define AGENTS_PROCESS_RESIDENT_H

#include <stddef.h>
#include <sys/types.h>

/* Bytes; 0 when that cannot be told (it has just gone). */
size_t resident_bytes(pid_t pid);

#endif
