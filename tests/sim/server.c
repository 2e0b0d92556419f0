#include "gateways.h"

#include "base/container_of.h"
#include "base/error.h"
#include "cluster/codec.h"
#include "cluster/watchers.h"
#include "journal/counts.h"
#include "journal/inbox.h"

#include <stdlib.h>
#include <string.h>

enum { AWAY_MS = 2000 }; /* journal/time.c has the same */

static void must(int err)
{
    if (err != 0)
        abort();
}

/* --- starting ------------------------------------------------------------------- */

static int64_t wall_of(void *arg)
{
    const struct sim *s = arg;

    return s->now + s->skew;
}

static int64_t steady_of(void *arg)
{
    return ((struct sim *)arg)->now;
}

/* It is told of once, and by how much. */
static void on_stepped(void *arg, int64_t ms, bool was_down)
{
    struct sim *s = arg;

    sim_note(s, "the journal follows a clock that was set by %lld ms while %s", (long long)ms,
             was_down ? "it was down" : "it ran");
    if (!was_down && sim_stored_now(s) != s->now + s->skew)
        sim_fail(s, "a step of %lld ms, and %lld are left", (long long)ms,
                 (long long)(s->now + s->skew - sim_stored_now(s)));
}

static bool on_wanted(void *arg, struct str job)
{
    const struct server *server = ((struct sim *)arg)->server;

    return hub_wanted(server->shared, job) ||
           (server->watchers != NULL && watchers_want(server->watchers, job));
}

static void on_published(void *arg, const struct publication *pubs, size_t n)
{
    struct sim *s = arg;

    if (!s->server->turn_committed)
        sim_fail(s, "news of something that was not committed");
    hub_published(s->server->shared, pubs, n);
    if (s->server->member != NULL) /* as cluster_published() */
        member_published(s->server->member, pubs, n,
                         watchers_push(s->server->watchers, pubs, n));
}

/* As from another process: nothing of the caller's is there when it is heard. */
static void send_bare(struct notifier *n,
                      const struct change *change,
                      const struct live_records *live)
{
    struct change copy = *change;
    struct str *texts[] = { &copy.job, &copy.agent, &copy.owner, &copy.question.id,
                            &copy.question.question };
    char wire[8000], *at = wire;

    (void)live;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i]->n > (size_t)(wire + sizeof(wire) - at))
            abort();
        if (texts[i]->n > 0)
            texts[i]->p = memcpy(at, texts[i]->p, texts[i]->n);
        at += texts[i]->n;
    }
    n->hear(n->arg, &copy, NULL);
    memset(wire, 0, sizeof(wire));
}

static void send_half(struct notifier *n,
                      const struct change *change,
                      const struct live_records *live)
{
    struct server *server = container_of(n, struct server, notifier);

    if (server->n_hints++ % 2 == 0)
        send_bare(n, change, live);
}

static void send_none(struct notifier *n,
                      const struct change *change,
                      const struct live_records *live)
{
    (void)n;
    (void)change;
    (void)live;
}

static const struct notifier_ops bare = { .subscribe = notifier_subscribe,
                                          .publish = send_bare };
static const struct notifier_ops half = { .may_lose = true,
                                          .subscribe = notifier_subscribe,
                                          .publish = send_half };
static const struct notifier_ops none = { .may_lose = true,
                                          .subscribe = notifier_subscribe,
                                          .publish = send_none };
static const struct notifier_ops *const notifiers[] = {
    [HINTS_WITH_RECORDS] = &notifier_in_process,
    [HINTS_BARE] = &bare,
    [HINTS_HALF] = &half,
    [HINTS_LOST] = &none,
};

static void on_queued(void *arg, struct str agent)
{
    struct sim *s = arg;

    if (s->server->member != NULL)
        member_queued(s->server->member, agent);
    for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (t->gone == 0 && t->state == JOB_QUEUED && str_eq(t->agent->name, agent))
            return;
    if (!s->server->is_late)
        sim_fail(s, "no job of %.*s is queued", STR_ARG(agent));
}

static void start_loop(struct sim *s, struct loop *loop)
{
    struct stream_options options = { .keep_alive_ms = 15000,
                                      .heartbeat_ms = 30000,
                                      .max_age_ms = chance_of(&s->chance, 200) ? 60000 : 0,
                                      .page_bytes = s->p.page_bytes };

    *loop = (struct loop){ .last_tick = s->now };
    traffic_init(&loop->traffic);
    must(mailbox_new(NULL, &loop->box));
    must(hub_new(s->server->shared, loop->box, &loop->hub));
    must(streams_new(&loop->http, loop->hub, s->server->pool, loop->box, &loop->traffic,
                     &options, &loop->streams));
}

