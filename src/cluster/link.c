/* The connection is in one of these states:
 *
 *     LINK_DOWN ──connect──▶ LINK_CONNECTING ──head sent──▶ LINK_OPENING ──101──▶ LINK_UP
 *         ▲                        │                            │                    │
 *         └────────────────────────┴────────────────────────────┴────────────────────┘
 *
 * A tick looks at what time changes: connects again, sends withdrawals, gives up requests, and
 * asks a silent peer whether it is there.  While this gateway writes, it only gives up requests
 * that the journal does not take. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "cluster/link.h"

#include "base/clock.h"
#include "base/error.h"
#include "cluster/codec.h"
#include "cluster/frame.h"
#include "cluster/link_report.h"
#include "cluster/link_socket.h"
#include "cluster/unanswered.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 25,
    LOCAL_TICK_MS = 1000, /* while this gateway writes */
    AGAIN_MS = 50,        /* before the next try to connect */
    OPEN_MS = 3000,       /* to connect */
    SILENT_MS = 3000,     /* a peer that is asked and says nothing */
    PING_MS = 1000,
    MAX_HEAD = 16384, /* of the answer to an upgrade */
    MAX_BUFFER = 1024 * 1024 * 1024
};

enum link_state { LINK_DOWN, LINK_CONNECTING, LINK_OPENING, LINK_UP };

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
    struct link_counts counts;

    char url[256]; /* "": nobody */
    struct link_address address;
    bool is_local;
    enum link_state state;
    int64_t state_since, pinged, asked, again_at;
    uint64_t n_connections;     /* so far */
    struct link_socket *socket; /* NULL: down */
    struct tls_identity *tls;   /* NULL: not needed yet */
    struct buf in, out;
    struct unanswered_table requests;
    struct follow follow;
    char why[160]; /* it is down */
    struct link_report report;
};

/* --- requests ----------------------------------------------------------------------------- */

static void answer(struct journal_request *req)
{
    journal_request_answer(req);
}

static void refuse_busy(struct journal_request *req, const char *why)
{
    req->code = error_set(&req->why, ERR_BUSY, "%s", why);
    answer(req);
}

static void put(struct journal_link *l, struct unanswered *e)
{
    unanswered_put(&l->requests, e, &l->out);
    l->counts.forwarded++;
}

static void add(struct journal_link *l, struct journal_request *req)
{
    struct unanswered *e = unanswered_add(&l->requests, req, clock_steady_ms());

    if (e == NULL)
        refuse_busy(req, "out of memory");
    else if (l->state == LINK_UP)
        put(l, e);
}

static void send_all(struct journal_link *l)
{
    size_t n;
    struct unanswered **list = unanswered_sorted(&l->requests, &n);

    for (size_t i = 0; i < n; i++)
        put(l, list[i]);
    free(list);
}

/* The journal is open here. */
static void post_all(struct journal_link *l)
{
    struct journal_request *first = NULL, **last = &first;
    size_t n;
    struct unanswered **list = unanswered_sorted(&l->requests, &n);

    for (size_t i = 0; i < n; i++) {
        struct journal_request *req = unanswered_take(&l->requests, list[i]);

        *last = req;
        last = &req->next;
        req->next = NULL;
    }
    free(list);
    if (first != NULL)
        journal_post_again(l->opt.journal, first);
}

/* --- the connection ----------------------------------------------------------------------- */

static void set_state(struct journal_link *l, enum link_state state)
{
    l->state = state;
    l->state_since = clock_steady_ms();
    atomic_store(&l->is_up, state == LINK_UP);
}

static void link_down(struct journal_link *l, const char *why)
{
    int64_t now = clock_steady_ms();

    (void)snprintf(l->why, sizeof(l->why), "%s", why);
    l->again_at = now + AGAIN_MS;
    if (l->socket == NULL)
        return;
    link_report_down(&l->report, l->url, why, now);
    link_socket_close(l->socket);
    l->socket = NULL;
    buf_clear(&l->in);
    buf_clear(&l->out);
    set_state(l, LINK_DOWN);
    follow_end(&l->follow);
    unanswered_unsend(&l->requests, now);
}

static void flush(struct journal_link *l)
{
    if (l->socket != NULL && l->state >= LINK_OPENING)
        link_socket_send(l->socket, &l->out);
}

