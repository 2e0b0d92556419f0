/* Records that are pushed from the gateway that writes to those whose readers wait for them, as
 * cluster/cluster.c puts it together.
 *
 *     hubs ── watches ══ link ══▶ served ── watchers ◀── the journal's publications
 *     hubs ◀─ check ◀═══ link ◀══ served ◀──────┘
 *
 * What must hold: a push has what was committed, and nothing else; who knows that another
 * gateway writes hears no push of the writers before; and as long as no hint is lost, readers
 * have everything without a re-check as soon as all that is under way has arrived. */
#include "gateways.h"

#include "cluster/record_push.h"
#include "cluster/watchers.h"
#include "cluster/watches.h"
#include "record/record.h"

#include <inttypes.h>
#include <stdlib.h>

static struct sim *running; /* one simulator a process: for the function that the linker wraps
                             */

/* --- what is heard --------------------------------------------------------------- */

static const struct truth *truth_of_key(const struct sim *s, int64_t key)
{
    for (const struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (t->job->row.key == key)
            return t;
    return NULL;
}

static bool is_same(const struct record *a, const struct record *b)
{
    struct buf one LOCAL_BUF(SIZE_MAX / 4), other LOCAL_BUF(SIZE_MAX / 4);

    record_encode(a, &one);
    record_encode(b, &other);
    return str_eq(buf_text(&one), buf_text(&other));
}

static void check_push(struct sim *s, const struct server *g, const struct record_push *push)
{
    const struct change *c = &push->wakeup.change;
    const struct truth *t = truth_of_key(s, c->key);

    if (t == NULL || c->last_seq == 0 || c->last_seq > t->n || !str_eq(t->job->row.id, c->job))
        sim_fail(s, "gateway %u hears of %.*s up to %" PRIu64 ", which is not committed",
                 g->instance, STR_ARG(c->job), c->last_seq);
    if (push->live.n > 0 && t->commits[c->last_seq - 1] <= g->trusts_after)
        sim_fail(s, "gateway %u hears of %.*s from a gateway that no longer writes",
                 g->instance, STR_ARG(c->job));
    for (size_t i = 0; i < push->live.n; i++) {
        const struct record *rec = push->live.records[i];

        if (rec->seq != c->last_seq - push->live.n + 1 + i ||
            !is_same(rec, t->recs[rec->seq - 1]))
            sim_fail(s, "gateway %u hears another record %" PRIu64 " of %.*s", g->instance,
                     rec->seq, STR_ARG(c->job));
    }
    s->n_pushed += push->live.n;
}

static void on_heard(void *arg, const struct record_push *push)
{
    struct server *g = arg;

    if (push->wakeup.kind == WAKEUP_JOB)
        check_push(running, g, push);
    member_heard(g->member, push);
}

static void on_watched(void *arg, struct str job)
{
    hub_shared_look(((struct server *)arg)->shared, job);
}

static void on_watch(void *arg, struct str job, bool on)
{
    struct server *g = arg;

    if (on)
        watches_add(g->watches, job);
    else
        watches_remove(g->watches, job);
}

/* It was told that another gateway writes, or writes itself. */
void pushes_trust_no_older(struct sim *s, struct server *g)
{
    g->trusts_after = s->writer_since;
}

void __wrap_link_doubt(struct journal_link *l)
{
    for (size_t i = 0; i < running->p.n_gateways; i++)
        if (running->servers[i].up && running->servers[i].link == l)
            pushes_trust_no_older(running, &running->servers[i]);
    __real_link_doubt(l);
}

/* --- life ------------------------------------------------------------------------ */

void pushes_start(struct sim *s, struct server *g, struct follow_options *ret)
{
    running = s;
    if (watches_new(&g->watches) != 0 || watchers_new(&g->watchers) != 0)
        abort();
    hub_shared_set_watch(g->shared, on_watch, g);
    *ret = (struct follow_options){
        .watches = g->watches, .heard = on_heard, .watched = on_watched, .arg = g
    };
}

void pushes_stop(struct server *g)
{
    watchers_free(g->watchers);
    watches_free(g->watches);
}

/* --- at rest ---------------------------------------------------------------------- */

static struct server *writer_of(struct sim *s)
{
    for (size_t i = 0; i < s->p.n_gateways; i++) {
        struct server *g = &s->servers[i];

        if (g->up && g->store != NULL && disk_holds(s->disk, g->store))
            return g;
    }
    return NULL;
}

bool pushes_reach(struct sim *s, const struct server *g, unsigned loop)
{
    const struct server *writer = writer_of(s);

    if (writer == NULL || g->is_frozen || writer->is_frozen)
        return false;
    return g == writer ||
           (g->store == NULL && g->loops[loop].rechecks && network_is_up(s, g, writer));
}

bool pushes_settle(struct sim *s)
{
    bool is_quiet = false;

    if (s->p.n_gateways == 0 || s->p.hint_permille > 0 || s->p.read_fault_permille > 0)
        return false;
    s->is_calm = true;
    for (unsigned n = 0; n < 40 && !is_quiet; n++) {
        s->now += 30; /* the loops of readers do not notice, so none looks at the store */
        fake_clock_set(s->now);
        gateways_move(s);
        is_quiet = n > 4 && gateways_are_quiet(s);
    }
    s->is_calm = false;
    return is_quiet;
}
