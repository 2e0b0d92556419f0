/* Who writes, seen from here:
 *
 *     standby: store_open waits for the lock ──▶ journal_open ──▶ writer
 *         ▲                                                          │
 *         └── journal_close, store_close ◀── the store is lost ◀─────┘
 *
 * Stale: the beat of the gateway that has the lock did not change for STALE_MS, while our own
 * beats were stored.  So a PostgreSQL that stands still makes nobody stale.  PostgreSQL then
 * ends the stale gateway's sessions, and the lock is free for whoever waits for it.
 *
 * After a lost connection the standby gives the writer RETURN_MS to lock again: when PostgreSQL
 * was restarted, the jobs stay where they are. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "cluster/cluster.h"

#include "auth/secret.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "cluster/wakeup.h"
#include "cluster/link.h"
#include "journal/counts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BEAT_MS = 1000,
    STALE_MS = 3000,
    LATE_MS = 1500,   /* between two of our own beats: then nobody can be judged */
    RETURN_MS = 4000, /* for the writer to lock again after PostgreSQL was away */
    LOOK_MS = 100,    /* whether the store is lost */
    HOLD_MS = 10000,  /* how long requests wait for a writer */
    FIRST_MS = 30000, /* for the first gateway to make the tables */
    MAX_GATEWAYS = 64,
    MAX_HINTS = 256, /* that wait to be sent */
    MAX_HINT_BYTES = 64 * 1024,
};

/* What we know of another gateway. */
struct cluster_peer {
    char id[GATEWAY_ID_BYTES];
    char url[256];
    char version[40];
    int64_t started;
    int64_t number; /* of all that we have seen */
    int64_t beat;
    int64_t changed; /* when the beat was last seen to change */
    bool is_writer, was_writer, is_connected, is_listed;
};

/* A job's hint that was not sent yet: a later one only moves its seq. */
struct pending_hint {
    int64_t key;
    size_t from;
};

struct cluster {
    struct cluster_options opt;
    char *url; /* owned; of this gateway */
    char id[GATEWAY_ID_BYTES];
    unsigned char secret[CLUSTER_SECRET_BYTES];
    struct journal *journal;   /* borrowed */
    struct hub_shared *hub;    /* borrowed */
    struct notifier *notifier; /* borrowed */
    struct journal_link *link;
    struct store *store; /* the one that writes; NULL: another gateway does.  The standby's */
    atomic_bool waits;   /* the standby goes on */
    pthread_t member, standby;
    bool has_member, has_standby;
    struct gateways *gateways; /* the member's */
    pthread_mutex_t lock;
    pthread_cond_t news;
    pthread_mutex_t opening; /* the journal is opened, closed or given settings */
    /* Under lock: */
    bool is_stopping, is_writer;
    bool is_leaving; /* it may not become the writer again */
    struct cluster_state state;
    struct cluster_peer shown[MAX_GATEWAYS]; /* a copy of `peers` for other threads */
    struct buf hints;
    struct pending_hint pending[MAX_HINTS];
    size_t n_pending;
    bool is_lost; /* hints did not fit */
    atomic_uint n_others;
    atomic_llong beat_at;
    _Atomic uint64_t n_told; /* which list of gateways the journal knows; 0: none */
    /* The member's: */
    struct cluster_peer peers[MAX_GATEWAYS];
    size_t n_peers;
    int64_t n_numbers;
    atomic_bool looks; /* beat now */
    bool has_moved;    /* another gateway writes: look who */
    int64_t beaten;    /* when our last beat was stored; 0: never */
};

static void wake_member(struct cluster *c)
{
    if (c->gateways != NULL)
        gateways_wake(c->gateways);
}

/* --- hints: from the journal's thread ------------------------------------------------------
 */