static struct journal_options options_of(struct sim *s)
{
    return (struct journal_options){
        .store = s->server->store,
        .agents = s->agents,
        .n_agents = s->p.n_agents,
        .default_expiry_seconds = s->p.expiry_s,
        .history_ms = s->p.history_ms,
        .clock = wall_of,
        .steady = steady_of,
        .clock_arg = s,
        .events = { .wanted = on_wanted,
                    .published = on_published,
                    .queued = on_queued,
                    .stepped = on_stepped,
                    .arg = s },
    };
}

static int start_journal(struct sim *s)
{
    struct journal_options options = options_of(s);
    struct error err;

    must(journal_new(&options, &s->server->journal, &err));
    int code = journal_recover(s->server->journal, s->dead, s->n_dead, &err);
    if (code != 0) {
        journal_free(s->server->journal);
        s->server->journal = NULL;
    }
    return code;
}

/* What serves readers. */
static void start_readers(struct sim *s, const struct notifier_ops *notifier)
{
    struct server *server = s->server;

    server->notifier.ops = notifier;
    must(hub_shared_new(&server->notifier, &server->shared));
    server->pool = fake_pool_new(disk_open(s->disk, false));
    for (unsigned i = 0; i < s->p.n_loops; i++)
        start_loop(s, &server->loops[i]);
}

void server_start_parts(struct sim *s,
                        void (*forward)(void *arg, struct journal_request *chain))
{
    struct server *server = s->server;
    struct journal_options options = options_of(s);
    struct error err;

    server->up = true;
    server->good_since = -1;
    start_readers(s, &notifier_shared);
    options.forward = forward;
    options.forward_arg = server;
    options.put_answer = codec_put_answer;
    options.read_answer = codec_read_answer;
    must(journal_new(&options, &server->journal, &err));
}

void server_start(struct sim *s)
{
    struct server *server = s->server;
    unsigned faults = disk_faults(s->disk);

    s->n_servers++;
    *server = (struct server){ .up = true, .good_since = -1, .recovered_at = s->now };
    server->store = disk_open(s->disk, true);
    start_readers(s, notifiers[s->p.hints]);
    while (start_journal(s) != 0) { /* whoever starts servers tries again */
        sim_note(s, "recovery failed");
        if (disk_faults(s->disk) == faults)
            sim_fail(s, "recovery failed without a fault");
        disk_heal(s->disk);
    }
    server->base = s->skew - disk_moved(s->disk);
}

/* --- turns ---------------------------------------------------------------------- */

static void plan_faults(struct sim *s)
{
    static const enum disk_op writes[] = { DISK_BEGIN,  DISK_COMMIT, DISK_COMMIT, DISK_INSERT,
                                           DISK_UPDATE, DISK_DELETE, DISK_APPEND, DISK_APPEND,
                                           DISK_EXPIRE, DISK_CLOCK };
    static const enum disk_op reads[] = { DISK_GET, DISK_GET, DISK_BY_KEY, DISK_RECORDS };
    struct chance *c = &s->chance;

    if (s->draining)
        return;
    if (chance_of(c, s->p.fault_permille))
        disk_fail(s->disk, true, writes[chance_below(c, 10)],
                  (unsigned)chance_between(c, 1, 4));
    if (chance_of(c, s->p.read_fault_permille))
        disk_fail(s->disk, true, reads[chance_below(c, 4)], (unsigned)chance_between(c, 1, 3));
    if (chance_of(c, s->p.fault_permille / 10))
        s->full = !s->full;
    disk_set_full(s->disk, s->full);
}

/* Does the journal want another turn at once?  Then not all is done yet. */
static bool has_more(const struct server *server)
{
    return !server->dying && journal_next_ms(server->journal) == 0;
}

void server_begin_turns(struct sim *s)
{
    s->turning = s->server;
    s->server->is_late = false;
}

void server_end_turns(struct sim *s)
{
    s->turning = NULL;
}

static void one_turn(struct sim *s)
{
    struct server *server = s->server;
    int64_t began = s->now;

    plan_faults(s);
    server_begin_turns(s);
    if (server->good_since < 0 || s->now - server->last_turn > AWAY_MS)
        server->heard_at = s->now;
    server->turn_committed = false;
    server->turn_begins = disk_begins(s->disk);
    server->turn_faults = disk_faults(s->disk);
    server->turn_read_faults = disk_read_faults(s->disk);
    bool worked = journal_turn(server->journal);
    bool committed = server->turn_committed;
    server_end_turns(s);
    if (worked)
        server->last_turn = began;
    if (server->is_late)
        server->late_at = s->now;
    if (worked && !committed) {
        server->n_failed_turns++;
        server->failed_at = s->now;
        server->good_since = -1;
        sim_note(s, "turn: failed");
    } else if (worked) {
        if (server->good_since < 0)
            server->good_since = s->now;
        sim_note(s, "turn: committed (%llu)", (unsigned long long)s->model->n_commits);
    }
    disk_heal(s->disk);
    calls_sweep(s);
    if (counter_get(&journal_counts(server->journal)->missing_rows) != 0)
        sim_fail(s, "a turn needed rows that it had not read");
    if (worked && !server->dying && !server->is_late && !has_more(server) &&
        !store_is_lost(server->store))
        model_check_turn(s);
}