static void take_answer(struct journal_link *l, const struct frame_in *frame)
{
    struct unanswered *e = unanswered_find(&l->requests, frame->number);

    if (e == NULL)
        return; /* it was given up */
    struct journal_request *req = e->req;
    int err = codec_read_answer(frame->payload, req);
    if (err == 0 && req->code == ERR_MOVED) {
        link_down(l, "it does not own the jobs");
        return;
    }
    (void)unanswered_take(&l->requests, e);
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
        else if (frame.kind != FRAME_PONG && follow_take(&l->follow, &frame) != 0)
            link_down(l, "it has sent what cannot be read");
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
        if (head.n > MAX_HEAD)
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
    link_report_up(&l->report, l->url, l->state_since);
    l->counts.connected++;
    l->asked = 0;
    follow_begin(&l->follow, &l->out);
    send_all(l);
    take_frames(l);
}

static void on_received(void *arg, struct str bytes)
{
    struct journal_link *l = arg;

    l->asked = 0;
    buf_str(&l->in, bytes);
    if (l->state == LINK_OPENING)
        take_head(l);
    else
        take_frames(l);
    flush(l);
}

static void put_head(struct journal_link *l)
{
    bool has_colon = strchr(l->address.host, ':') != NULL; /* an IPv6 address */

    buf_lit(&l->out, "GET /cluster/journal?shard=");
    buf_i64(&l->out, l->opt.shard);
    buf_lit(&l->out, " HTTP/1.1\r\nHost: ");
    buf_str(&l->out, has_colon ? STR("[") : STR(""));
    buf_str(&l->out, str_of(l->address.host));
    buf_str(&l->out, has_colon ? STR("]:") : STR(":"));
    buf_str(&l->out, str_of(l->address.port));
    buf_lit(&l->out, "\r\nConnection: Upgrade\r\nUpgrade: " FRAME_PROTOCOL "/" CODEC_VERSION
                     "\r\nAuthorization: Bearer ");
    for (size_t i = 0; i < sizeof(l->opt.secret); i++) {
        char digits[3];

        (void)snprintf(digits, sizeof(digits), "%02x", l->opt.secret[i]);
        buf_put(&l->out, digits, 2);
    }
    char link[80];
    (void)snprintf(link, sizeof(link), "\r\n" SERVED_LINK_HEADER ": %s %llu", l->opt.gateway,
                   (unsigned long long)++l->n_connections);
    buf_str(&l->out, str_of(link));
    buf_lit(&l->out, "\r\n\r\n");
}

static void on_connected(void *arg)
{
    struct journal_link *l = arg;

    set_state(l, LINK_OPENING);
    put_head(l);
    flush(l);
}

static void on_written(void *arg)
{
    flush(arg);
}

static void on_lost(void *arg, const char *why)
{
    link_down(arg, why);
}

static void connect_now(struct journal_link *l)
{
    const struct link_socket_events events = { on_connected, on_received, on_written, on_lost,
                                               l };

    struct error err;
    if (l->address.is_secure && l->tls == NULL && tls_identity_new_client(&l->tls, &err) != 0) {
        link_down(l, err.text);
        return;
    }
    l->socket =
        link_socket_open(&l->loop, &l->address, l->address.is_secure ? l->tls : NULL, &events);
    if (l->socket != NULL)
        set_state(l, LINK_CONNECTING);
}

/* --- time --------------------------------------------------------------------------------- */

static void look_at_peer(struct journal_link *l, int64_t now)
{
    if ((l->state == LINK_CONNECTING || l->state == LINK_OPENING) &&
        now - l->state_since > OPEN_MS)
        link_down(l, "it does not answer");
    if (l->state == LINK_UP && l->asked != 0 && now - l->asked > SILENT_MS)
        link_down(l, "it does not answer");
    if (l->state == LINK_UP && l->asked == 0 && now - l->pinged > PING_MS) {
        l->asked = l->pinged = now;
        frame_end(&l->out, frame_begin(&l->out, FRAME_PING, 0));
    }
    if (l->state == LINK_DOWN && l->socket == NULL && l->address.host[0] != '\0' &&
        now >= l->again_at)
        connect_now(l);
}

static void give_up(struct journal_link *l, struct unanswered *e)
{
    char why[400];

    if (l->url[0] == '\0')
        (void)snprintf(why, sizeof(why), "no gateway owns the jobs at the moment");
    else
        (void)snprintf(why, sizeof(why),
                       "the gateway that writes (%.100s) cannot be reached: %.100s", l->url,
                       l->why[0] != '\0' ? l->why : "it does not answer");
    l->counts.refused++;
    refuse_busy(unanswered_take(&l->requests, e), why);
}

