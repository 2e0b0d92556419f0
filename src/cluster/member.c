#define _GNU_SOURCE /* pthread_setname_np */
#include "cluster/member.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "cluster/hints.h"
#include "cluster/peers.h"
#include "journal/counts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BEAT_MS = 1000,
    TELL_MS = 2000,     /* between two lists for the journal, while jobs run */
    MIGRATE_MS = 60000, /* between two tries */
};

struct cluster_member {
    struct member_options opt;
    struct hints *hints;
    struct gateways *gateways;
    pthread_t thread;
    bool has_thread;
    atomic_bool looks; /* beat now */
    atomic_bool is_stopping;
    atomic_uint n_others;
    atomic_llong beat_at;
    /* Which list of gateways the journal of a shard knows; 0: none. */
    _Atomic uint64_t n_told[STORE_MAX_SHARDS];
    pthread_mutex_t lock;
    /* Under lock: */
    uint64_t written;                     /* shards that this gateway writes, as bits */
    char writer[PEER_URL_BYTES];          /* of the first shard */
    struct cluster_peer shown[MAX_PEERS]; /* a copy of `peers` for other threads */
    size_t n_shown;
    struct cluster_schema schema;
    /* The thread's: */
    struct peers peers;
    int64_t next_beat;
    int64_t next_migration;
    bool has_moved;                    /* another gateway writes a shard now */
    int64_t told_at[STORE_MAX_SHARDS]; /* when the journal was last told who lives */
    struct hint_listener listener;
};

/* --- which gateways live: for the leases of their processes ------------------------------- */

struct gateways_call {
    struct journal_request req;
    struct cluster_member *member;
    int64_t shard;
    struct str list[MAX_PEERS + 1];
    char ids[MAX_PEERS + 1][GATEWAY_ID_BYTES];
};

/* On the journal's thread. */
static void on_gateways_done(struct loop_call *answered)
{
    struct gateways_call *call = answered->owner;

    if (call->req.code != 0)
        atomic_store(&call->member->n_told[call->shard], 0); /* with the next beat */
    journal_request_done(&call->req);
    free(call);
}

/* Differs when the list of living gateways does. */
static uint64_t living(const struct peers *p, int64_t now)
{
    uint64_t sum = 1;

    for (size_t i = 0; i < p->n; i++)
        if (!peer_is_gone(&p->list[i], now))
            sum = sum * 31 + (uint64_t)p->list[i].number;
    return sum;
}

static void tell_journal(struct cluster_member *m, int64_t shard, int64_t now)
{
    struct journal *journal = m->opt.journals[shard];
    uint64_t told = living(&m->peers, now);
    size_t n = 0;

    bool is_due = now - m->told_at[shard] >= TELL_MS &&
                  counter_get(&journal_counts(journal)->running) > 0;
    if (!journal_is_open(journal) || (told == atomic_load(&m->n_told[shard]) && !is_due))
        return;
    struct gateways_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return; /* with the next beat */
    atomic_store(&m->n_told[shard], told);
    m->told_at[shard] = now;
    (void)snprintf(call->ids[n++], GATEWAY_ID_BYTES, "%s", m->opt.id);
    for (size_t i = 0; i < m->peers.n; i++)
        if (!peer_is_gone(&m->peers.list[i], now))
            memcpy(call->ids[n++], m->peers.list[i].id, GATEWAY_ID_BYTES);
    for (size_t i = 0; i < n; i++)
        call->list[i] = str_of(call->ids[i]);
    journal_request_init(&call->req, NULL, call, on_gateways_done);
    (void)journal_request_begin(&call->req, JOURNAL_GATEWAYS);
    call->member = m;
    call->shard = shard;
    call->req.is_forwarded = true; /* if another gateway writes, it finds out by itself */
    call->req.gateways.ids = call->list;
    call->req.gateways.n = n;
    journal_post_here(journal, &call->req);
}

/* --- beats -------------------------------------------------------------------------------- */

