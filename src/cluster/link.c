/* The connection is in one of these states:
 *
 *     LINK_DOWN ──connect──▶ LINK_CONNECTING ──head sent──▶ LINK_OPENING ──101──▶ LINK_UP
 *         ▲                        │                            │                    │
 *         └────────────────────────┴────────────────────────────┴────────────────────┘
 *
 * A tick looks at what time changes: connects again, sends withdrawals, gives up requests, and
 * asks a silent peer whether it is there. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "cluster/link.h"

#include "base/clock.h"
#include "base/error.h"
#include "cluster/codec.h"
#include "cluster/frame.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum {
    TICK_MS = 25,
    AGAIN_MS = 50,    /* before the next try to connect */
    OPEN_MS = 3000,   /* to connect */
    SILENT_MS = 3000, /* a peer that is asked and says nothing */
    PING_MS = 1000,
    MAX_BUFFER = 1024 * 1024 * 1024
};

enum link_state { LINK_DOWN, LINK_CONNECTING, LINK_OPENING, LINK_UP };

/* A request that is not answered.  Its number is its place in the array and, in the upper half,
 * how often that was used. */
struct link_entry {
    struct journal_request *req; /* NULL: the place is free */
    uint64_t order;              /* of arrival */
    uint32_t uses;
    bool is_sent;
    bool is_withdrawn; /* and the peer was told */
    int64_t since;     /* when it came, or was last sent in vain */
    int64_t deadline;  /* of one that waits; 0: it does not */
    size_t next_free;
};

/* A connection; freed when libuv has closed it. */
struct link_socket {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_getaddrinfo_t lookup;
    struct journal_link *link; /* NULL: the link is done with it */
    struct buf sending;
    bool is_looking, is_closed;
};

struct journal_link {
    struct link_options opt;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t timer;
    pthread_t thread;
    bool has_thread, has_loop;
    pthread_mutex_t lock;
    struct journal_request *first, **last; /* under lock */
    char next_url[256];                    /* under lock */
    bool next_is_local, has_next;          /* under lock */
    bool is_stopping;                      /* under lock */
    atomic_bool is_up;

    char url[256], host[200], port[8]; /* "": nobody */
    bool is_local;
    enum link_state state;
    int64_t state_since, heard, asked, again_at;
    struct link_socket *socket; /* NULL: down */
    bool is_writing;
    struct buf in, out;
    struct link_entry *entries;
    size_t n, cap, first_free, n_used;
    uint64_t n_orders;
    char why[160]; /* it is down */
    char chunk[64 * 1024];
};

static void link_down(struct journal_link *l, const char *why);

/* --- requests ----------------------------------------------------------------------------- */

static bool waits(const struct journal_request *req)
{
    return req->op == JOURNAL_LEASE || req->op == JOURNAL_CALL;
}

static int64_t *wait_of(struct journal_request *req)
{
    return req->op == JOURNAL_LEASE ? &req->work.wait_ms : &req->call.wait_ms;
}

static void answer(struct journal_request *req)
{
    req->next = NULL;
    loop_call_answer(&req->loop_call);
}

static void refuse_busy(struct journal_request *req, const char *why)
{
    req->code = error_set(&req->why, ERR_BUSY, "%s", why);
    answer(req);
}

/* The place of a new entry; ERR_NOMEM. */
static int new_place(struct journal_link *l, size_t *ret)
{
    if (l->first_free == SIZE_MAX) {
        size_t cap = l->cap > 0 ? 2 * l->cap : 64;
        struct link_entry *more = realloc(l->entries, cap * sizeof(*more));

        if (more == NULL)
            return ERR_NOMEM;
        for (size_t i = l->cap; i < cap; i++)
            more[i] = (struct link_entry){ .next_free = i + 1 < cap ? i + 1 : SIZE_MAX };
        l->first_free = l->cap;
        l->entries = more;
        l->cap = cap;
    }
    *ret = l->first_free;
    l->first_free = l->entries[*ret].next_free;
    l->n_used++;
    return 0;
}

