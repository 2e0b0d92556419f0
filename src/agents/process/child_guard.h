/* A child guard: processes do not outlive the server that started them, not even when it was
 * killed.
 *
 * The kernel kills a process when the thread that forked it ends (PR_SET_PDEATHSIG), if the
 * process asks for that itself.  That does not cover the process's own children.  All of them
 * have the server's mark in their environment, and the next server with that mark kills them at
 * its start. */
#ifndef AGENTS_PROCESS_CHILD_GUARD_H
#define AGENTS_PROCESS_CHILD_GUARD_H

#include "base/str.h"

#include <uv.h>

/* The variable that holds the mark, with its '='. */
#define CHILD_GUARD_VARIABLE "SPOOLWIRE_SERVER="

/* uv_spawn() with the guard; the calling thread must live as long as the process. */
int child_guard_spawn(uv_loop_t *loop,
                      uv_process_t *process,
                      const uv_process_options_t *options);

/* Kills every process with that mark except ourselves; true when there was one.  No running
 * server may use the mark. */
bool child_guard_sweep(struct str mark);

#endif
