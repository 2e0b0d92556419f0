/* Who lives, who writes, and what goes wrong. */
#include "gateways.h"

#include "base/error.h"
#include "cluster/codec.h"
#include "cluster/watchers.h"
#include "journal/counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOLD_MS = 10000, RETURN_MS = 4000 }; /* cluster.c and standby.c have the same */

const unsigned char gateways_secret[CLUSTER_SECRET_BYTES] = { 7 };

static struct sim *running; /* one simulator a process: for functions that the linker wraps */

void gateways_put_id(char ret[GATEWAY_ID_BYTES], unsigned instance)
{
    (void)snprintf(ret, GATEWAY_ID_BYTES, "g%u", instance);
}

struct server *gateways_find(struct sim *s, unsigned instance)
{
    for (size_t i = 0; i < s->p.n_gateways; i++)
        if (s->servers[i].up && s->servers[i].instance == instance)
            return &s->servers[i];
    return NULL;
}

/* --- answers -------------------------------------------------------------------- */

/* Must it be done once, however often it is sent?  What is the same done twice is not. */
static bool happens_once(const struct journal_request *r)
{
    switch ((int)r->op) {
    case JOURNAL_SUBMIT:
        return str_absent(r->submit.idempotency_key);
    case JOURNAL_CANCEL:
    case JOURNAL_DELETE:
    case JOURNAL_ANSWER_QUESTION:
    case JOURNAL_PAUSE:
    case JOURNAL_RESUME:
    case JOURNAL_EXPIRE:
    case JOURNAL_FEED:
    case JOURNAL_FINISH:
    case JOURNAL_RETURN:
    case JOURNAL_LOSE:
        return true;
    default:
        return false;
    }
}

static unsigned bit_of(int code)
{
    return 1u << (unsigned)-code % 32;
}

static struct call *call_of(struct sim *s, struct str operation)
{
    for (struct call *c = s->calls; c != NULL; c = c->next)
        if (c->posted && !c->done && str_eq(c->req.operation, operation))
            return c;
    return NULL;
}

/* What is stored with an operation is what its caller is told, now and ever after.  True: it
 * was told before. */
static bool check_operation(struct sim *s, const struct journal_request *r)
{
    struct disk_operation o;
    bool is_stored = disk_operation(s->disk, r->operation, &o);

    if (!is_stored && happens_once(r) && r->code == 0)
        sim_fail(s, "operation %.*s was done, and is not stored", STR_ARG(r->operation));
    if (!is_stored)
        return false;
    struct buf answer LOCAL_BUF(SIZE_MAX / 4);
    codec_put_answer(&answer, r);
    /* Nobody hears what is late, nor that it was refused before its repeat was done. */
    bool is_heard = !s->server->is_late && (r->code == 0 || !o.is_new);
    if (!str_eq(buf_text(&answer), o.answer) && is_heard)
        sim_fail(s, "operation %.*s (%d) was done, and is answered %d \"%s\" the next time",
                 STR_ARG(r->operation), (int)r->op, r->code, r->why.text);
    return !o.is_new || r->is_repeat; /* both may have come in this turn */
}

/* A lease that is asked for again is the same one, while it is held. */
static void check_leased(struct sim *s, struct call *c, const struct journal_request *r)
{
    for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (t->job->row.key == c->leased && t->gone == 0 && t->state == JOB_RUNNING &&
            t->attempt == c->attempt && r->row->key != c->leased)
            sim_fail(s, "%.*s was leased, and %.*s when that was asked for again",
                     STR_ARG(t->job->row.id), STR_ARG(r->row->id));
    c->leased = r->row->key;
    c->attempt = r->row->attempt;
}