static struct journal_request *release(struct journal_link *l, size_t i)
{
    struct journal_request *req = l->entries[i].req;

    l->entries[i].req = NULL;
    l->entries[i].uses++;
    l->entries[i].next_free = l->first_free;
    l->first_free = i;
    l->n_used--;
    return req;
}

static uint64_t number_of(const struct journal_link *l, size_t i)
{
    return (uint64_t)l->entries[i].uses << 32 | i;
}

static bool find(const struct journal_link *l, uint64_t number, size_t *ret)
{
    *ret = (size_t)(number & UINT32_MAX);
    return *ret < l->cap && l->entries[*ret].req != NULL && number_of(l, *ret) == number;
}

/* Who does it a second time finds that it was done. */
static void name_operation(struct journal_link *l, struct journal_request *req, uint64_t order)
{
    char id[80];

    if (!str_absent(req->operation))
        return; /* it comes back to us */
    (void)snprintf(id, sizeof(id), "%s:%llu", l->opt.gateway, (unsigned long long)order);
    (void)arena_copy(&req->mem, str_of(id), &req->operation); /* or it has none */
    req->is_repeat = false;
}

/* A lease whose answer gets lost is given again to who asks with the same name. */
static void name_lease(struct journal_link *l, struct journal_request *req, uint64_t order)
{
    char name[80];

    if (req->op != JOURNAL_LEASE || !str_absent(req->work.request_id))
        return;
    (void)snprintf(name, sizeof(name), "gateway:%s:%llu", l->opt.gateway,
                   (unsigned long long)order);
    (void)arena_copy(&req->mem, str_of(name), &req->work.request_id); /* or it has none */
}

static void send_entry(struct journal_link *l, size_t i)
{
    struct link_entry *e = &l->entries[i];
    size_t from = frame_begin(&l->out, FRAME_REQUEST, number_of(l, i));

    if (e->deadline != 0) {
        int64_t left = e->deadline - clock_steady_ms();

        *wait_of(e->req) = left > 0 ? left : 0;
    }
    codec_put_request(&l->out, e->req);
    frame_end(&l->out, from);
    e->is_sent = true;
    e->req->is_repeat = true; /* from now on */
    e->is_withdrawn = false;
}

static void add(struct journal_link *l, struct journal_request *req)
{
    int64_t now = clock_steady_ms();
    size_t i;

    if (new_place(l, &i) != 0) {
        refuse_busy(req, "out of memory");
        return;
    }
    struct link_entry *e = &l->entries[i];
    e->req = req;
    e->order = l->n_orders++;
    e->is_sent = e->is_withdrawn = false;
    e->since = now;
    e->deadline = waits(req) ? now + *wait_of(req) : 0;
    name_operation(l, req, e->order);
    name_lease(l, req, e->order);
    if (l->state == LINK_UP)
        send_entry(l, i);
}