static void add_hint(struct cluster *c, const struct wakeup *h, bool merges)
{
    (void)pthread_mutex_lock(&c->lock);
    bool was_empty = c->hints.n == 0 && !c->is_lost;
    for (size_t i = c->n_pending; merges && i-- > 0;)
        if (c->pending[i].key == h->change.key) {
            wakeup_set_seq(&c->hints, c->pending[i].from, h->change.last_seq);
            (void)pthread_mutex_unlock(&c->lock);
            return;
        }
    if (c->n_pending == MAX_HINTS || c->hints.n > MAX_HINT_BYTES) {
        c->is_lost = true;
    } else {
        c->pending[c->n_pending++] =
            (struct pending_hint){ merges ? h->change.key : 0, c->hints.n };
        wakeup_put(&c->hints, h);
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (was_empty)
        wake_member(c);
}

static void add_publication(struct cluster *c, const struct publication *p)
{
    struct wakeup h = { .kind = WAKEUP_JOB,
                        .change = { .job = p->job,
                                    .agent = p->agent,
                                    .owner = p->owner,
                                    .key = p->key,
                                    .last_seq = p->last_seq,
                                    .state = p->state,
                                    .state_changed = p->state_changed,
                                    .gone = p->gone,
                                    .attempt = p->attempt,
                                    .ts = p->ts },
                        .is_cancelled = p->cancel_requested,
                        .is_paused = p->pause_requested };
    bool is_plain =
        !p->state_changed && !p->gone && !p->cancel_requested && !p->pause_requested;

    for (const struct question_news *q = p->questions; q != NULL; q = q->next) {
        struct wakeup asked = h;

        asked.kind = WAKEUP_QUESTION;
        asked.change.question = *q;
        asked.change.question.next = NULL;
        if (q->question.n > 1000)
            asked.change.question.question = STR_NONE;
        add_hint(c, &asked, false);
    }
    add_hint(c, &h, is_plain && p->key != 0);
}

void cluster_published(struct cluster *c, const struct publication *pubs, size_t n)
{
    if (atomic_load_explicit(&c->n_others, memory_order_relaxed) == 0)
        return;
    for (size_t i = 0; i < n; i++)
        add_publication(c, &pubs[i]);
}

void cluster_queued(struct cluster *c, struct str agent)
{
    const struct wakeup h = { .kind = WAKEUP_AGENT, .change = { .agent = agent } };

    if (atomic_load_explicit(&c->n_others, memory_order_relaxed) > 0)
        add_hint(c, &h, false);
}

/* --- hints: the member ---------------------------------------------------------------------
 */

/* As many whole lines as one hint may have.  Lines have no newline inside but at their end: ids
 * and names have none, and questions are JSON. */
static struct str piece_of(struct str text)
{
    if (text.n <= GATEWAY_MAX_HINT)
        return text;
    size_t n = GATEWAY_MAX_HINT;
    while (n > 0 && text.p[n - 1] != '\n')
        n--;
    return str_head(text, n);
}

static void send_hints(struct cluster *c)
{
    struct buf hints;

    (void)pthread_mutex_lock(&c->lock);
    hints = c->hints;
    buf_init(&c->hints, 2 * MAX_HINT_BYTES);
    bool is_lost = c->is_lost || hints.error != 0;
    c->is_lost = false;
    c->n_pending = 0;
    (void)pthread_mutex_unlock(&c->lock);
    struct str rest = buf_text(&hints);
    while (rest.n > 0 && !is_lost) {
        struct str piece = piece_of(rest);

        is_lost = piece.n == 0 || gateways_tell(c->gateways, piece, NULL) != 0;
        rest = str_skip(rest, piece.n);
    }
    if (is_lost)
        (void)gateways_tell(c->gateways, STR("L\n"), NULL); /* or they look by themselves */
    buf_done(&hints);
}

static void hear(struct cluster *c, const struct wakeup *h)
{
    switch (h->kind) {
    case WAKEUP_JOB:
        if (h->is_cancelled || h->change.gone || h->is_paused)
            c->opt.events.stopped(c->opt.events.arg, h->change.key, h->change.attempt,
                                  !h->is_cancelled && !h->change.gone);
        c->notifier->hear(c->notifier->arg, &h->change, NULL);
        break;
    case WAKEUP_QUESTION:
        c->notifier->hear(c->notifier->arg, &h->change, NULL);
        break;
    case WAKEUP_AGENT:
        c->opt.events.queued(c->opt.events.arg, h->change.agent);
        break;
    case WAKEUP_WRITER:
        c->has_moved = true;
        break;
    case WAKEUP_LOST:
        hub_shared_missed(c->hub);
        c->opt.events.queued(c->opt.events.arg, STR_NONE);
        break;
    }
}

static void on_hint(void *arg, struct str text)
{
    struct cluster *c = arg;
    struct wakeup h;

    while (text.n > 0) {
        if (!wakeup_take(&text, &h)) {
            hub_shared_missed(c->hub);
            return;
        }
        hear(c, &h);
    }
}

/* --- beats: the member ---------------------------------------------------------------------
 */

static struct cluster_peer *peer_of(struct cluster *c, struct str id)
{
    for (size_t i = 0; i < c->n_peers; i++)
        if (str_eq(id, str_of(c->peers[i].id)))
            return &c->peers[i];
    if (c->n_peers == MAX_GATEWAYS)
        return NULL;
    struct cluster_peer *p = &c->peers[c->n_peers++];
    *p = (struct cluster_peer){ .beat = -1, .number = ++c->n_numbers };
    (void)snprintf(p->id, sizeof(p->id), "%.*s", STR_ARG(id));
    return p;
}

static void on_gateway(void *arg, const struct gateway_row *row)
{
    struct cluster *c = arg;
    struct cluster_peer *p = row->is_self ? NULL : peer_of(c, row->id);

    if (p == NULL)
        return;
    if (p->beat != row->beat)
        p->changed = clock_monotonic_ms();
    p->was_writer = p->is_writer || (p->was_writer && p->beat == row->beat);
    p->beat = row->beat;
    p->is_listed = true;
    p->is_writer = row->is_writer;
    p->is_connected = row->is_connected;
    p->started = row->started;
    (void)snprintf(p->url, sizeof(p->url), "%.*s", STR_ARG(row->url));
    (void)snprintf(p->version, sizeof(p->version), "%.*s", STR_ARG(row->version));
}

static void forget_unlisted(struct cluster *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_peers; i++)
        if (c->peers[i].is_listed)
            c->peers[n++] = c->peers[i];
    c->n_peers = n;
}