/* The gateway that writes answers a request that was forwarded to it, in its turn. */
static void check_served(struct sim *s, struct call *c, const struct journal_request *r)
{
    struct call seen;

    if (r->code != ERR_BUSY && r->code != ERR_TYPE && !s->server->turn_committed)
        sim_fail(s,
                 "operation %.*s is answered %d by a gateway that was not asked whether it "
                 "still owns the jobs",
                 STR_ARG(r->operation), r->code);
    bool is_repeated = r->code != ERR_BUSY && check_operation(s, r);
    if (c == NULL && r->op != JOURNAL_HEARTBEAT && r->op != JOURNAL_APPEND &&
        r->op != JOURNAL_LEASE)
        return; /* whoever asked is gone */
    if (c != NULL)
        c->codes |= bit_of(r->code);
    if (is_repeated || s->server->is_late)
        return;
    if (c != NULL && r->op == JOURNAL_LEASE && r->code == 0)
        check_leased(s, c, r);
    seen = c != NULL ? *c : (struct call){ .sim = s };
    seen.req = *r;
    if (r->op == JOURNAL_ANSWER_QUESTION)
        seen.reply = r->reply.replies[0];
    model_check_reply(&seen);
}

void __wrap_loop_call_answer(struct loop_call *call)
{
    const struct journal_request *req = journal_request_of(call);

    if (running != NULL && running->turning != NULL && req->is_forwarded &&
        req->code != ERR_MOVED && !str_absent(req->operation))
        check_served(running, call_of(running, req->operation), req);
    __real_loop_call_answer(call);
}

void gateways_check_own(struct call *c)
{
    const struct journal_request *r = &c->req;

    if (r->code != ERR_BUSY && r->code != ERR_TYPE && !c->sim->server->turn_committed)
        sim_fail(c->sim,
                 "a request is answered %d \"%s\" by a gateway that was not asked whether "
                 "it still owns the jobs",
                 r->code, r->why.text);
    if (str_absent(c->req.operation) && !c->sim->server->is_late)
        model_check_reply(c);
    else if (!str_absent(c->req.operation)) /* it went out, and came back */
        check_served(c->sim, c, &c->req);
}

void gateways_check_answer(struct call *c)
{
    if (c->req.code != ERR_BUSY && (c->codes & bit_of(c->req.code)) == 0)
        sim_fail(c->sim, "operation %.*s came back as %d \"%s\", which nobody has answered",
                 STR_ARG(c->req.operation), c->req.code, c->req.why.text);
}

/* The journal is told which gateways live. */
void __wrap_journal_gateways(struct journal *j, struct journal_request *req)
{
    struct sim *s = running;

    __real_journal_gateways(j, req);
    for (unsigned i = 0; i < s->n_servers; i++) {
        char id[GATEWAY_ID_BYTES];
        bool is_there = false;

        gateways_put_id(id, i);
        for (size_t k = 0; k < req->gateways.n; k++)
            is_there |= str_eq(req->gateways.ids[k], str_of(id));
        if (!is_there && s->lives[i].gone_since == 0)
            s->lives[i].gone_since = s->now;
        if (!is_there)
            s->lives[i].last_gone = s->now;
        else
            s->lives[i].gone_since = 0;
    }
}

/* --- starting -------------------------------------------------------------------- */

static void forward(void *arg, struct journal_request *chain)
{
    link_post(((struct server *)arg)->link, chain);
}

static void on_queued(void *arg, struct str agent)
{
    (void)arg;
    (void)agent;
}

static void on_stopped(void *arg, int64_t key, int64_t attempt, bool is_pause)
{
    (void)arg;
    (void)key;
    (void)attempt;
    (void)is_pause;
}

static const struct cluster_options cluster_options = { .version = "1",
                                                        .events = { .queued = on_queued,
                                                                    .stopped = on_stopped } };

