/* A link is one connection: hiredis's context and the poll handle that drives it.  There is
 * at most one; the timer waits for the next event of its life:
 *
 *     (pause) ──▶ connecting, AUTH, SELECT, PING ──▶ ready ──▶ gone ──▶ (pause) …
 *        retry_at         must be ready_by            the oldest command's deadline
 *
 * Every link ends in on_cleanup(), which hiredis calls: by then it has answered all commands,
 * with NULL where no answer came.
 *
 * A link that subscribes does so when PING was answered.  It sends no other commands after
 * that, so its input is parsed by redis/push.h and bypasses hiredis. */
#include "redis/connection.h"

#include "base/error.h"
#include "base/random.h"
#include "redis/push.h"

#include <errno.h>
#include <hiredis/async.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum {
    COMMAND_MS = 10000,
    READY_MS = 5000,
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 5000,
    WHY_MAX = 160,
    READ_BYTES = 16 * 1024,
    READS = 16 /* per turn of the loop */
};

struct link {
    struct redis *redis;
    redisAsyncContext *context; /* hiredis frees it; NULL: freed */
    uv_poll_t poll;
    int events; /* poll events that hiredis wants */
    struct pushes pushes;
    bool is_pushed; /* the input is push messages */
    bool is_cut;
};

struct redis_request {
    struct redis_request *next;
    redis_reply_cb cb;
    void *arg;
    struct redis *redis;
    int64_t deadline_ms; /* timeout of its reply */
};

struct redis {
    uv_loop_t *loop; /* borrowed */
    struct redis_url url;
    struct redis_options opt; /* without the url */
    struct link *link;        /* owned by its poll handle; NULL: none */
    uv_timer_t timer;
    uint64_t due; /* of the timer, on the loop's clock */
    int64_t pause_ms;
    struct redis_request *first, **last; /* unanswered */
    bool is_ready, is_held, is_closing;
    bool was_told, told_up;
    char why[WHY_MAX];
    unsigned n_handles;
    void (*closed)(void *arg);
    void *closed_arg;
    struct redis_counts *counts; /* borrowed; or NULL: not counted */
    struct redis_counts uncounted;
};

static void connect_now(struct redis *r);

/* --- time -------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

static void wait_until(struct redis *r, uint64_t due)
{
    uint64_t now = uv_now(r->loop);

    r->due = due;
    (void)uv_timer_start(&r->timer, on_timer, due > now ? due - now : 0, 0); /* cannot fail */
}

static void wait_ms(struct redis *r, int64_t ms)
{
    uv_update_time(r->loop);
    wait_until(r, uv_now(r->loop) + (uint64_t)ms);
}

/* --- state changes ----------------------------------------------------------- */

static void because(struct redis *r, struct str why)
{
    if (r->why[0] == '\0') /* keep the first reason */
        (void)snprintf(r->why, sizeof(r->why), "%.*s", STR_ARG(str_head(why, WHY_MAX)));
}

static void tell(struct redis *r, bool up)
{
    counter_set(&r->counts->connected, up);
    if (r->was_told && r->told_up == up)
        return;
    r->was_told = true;
    r->told_up = up;
    if (r->opt.state != NULL)
        r->opt.state(r->opt.arg, up, up ? STR_NONE : str_of(r->why));
}

/* --- the end of a link, and of all ------------------------------------------- */

static void on_closed(struct redis *r)
{
    if (--r->n_handles > 0)
        return;
    void (*closed)(void *) = r->closed;
    void *arg = r->closed_arg;
    free(r);
    if (closed != NULL)
        closed(arg);
}

static void on_link_closed(uv_handle_t *handle)
{
    struct link *l = handle->data;
    struct redis *r = l->redis;

    pushes_done(&l->pushes);
    free(l);
    on_closed(r);
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_closed(handle->data);
}

/* Adds jitter of up to half of the pause, so that not all clients reconnect at once. */
static int64_t next_pause(struct redis *r)
{
    char uuid[KEY_UUID_CHARS];
    int64_t pause = r->pause_ms;
    uint64_t chance = random_uuid(uuid) ? key_stable(0, str_make(uuid, sizeof(uuid))).a : 0;

    r->pause_ms = pause * 2 < PAUSE_MAX_MS ? pause * 2 : PAUSE_MAX_MS;
    return pause / 2 + (int64_t)(chance % (uint64_t)(pause / 2 + 1));
}

