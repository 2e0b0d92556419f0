/* One handle per folder, since the system reports changes per folder, and a timer that waits
 * until changes stop.  The watcher is freed when its last handle is closed. */
#include "agents/process/watcher.h"

#include "base/error.h"
#include "base/str.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    STILL_MS = 150,
    MAX_FOLDERS = 2000, /* the system's own limit is for all programs of a user */
    MAX_DEPTH = 20,
    MAX_PATH = 4096
};

struct folder {
    struct folder *next;
    struct watcher *watcher;
    uv_fs_event_t event;
    char path[]; /* NUL-terminated */
};

struct watcher {
    uv_loop_t *loop;
    watcher_cb changed;
    void *arg;
    struct folder *folders; /* owned */
    size_t n_folders;
    uv_timer_t timer;
    size_t n_open; /* handles */
    bool is_closing;
    char name[256]; /* the file that changed last */
};

/* Source files and settings.  If other files (logs, databases) counted, a process that writes
 * them in its own folder would be replaced again and again. */
static bool is_source(struct str name)
{
    static const char *const ends[] = { ".py",  ".js",  ".mjs", ".cjs",  ".jsx", ".ts",
                                        ".mts", ".cts", ".tsx", ".yaml", ".yml", ".toml" };

    for (size_t i = 0; name.n > 0 && name.p[0] != '.' && i < sizeof(ends) / sizeof(ends[0]);
         i++)
        if (str_ends(name, str_of(ends[i])))
            return true;
    return false;
}

static bool may_hold_sources(struct str name)
{
    return name.n > 0 && name.p[0] != '.' && !str_is(name, "node_modules") &&
           !str_is(name, "__pycache__");
}

static void drop(struct watcher *w)
{
    w->n_open--;
    if (w->n_open == 0)
        free(w);
}

static void on_folder_closed(uv_handle_t *handle)
{
    struct folder *f = handle->data;
    struct watcher *w = f->watcher;

    free(f);
    drop(w);
}

static void on_timer_closed(uv_handle_t *handle)
{
    drop(handle->data);
}

static void on_still(uv_timer_t *timer)
{
    struct watcher *w = timer->data;

    w->changed(w->arg, w->name);
}

static bool add(struct watcher *w, const char *path, unsigned depth);

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct folder *f = event->data;
    struct watcher *w = f->watcher;
    char path[MAX_PATH];

    (void)events; /* replacing a file renames it: changes and renames mean the same here */
    if (status != 0 || name == NULL || w->is_closing || !may_hold_sources(str_of(name)))
        return;
    int n = snprintf(path, sizeof(path), "%s/%s", f->path, name);
    bool has_more = n > 0 && (size_t)n < sizeof(path) && add(w, path, 1);
    if (!has_more && !is_source(str_of(name)))
        return;
    (void)snprintf(w->name, sizeof(w->name), "%s", name);   /* cutting is fine */
    (void)uv_timer_start(&w->timer, on_still, STILL_MS, 0); /* open */
}

static struct folder *find(const struct watcher *w, const char *path)
{
    struct folder *f = w->folders;

    while (f != NULL && !str_eq(str_of(f->path), str_of(path)))
        f = f->next;
    return f;
}

static struct folder *new_folder(struct watcher *w, const char *path)
{
    size_t n = strlen(path) + 1;
    struct folder *f = calloc(1, sizeof(*f) + n);

    if (f == NULL)
        return NULL;
    memcpy(f->path, path, n);
    f->watcher = w;
    f->event.data = f;
    (void)uv_fs_event_init(w->loop, &f->event); /* cannot fail */
    w->n_open++;
    f->next = w->folders;
    w->folders = f;
    w->n_folders++;
    return f;
}

/* A known folder is watched anew: it may have been replaced by another of the same name. */
static bool watch(struct watcher *w, const char *path)
{
    struct folder *f = find(w, path);

    if (f == NULL)
        f = w->n_folders < MAX_FOLDERS ? new_folder(w, path) : NULL;
    if (f == NULL)
        return false;
    (void)uv_fs_event_stop(&f->event); /* cannot fail */
    return uv_fs_event_start(&f->event, on_event, path, 0) == 0;
}

/* Watches a folder and its subfolders; ignores anything else.  True when it contains
 * sources. */
static bool add(struct watcher *w, const char *path, unsigned depth)
{
    struct stat about;
    bool found = false;

    if (depth > MAX_DEPTH || lstat(path, &about) != 0 || !S_ISDIR(about.st_mode) ||
        !watch(w, path))
        return false;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return false;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char inner[MAX_PATH];
        struct str name = str_of(e->d_name);
        int n = snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);

        found = found || is_source(name);
        if (may_hold_sources(name) && n > 0 && (size_t)n < sizeof(inner))
            found = add(w, inner, depth + 1) || found;
    }
    (void)closedir(dir); /* was only read */
    return found;
}

int watcher_new(uv_loop_t *loop,
                char *const *paths,
                watcher_cb changed,
                void *arg,
                struct watcher **ret)
{
    struct watcher *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return ERR_NOMEM;
    w->loop = loop;
    w->changed = changed;
    w->arg = arg;
    (void)uv_timer_init(loop, &w->timer); /* cannot fail */
    w->timer.data = w;
    w->n_open = 1;
    for (size_t i = 0; paths[i] != NULL; i++)
        (void)add(w, paths[i], 0); /* ignored: only later changes count */
    *ret = w;
    return 0;
}

void watcher_close(struct watcher *w)
{
    if (w == NULL)
        return;
    w->is_closing = true;
    for (struct folder *f = w->folders, *next; f != NULL; f = next) {
        next = f->next;
        uv_close((uv_handle_t *)&f->event, on_folder_closed);
    }
    uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}