/* Judges the others, when our own beats are stored in time. */
static void end_stale(struct cluster *c, int64_t now)
{
    for (size_t i = 0; i < c->n_peers; i++) {
        struct cluster_peer *p = &c->peers[i];

        if (p->is_writer && now - p->changed >= STALE_MS)
            (void)gateways_end(c->gateways, str_of(p->id), NULL); /* the next beat tries again
                                                                   */
    }
}

static void tell_link(struct cluster *c)
{
    const char *url = "";

    for (size_t i = 0; i < c->n_peers; i++)
        if (c->peers[i].is_writer)
            url = c->peers[i].url;
    (void)pthread_mutex_lock(&c->lock);
    c->state.n_gateways = (unsigned)c->n_peers + 1;
    memcpy(c->shown, c->peers, c->n_peers * sizeof(c->peers[0]));
    if (!c->is_writer) {
        (void)snprintf(c->state.writer, sizeof(c->state.writer), "%s", url);
        link_set_writer(c->link, url);
    }
    (void)pthread_mutex_unlock(&c->lock);
    atomic_store(&c->n_others, (unsigned)c->n_peers);
}

/* --- which gateways are there: for leases of their processes -------------------------------
 */

struct gateways_call {
    struct journal_request req;
    struct cluster *cluster;
    struct str list[MAX_GATEWAYS + 1];
    char ids[MAX_GATEWAYS + 1][GATEWAY_ID_BYTES];
};

/* On the journal's thread. */
static void on_gateways_done(struct loop_call *answered)
{
    struct gateways_call *call = answered->owner;

    if (call->req.code != 0)
        atomic_store(&call->cluster->n_told, 0); /* with the next beat */
    journal_request_done(&call->req);
    free(call);
}

/* A gateway without a session is gone, if it had the lock, whose end freed it; another may be
 * about to connect again. */
static bool is_gone(const struct cluster_peer *p, int64_t now)
{
    return !p->is_connected && (p->was_writer || p->is_writer || now - p->changed >= STALE_MS);
}

static void tell_journal(struct cluster *c, int64_t now)
{
    struct gateways_call *call = journal_is_open(c->journal) ? calloc(1, sizeof(*call)) : NULL;
    uint64_t told = 1; /* differs when the list does */
    size_t n = 0;

    if (call == NULL)
        return;
    memcpy(call->ids[n++], c->id, sizeof(c->id));
    for (size_t i = 0; i < c->n_peers; i++)
        if (!is_gone(&c->peers[i], now)) {
            told = told * 31 + (uint64_t)c->peers[i].number;
            memcpy(call->ids[n++], c->peers[i].id, GATEWAY_ID_BYTES);
        }
    if (told == atomic_load(&c->n_told)) {
        free(call);
        return;
    }
    atomic_store(&c->n_told, told);
    for (size_t i = 0; i < n; i++)
        call->list[i] = str_of(call->ids[i]);
    journal_request_init(&call->req, NULL, call, on_gateways_done);
    (void)journal_request_begin(&call->req, JOURNAL_GATEWAYS);
    call->cluster = c;
    call->req.is_forwarded = true; /* or another gateway writes, and finds out itself */
    call->req.gateways.ids = call->list;
    call->req.gateways.n = n;
    journal_post(c->journal, &call->req);
}

