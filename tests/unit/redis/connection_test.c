/* Against a fake server on the same loop, which answers what the test sets. */
#include "redis/connection.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { LIMIT_MS = 60000, SILENCE_MS = 1000 };

struct play {
    uv_loop_t loop;
    uv_pipe_t listener;
    uv_timer_t limit;
    char folder[64], path[96];
    const char *to_ping, *to_echo; /* NULL: silence */
    unsigned n_connections;
    struct redis *redis;
    struct redis_counts counts;
    unsigned n_up, n_down, n_answers, n_given_up;
    unsigned enough_up; /* the loop is stopped with that many */
    char why[200];
    bool is_closed;
};

static void on_handle_closed(uv_handle_t *handle)
{
    free(handle->data == NULL ? handle : NULL);
}

static void answer(uv_stream_t *stream, const char *text)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));

    assert_int_equal(uv_try_write(stream, &buf, 1), (int)buf.len);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    static char room[65536];

    (void)handle, (void)size;
    *buf = uv_buf_init(room, sizeof(room) - 1);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct play *p = stream->loop->data;

    if (n < 0) {
        uv_close((uv_handle_t *)stream, on_handle_closed);
        return;
    }
    buf->base[n] = '\0';
    for (const char *at = buf->base; (at = strstr(at, "\r\n")) != NULL; at += 2) {
        if (strncmp(at + 2, "PING", 4) == 0 && p->to_ping != NULL)
            answer(stream, p->to_ping);
        if (strncmp(at + 2, "ECHO", 4) == 0 && p->to_echo != NULL)
            answer(stream, p->to_echo);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct play *p = listener->loop->data;
    uv_pipe_t *pipe = calloc(1, sizeof(*pipe));

    assert_int_equal(status, 0);
    p->n_connections++;
    (void)uv_pipe_init(&p->loop, pipe, 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)pipe), 0);
    assert_int_equal(uv_read_start((uv_stream_t *)pipe, on_alloc, on_read), 0);
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("it takes too long");
}

static void on_state(void *arg, bool connected, struct str why)
{
    struct play *p = arg;

    p->n_up += connected;
    p->n_down += !connected;
    if (!connected)
        (void)snprintf(p->why, sizeof(p->why), "%.*s", STR_ARG(why));
    if (connected ? p->n_up == p->enough_up : p->enough_up == 0)
        uv_stop(&p->loop);
}

static void on_answer(void *arg, const redisReply *reply)
{
    struct play *p = arg;

    p->n_answers += reply != NULL;
    p->n_given_up += reply == NULL;
    if (reply != NULL)
        uv_stop(&p->loop);
}

static void on_closed(void *arg)
{
    struct play *p = arg;

    p->is_closed = true;
}

static void begin(struct play *p, const char *to_ping, unsigned enough_up, int64_t command_ms)
{
    struct redis_url url = { 0 };

    *p = (struct play){ .folder = "/tmp/spoolwire-redis-XXXXXX",
                        .to_ping = to_ping,
                        .enough_up = enough_up };
    assert_non_null(mkdtemp(p->folder));
    (void)snprintf(p->path, sizeof(p->path), "%s/s", p->folder);
    (void)snprintf(url.unix_path, sizeof(url.unix_path), "%s", p->path);
    assert_int_equal(uv_loop_init(&p->loop), 0);
    p->loop.data = p;
    (void)uv_timer_init(&p->loop, &p->limit);
    (void)uv_timer_start(&p->limit, on_limit, LIMIT_MS, 0);
    (void)uv_pipe_init(&p->loop, &p->listener, 0);
    p->listener.data = p->limit.data = p;
    assert_int_equal(uv_pipe_bind(&p->listener, p->path), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&p->listener, 8, on_connection), 0);
    struct redis_options options = {
        .url = &url, .command_ms = command_ms, .state = on_state, .arg = p, .counts = &p->counts
    };
    assert_int_equal(redis_open(&p->loop, &options, &p->redis), 0);
}

/* Runs until the state is what is waited for, or an answer comes. */
static void run(struct play *p)
{
    (void)uv_run(&p->loop, UV_RUN_DEFAULT);
}

static int echo(struct play *p)
{
    struct str args[] = { STR("ECHO"), STR("x") };

    return redis_send(p->redis, args, 2, 0, on_answer, p);
}

static void end(struct play *p)
{
    redis_close(p->redis, on_closed, p);
    uv_close((uv_handle_t *)&p->listener, on_handle_closed);
    uv_close((uv_handle_t *)&p->limit, on_handle_closed);
    (void)uv_run(&p->loop, UV_RUN_DEFAULT);
    assert_true(p->is_closed);
    assert_int_equal(uv_loop_close(&p->loop), 0);
    (void)unlink(p->path);
    (void)rmdir(p->folder);
}

static void commands_are_answered(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "+PONG\r\n", 1, LIMIT_MS);
    p.to_echo = "$1\r\nx\r\n";
    assert_false(redis_is_connected(p.redis));
    assert_int_equal(echo(&p), ERR_BUSY);
    run(&p);
    assert_true(redis_is_connected(p.redis));
    assert_int_equal(counter_get(&p.counts.connected), 1);
    assert_int_equal(echo(&p), 0);
    run(&p);
    assert_int_equal(p.n_answers, 1);
    end(&p);
    assert_int_equal(p.n_down, 0);
}

static void silence_is_given_up_and_tried_again(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "+PONG\r\n", 1, SILENCE_MS);
    run(&p);
    assert_int_equal(echo(&p), 0);
    assert_int_equal(echo(&p), 0);
    p.enough_up = 2;
    run(&p);
    assert_int_equal(p.n_given_up, 2);
    assert_string_equal(p.why, "a command was not answered in time");
    assert_int_equal(p.n_connections, 2);
    assert_int_equal(counter_get(&p.counts.losses), 1);
    p.to_echo = "+x\r\n";
    assert_int_equal(echo(&p), 0);
    run(&p);
    assert_int_equal(p.n_answers, 1);
    end(&p);
}

static void a_server_that_is_loading_is_not_there_yet(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "-LOADING Redis is loading the dataset in memory\r\n", 0, LIMIT_MS);
    run(&p);
    assert_string_equal(p.why, "LOADING Redis is loading the dataset in memory");
    assert_false(redis_is_connected(p.redis));
    p.to_ping = "+PONG\r\n";
    p.enough_up = 1;
    run(&p);
    assert_int_equal(p.n_down, 1);
    assert_true(counter_get(&p.counts.failures) >= 1);
    end(&p);
}

static void what_waits_is_given_up_when_it_closes(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "+PONG\r\n", 1, LIMIT_MS);
    run(&p);
    assert_int_equal(echo(&p), 0);
    end(&p);
    assert_int_equal(p.n_given_up, 1);
    assert_int_equal(p.n_down, 0);
}

static void too_many_words_are_refused(void **state)
{
    struct str args[REDIS_ARGS_MAX + 1] = { STR("ECHO") };
    struct play p;

    (void)state;
    begin(&p, "+PONG\r\n", 1, LIMIT_MS);
    run(&p);
    assert_int_equal(redis_send(p.redis, args, REDIS_ARGS_MAX + 1, 0, on_answer, &p),
                     ERR_TOO_LARGE);
    end(&p);
    assert_int_equal(p.n_given_up, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_answered),
        cmocka_unit_test(silence_is_given_up_and_tried_again),
        cmocka_unit_test(a_server_that_is_loading_is_not_there_yet),
        cmocka_unit_test(what_waits_is_given_up_when_it_closes),
        cmocka_unit_test(too_many_words_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