void gateway_start(struct sim *s, struct server *g)
{
    struct link_options link = { .hold_ms = HOLD_MS };
    struct error err;

    g->instance = s->n_servers++;
    gateways_put_id(g->id, g->instance);
    (void)snprintf(g->url, sizeof(g->url), "http://gateway:%u", g->instance);
    sim_note(s, "gateway %u starts", g->instance);
    s->server = g;
    server_start_parts(s, forward);
    if (mailbox_new(NULL, &g->served) != 0 || newest_new(&g->newest) != 0)
        abort();
    link.journal = g->journal;
    pushes_start(s, g, &link.follow);
    memcpy(link.secret, gateways_secret, sizeof(link.secret));
    memcpy(link.gateway, g->id, sizeof(link.gateway));
    if (link_new(&link, &g->link, &err) != 0)
        abort();
    g->link_loop = fake_loop_last();
    struct member_options member = { .cluster = &cluster_options,
                                     .id = g->id,
                                     .url = g->url,
                                     .n_shards = 1,
                                     .journals = &g->journal,
                                     .links = &g->link,
                                     .hub = g->shared,
                                     .notifier = &g->notifier };
    while (member_new(&member, &g->member, &err) != 0)
        ;
    g->gateways = members_last();
    g->beat_at = s->now;
}

/* --- the standby ----------------------------------------------------------------- */

static void step_up(struct sim *s, struct server *g)
{
    unsigned faults = disk_faults(s->disk);
    struct error err;

    s->server = g;
    network_read_rest(s, g); /* its loops do that in less time than a recovery takes */
    if (!s->draining && chance_of(&s->chance, s->p.read_fault_permille * 5))
        disk_fail(s->disk, true, chance_of(&s->chance, 500) ? DISK_OPEN_JOBS : DISK_NOTED, 1);
    g->store = disk_open_shared(s->disk);
    s->writer_since = s->model->n_commits;
    int code =
        journal_open(g->journal, g->store, (struct breadcrumb){ 0 }, s->dead, s->n_dead, &err);
    disk_heal(s->disk);
    if (code != 0) {
        if (disk_faults(s->disk) == faults)
            sim_fail(s, "gateway %u cannot recover: %s", g->instance, err.text);
        sim_note(s, "gateway %u cannot recover", g->instance);
        store_close(g->store);
        g->store = NULL;
        g->again_at = s->now + RETURN_MS;
        return;
    }
    sim_note(s, "gateway %u writes", g->instance);
    g->recovered_at = g->steady_since = s->now;
    g->good_since = -1;
    g->last_turn = 0;
    model_forget_numbers(s);
    watchers_open(g->watchers, true);
    member_set_writer(g->member, 0, true);
    pushes_trust_no_older(s, g);
}

static void step_down(struct sim *s, struct server *g)
{
    sim_note(s, "gateway %u no longer writes", g->instance);
    s->server = g;
    watchers_open(g->watchers, false);
    g->n_downs++;
    member_set_writer(g->member, 0, false);
    g->is_closing = true;
    server_begin_turns(s);
    journal_close(g->journal);
    server_end_turns(s);
    g->is_closing = false;
    store_close(g->store);
    g->store = NULL;
    hub_shared_missed(g->shared);
}

static void stand_by(struct sim *s, struct server *g)
{
    if (!journal_is_open(g->journal)) {
        if (!g->is_leaving && !disk_is_held(s->disk) && s->now >= g->again_at)
            step_up(s, g);
    } else if (counter_get(&journal_counts(g->journal)->lost) != 0 || g->is_leaving) {
        step_down(s, g);
    }
}

/* --- what each does --------------------------------------------------------------- */

static void beat(struct sim *s, struct server *g)
{
    int64_t before = s->lives[g->instance].beat;

    member_step(g->member);
    if (s->lives[g->instance].beat == before)
        return;
    if (s->now - g->beat_at > 1500)
        g->steady_since = s->now;
    g->beat_at = s->now;
}

static bool may(struct sim *s, unsigned permille)
{
    return s->draining || s->is_calm || chance_of(&s->chance, permille);
}

static void step(struct sim *s, struct server *g)
{
    if (!g->up || g->is_frozen)
        return;
    if (may(s, 700))
        (void)fake_loop_wake(g->link_loop);
    if (may(s, 500))
        fake_timer_tick(g->link_loop);
    while (may(s, 600) && fake_mailbox_waiting(g->served) > 0)
        fake_mailbox_deliver(g->served);
    if (may(s, 700))
        beat(s, g);
}

