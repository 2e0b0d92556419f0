/* Puts the parts together: the link and the standby before anything is posted, the member when
 * everything else runs.  Stopping goes the other way round. */
#include "cluster/cluster.h"

#include "auth/secret.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "cluster/codec.h"
#include "cluster/link.h"
#include "cluster/member.h"
#include "cluster/shard_router.h"
#include "cluster/standby.h"
#include "journal/counts.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    HOLD_MS = 10000,  /* how long requests wait for a writer */
    FIRST_MS = 30000, /* for the first gateway to make the tables */
    LOOK_MS = 100     /* whether it has */
};

/* A share of the jobs, which one gateway writes at a time. */
struct cluster_shard {
    struct cluster *cluster;
    int64_t number;
    struct journal *journal; /* owned */
    struct journal_link *link;
    struct watchers *watchers; /* while it is written here */
    struct standby *standby;
};

struct cluster {
    struct cluster_options opt;
    struct cluster_options told; /* the same for the member, with our events */
    char *url;                   /* owned; of this gateway */
    char id[GATEWAY_ID_BYTES];
    unsigned char secret[CLUSTER_SECRET_BYTES];
    struct hub_shared *hub; /* borrowed */
    int64_t n_shards;
    struct cluster_shard shards[STORE_MAX_SHARDS];
    struct journal *journals[STORE_MAX_SHARDS];   /* of the shards, for the member */
    struct journal_link *links[STORE_MAX_SHARDS]; /* the same */
    struct shard_router *router;                  /* NULL: there is one shard */
    struct newest *newest;                        /* connections of others */
    struct watches *watches;                      /* jobs that readers here wait for */
    _Atomic(struct cluster_member *) member;      /* NULL: before cluster_start() */
};

/* --- the standby's events ----------------------------------------------------------------- */

static void on_moved(void *arg, bool is_writer)
{
    const struct cluster_shard *s = arg;

    watchers_open(s->watchers, is_writer);
    member_set_writer(s->cluster->member, s->number, is_writer);
}

static void on_queued(void *arg, struct str agent)
{
    struct cluster *c = arg;

    if (c->router != NULL)
        shard_router_queued(c->router, agent);
    c->opt.events.queued(c->opt.events.arg, agent);
}

static void on_done(void *arg, bool is_writer, struct str why)
{
    const struct cluster_shard *s = arg;
    struct cluster *c = s->cluster;
    const struct cluster_events *e = &c->opt.events;

    if (!is_writer)
        hub_shared_missed(c->hub);
    e->moved(e->arg, c->n_shards > 1 ? s->number : -1, is_writer, why);
    if (is_writer)
        on_queued(c, STR_NONE);
}

static void on_unmigrated(void *arg, struct str why)
{
    const struct cluster_shard *s = arg;
    struct cluster_state state;

    cluster_look(s->cluster, &state);
    state.schema.why = why;
    s->cluster->opt.events.schema(s->cluster->opt.events.arg, &state.schema);
}

static void on_linked(void *arg, struct str url, struct str why)
{
    const struct cluster_shard *s = arg;
    const struct cluster_events *e = &s->cluster->opt.events;

    e->linked(e->arg, s->cluster->n_shards > 1 ? s->number : -1, url, why);
}

/* --- the member's events ------------------------------------------------------------------ */

static void on_stopped(void *arg, int64_t key, int64_t attempt, bool is_pause)
{
    struct cluster *c = arg;

    c->opt.events.stopped(c->opt.events.arg, key, attempt, is_pause);
}

/* Another gateway gets the last one. */
static void on_more(void *arg, uint64_t written)
{
    struct cluster *c = arg;

    standby_give(c->shards[STORE_MAX_SHARDS - 1 - __builtin_clzll(written)].standby);
}

/* Opening the store again brings it to the newest schema, here or on the gateway that has the
 * lock next. */
static void on_may_migrate(void *arg)
{
    struct cluster *c = arg;

    standby_reopen(c->shards[0].standby);
}

static void on_schema(void *arg, const struct cluster_schema *now)
{
    struct cluster *c = arg;

    c->opt.events.schema(c->opt.events.arg, now);
}

/* --- what the writers of other shards push ------------------------------------------------ */

void cluster_watch(void *arg, struct str job, bool on)
{
    struct cluster *c = arg;

    if (on)
        watches_add(c->watches, job);
    else
        watches_remove(c->watches, job);
}

static void on_heard(void *arg, const struct record_push *push)
{
    struct cluster *c = arg;

    member_heard(c->member, push);
}

static void on_watched(void *arg, struct str job)
{
    struct cluster *c = arg;

    hub_shared_look(c->hub, job);
}

/* --- life --------------------------------------------------------------------------------- */

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
        code = store_shards(store, &c->n_shards, err);
    if (code == 0 && (c->n_shards < 1 || c->n_shards > STORE_MAX_SHARDS))
        code = error_set(err, ERR_REFUSED, "the database has %lld shards: 1 to %d can be used",
                         (long long)c->n_shards, STORE_MAX_SHARDS);
    if (code == 0)
        code = store_secret(store, STR("cluster"), str_make((const char *)fresh, sizeof(fresh)),
                            c->secret, err);
    store_close(store);
    return code;
}

