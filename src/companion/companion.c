#define _GNU_SOURCE /* environ, mkdtemp */
#include "companion/companion.h"

#include "agents/environment.h"
#include "agents/process/child.h"
#include "agents/process/watcher.h"
#include "agents/tail.h"
#include "base/container_of.h"
#include "base/error.h"
#include "auth/secret.h"
#include "companion/news.h"
#include "loop/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    FIRST_PAUSE_MS = 200,
    MAX_PAUSE_MS = 10 * 1000,
    LONG_RUN_MS = 30 * 1000,
    GRACE_MS = 3000,
    SCRATCH_BYTES = 64 * 1024,
    MAX_FOLDER = 64,
    MAX_VARIABLE = 4096,
};

struct companion {
    struct companion_options opt;
    char folder[MAX_FOLDER]; /* of the sockets */
    char ask[MAX_FOLDER + 16], http[MAX_FOLDER + 16];
    char secret[TOKEN_CHARS + 1];
    struct environment env;
    _Atomic(struct companion_news *) news; /* owned, with the older ones */
    pthread_t thread;
    bool has_thread;

    /* The thread's. */
    uv_loop_t loop;
    struct mailbox *box;
    struct loop_message stop;
    struct child child;
    struct tail output, errors;
    struct watcher *watcher; /* NULL: nothing is watched */
    uv_timer_t timer;        /* until the next start */
    uint64_t started;        /* by the loop's clock */
    uint64_t pause_ms;
    bool is_running, is_stopping, is_replaced;
    char *scratch;
};

/* --- what others ask -------------------------------------------------------------------------
 */

const struct companion_news *companion_news(const struct companion *c)
{
    return atomic_load_explicit(&((struct companion *)(uintptr_t)c)->news,
                                memory_order_acquire);
}

bool companion_guards(const struct companion *c)
{
    const struct companion_news *n = companion_news(c);

    return c->opt.is_guarding || (n != NULL && n->has_auth);
}

const char *companion_ask_path(const struct companion *c)
{
    return c->ask;
}

const char *companion_http_path(const struct companion *c)
{
    return c->http;
}

int64_t companion_ask_ms(const struct companion *c)
{
    return c->opt.ask_ms;
}

bool companion_knows(const struct companion *c, struct str secret)
{
    return secret.n == strlen(c->secret) && secret_equal(c->secret, secret.p, secret.n);
}

/* --- what it prints --------------------------------------------------------------------------
 */

static void say(struct companion *c, const char *line)
{
    c->opt.log(c->opt.arg, str_of(line));
}

static void take_news(struct companion *c, struct str text)
{
    struct companion_news *n = NULL;

    if (news_read(text, &n) != 0) {
        say(c, "spoolwire: the companion's first line cannot be read");
        return;
    }
    n->older = atomic_load_explicit(&c->news, memory_order_relaxed);
    atomic_store_explicit(&c->news, n, memory_order_release);
    c->is_replaced = false;
}

static void on_line(void *arg, struct str line)
{
    struct companion *c = arg;
    size_t n = strlen(c->secret);

    if (line.n > n && companion_knows(c, str_head(line, n)))
        take_news(c, str_skip(line, n + 1));
    else
        c->opt.log(c->opt.arg, line);
}

static void on_output(struct child *child, struct str bytes, bool more)
{
    struct companion *c = child->owner;

    (void)more;
    tail_put(&c->output, bytes);
}

static void on_errors(struct child *child, struct str bytes)
{
    struct companion *c = child->owner;

    tail_put(&c->errors, bytes);
}

/* --- its life --------------------------------------------------------------------------------
 */

static void on_timer(uv_timer_t *timer);

static void start_later(struct companion *c)
{
    uint64_t ran = uv_now(&c->loop) - c->started;
    char line[160];

    if (c->is_replaced || ran >= LONG_RUN_MS || c->pause_ms == 0)
        c->pause_ms = c->is_replaced ? 0 : FIRST_PAUSE_MS;
    else
        c->pause_ms = c->pause_ms * 2 < MAX_PAUSE_MS ? c->pause_ms * 2 : MAX_PAUSE_MS;
    (void)snprintf(
        line, sizeof(line),
        "spoolwire: the companion has ended (%s %lld); it is started again in %.1f s",
        c->child.signal != 0 ? "signal" : "status",
        (long long)(c->child.signal != 0 ? c->child.signal : c->child.status),
        (double)c->pause_ms / 1000); /* fits */
    if (!c->is_replaced)
        say(c, line);
    (void)uv_timer_start(&c->timer, on_timer, c->pause_ms, 0); /* its callback is not NULL */
}

static void close_all(struct companion *c)
{
    watcher_close(c->watcher);
    mailbox_close(c->box);
    uv_close((uv_handle_t *)&c->timer, NULL);
}

static void on_child_closed(struct child *child)
{
    struct companion *c = child->owner;

    c->is_running = false;
    tail_end(&c->output);
    tail_end(&c->errors);
    tail_done(&c->output);
    tail_done(&c->errors);
    if (c->is_stopping)
        close_all(c);
    else
        start_later(c);
}

static const struct child_events child_events = { .output = on_output,
                                                  .errors = on_errors,
                                                  .over = child_close,
                                                  .closed = on_child_closed };

