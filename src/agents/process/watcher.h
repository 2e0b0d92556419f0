/* A watcher: calls back when files below some folders have changed, once the changes stop.
 *
 * Saving a file writes, renames and touches it, and a version control system does so with many:
 * all changes within a moment are one.  Only sources count, by the ends of their names, and not
 * those of installed packages.
 *
 * Loop thread only. */
#ifndef AGENTS_PROCESS_WATCHER_H
#define AGENTS_PROCESS_WATCHER_H

#include <uv.h>

struct watcher;

/* @name is one of those that changed, without its folder. */
typedef void (*watcher_cb)(void *arg, const char *name);

/* @paths ends with NULL; what is in them is watched too, also folders that are made later.
 * What is not there, or too much, is not watched.  ERR_NOMEM. */
int watcher_new(uv_loop_t *loop,
                char *const *paths,
                watcher_cb changed,
                void *arg,
                struct watcher **ret);
/* No callback any more; its memory goes in a later turn of the loop.  NULL is fine. */
void watcher_close(struct watcher *w);

#endif