void gateways_move(struct sim *s)
{
    network_step(s);
    for (size_t i = 0; i < s->p.n_gateways; i++)
        step(s, &s->servers[i]);
}

bool gateways_are_quiet(const struct sim *s)
{
    for (size_t i = 0; i < s->p.n_gateways; i++)
        if (s->servers[i].up && !s->servers[i].is_frozen &&
            fake_mailbox_waiting(s->servers[i].served) > 0)
            return false;
    return network_is_quiet(s);
}

void gateways_turn(struct sim *s)
{
    size_t first = chance_below(&s->chance, s->p.n_gateways);

    for (size_t i = 0; i < s->p.n_gateways; i++) {
        struct server *g = &s->servers[(first + i) % s->p.n_gateways];

        if (!g->up || g->is_frozen || !journal_is_open(g->journal))
            continue;
        s->server = g;
        server_turn(s);
    }
}

/* --- what goes wrong -------------------------------------------------------------- */

static size_t count_up(const struct sim *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->p.n_gateways; i++)
        n += s->servers[i].up && !s->servers[i].is_leaving && !s->servers[i].is_frozen;
    return n;
}

static void stop(struct sim *s, struct server *g)
{
    s->server = g;
    g->is_closing = false;
    server_stop(s);
    g->again_at = s->now + chance_between(&s->chance, 0, 8000);
}

/* At once, in the middle of a turn (before its commit or after it). */
static void kill_gateway(struct sim *s, struct server *g)
{
    static const char *const ways[] = { "between turns", "before a commit", "after a commit" };
    size_t way = chance_below(&s->chance, 3);
    bool is_open = journal_is_open(g->journal) && !g->is_frozen;
    /* A machine that dies closes no connection. */
    bool is_ghost = g->store != NULL && chance_of(&s->chance, 300);

    sim_note(s, "gateway %u is killed %s%s", g->instance, is_open ? ways[way] : "",
             is_ghost ? ", and its session stays" : "");
    s->server = g;
    g->dying = true;
    if (way == 1 && is_open)
        disk_fail(s->disk, true, DISK_COMMIT, 1);
    if (way > 0 && is_open)
        server_turn(s);
    disk_heal(s->disk);
    struct store *store = g->store;
    members_kill(s, g->instance, is_ghost && disk_holds(s->disk, store) ? store : NULL);
    if (s->lives[g->instance].ghost != NULL)
        g->store = NULL;
    stop(s, g);
}

static void freeze(struct sim *s, struct server *g)
{
    g->frozen_until = s->now + chance_between(&s->chance, 100, 9000);
    g->is_frozen = true;
    sim_note(s, "gateway %u is frozen for %" PRId64 " ms", g->instance,
             g->frozen_until - s->now);
}

static struct server *some_gateway(struct sim *s)
{
    struct server *g = &s->servers[chance_below(&s->chance, s->p.n_gateways)];

    /* Mostly the one that writes. */
    for (size_t i = 0; i < s->p.n_gateways && chance_of(&s->chance, 600); i++)
        if (s->servers[i].up && s->servers[i].store != NULL)
            g = &s->servers[i];
    return g;
}

static void go_wrong(struct sim *s)
{
    struct server *g = some_gateway(s);

    if (!g->up || g->is_in_turn || s->n_servers == MAX_INSTANCES || count_up(s) < 2)
        return;
    size_t what = chance_below(&s->chance, 10);
    if (what < 4) {
        kill_gateway(s, g);
    } else if (what < 7) {
        freeze(s, g);
    } else if (what < 9) {
        sim_note(s, "gateway %u is sent away", g->instance);
        g->is_leaving = true;
        g->again_at = s->now + chance_between(&s->chance, 500, 4000);
    } else if (g->store != NULL) {
        sim_note(s, "the session of gateway %u is lost", g->instance);
        disk_end_session(s->disk, g->store);
    }
}