static void beat(struct cluster *c)
{
    struct error err;

    c->has_moved = false;
    for (size_t i = 0; i < c->n_peers; i++)
        c->peers[i].is_listed = false;
    if (gateways_beat(c->gateways, on_gateway, c, &err) != 0) {
        c->beaten = 0;
        return;
    }
    int64_t now = clock_monotonic_ms();
    forget_unlisted(c);
    if (c->beaten == 0 || now - c->beaten > LATE_MS)
        for (size_t i = 0; i < c->n_peers; i++)
            c->peers[i].changed = now;
    c->beaten = now;
    atomic_store(&c->beat_at, now);
    end_stale(c, now);
    tell_link(c);
    tell_journal(c, now);
}

static bool is_stopping(struct cluster *c)
{
    (void)pthread_mutex_lock(&c->lock);
    bool stops = c->is_stopping;
    (void)pthread_mutex_unlock(&c->lock);
    return stops;
}

static void *be_member(void *arg)
{
    struct cluster *c = arg;
    int64_t next = 0;

    while (!is_stopping(c)) {
        int64_t now = clock_monotonic_ms();

        if (now >= next || c->has_moved || atomic_exchange(&c->looks, false)) {
            beat(c);
            next = now + BEAT_MS;
            if (!journal_is_open(c->journal))
                c->opt.events.queued(c->opt.events.arg, STR_NONE); /* a hint may be lost */
        }
        send_hints(c);
        gateways_wait(c->gateways, next - clock_monotonic_ms(), on_hint, c);
    }
    send_hints(c);
    return NULL;
}

/* --- the standby ---------------------------------------------------------------------------
 */

/* Sleeps, unless it is woken before. */
static void rest(struct cluster *c, int64_t ms)
{
    uint64_t until = clock_monotonic_us() + (uint64_t)ms * 1000;
    bool in_time = true;

    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_stopping && in_time)
        in_time = clock_wait(&c->news, &c->lock, until);
    (void)pthread_mutex_unlock(&c->lock);
}

static void set_writer(struct cluster *c, bool is_writer)
{
    static const struct wakeup moved = { .kind = WAKEUP_WRITER };

    (void)pthread_mutex_lock(&c->lock);
    c->is_writer = is_writer;
    (void)snprintf(c->state.writer, sizeof(c->state.writer), "%s", is_writer ? c->url : "");
    link_set_writer(c->link, is_writer ? NULL : "");
    (void)pthread_mutex_unlock(&c->lock);
    atomic_store(&c->notifier->is_complete, is_writer);
    atomic_store(&c->n_told, 0);
    atomic_store(&c->looks, true);
    if (is_writer)
        add_hint(c, &moved, false);
}

static int open_journal(struct cluster *c, struct error *err)
{
    struct breadcrumb breadcrumb = { 0 };

    (void)store_breadcrumb(c->store, &breadcrumb, NULL); /* it works without */
    (void)pthread_mutex_lock(&c->opening);
    int code = journal_open(c->journal, c->store, breadcrumb, c->opt.dead, c->opt.n_dead, err);
    (void)pthread_mutex_unlock(&c->opening);
    return code;
}

static void step_up(struct cluster *c)
{
    struct error err;
    int code = open_journal(c, &err);

    if (code != 0) {
        store_close(c->store);
        c->store = NULL;
        c->opt.events.moved(c->opt.events.arg, false, str_of(err.text));
        rest(c, RETURN_MS);
        return;
    }
    set_writer(c, true);
    c->opt.events.moved(c->opt.events.arg, true, STR_NONE);
    c->opt.events.queued(c->opt.events.arg, STR_NONE);
}

static void step_down(struct cluster *c, const char *why)
{
    set_writer(c, false); /* before: what the journal had waiting goes to the next one */
    (void)pthread_mutex_lock(&c->opening);
    journal_close(c->journal);
    (void)pthread_mutex_unlock(&c->opening);
    store_close(c->store);
    c->store = NULL;
    hub_shared_missed(c->hub);
    c->opt.events.moved(c->opt.events.arg, false, str_of(why));
}

static void wait_for_lock(struct cluster *c)
{
    struct store_options options = c->opt.store;
    struct error err;

    options.gateway = c->id;
    options.waits = &c->waits;
    int code = store_open(&options, &c->store, &err);
    if (code != 0)
        rest(c, RETURN_MS);
}

