/* One event loop.
 *
 * Besides its sockets a loop has three handles: `wake` for commands of other threads,
 * `tick` for the wheel of deadlines, running only while one is set, and `turn`, which runs
 * once at the start of the next iteration after something became due or was logged.
 * Connections are touched by due deadlines only from `turn`, at most DUE_PER_TURN of them
 * at once, so a thousand connections that expire together do not hold the others up.
 *
 *     start -> loop_start() of the caller -> running -> DRAIN: no new connections
 *           -> STOP: connections cut -> the last one gone -> loop_stop() of the caller
 *           -> handles closed -> the thread ends */
#define _GNU_SOURCE /* pthread_setname_np */
#include "http/loop.h"

#include "http/conn.h"
#include "http/http.h"
#include "http/request.h"
#include "http/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    DUE_PER_TURN = 256,
    CORK_BYTES = 256 * 1024,
};

/* --- due deadlines and the log ------------------------------------------------------ */

static void on_turn(uv_idle_t *handle)
{
    struct http_loop *loop = handle->data;
    struct wheel_entry *e;

    for (int i = 0; i < DUE_PER_TURN && (e = wheel_next_due(&loop->wheel)) != NULL; i++)
        conn_due(conn_of_deadline(e));
    access_log_flush(&loop->log);
    if (!wheel_has_due(&loop->wheel))
        (void)uv_idle_stop(&loop->turn); /* cannot fail */
}

static void want_turn(struct http_loop *loop)
{
    if (!uv_is_closing((uv_handle_t *)&loop->turn))
        (void)uv_idle_start(&loop->turn, on_turn); /* fails only without a callback */
}

static void on_tick(uv_timer_t *handle)
{
    struct http_loop *loop = handle->data;

    listener_retry(&loop->tcp);
    listener_retry(&loop->local);
    wheel_advance(&loop->wheel, uv_now(&loop->uv));
    if (wheel_has_due(&loop->wheel) || loop->log.lines.n > 0)
        want_turn(loop);
    if (loop->wheel.n_armed == 0 && !loop->tcp.is_resting && !loop->local.is_resting)
        (void)uv_timer_stop(&loop->tick); /* cannot fail */
}

void loop_want_tick(struct http_loop *loop)
{
    if (!uv_is_active((uv_handle_t *)&loop->tick) && !uv_is_closing((uv_handle_t *)&loop->tick))
        (void)uv_timer_start(&loop->tick, on_tick, WHEEL_TICK_MS, WHEEL_TICK_MS); /* the same */
}

void loop_arm(struct http_loop *loop, struct wheel_entry *e, uint64_t in_ms)
{
    wheel_arm(&loop->wheel, e, uv_now(&loop->uv), in_ms);
    loop_want_tick(loop);
}

void loop_hurry(struct http_loop *loop, struct wheel_entry *e)
{
    wheel_hurry(&loop->wheel, e);
    want_turn(loop);
}

const struct date *loop_date(struct http_loop *loop)
{
    uint64_t now = uv_now(&loop->uv);

    if (loop->date_at != now) {
        loop->date_at = now;
        date_update(&loop->date);
    }
    return &loop->date;
}

bool loop_logs(const struct http_loop *loop)
{
    return !http_server_limits(loop->server)->log_off;
}

void loop_log(struct http_loop *loop, const struct access_entry *entry)
{
    const struct http_limits *limits = http_server_limits(loop->server);

    if (!loop_logs(loop))
        return;
    loop->log.is_text = limits->log_text;
    access_log_add(&loop->log, loop_date(loop), entry);
    want_turn(loop);
}

/* --- commands ----------------------------------------------------------------------- */

static void drain_entry(struct wheel_entry *e)
{
    conn_drain(conn_of_deadline(e));
}

static void drain(struct http_loop *loop)
{
    if (loop->is_draining)
        return;
    loop->is_draining = true;
    listener_close(&loop->tcp);
    listener_close(&loop->local);
    wheel_each(&loop->wheel, drain_entry);
}

static void cut_entry(struct wheel_entry *e)
{
    conn_cut(conn_of_deadline(e), "the server stopped");
}

static void stop(struct http_loop *loop)
{
    loop->is_stopping = true;
    drain(loop);
    wheel_each(&loop->wheel, cut_entry);
    if (loop->n_conns == 0)
        loop_finish(loop);
}

static void on_wake(uv_async_t *handle)
{
    struct http_loop *loop = handle->data;
    int command = atomic_load(&loop->command);

    if (command == LOOP_STOP && !loop->is_stopping)
        stop(loop);
    else if (command == LOOP_DRAIN)
        drain(loop);
}

void loop_send(struct http_loop *loop, enum loop_command command)
{
    if (!loop->has_thread)
        return;
    atomic_store(&loop->command, (int)command);
    (void)uv_async_send(&loop->wake); /* fails only on a closed handle, and we stop once */
}