static void try_later(struct redis *r)
{
    if (r->is_closing)
        return;
    because(r, STR("the connection was closed"));
    tell(r, false);
    if (!r->is_closing) /* the state callback may have closed it */
        wait_ms(r, next_pause(r));
}

static void on_cleanup(void *data)
{
    struct link *l = data;
    struct redis *r = l->redis;

    if (l->context->err != 0)
        because(r, str_of(l->context->errstr));
    l->context = NULL;
    uv_close((uv_handle_t *)&l->poll, on_link_closed);
    counter_add(r->is_ready ? &r->counts->losses : &r->counts->failures, 1);
    r->is_ready = false;
    r->link = NULL;
    try_later(r);
}

static void cut(struct redis *r, struct str why)
{
    struct link *l = r->link;

    if (l == NULL || l->is_cut)
        return;
    because(r, why);
    l->is_cut = true;
    redisAsyncFree(l->context); /* when called from inside a callback, hiredis frees it after
                                   that */
}

/* --- hiredis on a loop --------------------------------------------------------- */

/* Is there more to read?  Asking the kernel costs less than another turn of the loop. */
static bool has_more(const struct link *l)
{
    int n = 0;

    return l->context != NULL && !l->is_pushed && ioctl(l->context->c.fd, FIONREAD, &n) == 0 &&
           n >= READ_BYTES;
}

/* hiredis takes READ_BYTES at a time. */
static void read_some(struct link *l)
{
    unsigned n = 0;

    do
        redisAsyncHandleRead(l->context);
    while (++n < READS && has_more(l));
}

static bool on_push(void *arg, const struct push *push);

static void read_pushes(struct link *l)
{
    int err = pushes_take(&l->pushes, l->context->c.fd, on_push, l);

    if (err != 0)
        cut(l->redis, err == ERR_CLOSED ? STR("the server has closed the connection")
                      : err == ERR_IO   ? str_of(strerror(errno))
                                        : str_of(error_name(err)));
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;
    struct redis *r = l->redis;

    if (status < 0 || (events & UV_READABLE) != 0)
        (l->is_pushed ? read_pushes : read_some)(l);
    if (l->context != NULL && (events & UV_WRITABLE) != 0)
        redisAsyncHandleWrite(l->context);
    if (l->context != NULL && status < 0)
        cut(r, str_of(uv_strerror(status)));
}

static void watch(struct link *l)
{
    int events = l->events & ~(l->redis->is_held ? UV_READABLE : 0);

    if (events != 0)
        (void)uv_poll_start(&l->poll, events, on_poll); /* fails only of a closing handle */
    else
        (void)uv_poll_stop(&l->poll); /* cannot fail */
}

static void add(struct link *l, int event)
{
    if ((l->events & event) != 0)
        return;
    l->events |= event;
    watch(l);
}

static void drop(struct link *l, int event)
{
    if ((l->events & event) == 0)
        return;
    l->events &= ~event;
    watch(l);
}

static void on_add_read(void *data)
{
    add(data, UV_READABLE);
}

static void on_drop_read(void *data)
{
    drop(data, UV_READABLE);
}

static void on_add_write(void *data)
{
    add(data, UV_WRITABLE);
}

static void on_drop_write(void *data)
{
    drop(data, UV_WRITABLE);
}

static int attach(struct link *l)
{
    redisAsyncContext *c = l->context;
    int err = uv_poll_init(l->redis->loop, &l->poll, c->c.fd);

    if (err != 0)
        return err;
    l->poll.data = l;
    l->redis->n_handles++;
    c->data = l;
    c->ev.data = l;
    c->ev.addRead = on_add_read;
    c->ev.delRead = on_drop_read;
    c->ev.addWrite = on_add_write;
    c->ev.delWrite = on_drop_write;
    c->ev.cleanup = on_cleanup;
    return 0;
}

/* --- becoming ready ------------------------------------------------------------ */

