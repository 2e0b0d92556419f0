/* A watcher: calls back when files below some folders have changed, once the changes stop.
 *
 * Saving a file writes, renames and touches it, and a version control system changes many
 * files, so changes in quick succession count as one.  Only source files count, by their
 * extensions, and not those of installed packages.
 *
 * Loop thread only. */
#ifndef AGENTS_PROCESS_WATCHER_H
#define AGENTS_PROCESS_WATCHER_H

#include <uv.h>

struct watcher;

/* @name is one of the changed files, without its folder. */
typedef void (*watcher_cb)(void *arg, const char *name);

/* @paths is NULL-terminated; subfolders are watched too, also those created later.  Missing
 * folders, and those above the limit, are not watched.  ERR_NOMEM. */
int watcher_new(uv_loop_t *loop,
                char *const *paths,
                watcher_cb changed,
                void *arg,
                struct watcher **ret);
/* No callback follows; its memory is freed in a later turn of the loop.  NULL is fine. */
void watcher_close(struct watcher *w);

#endif
