#include "server/watch.h"

#include <string.h>

/* A file that is not there is like one of no size at no time. */
static void look(const struct tail_watch *w, struct stat now[WATCH_FILES])
{
    for (int i = 0; i < WATCH_FILES; i++)
        if (stat(w->paths[i], &now[i]) != 0)
            now[i] = (struct stat){ 0 };
}

static bool same(const struct stat a[WATCH_FILES], const struct stat b[WATCH_FILES])
{
    for (int i = 0; i < WATCH_FILES; i++)
        if (a[i].st_dev != b[i].st_dev || a[i].st_ino != b[i].st_ino ||
            a[i].st_size != b[i].st_size || a[i].st_mtim.tv_sec != b[i].st_mtim.tv_sec ||
            a[i].st_mtim.tv_nsec != b[i].st_mtim.tv_nsec)
            return false;
    return true;
}

void watch_init(struct tail_watch *w, const char *a, const char *b)
{
    *w = (struct tail_watch){ .paths = { a, b } };
    look(w, w->taken);
    memcpy(w->seen, w->taken, sizeof(w->seen));
}

bool watch_changed(struct tail_watch *w)
{
    struct stat now[WATCH_FILES];

    look(w, now);
    bool is_settled = same(now, w->seen);
    bool is_new = !same(now, w->taken);
    memcpy(w->seen, now, sizeof(now));
    if (!is_settled || !is_new)
        return false;
    memcpy(w->taken, now, sizeof(now));
    return true;
}