static void ready(struct redis *r)
{
    r->is_ready = true;
    r->pause_ms = PAUSE_MIN_MS;
    r->why[0] = '\0';
    counter_add(&r->counts->connects, 1);
    (void)uv_timer_stop(&r->timer); /* cannot fail */
    tell(r, true);
}

static bool on_push(void *arg, const struct push *push)
{
    struct link *l = arg;
    struct redis *r = l->redis;

    if (push->kind == PUSH_MESSAGE)
        r->opt.message(r->opt.arg, push->channel, push->payload);
    else if (push->kind == PUSH_ERROR)
        cut(r, push->payload);
    else if (!r->is_ready)
        ready(r);
    else if (r->opt.subscribed != NULL)
        r->opt.subscribed(r->opt.arg);
    return !l->is_cut;
}

static bool send_subscription(struct link *l)
{
    return redisAsyncCommand(l->context, NULL, NULL, "PSUBSCRIBE %s", l->redis->opt.pattern) ==
           REDIS_OK;
}

static void subscribe(struct link *l)
{
    l->is_pushed = true;
    if (!send_subscription(l))
        cut(l->redis, STR("out of memory"));
}

int redis_subscribe_again(struct redis *r)
{
    if (!redis_is_connected(r))
        return ERR_BUSY;
    return send_subscription(r->link) ? 0 : ERR_NOMEM;
}

static void on_setup(redisAsyncContext *c, void *answer, void *last)
{
    struct link *l = c->data;
    const redisReply *reply = answer;

    if (reply == NULL || l->is_cut)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        cut(l->redis, str_of(reply->str));
    else if (last != NULL && l->redis->opt.pattern != NULL)
        subscribe(l);
    else if (last != NULL)
        ready(l->redis);
}

static int log_in(struct link *l)
{
    const struct redis_url *u = &l->redis->url;
    redisAsyncContext *c = l->context;

    if (u->password[0] == '\0')
        return REDIS_OK;
    return u->user[0] != '\0'
               ? redisAsyncCommand(c, on_setup, NULL, "AUTH %s %s", u->user, u->password)
               : redisAsyncCommand(c, on_setup, NULL, "AUTH %s", u->password);
}

/* PING fails while the server is still loading its data. */
static void set_up(struct link *l)
{
    struct redis *r = l->redis;
    redisAsyncContext *c = l->context;
    int code = log_in(l);

    if (code == REDIS_OK && r->url.db != 0)
        code = redisAsyncCommand(c, on_setup, NULL, "SELECT %u", r->url.db);
    if (code == REDIS_OK && r->opt.name != NULL)
        code = redisAsyncCommand(c, on_setup, NULL, "CLIENT SETNAME %s", r->opt.name);
    if (code == REDIS_OK)
        code = redisAsyncCommand(c, on_setup, r, "PING");
    if (code != REDIS_OK)
        cut(r, STR("out of memory"));
}

static void on_connect(const redisAsyncContext *c, int status)
{
    struct link *l = c->data;

    if (status != REDIS_OK)
        return; /* hiredis ends the link itself */
    if (l->redis->url.host[0] != '\0')
        (void)redisEnableKeepAlive(&l->context->c); /* to notice a dead connection earlier */
    set_up(l);
}

static redisAsyncContext *dial(const struct redis_url *u)
{
    return u->unix_path[0] != '\0' ? redisAsyncConnectUnix(u->unix_path)
                                   : redisAsyncConnect(u->host, u->port);
}

static int make_link(struct redis *r)
{
    struct link *l = calloc(1, sizeof(*l));
    redisAsyncContext *c = l != NULL ? dial(&r->url) : NULL;

    if (c == NULL) {
        free(l);
        because(r, STR("out of memory"));
        return ERR_NOMEM;
    }
    *l = (struct link){ .redis = r, .context = c };
    pushes_init(&l->pushes);
    if (c->err != 0 || attach(l) != 0) {
        because(r, c->err != 0 ? str_of(c->errstr) : STR("the socket cannot be watched"));
        redisAsyncFree(c);
        free(l);
        return ERR_IO;
    }
    r->link = l;
    /* Sets the callback, which makes hiredis watch the socket. */
    (void)redisAsyncSetConnectCallback(c, on_connect); /* fails only when it was called before
                                                        */
    return 0;
}

