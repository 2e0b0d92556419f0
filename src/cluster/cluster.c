/* Puts the parts together: the link and the standby before anything is posted, the member when
 * everything else runs.  Stopping goes the other way round. */
#include "cluster/cluster.h"

#include "auth/secret.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "cluster/link.h"
#include "cluster/member.h"
#include "cluster/standby.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    HOLD_MS = 10000,  /* how long requests wait for a writer */
    FIRST_MS = 30000, /* for the first gateway to make the tables */
    LOOK_MS = 100     /* whether it has */
};

struct cluster {
    struct cluster_options opt;
    char *url; /* owned; of this gateway */
    char id[GATEWAY_ID_BYTES];
    unsigned char secret[CLUSTER_SECRET_BYTES];
    struct journal *journal; /* borrowed */
    struct hub_shared *hub;  /* borrowed */
    struct journal_link *link;
    struct standby *standby;
    struct newest *newest;                   /* connections of others */
    _Atomic(struct cluster_member *) member; /* NULL: before cluster_start() */
};

/* --- the standby's events ----------------------------------------------------------------- */

static void on_moved(void *arg, bool is_writer)
{
    struct cluster *c = arg;

    member_set_writer(c->member, is_writer);
}

static void on_done(void *arg, bool is_writer, struct str why)
{
    struct cluster *c = arg;
    const struct cluster_events *e = &c->opt.events;

    if (!is_writer)
        hub_shared_missed(c->hub);
    e->moved(e->arg, is_writer, why);
    if (is_writer)
        e->queued(e->arg, STR_NONE);
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
    int64_t shards = 0;
    if (code == 0)
        code = store_shards(store, &shards, err);
    if (code == 0 && shards > 1)
        code = error_set(err, ERR_REFUSED,
                         "the database has %lld shards, and this version serves one: make one "
                         "without --shards",
                         (long long)shards);
    if (code == 0)
        code = store_secret(store, STR("cluster"), str_make((const char *)fresh, sizeof(fresh)),
                            c->secret, err);
    store_close(store);
    return code;
}

static int make_standby(struct cluster *c, struct error *err)
{
    struct standby_options options = { .store = c->opt.store,
                                       .dead = c->opt.dead,
                                       .n_dead = c->opt.n_dead,
                                       .moved = on_moved,
                                       .done = on_done,
                                       .arg = c };

    options.store.gateway = c->id;
    return standby_new(&options, &c->standby, err);
}

int cluster_new(const struct cluster_options *options, struct cluster **ret, struct error *err)
{
    struct cluster *c = calloc(1, sizeof(*c));
    char id[KEY_UUID_CHARS];

    if (c == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    c->opt = *options;
    int code = random_uuid(id) ? 0 : error_set(err, ERR_IO, "there are no random numbers");
    (void)snprintf(c->id, sizeof(c->id), "%.*s", KEY_UUID_CHARS, id);
    if (code == 0 && newest_new(&c->newest) != 0)
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        code = make_standby(c, err);
    if (code == 0)
        code = find_secret(c, err);
    if (code != 0) {
        cluster_free(c);
        return code;
    }
    *ret = c;
    return 0;
}

int cluster_prepare(struct cluster *c, struct journal *journal, struct error *err)
{
    struct link_options options = { .journal = journal, .hold_ms = HOLD_MS };

    c->journal = journal;
    standby_set_journal(c->standby, journal);
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
    c->hub = hub;
    c->url = strdup(url);
    if (c->url == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    struct member_options options = { .cluster = &c->opt,
                                      .id = c->id,
                                      .url = c->url,
                                      .journal = c->journal,
                                      .link = c->link,
                                      .hub = hub,
                                      .notifier = notifier };
    struct cluster_member *member;
    int code = member_new(&options, &member, err);
    if (code != 0)
        return code;
    c->member = member;
    code = standby_start(c->standby, err);
    return code == 0 ? member_start(member, err) : code;
}

void cluster_leave(struct cluster *c)
{
    if (member_others(c->member) > 0)
        standby_leave(c->standby);
}

void cluster_stop(struct cluster *c)
{
    standby_stop(c->standby);
    if (c->member != NULL)
        member_stop(c->member);
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
    member_free(c->member);
    standby_free(c->standby);
    newest_free(c->newest);
    free(c->url);
    free(c);
}

/* --- for others --------------------------------------------------------------------------- */

void cluster_forward(void *cluster, struct journal_request *chain)
{
    struct cluster *c = cluster;

    if (chain->op == JOURNAL_SETTINGS && chain->next == NULL)
        standby_apply_settings(c->standby, chain);
    else
        link_post(c->link, chain);
}

void cluster_published(struct cluster *c, const struct publication *pubs, size_t n)
{
    member_published(c->member, pubs, n);
}

void cluster_queued(struct cluster *c, struct str agent)
{
    member_queued(c->member, agent);
}

void cluster_serve(struct cluster *c, struct http_request *req, struct mailbox *box)
{
    served_begin(req, c->secret, c->newest, c->journal, box);
}

void cluster_look(struct cluster *c, struct cluster_state *ret)
{
    *ret = (struct cluster_state){ .n_gateways = 1 };
    memcpy(ret->id, c->id, sizeof(c->id));
    if (c->member != NULL)
        member_look(c->member, ret);
    ret->is_reachable = ret->is_writer || (c->link != NULL && link_is_up(c->link));
    if (c->link == NULL)
        return;
    const struct link_counts *counts = link_counts(c->link);
    ret->forwarded = counts->forwarded;
    ret->refused = counts->refused;
    ret->waiting = counts->waiting;
    ret->connected = counts->connected;
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
