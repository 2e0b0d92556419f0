#include "agents/bridge.h"

#include "agents/environment.h"
#include "agents/exec.h"
#include "agents/host.h"
#include "agents/process/child.h"
#include "agents/tail.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_PAUSE_MS = 500, MAX_PAUSE_MS = 30 * 1000, LONG_RUN_MS = 60 * 1000, N_WORDS = 6 };

struct bridge {
    struct bridge_options opt;
    char **argv; /* owned; its words are borrowed, but `named` */
    char *named; /* owned: NAME=GRAPH */
    struct child child;
    struct tail tail; /* of its output */
    uv_timer_t timer; /* until the next start */
    uint64_t started; /* by the loop's clock */
    uint64_t pause_ms;
    bool is_running; /* the child is open */
    bool is_stopping, is_closed;
};

static void say(const struct bridge *b, const char *line)
{
    host_log(b->opt.host, STR_NONE, b->opt.agent->name, str_of(line));
}

static void on_line(void *arg, struct str line)
{
    struct bridge *b = arg;

    host_log(b->opt.host, STR_NONE, b->opt.agent->name, line);
}

static void on_timer(uv_timer_t *timer);

/* A process that ran for a while begins again with the shortest pause. */
static void start_later(struct bridge *b)
{
    uint64_t ran = uv_now(b->opt.host->loop) - b->started;
    char line[160];

    if (ran >= LONG_RUN_MS || b->pause_ms == 0)
        b->pause_ms = FIRST_PAUSE_MS;
    else
        b->pause_ms = b->pause_ms * 2 < MAX_PAUSE_MS ? b->pause_ms * 2 : MAX_PAUSE_MS;
    (void)snprintf(line, sizeof(line),
                   "spoolwire: the bridge has exited with %lld; it is started again in %.1f s",
                   (long long)b->child.status, (double)b->pause_ms / 1000); /* fits */
    say(b, line);
    (void)uv_timer_start(&b->timer, on_timer, b->pause_ms, 0);
}

static void on_child_closed(struct child *c)
{
    struct bridge *b = c->owner;

    b->is_running = false;
    tail_end(&b->tail);
    tail_done(&b->tail);
    if (b->is_stopping)
        b->opt.over(b->opt.arg);
    else
        start_later(b);
}

static void on_output(struct child *c, struct str bytes, bool more)
{
    struct bridge *b = c->owner;

    (void)more;
    tail_put(&b->tail, bytes);
}

static void on_errors(struct child *c, struct str bytes)
{
    on_output(c, bytes, false);
}

static const struct child_events child_events = { .output = on_output,
                                                  .errors = on_errors,
                                                  .over = child_close,
                                                  .closed = on_child_closed };

static void on_timer(uv_timer_t *timer)
{
    struct bridge *b = timer->data;
    const struct exec_agent *a = b->opt.agent;
    struct buf nothing;
    struct child_spec spec = { .argv = b->argv,
                               .env = environment_for_pool(b->opt.env, a->name, 1, STR("")),
                               .cwd = a->cwd,
                               .grace_ms = exec_grace_ms(a) };

    buf_init(&nothing, 1);
    b->started = uv_now(timer->loop);
    b->is_running = true;
    tail_init(&b->tail, on_line, b);
    child_init(&b->child, timer->loop, b->opt.host->scratch, &child_events, b);
    int err = spec.env == NULL ? UV_ENOMEM : child_start(&b->child, &spec, &nothing);
    free(spec.env);
    if (err == 0)
        return;
    say(b, uv_strerror(err));
    child_close(&b->child);
}

/* spoolwire dask --scheduler ADDRESS --agent NAME=GRAPH ARGS… */
static int make_argv(struct bridge *b)
{
    const struct exec_agent *a = b->opt.agent;
    size_t n = N_WORDS, n_args = 0;

    while (a->bridge.args != NULL && a->bridge.args[n_args] != NULL)
        n_args++;
    size_t size = a->name.n + 1 + strlen(a->bridge.graph) + 1;
    b->named = malloc(size);
    b->argv = calloc(n + n_args + 1, sizeof(*b->argv));
    if (b->named == NULL || b->argv == NULL)
        return ERR_NOMEM;
    (void)snprintf(b->named, size, "%.*s=%s", STR_ARG(a->name), a->bridge.graph); /* fits */
    const char *const words[N_WORDS] = { a->bridge.program,   "dask",    "--scheduler",
                                         a->bridge.scheduler, "--agent", b->named };
    for (size_t i = 0; i < n; i++)
        b->argv[i] = (char *)(uintptr_t)words[i];
    for (size_t i = 0; i < n_args; i++)
        b->argv[n + i] = a->bridge.args[i];
    return 0;
}

int bridge_new(const struct bridge_options *options, struct bridge **ret)
{
    struct bridge *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return ERR_NOMEM;
    b->opt = *options;
    if (make_argv(b) != 0) {
        bridge_free(b);
        return ERR_NOMEM;
    }
    (void)uv_timer_init(options->host->loop, &b->timer); /* neither can fail */
    (void)uv_timer_start(&b->timer, on_timer, 0, 0);
    b->timer.data = b;
    *ret = b;
    return 0;
}

void bridge_stop(struct bridge *b)
{
    if (b->is_stopping)
        return;
    b->is_stopping = true;
    (void)uv_timer_stop(&b->timer);
    if (b->is_running)
        child_stop(&b->child);
    else
        b->opt.over(b->opt.arg);
}

bool bridge_is_over(const struct bridge *b)
{
    return b->is_stopping && !b->is_running;
}

void bridge_close(struct bridge *b)
{
    if (b->is_closed)
        return;
    b->is_closed = true;
    uv_close((uv_handle_t *)&b->timer, NULL);
}

void bridge_free(struct bridge *b)
{
    if (b == NULL)
        return;
    free(b->argv);
    free(b->named);
    free(b);
}