static bool is_lost(struct cluster *c)
{
    return counter_get(&journal_counts(c->journal)->lost) != 0;
}

static bool may_write(struct cluster *c)
{
    (void)pthread_mutex_lock(&c->lock);
    bool may = !c->is_leaving;
    (void)pthread_mutex_unlock(&c->lock);
    return may;
}

static void *stand_by(void *arg)
{
    struct cluster *c = arg;

    while (!is_stopping(c)) {
        if (!journal_is_open(c->journal)) {
            if (c->store == NULL && may_write(c))
                wait_for_lock(c);
            if (c->store != NULL)
                step_up(c);
            else if (!may_write(c))
                rest(c, LOOK_MS);
        } else if (is_lost(c)) {
            step_down(c, "another gateway has taken the jobs over");
        } else if (!may_write(c)) {
            step_down(c, "going down");
        } else {
            rest(c, LOOK_MS);
        }
    }
    return NULL;
}

/* --- life ----------------------------------------------------------------------------------
 */

/* The secret that gateways show each other.  Waits for the first gateway to make the tables. */
static int find_secret(struct cluster *c, struct error *err)
{
    unsigned char fresh[CLUSTER_SECRET_BYTES];
    struct store *store = NULL;
    int code = secret_random(fresh, err);

    _Static_assert((int)CLUSTER_SECRET_BYTES == (int)STORE_SECRET_BYTES, "it is one");
    for (int64_t ms = 0; code == 0; ms += LOOK_MS) {
        code = store_open_beside(&c->opt.store, &store, err);
        if (code != ERR_IO || ms > FIRST_MS)
            break;
        code = 0;
        clock_sleep_ms(LOOK_MS);
    }
    if (code == 0)
        code = store_secret(store, STR("cluster"), str_make((const char *)fresh, sizeof(fresh)),
                            c->secret, err);
    store_close(store);
    return code;
}

static int try_store(struct cluster *c, struct error *err)
{
    struct store_options options = c->opt.store;

    options.gateway = c->id;
    int code = store_open(&options, &c->store, err);
    return code == ERR_BUSY ? 0 : code;
}