static void end_stale(struct cluster_member *m, int64_t now)
{
    for (size_t i = 0; i < m->peers.n; i++) {
        const struct cluster_peer *p = &m->peers.list[i];

        if (p->shards != 0 && peer_is_stale(p, now))
            (void)gateways_end(m->gateways, str_of(p->id), NULL); /* or with the next beat */
    }
}

/* Where the writer of a shard is; under lock. */
static void tell_link(struct cluster_member *m, int64_t shard)
{
    const struct cluster_peer *writer = peers_writer(&m->peers, shard);
    const char *url = writer != NULL ? writer->url : "";

    if (m->written >> shard & 1)
        return;
    if (shard == 0)
        (void)snprintf(m->writer, sizeof(m->writer), "%s", url);
    link_set_writer(m->opt.links[shard], url);
}

static void tell_links(struct cluster_member *m)
{
    const struct wakeup lost = { .kind = WAKEUP_LOST };

    (void)pthread_mutex_lock(&m->lock);
    m->n_shown = m->peers.n;
    memcpy(m->shown, m->peers.list, m->n_shown * sizeof(m->shown[0]));
    for (int64_t i = 0; i < m->opt.n_shards; i++)
        tell_link(m, i);
    (void)pthread_mutex_unlock(&m->lock);
    if (atomic_exchange(&m->n_others, (unsigned)m->peers.n) == 0 && m->peers.n > 0)
        hints_add(m->hints, &lost); /* nobody was told of changes until now */
}

/* At most one shard with each beat. */
static void look_at_shares(struct cluster_member *m)
{
    (void)pthread_mutex_lock(&m->lock);
    uint64_t written = m->written;
    (void)pthread_mutex_unlock(&m->lock);
    if (m->opt.has_more != NULL && peers_want(&m->peers, m->opt.id, written, m->peers.beaten))
        m->opt.has_more(m->opt.arg, written);
}

/* --- upgrades ----------------------------------------------------------------------------- */

/* A row that nobody removes must not hold up a migration for ever. */
static void forget_dead(struct cluster_member *m, int64_t newest)
{
    for (size_t i = 0; i < m->peers.n; i++) {
        const struct cluster_peer *p = &m->peers.list[i];
        struct gateway_row row = { .id = str_of(p->id), .beat = p->beat };

        if (p->newest_schema < newest && peer_is_dead(p, m->peers.beaten))
            (void)gateways_forget(m->gateways, &row, NULL); /* or with the next beat */
    }
}

/* Has what is known of the schema changed?  *@ret is what is known now. */
static bool note_schema(struct cluster_member *m, struct cluster_schema *ret, bool *is_writer)
{
    struct gateways_schema schema;

    gateways_schema(m->gateways, &schema);
    const struct cluster_peer *older =
        schema.version < schema.newest ? peers_older(&m->peers, schema.newest) : NULL;
    *ret = (struct cluster_schema){ .version = schema.version, .newest = schema.newest };
    if (older != NULL)
        (void)snprintf(ret->waits_for, sizeof(ret->waits_for), "%s", older->url);
    (void)pthread_mutex_lock(&m->lock);
    bool is_first = m->schema.newest == 0;
    bool is_new =
        m->schema.version != ret->version || strcmp(m->schema.waits_for, ret->waits_for) != 0;
    m->schema = *ret;
    *is_writer = m->written & 1;
    (void)pthread_mutex_unlock(&m->lock);
    return is_new && (!is_first || ret->version < ret->newest);
}

static void look_at_schema(struct cluster_member *m)
{
    const struct cluster_events *e = &m->opt.cluster->events;
    struct cluster_schema now;
    bool is_writer;

    if (note_schema(m, &now, &is_writer) && e->schema != NULL)
        e->schema(e->arg, &now);
    if (now.version >= now.newest)
        return;
    forget_dead(m, now.newest);
    if (m->opt.may_migrate == NULL || !is_writer || now.waits_for[0] != '\0' ||
        m->peers.beaten < m->next_migration)
        return;
    m->next_migration = m->peers.beaten + MIGRATE_MS;
    m->opt.may_migrate(m->opt.arg);
}