void server_turn(struct sim *s)
{
    do
        one_turn(s);
    while (has_more(s->server));
}

static void tick_loops(struct sim *s, struct server *server)
{
    for (unsigned i = 0; i < s->p.n_loops; i++) {
        struct loop *loop = &server->loops[i];

        for (unsigned n = 0; s->now - loop->last_tick >= 1000 && n < 3; n++) {
            loop->last_tick += 1000;
            loop->rechecks |= hub_hears_others(loop->hub);
            fake_timer_tick(&loop->http.uv);
        }
        if (s->now - loop->last_tick > 1000)
            loop->last_tick = s->now;
    }
}

void server_pass_time(struct sim *s, int64_t ms)
{
    s->now += ms;
    fake_clock_set(s->now);
    if (s->p.n_gateways == 0)
        tick_loops(s, s->server);
    for (size_t i = 0; i < s->p.n_gateways; i++)
        if (s->servers[i].up)
            tick_loops(s, &s->servers[i]);
}

/* --- stopping ------------------------------------------------------------------- */

static void stop_loop(struct sim *s, struct loop *loop)
{
    mailbox_close(loop->box);
    if (hub_readers(loop->hub) != 0)
        sim_fail(s, "%zu readers are left in the hub", hub_readers(loop->hub));
    streams_close(loop->streams);
    streams_free(loop->streams);
    hub_free(loop->hub);
}

/* What other gateways know of it, and what it knows of them. */
static void stop_sharing(struct sim *s)
{
    struct server *server = s->server;
    struct journal_request *list = inbox_close(journal_inbox(server->journal)), *next;

    network_lose(s, server);
    mailbox_close(server->served);
    for (; list != NULL; list = next) { /* the power has gone: nobody answers them */
        next = list->next;
        list->next = NULL;
        list->code = ERR_BUSY;
        loop_call_answer(&list->loop_call);
    }
    link_free(server->link);
}

static void stop(struct sim *s)
{
    struct server *server = s->server;

    server->stopping = true;
    readers_lose_server(s);
    workers_lose_server(s);
    thread_pool_free(server->pool);
    for (unsigned i = 0; i < s->p.n_loops; i++)
        stop_loop(s, &server->loops[i]);
    if (server->link != NULL)
        stop_sharing(s);
    journal_free(server->journal);
    if (server->served != NULL)
        mailbox_free(server->served);
    member_free(server->member);
    newest_free(server->newest);
    pushes_stop(server);
    for (unsigned i = 0; i < s->p.n_loops; i++)
        mailbox_free(server->loops[i].box);
    hub_shared_free(server->shared);
    calls_lose(s, server);
    if (server->link == NULL)
        disk_crash(s->disk);
    store_close(server->store);
    server->up = false;
    server->store = NULL;
    if (server->link != NULL)
        return;
    for (struct truth *t = s->model->truths; t != NULL; t = t->next) {
        t->last_number = 0;
        if (sim_is_dead(s, t->agent->name))
            t->leased_until = 0; /* its worker has died with the server */
    }
}

void server_stop(struct sim *s)
{
    stop(s);
}

/* A signal: readers are told and cut, what was posted is done. */
static void drain(struct sim *s)
{
    for (unsigned i = 0; i < s->p.n_loops; i++)
        streams_drain(s->server->loops[i].streams, 3000);
    for (unsigned n = 0; n < 70; n++)
        server_pass_time(s, 1000);
    server_turn(s);
}

void server_crash(struct sim *s)
{
    static const char *const ways[] = { "between turns", "before a commit", "after a commit",
                                        "gracefully" };
    size_t format = chance_below(&s->chance, 4);

    sim_note(s, "the server goes down %s", ways[format]);
    if (format == 3)
        drain(s);
    s->server->dying = true;
    if (format == 1)
        disk_fail(s->disk, true, DISK_COMMIT, 1);
    if (format == 1 || format == 2)
        server_turn(s);
    stop(s);
    disk_heal(s->disk);
    if (chance_of(&s->chance, 300))
        s->now += chance_between(&s->chance, 0, 90000);
    if (chance_of(&s->chance, s->p.clock_permille * 20))
        sim_set_clock(s);
    fake_clock_set(s->now);
    if (chance_of(&s->chance, s->p.read_fault_permille * 5))
        disk_fail(s->disk, true, chance_of(&s->chance, 500) ? DISK_OPEN_JOBS : DISK_NOTED, 1);
    server_start(s);
}
