#include "companion/asker.h"

#include "base/error.h"

#include <stdlib.h>

enum { READ_BYTES = 65536, MAX_LINE = 64 * 1024 * 1024, LOOK_MS = 100 };

struct asker {
    const char *path; /* borrowed */
    uv_loop_t *loop;
    struct asker_link *link; /* owned by its handle; NULL: there is no connection */
    uv_timer_t timer;        /* runs while questions are open */
    struct ask *open;
    uint64_t last;     /* number */
    struct buf unsent; /* lines, until the connection is made */
    bool is_closing;
};

/* A connection; it outlives its asker until it is closed. */
struct asker_link {
    struct asker *asker; /* NULL: it was given up */
    uv_pipe_t pipe;
    uv_connect_t connect;
    bool is_open;
    struct buf in; /* the beginning of a line */
    char bytes[READ_BYTES];
};

struct asker_write {
    uv_write_t write;
    struct buf text; /* owned */
};

/* --- questions -------------------------------------------------------------------------------
 */

static struct ask *take(struct asker *a, uint64_t number)
{
    for (struct ask **at = &a->open; *at != NULL; at = &(*at)->next) {
        struct ask *ask = *at;

        if (ask->number != number)
            continue;
        *at = ask->next;
        return ask;
    }
    return NULL;
}

static void fail_all(struct asker *a, const char *why)
{
    struct ask *open = a->open;

    a->open = NULL;
    buf_clear(&a->unsent);
    while (open != NULL) {
        struct ask *ask = open;

        open = ask->next;
        ask->answered(ask, STR_NONE, why);
    }
}

static void on_look(uv_timer_t *timer)
{
    struct asker *a = timer->data;
    uint64_t now = uv_now(a->loop);

    for (struct ask **at = &a->open; *at != NULL;) {
        struct ask *ask = *at;

        if (ask->deadline > now) {
            at = &ask->next;
            continue;
        }
        *at = ask->next;
        ask->answered(ask, STR_NONE, "the project's handlers did not answer in time");
        at = &a->open; /* the callback may have changed the list */
    }
    if (a->open == NULL)
        (void)uv_timer_stop(&a->timer);
}

/* --- the connection --------------------------------------------------------------------------
 */

static void on_link_closed(uv_handle_t *handle)
{
    struct asker_link *link = handle->data;

    buf_done(&link->in);
    free(link);
}

static void drop(struct asker_link *link)
{
    struct asker *a = link->asker;

    link->asker = NULL;
    if (a != NULL)
        a->link = NULL;
    if (!uv_is_closing((uv_handle_t *)&link->pipe))
        uv_close((uv_handle_t *)&link->pipe, on_link_closed);
}

static void broke(struct asker_link *link)
{
    struct asker *a = link->asker;

    drop(link);
    if (a != NULL)
        fail_all(a, "the project's handlers are not running");
}

static void on_line(struct asker *a, struct str line)
{
    uint64_t number = 0;
    size_t n = 0;

    for (; n < line.n && n < 19 && line.p[n] >= '0' && line.p[n] <= '9'; n++)
        number = number * 10 + (uint64_t)(line.p[n] - '0');
    struct ask *ask = take(a, number);
    if (ask != NULL)
        ask->answered(ask, str_skip(line, n + 1), "");
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct asker_link *link = handle->data;

    (void)suggested;
    *ret = uv_buf_init(link->bytes, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct asker_link *link = stream->data;
    struct str in = str_make(bytes->base, n > 0 ? (size_t)n : 0);

    if (n < 0) {
        broke(link);
        return;
    }
    while (in.n > 0 && link->asker != NULL) {
        size_t at = str_find(in, '\n');

        buf_str(&link->in, str_head(in, at));
        if (link->in.error != 0) {
            broke(link);
            return;
        }
        if (at == in.n)
            return;
        in = str_skip(in, at + 1);
        on_line(link->asker, buf_text(&link->in));
        buf_clear(&link->in);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct asker_write *w = write->data;

    (void)status; /* reading notices, too */
    buf_done(&w->text);
    free(w);
}

/* Without a callback: the next look answers. */
static void give_up(struct asker *a)
{
    drop(a->link);
    for (struct ask *ask = a->open; ask != NULL; ask = ask->next)
        ask->deadline = 0;
}

static void send_on(struct asker *a)
{
    struct asker_write *w = a->unsent.n > 0 ? calloc(1, sizeof(*w)) : NULL;

    if (a->unsent.n == 0)
        return;
    if (w == NULL) {
        give_up(a);
        return;
    }
    w->text = a->unsent;
    w->write.data = w;
    buf_init(&a->unsent, MAX_LINE);
    uv_buf_t piece = uv_buf_init(w->text.p, (unsigned)w->text.n);
    if (uv_write(&w->write, (uv_stream_t *)&a->link->pipe, &piece, 1, on_written) == 0)
        return;
    buf_done(&w->text);
    free(w);
    give_up(a);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct asker_link *link = connect->data;

    if (link->asker == NULL)
        return;
    if (status != 0 || uv_read_start((uv_stream_t *)&link->pipe, on_alloc, on_read) != 0) {
        broke(link);
        return;
    }
    link->is_open = true;
    send_on(link->asker);
}

static void connect_to(struct asker *a)
{
    struct asker_link *link = calloc(1, sizeof(*link));

    if (link == NULL)
        return; /* the deadline answers */
    buf_init(&link->in, MAX_LINE);
    link->asker = a;
    a->link = link;
    (void)uv_pipe_init(a->loop, &link->pipe, 0); /* cannot fail */
    link->pipe.data = link->connect.data = link;
    uv_pipe_connect(&link->connect, &link->pipe, a->path, on_connected);
}

/* --- for others ------------------------------------------------------------------------------
 */

int asker_new(uv_loop_t *loop, const char *path, struct asker **ret)
{
    struct asker *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return ERR_NOMEM;
    a->path = path;
    a->loop = loop;
    buf_init(&a->unsent, MAX_LINE);
    (void)uv_timer_init(loop, &a->timer); /* cannot fail */
    a->timer.data = a;
    *ret = a;
    return 0;
}

void asker_ask(struct asker *a, struct ask *ask, struct str question, int64_t wait_ms)
{
    uv_update_time(a->loop);
    ask->number = ++a->last;
    ask->deadline = uv_now(a->loop) + (uint64_t)wait_ms;
    ask->next = a->open;
    a->open = ask;
    buf_u64(&a->unsent, ask->number);
    buf_char(&a->unsent, ' ');
    buf_str(&a->unsent, question);
    buf_char(&a->unsent, '\n');
    if (a->unsent.error != 0) {
        ask->deadline = 0; /* refused at the next look */
        buf_clear(&a->unsent);
    }
    if (!uv_is_active((uv_handle_t *)&a->timer))
        (void)uv_timer_start(&a->timer, on_look, LOOK_MS, LOOK_MS); /* its callback is not NULL
                                                                     */
    if (a->link == NULL)
        connect_to(a);
    else if (a->link->is_open)
        send_on(a);
}

void asker_cancel(struct asker *a, struct ask *ask)
{
    (void)take(a, ask->number); /* it is open, or answered already */
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct asker *a = handle->data;

    buf_done(&a->unsent);
    free(a);
}

void asker_close(struct asker *a)
{
    if (a == NULL || a->is_closing)
        return;
    a->is_closing = true;
    a->open = NULL;
    if (a->link != NULL)
        drop(a->link);
    uv_close((uv_handle_t *)&a->timer, on_timer_closed);
}