/* Those that were killed start again, those that were frozen wake up. */
static void recover(struct sim *s, struct server *g)
{
    if (!g->up && (s->draining || s->now >= g->again_at) && s->n_servers < MAX_INSTANCES) {
        *g = (struct server){ 0 };
        gateway_start(s, g);
    } else if (g->up && g->is_frozen && !g->is_in_turn &&
               (s->draining || s->now >= g->frozen_until)) {
        sim_note(s, "gateway %u wakes up", g->instance);
        g->is_frozen = false;
    } else if (g->up && g->is_leaving && !g->is_frozen && s->now >= g->again_at &&
               !journal_is_open(g->journal)) {
        sim_note(s, "gateway %u ends", g->instance);
        stop(s, g);
    }
}

void gateways_step(struct sim *s)
{
    size_t first = chance_below(&s->chance, s->p.n_gateways);

    for (size_t i = 0; i < s->p.n_gateways; i++)
        recover(s, &s->servers[i]);
    network_step(s);
    for (size_t i = 0; i < s->p.n_gateways; i++) {
        struct server *g = &s->servers[(first + i) % s->p.n_gateways];

        step(s, g);
        if (g->up && !g->is_frozen && may(s, 500))
            stand_by(s, g);
    }
    if (!s->draining && !s->nested && chance_of(&s->chance, s->p.crash_permille * 2))
        go_wrong(s);
}

/* --- frozen in the middle of a turn ------------------------------------------------- */

/* The others go on while it is between two steps of its commit. */
static void freeze_in_turn(struct sim *s, struct server *g, const char *when)
{
    struct server *turning = s->turning;

    freeze(s, g);
    sim_note(s, "  in its turn, %s", when);
    s->nested = true;
    g->is_in_turn = true;
    s->turning = NULL;
    while (s->now < g->frozen_until) {
        server_pass_time(s, chance_between(&s->chance, 0, 150));
        gateways_step(s);
        sim_clients_step(s);
        gateways_turn(s);
    }
    s->nested = false;
    g->is_in_turn = g->is_frozen = false;
    s->server = g;
    s->turning = turning;
    g->is_late = true;
    g->turn_begins = disk_begins(s->disk) - 1; /* others have begun some meanwhile */
    sim_note(s, "gateway %u goes on in its turn", g->instance);
}

static void on_moment(void *arg, struct store *store, enum disk_moment moment)
{
    struct sim *s = arg;
    struct server *g = s->server;

    if (moment == DISK_BEGUN && g->is_closing) {
        g->turn_committed = g->is_late = false;
        g->turn_begins = disk_begins(s->disk);
    }
    if (store != g->store || s->nested || s->draining || g->dying || g->is_closing ||
        moment == DISK_BEGUN || s->turning == NULL || count_up(s) < 2 ||
        disk_begins(s->disk) != g->turn_begins + 1 || /* only what was asked for */
        !chance_of(&s->chance, s->p.freeze_permille))
        return;
    freeze_in_turn(s, g, moment == DISK_STORED ? "after its commit" : "before its commit");
}

/* --- life ------------------------------------------------------------------------- */

void gateways_start(struct sim *s)
{
    running = s;
    network_init(s);
    members_init(s);
    disk_on_moment(s->disk, on_moment, s);
    for (size_t i = 0; i < s->p.n_gateways; i++)
        gateway_start(s, &s->servers[i]);
}

void gateways_stop(struct sim *s)
{
    for (size_t i = 0; i < s->p.n_gateways; i++)
        if (s->servers[i].up)
            stop(s, &s->servers[i]);
    while (s->sockets != NULL)
        network_step(s);
    members_done(s);
}

static bool is_written(const struct sim *s)
{
    for (size_t i = 0; i < s->p.n_gateways; i++)
        if (s->servers[i].up && s->servers[i].store != NULL &&
            disk_holds(s->disk, s->servers[i].store))
            return true;
    return false;
}

/* All that is under way arrives, and somebody writes. */
void gateways_settle(struct sim *s)
{
    for (unsigned n = 0; n < 40; n++)
        gateways_step(s);
    for (unsigned n = 0; n < 200 && !is_written(s); n++) {
        server_pass_time(s, 200);
        gateways_step(s);
    }
}