static int by_order(const void *a, const void *b)
{
    const struct link_entry *const *x = a, *const *y = b;

    return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* All entries in the order in which they came; NULL: out of memory, or there are none. */
static struct link_entry **sorted(struct journal_link *l, size_t *ret_n)
{
    struct link_entry **list =
        l->n_used > 0 ? calloc(l->n_used, sizeof(struct link_entry *)) : NULL;
    size_t n = 0;

    for (size_t i = 0; list != NULL && i < l->cap; i++)
        if (l->entries[i].req != NULL)
            list[n++] = &l->entries[i];
    if (n > 0)
        qsort(list, n, sizeof(list[0]), by_order);
    *ret_n = n;
    return list;
}

static void send_all(struct journal_link *l)
{
    size_t n;
    struct link_entry **list = sorted(l, &n);

    for (size_t i = 0; i < n; i++)
        send_entry(l, (size_t)(list[i] - l->entries));
    free(list);
}

/* The journal is open here. */
static void post_all(struct journal_link *l)
{
    struct journal_request *first = NULL, **last = &first;
    size_t n;
    struct link_entry **list = sorted(l, &n);

    for (size_t i = 0; i < n; i++) {
        struct journal_request *req = release(l, (size_t)(list[i] - l->entries));

        *last = req;
        last = &req->next;
        req->next = NULL;
    }
    free(list);
    if (first != NULL)
        journal_post(l->opt.journal, first);
}

/* --- the connection ----------------------------------------------------------------------- */

static void set_state(struct journal_link *l, enum link_state state)
{
    l->state = state;
    l->state_since = clock_steady_ms();
    atomic_store(&l->is_up, state == LINK_UP);
}

static void socket_free(struct link_socket *s)
{
    if (s->is_looking || !s->is_closed)
        return;
    buf_done(&s->sending);
    free(s);
}

static void on_closed(uv_handle_t *handle)
{
    struct link_socket *s = handle->data;

    s->is_closed = true;
    socket_free(s);
}

static void link_down(struct journal_link *l, const char *why)
{
    struct link_socket *s = l->socket;
    int64_t now = clock_steady_ms();

    (void)snprintf(l->why, sizeof(l->why), "%s", why);
    l->again_at = now + AGAIN_MS;
    if (s == NULL)
        return;
    l->socket = NULL;
    l->is_writing = false;
    s->link = NULL;
    if (s->is_looking)
        (void)uv_cancel((uv_req_t *)&s->lookup); /* or it is about to come */
    uv_close((uv_handle_t *)&s->tcp, on_closed);
    buf_clear(&l->in);
    buf_clear(&l->out);
    set_state(l, LINK_DOWN);
    for (size_t i = 0; i < l->cap; i++)
        if (l->entries[i].req != NULL && l->entries[i].is_sent) {
            l->entries[i].is_sent = false;
            l->entries[i].since = now;
        }
}

static void on_written(uv_write_t *write, int status);

static void flush(struct journal_link *l)
{
    struct link_socket *s = l->socket;

    if (s == NULL || l->is_writing || l->out.n == 0 || l->state < LINK_OPENING)
        return;
    if (l->out.error != 0) {
        link_down(l, "out of memory");
        return;
    }
    struct buf sent = s->sending;
    s->sending = l->out;
    l->out = sent;
    buf_clear(&l->out);
    uv_buf_t bytes = uv_buf_init(s->sending.p, (unsigned)s->sending.n);
    l->is_writing = true;
    if (uv_write(&s->write, (uv_stream_t *)&s->tcp, &bytes, 1, on_written) != 0)
        link_down(l, "it cannot be written to");
}

static void on_written(uv_write_t *write, int status)
{
    struct link_socket *s = write->data;
    struct journal_link *l = s->link;

    if (l == NULL)
        return;
    l->is_writing = false;
    if (status != 0)
        link_down(l, uv_strerror(status));
    else
        flush(l);
}

static void take_answer(struct journal_link *l, const struct frame_in *frame)
{
    size_t i;

    if (!find(l, frame->number, &i))
        return; /* it was given up */
    struct journal_request *req = l->entries[i].req;
    int err = codec_read_answer(frame->payload, req);
    if (err == 0 && req->code == ERR_MOVED) {
        link_down(l, "it does not own the jobs");
        return;
    }
    (void)release(l, i);
    if (err != 0)
        refuse_busy(req, "the answer of the gateway that writes cannot be read");
    else
        answer(req);
}

static void take_frames(struct journal_link *l)
{
    struct frame_in frame;
    size_t n, at = 0;

    while (l->socket != NULL) {
        int err = l->in.error != 0 ? l->in.error
                                   : frame_read(str_skip(buf_text(&l->in), at), &frame, &n);

        if (err != 0)
            link_down(l, "it has sent what cannot be read");
        if (err != 0 || n == 0)
            break;
        at += n;
        if (frame.kind == FRAME_ANSWER)
            take_answer(l, &frame);
    }
    if (l->socket != NULL && at > 0) {
        memmove(l->in.p, l->in.p + at, l->in.n - at);
        l->in.n -= at;
    }
}

/* The head of its answer: 101, or why not. */
static void take_head(struct journal_link *l)
{
    struct str head = buf_text(&l->in);
    const char *end = head.n > 0 ? memmem(head.p, head.n, "\r\n\r\n", 4) : NULL;
    char why[120];

    if (end == NULL) {
        if (head.n > 16384)
            link_down(l, "it does not answer as a gateway");
        return;
    }
    if (!str_starts(head, STR("HTTP/1.1 101 "))) {
        (void)snprintf(why, sizeof(why), "it answers %.*s",
                       STR_ARG(str_head(head, str_find(str_head(head, 80), '\r'))));
        link_down(l, why);
        return;
    }
    size_t n = (size_t)(end + 4 - head.p);
    memmove(l->in.p, l->in.p + n, l->in.n - n);
    l->in.n -= n;
    set_state(l, LINK_UP);
    l->asked = 0;
    send_all(l);
    take_frames(l);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    struct link_socket *s = handle->data;

    (void)size;
    *ret = s->link != NULL ? uv_buf_init(s->link->chunk, sizeof(s->link->chunk))
                           : uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct journal_link *l = ((struct link_socket *)stream->data)->link;

    if (l == NULL || n == 0)
        return;
    if (n < 0) {
        link_down(l, n == UV_EOF ? "it has closed the connection" : uv_strerror((int)n));
        return;
    }
    l->heard = clock_steady_ms();
    l->asked = 0;
    buf_put(&l->in, bytes->base, (size_t)n);
    if (l->state == LINK_OPENING)
        take_head(l);
    else
        take_frames(l);
    flush(l);
}

static void put_head(struct journal_link *l)
{
    buf_lit(&l->out, "GET /cluster/journal HTTP/1.1\r\nHost: localhost:");
    buf_str(&l->out, str_of(l->port));
    buf_lit(&l->out, "\r\nConnection: Upgrade\r\nUpgrade: " FRAME_PROTOCOL "/" CODEC_VERSION
                     "\r\nAuthorization: Bearer ");
    for (size_t i = 0; i < sizeof(l->opt.secret); i++) {
        char digits[3];

        (void)snprintf(digits, sizeof(digits), "%02x", l->opt.secret[i]);
        buf_put(&l->out, digits, 2);
    }
    buf_lit(&l->out, "\r\n\r\n");
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct link_socket *s = connect->data;
    struct journal_link *l = s->link;

    if (l == NULL)
        return;
    if (status == 0)
        status = uv_read_start((uv_stream_t *)&s->tcp, on_alloc, on_read);
    if (status != 0) {
        link_down(l, uv_strerror(status));
        return;
    }
    (void)uv_tcp_nodelay(&s->tcp, 1);
    set_state(l, LINK_OPENING);
    put_head(l);
    flush(l);
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct link_socket *s = lookup->data;
    struct journal_link *l = s->link;

    s->is_looking = false;
    if (l != NULL && status == 0)
        status = uv_tcp_connect(&s->connect, &s->tcp, found->ai_addr, on_connected);
    if (l != NULL && status != 0)
        link_down(l, uv_strerror(status));
    uv_freeaddrinfo(found);
    if (l == NULL)
        socket_free(s);
}

static void connect_now(struct journal_link *l)
{
    struct link_socket *s = calloc(1, sizeof(*s));
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

    if (s == NULL || uv_tcp_init(&l->loop, &s->tcp) != 0) {
        free(s);
        return;
    }
    s->tcp.data = s->connect.data = s->write.data = s->lookup.data = s;
    s->link = l;
    buf_init(&s->sending, MAX_BUFFER);
    l->socket = s;
    set_state(l, LINK_CONNECTING);
    int err = uv_getaddrinfo(&l->loop, &s->lookup, on_found, l->host, l->port, &hints);
    s->is_looking = err == 0;
    if (err != 0)
        link_down(l, uv_strerror(err));
}

/* --- time --------------------------------------------------------------------------------- */

static void look_at_peer(struct journal_link *l, int64_t now)
{
    if ((l->state == LINK_CONNECTING || l->state == LINK_OPENING) &&
        now - l->state_since > OPEN_MS)
        link_down(l, "it does not answer");
    if (l->state == LINK_UP && l->asked != 0 && now - l->asked > SILENT_MS)
        link_down(l, "it does not answer");
    if (l->state == LINK_UP && l->asked == 0 && now - l->heard > PING_MS) {
        l->asked = now;
        frame_end(&l->out, frame_begin(&l->out, FRAME_PING, 0));
    }
    if (l->state == LINK_DOWN && l->socket == NULL && l->host[0] != '\0' && now >= l->again_at)
        connect_now(l);
}

static void give_up(struct journal_link *l, size_t i)
{
    char why[400];

    if (l->url[0] == '\0')
        (void)snprintf(why, sizeof(why), "no gateway owns the jobs at the moment");
    else
        (void)snprintf(why, sizeof(why),
                       "the gateway that writes (%.100s) cannot be reached: %.100s", l->url,
                       l->why[0] != '\0' ? l->why : "it does not answer");
    refuse_busy(release(l, i), why);
}

static void look_at_entries(struct journal_link *l, int64_t now)
{
    for (size_t i = 0; i < l->cap; i++) {
        struct link_entry *e = &l->entries[i];

        if (e->req == NULL)
            continue;
        if (!e->is_sent &&
            (now - e->since > l->opt.hold_ms || (waits(e->req) && e->req->withdrawn)))
            give_up(l, i);
        else if (e->is_sent && !e->is_withdrawn && waits(e->req) && e->req->withdrawn) {
            e->is_withdrawn = true;
            frame_end(&l->out, frame_begin(&l->out, FRAME_WITHDRAW, number_of(l, i)));
        }
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct journal_link *l = timer->data;
    int64_t now = clock_steady_ms();

    look_at_peer(l, now);
    if (l->n_used > 0)
        look_at_entries(l, now);
    flush(l);
}

/* --- what other threads say ----------------------------------------------------------------
 */

/* http://HOST:PORT, with brackets around an IPv6 address. */
static void split_url(struct journal_link *l)
{
    struct str rest = str_of(l->url);

    l->host[0] = l->port[0] = '\0';
    if (!str_starts(rest, STR("http://"))) {
        (void)snprintf(l->why, sizeof(l->why), "only http:// is supported between gateways");
        return;
    }
    rest = str_skip(rest, 7);
    rest = str_head(rest, str_find(rest, '/'));
    size_t colon = rest.n;
    while (colon > 0 && rest.p[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return;
    struct str host = str_head(rest, colon - 1), port = str_skip(rest, colon);
    if (host.n > 2 && host.p[0] == '[')
        host = str_make(host.p + 1, host.n - 2);
    (void)snprintf(l->host, sizeof(l->host), "%.*s", STR_ARG(host));
    (void)snprintf(l->port, sizeof(l->port), "%.*s", STR_ARG(str_head(port, 7)));
}

static void turn_to(struct journal_link *l, const char *url, bool is_local)
{
    if (strcmp(l->url, url) != 0 || is_local != l->is_local) {
        link_down(l, "another gateway owns the jobs now");
        (void)snprintf(l->url, sizeof(l->url), "%s", url);
        split_url(l);
        l->again_at = 0;
    }
    l->is_local = is_local;
    if (is_local) {
        (void)uv_timer_stop(&l->timer);
        post_all(l);
    } else {
        (void)uv_timer_start(&l->timer, on_tick, 0, TICK_MS);
    }
}

static void on_wake(uv_async_t *async)
{
    struct journal_link *l = async->data;
    char url[256] = "";

    (void)pthread_mutex_lock(&l->lock);
    struct journal_request *list = l->first;
    bool has_next = l->has_next, is_local = l->next_is_local, is_stopping = l->is_stopping;
    if (has_next)
        memcpy(url, l->next_url, sizeof(url));
    l->has_next = false;
    l->first = NULL;
    l->last = &l->first;
    (void)pthread_mutex_unlock(&l->lock);
    while (list != NULL) {
        struct journal_request *next = list->next;

        add(l, list);
        list = next;
    }
    if (has_next)
        turn_to(l, url, is_local);
    else if (l->is_local)
        post_all(l); /* the journal was opened meanwhile */
    if (is_stopping)
        uv_stop(&l->loop);
    else
        flush(l);
}

/* A request of another gateway goes no further. */
static bool is_refused(struct journal_request *req)
{
    if (!req->is_forwarded)
        return false;
    req->code = error_set(&req->why, ERR_MOVED, "this gateway does not own the jobs");
    answer(req);
    return true;
}

void link_post(struct journal_link *l, struct journal_request *chain)
{
    struct journal_request *first = NULL, **last = &first;

    while (chain != NULL) {
        struct journal_request *next = chain->next;

        if (!is_refused(chain)) {
            chain->code = 0;
            chain->next = NULL;
            *last = chain;
            last = &chain->next;
        }
        chain = next;
    }
    if (first == NULL)
        return;
    (void)pthread_mutex_lock(&l->lock);
    *l->last = first;
    l->last = last;
    (void)pthread_mutex_unlock(&l->lock);
    (void)uv_async_send(&l->wake); /* cannot fail */
}

void link_set_writer(struct journal_link *l, const char *url)
{
    (void)pthread_mutex_lock(&l->lock);
    l->has_next = true;
    l->next_is_local = url == NULL;
    (void)snprintf(l->next_url, sizeof(l->next_url), "%s", url != NULL ? url : "");
    (void)pthread_mutex_unlock(&l->lock);
    (void)uv_async_send(&l->wake);
}

bool link_is_up(struct journal_link *l)
{
    return atomic_load(&l->is_up);
}

/* --- life --------------------------------------------------------------------------------- */

static void *work(void *arg)
{
    struct journal_link *l = arg;

    (void)uv_run(&l->loop, UV_RUN_DEFAULT);
    return NULL;
}

int link_new(const struct link_options *options, struct journal_link **ret, struct error *err)
{
    struct journal_link *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    l->opt = *options;
    l->last = &l->first;
    l->first_free = SIZE_MAX;
    buf_init(&l->in, MAX_BUFFER);
    buf_init(&l->out, MAX_BUFFER);
    (void)pthread_mutex_init(&l->lock, NULL); /* cannot fail on Linux */
    l->has_loop = uv_loop_init(&l->loop) == 0;
    if (l->has_loop) {
        l->wake.data = l->timer.data = l;
        (void)uv_async_init(&l->loop, &l->wake, on_wake);
        (void)uv_timer_init(&l->loop, &l->timer);
        l->has_thread = pthread_create(&l->thread, NULL, work, l) == 0;
    }
    if (!l->has_thread) {
        link_free(l);
        return error_set(err, ERR_NOMEM, "cannot start the thread of the link");
    }
    (void)pthread_setname_np(l->thread, "link"); /* only for people */
    *ret = l;
    return 0;
}

static void answer_rest(struct journal_link *l)
{
    for (size_t i = 0; i < l->cap; i++)
        if (l->entries[i].req != NULL)
            refuse_busy(release(l, i), "the server is going down");
    while (l->first != NULL) {
        struct journal_request *req = l->first;

        l->first = req->next;
        refuse_busy(req, "the server is going down");
    }
}

void link_free(struct journal_link *l)
{
    if (l == NULL)
        return;
    if (l->has_thread) {
        (void)pthread_mutex_lock(&l->lock);
        l->is_stopping = true;
        (void)pthread_mutex_unlock(&l->lock);
        (void)uv_async_send(&l->wake);
        (void)pthread_join(l->thread, NULL);
    }
    if (l->has_loop) {
        link_down(l, "the server is going down");
        uv_close((uv_handle_t *)&l->wake, NULL);
        uv_close((uv_handle_t *)&l->timer, NULL);
        (void)uv_run(&l->loop, UV_RUN_DEFAULT); /* closes them */
        (void)uv_loop_close(&l->loop);
    }
    answer_rest(l);
    (void)pthread_mutex_destroy(&l->lock);
    buf_done(&l->in);
    buf_done(&l->out);
    free(l->entries);
    free(l);
}