static void on_timer(uv_timer_t *timer)
{
    struct companion *c = timer->data;
    struct buf nothing;
    struct child_spec spec = { .argv = c->opt.argv,
                               .env = environment_for_pool(&c->env, STR(""), 1, STR("")),
                               .cwd = c->opt.cwd,
                               .keeps_input = true, /* it ends when its stdin does */
                               .grace_ms = GRACE_MS };

    buf_init(&nothing, 1);
    c->started = uv_now(timer->loop);
    c->is_running = true;
    tail_init(&c->output, on_line, c);
    tail_init(&c->errors, on_line, c);
    child_init(&c->child, timer->loop, uv_buf_init(c->scratch, SCRATCH_BYTES), &child_events,
               c);
    int err = spec.env == NULL ? UV_ENOMEM : child_start(&c->child, &spec, &nothing);
    free(spec.env);
    if (err == 0)
        return;
    say(c, uv_strerror(err));
    child_close(&c->child);
}

static void on_changed(void *arg, const char *name)
{
    struct companion *c = arg;

    (void)name;
    c->is_replaced = true;
    if (c->is_running)
        child_stop(&c->child);
    else
        (void)uv_timer_start(&c->timer, on_timer, 0, 0); /* as above */
}

static void on_stop(struct loop_message *message)
{
    struct companion *c = container_of(message, struct companion, stop);

    c->is_stopping = true;
    if (c->is_running)
        child_stop(&c->child);
    else
        close_all(c);
}

static void *run(void *arg)
{
    struct companion *c = arg;

    (void)uv_run(&c->loop, UV_RUN_DEFAULT); /* until all is closed */
    return NULL;
}

/* --- beginning and end -----------------------------------------------------------------------
 */

static int add_variable(struct companion *c, const char *name, const char *value)
{
    char text[MAX_VARIABLE];

    int n = snprintf(text, sizeof(text), "SPOOLWIRE_%s=%s", name, value);
    return n > 0 && (size_t)n < sizeof(text) ? environment_add(&c->env, text) : ERR_TOO_LARGE;
}

static int make_folder(struct companion *c, struct error *err)
{
    const char *where = getenv("XDG_RUNTIME_DIR");
    int n = where != NULL ? snprintf(c->folder, sizeof(c->folder), "%s/spoolwire-XXXXXX", where)
                          : MAX_FOLDER;

    if (n < 0 || n >= MAX_FOLDER || mkdtemp(c->folder) == NULL) {
        (void)snprintf(c->folder, sizeof(c->folder), "/tmp/spoolwire-XXXXXX"); /* fits */
        if (mkdtemp(c->folder) == NULL) {
            c->folder[0] = '\0';
            return error_set(err, ERR_IO, "a folder for the companion's sockets: %s",
                             strerror(errno));
        }
    }
    (void)snprintf(c->ask, sizeof(c->ask), "%s/ask.sock", c->folder); /* both fit */
    (void)snprintf(c->http, sizeof(c->http), "%s/http.sock", c->folder);
    return 0;
}

int companion_new(const struct companion_options *options,
                  struct companion **ret,
                  struct error *err)
{
    struct companion *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    c->opt = *options;
    int code = token_text_make(c->secret, err);
    if (code == 0)
        code = make_folder(c, err);
    if (code == 0 && environment_init(&c->env, options->mark, environ, NULL) != 0)
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        *ret = c;
    else
        companion_free(c);
    return code;
}

static int start_loop(struct companion *c)
{
    c->scratch = malloc(SCRATCH_BYTES);
    if (c->scratch == NULL || uv_loop_init(&c->loop) != 0)
        return ERR_NOMEM;
    (void)uv_timer_init(&c->loop, &c->timer); /* cannot fail */
    c->timer.data = c;
    c->stop.deliver = on_stop;
    int code = mailbox_new(&c->loop, &c->box);
    if (code == 0 && c->opt.watch != NULL)
        code = watcher_new(&c->loop, c->opt.watch, on_changed, c, &c->watcher);
    return code;
}

int companion_start(struct companion *c, const char *url, struct error *err)
{
    int code = add_variable(c, "URL", url);

    if (code == 0)
        code = add_variable(c, "COMPANION_ASK", c->ask);
    if (code == 0)
        code = add_variable(c, "COMPANION_HTTP", c->http);
    if (code == 0)
        code = add_variable(c, "COMPANION_SECRET", c->secret);
    if (code == 0)
        code = start_loop(c);
    if (code == 0) {
        (void)uv_timer_start(&c->timer, on_timer, 0, 0); /* as above */
        c->has_thread = pthread_create(&c->thread, NULL, run, c) == 0;
    }
    return c->has_thread ? 0 : error_set(err, ERR_NOMEM, "the companion cannot be started");
}

void companion_stop(struct companion *c)
{
    if (c == NULL || !c->has_thread)
        return;
    (void)mailbox_post(c->box, &c->stop); /* it is closed only after this */
    (void)pthread_join(c->thread, NULL);
    c->has_thread = false;
    mailbox_free(c->box);
    (void)uv_loop_close(&c->loop); /* nothing is open */
}

void companion_free(struct companion *c)
{
    if (c == NULL)
        return;
    (void)unlink(c->ask); /* they may not be there */
    (void)unlink(c->http);
    if (c->folder[0] != '\0')
        (void)rmdir(c->folder);
    environment_done(&c->env);
    news_free(atomic_load(&c->news));
    secret_forget(c->secret, sizeof(c->secret));
    free(c->scratch);
    free(c);
}