static void beat(struct cluster_member *m)
{
    struct error err;

    m->has_moved = false;
    if (peers_beat(&m->peers, m->gateways, &err) != 0)
        return;
    atomic_store(&m->beat_at, m->peers.beaten);
    end_stale(m, m->peers.beaten);
    tell_links(m);
    for (int64_t i = 0; i < m->opt.n_shards; i++)
        tell_journal(m, i, m->peers.beaten);
    if (m->opt.n_shards > 1)
        look_at_shares(m);
    look_at_schema(m);
}

static uint64_t all_shards(const struct cluster_member *m)
{
    return UINT64_MAX >> (STORE_MAX_SHARDS - m->opt.n_shards);
}

static bool writes_all(struct cluster_member *m)
{
    (void)pthread_mutex_lock(&m->lock);
    bool does = m->written == all_shards(m);
    (void)pthread_mutex_unlock(&m->lock);
    return does;
}

/* What the former writer has sent over its link may no longer be true. */
static void on_moved(void *arg, int64_t shard)
{
    struct cluster_member *m = arg;

    (void)pthread_mutex_lock(&m->lock);
    if (shard < m->opt.n_shards && (m->written >> shard & 1) == 0)
        link_doubt(m->opt.links[shard]);
    (void)pthread_mutex_unlock(&m->lock);
    m->has_moved = true;
}

static void on_hint(void *arg, struct str text)
{
    const struct wakeup lost = { .kind = WAKEUP_LOST };
    struct cluster_member *m = arg;

    if (str_absent(text))
        hints_hear(&m->listener, &lost, NULL);
    else
        hints_take(&m->listener, text);
}

void member_step(struct cluster_member *m)
{
    int64_t now = clock_monotonic_ms();

    if (now >= m->next_beat || m->has_moved || atomic_exchange(&m->looks, false)) {
        beat(m);
        m->next_beat = now + BEAT_MS;
        if (!writes_all(m))
            m->listener.queued(m->listener.arg, STR_NONE); /* a hint may be lost */
    }
    hints_send(m->hints, m->gateways);
    gateways_wait(m->gateways, m->next_beat - clock_monotonic_ms(), on_hint, m);
}

static void *be_member(void *arg)
{
    struct cluster_member *m = arg;

    while (!atomic_load(&m->is_stopping))
        member_step(m);
    hints_send(m->hints, m->gateways);
    return NULL;
}

/* --- life --------------------------------------------------------------------------------- */

int member_new(const struct member_options *options,
               struct cluster_member **ret,
               struct error *err)
{
    const struct cluster_options *c = options->cluster;
    struct gateway_row self = { .id = str_of(options->id),
                                .url = str_of(options->url),
                                .version = str_of(c->version),
                                .started = c->started };
    struct cluster_member *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    m->opt = *options;
    m->listener = (struct hint_listener){ .hub = options->hub,
                                          .notifier = options->notifier,
                                          .queued = c->events.queued,
                                          .stopped = c->events.stopped,
                                          .arg = c->events.arg,
                                          .moved = on_moved,
                                          .moved_arg = m };
    (void)pthread_mutex_init(&m->lock, NULL); /* cannot fail on Linux */
    int code = hints_new(&m->hints);
    if (code != 0)
        (void)error_set(err, code, "out of memory");
    if (code == 0)
        code = gateways_open(&c->store, &self, &m->gateways, err);
    if (code != 0) {
        member_free(m);
        return code;
    }
    hints_send_with(m->hints, m->gateways);
    beat(m);
    *ret = m;
    return 0;
}

int member_start(struct cluster_member *m, struct error *err)
{
    m->has_thread = pthread_create(&m->thread, NULL, be_member, m) == 0;
    if (!m->has_thread)
        return error_set(err, ERR_NOMEM, "cannot start the member's thread");
    (void)pthread_setname_np(m->thread, "member"); /* only for people */
    return 0;
}

void member_stop(struct cluster_member *m)
{
    atomic_store(&m->is_stopping, true);
    if (m->gateways != NULL)
        gateways_wake(m->gateways);
    if (m->has_thread)
        (void)pthread_join(m->thread, NULL);
    m->has_thread = false;
    hints_send_with(m->hints, NULL);
    gateways_close(m->gateways);
    m->gateways = NULL;
}