int cluster_new(const struct cluster_options *options, struct cluster **ret, struct error *err)
{
    struct cluster *c = calloc(1, sizeof(*c));
    char id[KEY_UUID_CHARS];

    if (c == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    c->opt = *options;
    atomic_init(&c->waits, true);
    (void)pthread_mutex_init(&c->lock, NULL); /* cannot fail on Linux */
    (void)pthread_mutex_init(&c->opening, NULL);
    clock_cond_init(&c->news);
    buf_init(&c->hints, 2 * MAX_HINT_BYTES);
    int code = random_uuid(id) ? 0 : error_set(err, ERR_IO, "there are no random numbers");
    (void)snprintf(c->id, sizeof(c->id), "%.*s", KEY_UUID_CHARS, id);
    memcpy(c->state.id, c->id, sizeof(c->id));
    if (code == 0)
        code = try_store(c, err);
    if (code == 0)
        code = find_secret(c, err);
    if (code != 0) {
        cluster_free(c);
        return code;
    }
    *ret = c;
    return 0;
}

static int start_threads(struct cluster *c, struct error *err)
{
    c->has_member = pthread_create(&c->member, NULL, be_member, c) == 0;
    if (c->has_member)
        (void)pthread_setname_np(c->member, "member"); /* only for people */
    c->has_standby = c->has_member && pthread_create(&c->standby, NULL, stand_by, c) == 0;
    if (c->has_standby)
        (void)pthread_setname_np(c->standby, "standby");
    return c->has_standby ? 0 : error_set(err, ERR_NOMEM, "cannot start the cluster's threads");
}

int cluster_prepare(struct cluster *c, struct journal *journal, struct error *err)
{
    struct link_options options = { .journal = journal, .hold_ms = HOLD_MS };

    c->journal = journal;
    memcpy(options.secret, c->secret, sizeof(options.secret));
    memcpy(options.gateway, c->id, sizeof(options.gateway));
    return link_new(&options, &c->link, err);
}

int cluster_start(struct cluster *c,
                  struct hub_shared *hub,
                  struct notifier *notifier,
                  const char *url,
                  struct error *err)
{
    struct gateway_row self = { .id = str_of(c->id),
                                .url = str_of(url),
                                .version = str_of(c->opt.version),
                                .started = c->opt.started };

    c->hub = hub;
    c->notifier = notifier;
    c->url = strdup(url);
    if (c->url == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    int code = gateways_open(&c->opt.store, &self, &c->gateways, err);
    if (code == 0)
        beat(c);
    if (code == 0 && c->store != NULL) {
        code = open_journal(c, err);
        if (code == 0)
            set_writer(c, true);
    }
    return code == 0 ? start_threads(c, err) : code;
}

bool cluster_is_first(const struct cluster *c)
{
    return c->store != NULL;
}

void cluster_forward(void *cluster, struct journal_request *chain)
{
    struct cluster *c = cluster;

    if (chain->op == JOURNAL_SETTINGS && chain->next == NULL) { /* this gateway's own */
        (void)pthread_mutex_lock(&c->opening);
        bool is_open = journal_is_open(c->journal);
        if (!is_open)
            journal_apply_settings(c->journal, chain);
        (void)pthread_mutex_unlock(&c->opening);
        if (is_open)
            journal_post(c->journal, chain);
        else
            loop_call_answer(&chain->loop_call);
        return;
    }
    link_post(c->link, chain);
}

void cluster_leave(struct cluster *c)
{
    (void)pthread_mutex_lock(&c->lock);
    c->is_leaving = atomic_load(&c->n_others) > 0;
    if (c->is_leaving)
        atomic_store(&c->waits, false);
    (void)pthread_mutex_unlock(&c->lock);
    (void)pthread_cond_broadcast(&c->news);
}

void cluster_stop(struct cluster *c)
{
    (void)pthread_mutex_lock(&c->lock);
    c->is_stopping = true;
    (void)pthread_mutex_unlock(&c->lock);
    atomic_store(&c->waits, false);
    (void)pthread_cond_broadcast(&c->news);
    if (c->has_standby)
        (void)pthread_join(c->standby, NULL);
    wake_member(c);
    if (c->has_member)
        (void)pthread_join(c->member, NULL);
    c->has_standby = c->has_member = false;
    gateways_close(c->gateways);
    c->gateways = NULL;
}

void cluster_close(struct cluster *c)
{
    link_free(c->link);
    c->link = NULL;
}

void cluster_free(struct cluster *c)
{
    if (c == NULL)
        return;
    cluster_close(c);
    store_close(c->store);
    buf_done(&c->hints);
    (void)pthread_cond_destroy(&c->news);
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_mutex_destroy(&c->opening);
    free(c->url);
    free(c);
}

void cluster_serve(struct cluster *c, struct http_request *req, struct mailbox *box)
{
    served_begin(req, c->secret, c->journal, box);
}

void cluster_look(struct cluster *c, struct cluster_state *ret)
{
    (void)pthread_mutex_lock(&c->lock);
    *ret = c->state;
    ret->is_writer = c->is_writer;
    (void)pthread_mutex_unlock(&c->lock);
    ret->is_reachable = ret->is_writer || link_is_up(c->link);
    ret->beat_ms = clock_monotonic_ms() - atomic_load(&c->beat_at);
}

static void put_gateway(struct buf *b, const struct cluster_peer *p, bool is_writer)
{
    json_begin(b);
    json_add_str(b, "id", str_of(p->id));
    json_add_str(b, "url", str_of(p->url));
    json_add_str(b, "version", str_of(p->version));
    json_add_time(b, "started_at", p->started);
    json_add_bool(b, "writes", is_writer);
    json_end(b);
}

void cluster_put_gateways(struct cluster *c, struct buf *b)
{
    struct cluster_peer self = { .started = c->opt.started };
    struct cluster_state state;

    cluster_look(c, &state);
    memcpy(self.id, c->id, sizeof(c->id));
    (void)snprintf(self.version, sizeof(self.version), "%s", c->opt.version);
    json_begin(b);
    json_add_str(b, "id", str_of(c->id));
    json_add_text(b, "writer", state.writer[0] != '\0' ? str_of(state.writer) : STR_NONE);
    json_add_bool(b, "reachable", state.is_reachable);
    json_add_array(b, "gateways");
    (void)pthread_mutex_lock(&c->lock);
    (void)snprintf(self.url, sizeof(self.url), "%s", c->url != NULL ? c->url : "");
    put_gateway(json_next(b), &self, c->is_writer);
    for (size_t i = 0; i + 1 < c->state.n_gateways; i++)
        put_gateway(json_next(b), &c->shown[i], !c->is_writer && c->shown[i].is_writer);
    (void)pthread_mutex_unlock(&c->lock);
    json_end_array(b);
    json_end(b);
}