static void connect_now(struct redis *r)
{
    r->why[0] = '\0';
    if (make_link(r) == 0) {
        wait_ms(r, READY_MS);
        return;
    }
    counter_add(&r->counts->failures, 1);
    try_later(r);
}

static void on_timer(uv_timer_t *timer)
{
    struct redis *r = timer->data;

    if (r->link == NULL)
        connect_now(r);
    else if (!r->is_ready)
        cut(r, STR("the server does not answer"));
    else if (r->first != NULL && uv_now(r->loop) >= r->due)
        cut(r, STR("a command was not answered in time"));
}

/* --- commands -------------------------------------------------------------------- */

/* A command's deadline starts when all commands before it are answered. */
static void on_reply(redisAsyncContext *context, void *answer, void *data)
{
    struct redis_request *c = data;
    struct redis *r = c->redis;

    (void)context;
    r->first = c->next;
    if (r->first == NULL) {
        r->last = &r->first;
        (void)uv_timer_stop(&r->timer); /* cannot fail */
    } else {
        wait_until(r, uv_now(r->loop) + (uint64_t)r->first->deadline_ms);
    }
    if (c->cb != NULL)
        c->cb(c->arg, answer);
    free(c);
}

int redis_send(struct redis *r,
               const struct str *args,
               size_t n_args,
               int64_t deadline_ms,
               redis_reply_cb cb,
               void *arg)
{
    const char *texts[REDIS_ARGS_MAX];
    size_t sizes[REDIS_ARGS_MAX];

    if (!r->is_ready || r->link->is_cut)
        return ERR_BUSY;
    if (n_args > REDIS_ARGS_MAX)
        return ERR_TOO_LARGE;
    struct redis_request *c = malloc(sizeof(*c));
    if (c == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n_args; i++) {
        texts[i] = args[i].p != NULL ? args[i].p : "";
        sizes[i] = args[i].n;
    }
    *c = (struct redis_request){ .cb = cb,
                                 .arg = arg,
                                 .redis = r,
                                 .deadline_ms =
                                     deadline_ms > 0 ? deadline_ms : r->opt.command_ms };
    if (redisAsyncCommandArgv(r->link->context, on_reply, c, (int)n_args, texts, sizes) !=
        REDIS_OK) {
        free(c);
        return ERR_NOMEM;
    }
    if (r->first == NULL)
        wait_ms(r, c->deadline_ms);
    *r->last = c;
    r->last = &c->next;
    return 0;
}

void redis_hold(struct redis *r, bool hold)
{
    if (r->is_held == hold)
        return;
    r->is_held = hold;
    if (r->link != NULL && !r->link->is_cut)
        watch(r->link);
}

/* --- opening and closing ----------------------------------------------------------- */

int redis_open(uv_loop_t *loop, const struct redis_options *options, struct redis **ret)
{
    struct redis *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return ERR_NOMEM;
    r->loop = loop;
    r->url = *options->url;
    r->opt = *options;
    r->opt.url = NULL;
    r->counts = options->counts != NULL ? options->counts : &r->uncounted;
    r->opt.command_ms = options->command_ms > 0 ? options->command_ms : COMMAND_MS;
    r->last = &r->first;
    r->pause_ms = PAUSE_MIN_MS;
    int err = uv_timer_init(loop, &r->timer);
    if (err != 0) {
        free(r);
        return err;
    }
    r->timer.data = r;
    r->n_handles = 1;
    wait_ms(r, 0);
    *ret = r;
    return 0;
}

void redis_close(struct redis *r, void (*closed)(void *arg), void *arg)
{
    r->closed = closed;
    r->closed_arg = arg;
    r->is_closing = true;
    counter_set(&r->counts->connected, 0);
    uv_close((uv_handle_t *)&r->timer, on_timer_closed);
    cut(r, STR("closed"));
}

bool redis_is_connected(const struct redis *r)
{
    return r->is_ready && !r->link->is_cut;
}