static void look_at_requests(struct journal_link *l, int64_t now)
{
    for (size_t i = 0; i < l->requests.cap; i++) {
        struct unanswered *e = &l->requests.entries[i];

        if (e->req == NULL)
            continue;
        if (!e->is_sent && (now - e->since > l->opt.hold_ms || unanswered_is_abandoned(e)))
            give_up(l, e);
        else if (e->is_sent && unanswered_is_abandoned(e))
            unanswered_withdraw(&l->requests, e, &l->out);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct journal_link *l = timer->data;
    int64_t now = clock_steady_ms();

    if (l->is_local) {
        journal_refuse_old(l->opt.journal, l->opt.hold_ms);
        return;
    }
    look_at_peer(l, now);
    if (l->requests.n_used > 0)
        look_at_requests(l, now);
    l->counts.waiting = l->requests.n_used;
    flush(l);
}

/* --- what other threads say ----------------------------------------------------------------
 */

static void set_url(struct journal_link *l, const char *url)
{
    (void)snprintf(l->url, sizeof(l->url), "%s", url);
    const char *wrong = link_address_read(str_of(url), &l->address);
    if (wrong != NULL)
        (void)snprintf(l->why, sizeof(l->why), "%s", wrong);
    l->again_at = 0;
}

static void turn_to(struct journal_link *l, const char *url, bool is_local)
{
    if (strcmp(l->url, url) != 0 || is_local != l->is_local) {
        link_report_turn(&l->report);
        link_down(l, "another gateway owns the jobs now");
        link_report_turn(&l->report);
        set_url(l, url);
    }
    l->is_local = is_local;
    if (is_local) {
        post_all(l);
        l->counts.waiting = 0;
    }
    (void)uv_timer_start(&l->timer, on_tick, 0, is_local ? LOCAL_TICK_MS : TICK_MS);
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
    bool is_doubted = follow_settle(&l->follow);
    if (is_doubted && !(has_next && is_local)) /* else turn_to() does that */
        link_down(l, "another gateway owns the jobs now");
    if (l->state == LINK_UP)
        follow_put(&l->follow, &l->out);
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
    if (url == NULL)
        follow_doubt(&l->follow);
    (void)pthread_mutex_lock(&l->lock);
    l->has_next = true;
    l->next_is_local = url == NULL;
    (void)snprintf(l->next_url, sizeof(l->next_url), "%s", url != NULL ? url : "");
    (void)pthread_mutex_unlock(&l->lock);
    (void)uv_async_send(&l->wake);
}

void link_doubt(struct journal_link *l)
{
    follow_doubt(&l->follow);
    link_set_writer(l, "");
}

const struct link_counts *link_counts(const struct journal_link *l)
{
    return &l->counts;
}

bool link_is_up(struct journal_link *l)
{
    return atomic_load(&l->is_up);
}

/* --- life --------------------------------------------------------------------------------- */

static void on_watches(void *arg)
{
    struct journal_link *l = arg;

    (void)uv_async_send(&l->wake); /* cannot fail */
}

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
    l->report.tell = options->tell;
    l->report.arg = options->arg;
    l->last = &l->first;
    unanswered_init(&l->requests, l->opt.gateway, l->opt.shard);
    buf_init(&l->in, MAX_BUFFER);
    buf_init(&l->out, MAX_BUFFER);
    (void)pthread_mutex_init(&l->lock, NULL); /* cannot fail on Linux */
    bool follows = follow_init(&l->follow, &l->opt.follow, on_watches, l) == 0;
    l->has_loop = follows && uv_loop_init(&l->loop) == 0;
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
    for (size_t i = 0; i < l->requests.cap; i++)
        if (l->requests.entries[i].req != NULL)
            refuse_busy(unanswered_take(&l->requests, &l->requests.entries[i]),
                        "the server is going down");
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
        l->report.tell = NULL;
        link_down(l, "the server is going down");
        uv_close((uv_handle_t *)&l->wake, NULL);
        uv_close((uv_handle_t *)&l->timer, NULL);
        (void)uv_run(&l->loop, UV_RUN_DEFAULT); /* closes them */
        (void)uv_loop_close(&l->loop);
    }
    answer_rest(l);
    follow_done(&l->follow);
    (void)pthread_mutex_destroy(&l->lock);
    buf_done(&l->in);
    buf_done(&l->out);
    unanswered_done(&l->requests);
    tls_identity_unref(l->tls);
    free(l);
}