void member_free(struct cluster_member *m)
{
    if (m == NULL)
        return;
    gateways_close(m->gateways);
    hints_free(m->hints);
    (void)pthread_mutex_destroy(&m->lock);
    free(m);
}

/* --- from other threads ------------------------------------------------------------------- */

void member_set_writer(struct cluster_member *m, int64_t shard, bool is_writer)
{
    const struct wakeup moved = { .kind = WAKEUP_WRITER, .shard = shard };
    uint64_t bit = UINT64_C(1) << shard;

    (void)pthread_mutex_lock(&m->lock);
    m->written = is_writer ? m->written | bit : m->written & ~bit;
    if (shard == 0)
        (void)snprintf(m->writer, sizeof(m->writer), "%s", is_writer ? m->opt.url : "");
    link_set_writer(m->opt.links[shard], is_writer ? NULL : "");
    atomic_store(&m->opt.notifier->is_complete, m->written == all_shards(m));
    (void)pthread_mutex_unlock(&m->lock);
    hub_shared_missed(m->opt.hub); /* the last hints of the writer before may be lost */
    atomic_store(&m->n_told[shard], 0);
    atomic_store(&m->looks, true);
    if (is_writer)
        hints_add(m->hints, &moved);
}

unsigned member_others(struct cluster_member *m)
{
    return atomic_load_explicit(&m->n_others, memory_order_relaxed);
}

void member_published(struct cluster_member *m,
                      const struct publication *pubs,
                      size_t n,
                      size_t n_followers)
{
    bool all_follow = n_followers >= member_others(m);

    for (size_t i = 0; i < n && member_others(m) > 0; i++)
        if (!all_follow || !hints_is_plain(&pubs[i]))
            hints_add_publication(m->hints, &pubs[i]);
}

void member_heard(struct cluster_member *m, const struct record_push *push)
{
    hints_hear(&m->listener, &push->wakeup, &push->live);
}

void member_queued(struct cluster_member *m, struct str agent)
{
    const struct wakeup w = { .kind = WAKEUP_AGENT, .change = { .agent = agent } };

    if (member_others(m) > 0)
        hints_add(m->hints, &w);
}

void member_look(struct cluster_member *m, struct cluster_state *ret)
{
    (void)pthread_mutex_lock(&m->lock);
    ret->is_writer = m->written & 1;
    ret->written = m->written;
    ret->n_gateways = (unsigned)m->n_shown + 1;
    memcpy(ret->writer, m->writer, sizeof(ret->writer));
    ret->schema = m->schema;
    (void)pthread_mutex_unlock(&m->lock);
    ret->hints = m->listener.n_heard;
    ret->pushed = m->listener.n_pushed;
    ret->hint_ms = m->listener.lag_ms;
    ret->beat_ms = clock_monotonic_ms() - atomic_load(&m->beat_at);
}

static void put_gateway(struct buf *b, const struct cluster_peer *p, uint64_t shards)
{
    json_begin(b);
    json_add_str(b, "id", str_of(p->id));
    json_add_str(b, "url", str_of(p->url));
    json_add_str(b, "version", str_of(p->version));
    json_add_time(b, "started_at", p->started);
    json_add_bool(b, "writes", shards != 0);
    json_add_array(b, "shards");
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++)
        if (shards >> i & 1)
            buf_i64(json_next(b), i);
    json_end_array(b);
    json_end(b);
}

void member_put_gateways(struct cluster_member *m, struct buf *b)
{
    struct cluster_peer self = { .started = m->opt.cluster->started };

    (void)snprintf(self.id, sizeof(self.id), "%s", m->opt.id);
    (void)snprintf(self.url, sizeof(self.url), "%s", m->opt.url);
    (void)snprintf(self.version, sizeof(self.version), "%s", m->opt.cluster->version);
    (void)pthread_mutex_lock(&m->lock);
    put_gateway(json_next(b), &self, m->written);
    for (size_t i = 0; i < m->n_shown; i++)
        put_gateway(json_next(b), &m->shown[i], m->shown[i].shards & ~m->written);
    (void)pthread_mutex_unlock(&m->lock);
}