static int make_standby(struct cluster *c, int64_t shard, struct error *err)
{
    struct cluster_shard *s = &c->shards[shard];
    struct standby_options options = { .store = c->opt.store,
                                       .dead = c->opt.dead,
                                       .n_dead = c->opt.n_dead,
                                       .moved = on_moved,
                                       .done = on_done,
                                       .unmigrated = on_unmigrated,
                                       .arg = s };

    s->cluster = c;
    s->number = shard;
    options.store.gateway = c->id;
    options.store.shard = shard;
    if (watchers_new(&s->watchers) != 0)
        return error_set(err, ERR_NOMEM, "out of memory");
    return standby_new(&options, &s->standby, err);
}

int cluster_new(const struct cluster_options *options, struct cluster **ret, struct error *err)
{
    struct cluster *c = calloc(1, sizeof(*c));
    char id[KEY_UUID_CHARS];

    if (c == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    c->opt = c->told = *options;
    c->told.events.queued = on_queued;
    c->told.events.stopped = on_stopped;
    c->told.events.schema = on_schema;
    c->told.events.arg = c;
    int code = random_uuid(id) ? 0 : error_set(err, ERR_IO, "there are no random numbers");
    (void)snprintf(c->id, sizeof(c->id), "%.*s", KEY_UUID_CHARS, id);
    if (code == 0 && (newest_new(&c->newest) != 0 || watches_new(&c->watches) != 0))
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        code = make_standby(c, 0, err); /* the writer of the first shard makes the tables */
    if (code == 0)
        code = find_secret(c, err);
    for (int64_t i = 1; code == 0 && i < c->n_shards; i++)
        code = make_standby(c, i, err);
    if (code == 0 && c->n_shards > 1)
        code = shard_router_new(c->n_shards, str_of(c->id), &c->router, err);
    if (code != 0) {
        cluster_free(c);
        return code;
    }
    *ret = c;
    return 0;
}

int64_t cluster_shards(const struct cluster *c)
{
    return c->n_shards;
}

/* Takes what is posted to a journal that is closed. */
static void forward(void *arg, struct journal_request *chain)
{
    struct cluster_shard *s = arg;

    if (chain->op == JOURNAL_SETTINGS && chain->next == NULL)
        standby_apply_settings(s->standby, chain);
    else
        link_post(s->link, chain);
}

static int make_journal(struct cluster_shard *s,
                        const struct journal_options *options,
                        struct error *err)
{
    struct cluster *c = s->cluster;
    struct journal_options own = *options;
    struct link_options link = {
        .shard = s->number,
        .hold_ms = HOLD_MS,
        .follow = { .watches = c->watches, .heard = on_heard, .watched = on_watched, .arg = c },
        .tell = on_linked,
        .arg = s
    };

    own.shard = s->number;
    own.n_shards = c->n_shards;
    own.forward = forward;
    own.forward_arg = s;
    own.route = s->number == 0 && c->router != NULL ? shard_router_post : NULL;
    own.route_arg = c->router;
    own.put_answer = codec_put_answer;
    own.read_answer = codec_read_answer;
    int code = journal_new(&own, &s->journal, err);
    if (code != 0)
        return code;
    c->journals[s->number] = link.journal = s->journal;
    standby_set_journal(s->standby, s->journal);
    memcpy(link.secret, c->secret, sizeof(link.secret));
    memcpy(link.gateway, c->id, sizeof(link.gateway));
    code = link_new(&link, &s->link, err);
    c->links[s->number] = s->link;
    if (c->router != NULL)
        shard_router_set_journal(c->router, s->number, s->journal);
    return code;
}

int cluster_make_journals(struct cluster *c,
                          const struct journal_options *options,
                          struct journal **ret,
                          struct error *err)
{
    int code = 0;

    for (int64_t i = 0; code == 0 && i < c->n_shards; i++)
        code = make_journal(&c->shards[i], options, err);
    if (code == 0 && c->router != NULL)
        code = shard_router_start(c->router, err);
    *ret = c->journals[0];
    return code;
}

int cluster_start(struct cluster *c,
                  struct hub_shared *hub,
                  struct notifier *notifier,
                  const char *url,
                  struct error *err)
{
    c->hub = hub;
    c->url = strdup(url);
    if (c->url == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    struct member_options options = { .cluster = &c->told,
                                      .id = c->id,
                                      .url = c->url,
                                      .n_shards = c->n_shards,
                                      .journals = c->journals,
                                      .links = c->links,
                                      .hub = hub,
                                      .notifier = notifier,
                                      .has_more = on_more,
                                      .may_migrate = on_may_migrate,
                                      .arg = c };
    struct cluster_member *member;
    int code = member_new(&options, &member, err);
    if (code != 0)
        return code;
    c->member = member;
    for (int64_t i = 0; code == 0 && i < c->n_shards; i++)
        code = standby_start(c->shards[i].standby, err);
    return code == 0 ? member_start(member, err) : code;
}

void cluster_leave(struct cluster *c)
{
    for (int64_t i = 0; i < c->n_shards && member_others(c->member) > 0; i++)
        standby_leave(c->shards[i].standby);
}

void cluster_stop(struct cluster *c)
{
    for (int64_t i = 0; i < c->n_shards; i++)
        standby_stop(c->shards[i].standby);
    if (c->member != NULL)
        member_stop(c->member);
    for (int64_t i = 0; i < c->n_shards; i++)
        if (c->journals[i] != NULL)
            journal_stop(c->journals[i]);
}

void cluster_close(struct cluster *c)
{
    if (c->router != NULL)
        shard_router_stop(c->router);
    for (int64_t i = 0; i < c->n_shards; i++) {
        link_free(c->shards[i].link);
        c->shards[i].link = NULL;
    }
    for (int64_t i = 0; i < c->n_shards; i++) {
        journal_free(c->shards[i].journal);
        c->shards[i].journal = c->journals[i] = NULL;
    }
}

void cluster_free(struct cluster *c)
{
    if (c == NULL)
        return;
    cluster_close(c);
    shard_router_free(c->router);
    member_free(c->member);
    for (int64_t i = 0; i < STORE_MAX_SHARDS; i++) {
        standby_free(c->shards[i].standby);
        watchers_free(c->shards[i].watchers);
    }
    newest_free(c->newest);
    watches_free(c->watches);
    free(c->url);
    free(c);
}

/* --- for others --------------------------------------------------------------------------- */

void cluster_published(struct cluster *c, const struct publication *pubs, size_t n)
{
    struct watchers *watchers = c->shards[pubs[0].shard].watchers;

    if (member_others(c->member) > 0)
        member_published(c->member, pubs, n, watchers_push(watchers, pubs, n));
}

bool cluster_wanted(struct cluster *c, struct str job)
{
    bool is_wanted = false;

    for (int64_t i = 0; i < c->n_shards && !is_wanted; i++)
        is_wanted = watchers_want(c->shards[i].watchers, job);
    return is_wanted;
}

void cluster_queued(struct cluster *c, struct str agent)
{
    if (c->router != NULL)
        shard_router_queued(c->router, agent);
    member_queued(c->member, agent);
}

void cluster_serve(struct cluster *c, struct http_request *req, struct mailbox *box)
{
    struct str asked = http_query(req, "shard");
    int64_t shard = 0;

    if (asked.n > 0 && (!str_number(asked, &shard) || shard < 0 || shard >= c->n_shards))
        http_respond_error(req, 404, "the database has %lld shards", (long long)c->n_shards);
    else
        served_begin(req, c->secret, c->newest, c->journals[shard], c->shards[shard].watchers,
                     box);
}

void cluster_look(struct cluster *c, struct cluster_state *ret)
{
    *ret = (struct cluster_state){ .n_gateways = 1 };
    memcpy(ret->id, c->id, sizeof(c->id));
    if (c->member != NULL)
        member_look(c->member, ret);
    ret->n_shards = c->n_shards;
    ret->is_reachable = true;
    for (int64_t i = 0; i < c->n_shards; i++) {
        const struct link_counts *counts =
            c->links[i] != NULL ? link_counts(c->links[i]) : NULL;

        ret->is_reachable &=
            ret->written >> i & 1 || (c->links[i] != NULL && link_is_up(c->links[i]));
        if (counts == NULL)
            continue;
        ret->forwarded += counts->forwarded;
        ret->refused += counts->refused;
        ret->waiting += counts->waiting;
        ret->connected += counts->connected;
    }
}

void cluster_counts(const struct cluster *c, struct journal_counts *ret)
{
    journal_counts_init(ret);
    for (int64_t i = 0; i < c->n_shards; i++)
        if (c->journals[i] != NULL)
            journal_counts_add(ret, journal_counts(c->journals[i]));
}

void cluster_agent_count(const struct cluster *c, struct str agent, struct agent_count *ret)
{
    *ret = (struct agent_count){ 0 };
    for (int64_t i = 0; i < c->n_shards; i++)
        if (c->journals[i] != NULL)
            journal_agent_count(c->journals[i], agent, ret);
}

void cluster_put_gateways(struct cluster *c, struct buf *b)
{
    struct cluster_state state;

    cluster_look(c, &state);
    json_begin(b);
    json_add_str(b, "id", str_of(c->id));
    json_add_text(b, "writer", state.writer[0] != '\0' ? str_of(state.writer) : STR_NONE);
    json_add_bool(b, "reachable", state.is_reachable);
    json_add_array(b, "gateways");
    if (c->member != NULL)
        member_put_gateways(c->member, b);
    json_end_array(b);
    json_end(b);
}