void loop_finish(struct http_loop *loop)
{
    const struct http_options *o = &loop->server->options;

    if (uv_is_closing((uv_handle_t *)&loop->wake))
        return;
    if (o->loop_stop != NULL)
        o->loop_stop(loop, o->arg);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->tick, NULL);
    uv_close((uv_handle_t *)&loop->turn, NULL);
}

/* --- life --------------------------------------------------------------------------- */

static void free_memory(struct http_loop *loop)
{
    requests_free(loop);
    spares_done(&loop->spares);
    access_log_flush(&loop->log);
    access_log_done(&loop->log);
    buf_done(&loop->cork);
    buf_done(&loop->scratch);
    buf_done(&loop->text);
    buf_done(&loop->plain);
    buf_done(&loop->sealed);
    loop_counts_done(&loop->counts);
    free(loop->read_bytes);
    loop->read_bytes = NULL;
}

static int init_handles(struct http_loop *loop)
{
    int err = uv_loop_init(&loop->uv);

    if (err != 0)
        return err;
    err = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (err != 0) {
        (void)uv_loop_close(&loop->uv); /* it has no handles */
        return err;
    }
    (void)uv_timer_init(&loop->uv, &loop->tick); /* cannot fail, nor the next */
    (void)uv_idle_init(&loop->uv, &loop->turn);
    loop->wake.data = loop->tick.data = loop->turn.data = loop;
    return 0;
}

int loop_init(struct http_loop *loop, struct http_server *server, unsigned index)
{
    const struct http_options *o = &server->options;

    *loop = (struct http_loop){ .server = server, .index = index };
    atomic_init(&loop->command, (int)LOOP_GO);
    loop->id_seed = server->seed ^ (uint64_t)index << 56;
    loop->read_bytes = malloc(LOOP_READ_BYTES);
    int err = loop->read_bytes == NULL || loop_counts_init(&loop->counts, o->routes) != 0
                  ? UV_ENOMEM
                  : init_handles(loop);
    if (err != 0) {
        loop_counts_done(&loop->counts);
        free(loop->read_bytes);
        return err;
    }
    buf_init(&loop->cork, CORK_BYTES);
    buf_init(&loop->scratch, CORK_BYTES);
    buf_init(&loop->text, CORK_BYTES);
    buf_init(&loop->plain, 2 * LOOP_READ_BYTES);
    buf_init(&loop->sealed, SIZE_MAX / 4);
    access_log_init(&loop->log, STDERR_FILENO, o->log_text, false); /* see loop_log */
    wheel_init(&loop->wheel, uv_now(&loop->uv));
    date_update(&loop->date);
    spares_init(&loop->spares, &server->spares_lock);
    return 0;
}

int loop_listen(struct http_loop *loop, int tcp_fd, int unix_fd)
{
    int err = 0;

    if (tcp_fd >= 0)
        err = listener_open(&loop->tcp, loop, tcp_fd, false);
    if (err != 0 && unix_fd >= 0)
        (void)close(unix_fd); /* never listened on */
    if (err == 0 && unix_fd >= 0)
        err = listener_open(&loop->local, loop, unix_fd, true);
    return err;
}

static void close_loop(struct http_loop *loop)
{
    int err = uv_loop_close(&loop->uv);

    if (err != 0)
        (void)fprintf(stderr, "http: loop %u ended with open handles\n", loop->index);
    free_memory(loop);
}

static void run(void *arg)
{
    struct http_loop *loop = arg;
    const struct http_options *o = &loop->server->options;
    char name[16];
    sigset_t pipe_signal;

    (void)snprintf(name, sizeof(name), "http-%u", loop->index % 1000000u); /* fits */
    (void)pthread_setname_np(pthread_self(), name); /* best effort, for debuggers */
    /* libuv writes with write(), which signals a reset connection. */
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL); /* valid arguments cannot fail */
    thread_owner_take(&loop->owner);
    if (o->loop_start != NULL)
        o->loop_start(loop, o->arg);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* until loop_finish */
    close_loop(loop);
}

int loop_start(struct http_loop *loop)
{
    int err = uv_thread_create(&loop->thread, run, loop);

    loop->has_thread = err == 0;
    return err;
}

void loop_join(struct http_loop *loop)
{
    if (loop->has_thread)
        (void)uv_thread_join(&loop->thread); /* a thread of ours, joined once */
    loop->has_thread = false;
}

void loop_done(struct http_loop *loop)
{
    loop->is_stopping = true;
    listener_close(&loop->tcp);
    listener_close(&loop->local);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->tick, NULL);
    uv_close((uv_handle_t *)&loop->turn, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* closes them */
    close_loop(loop);
}

/* --- for the callers ---------------------------------------------------------------- */

uv_loop_t *http_loop_uv(struct http_loop *loop)
{
    return &loop->uv;
}

unsigned http_loop_index(const struct http_loop *loop)
{
    return loop->index;
}

void http_loop_set_data(struct http_loop *loop, void *data)
{
    loop->data = data;
}

void *http_loop_data(const struct http_loop *loop)
{
    return loop->data;
}
