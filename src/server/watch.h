/* A pair of files that belong together, looked at now and then for changes. */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include <stdbool.h>
#include <sys/stat.h>

enum { WATCH_FILES = 2 };

struct tail_watch {
    const char *paths[WATCH_FILES]; /* borrowed */
    struct stat taken[WATCH_FILES]; /* as they were when they were last read, */
    struct stat seen[WATCH_FILES];  /* and at the last look */
};

/* They have just been read. */
void watch_init(struct tail_watch *w, const char *a, const char *b);
/* True once for each change, when both files are written: they have changed since they were
 * read, and not since the last call. */
bool watch_changed(struct tail_watch *w);

#endif
