/* The list of gateways: the other side of store/gateways.h.  Hints get lost, and a row stays
 * when its gateway is killed. */
#include "gateways.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

struct gateways {
    struct sim *sim;
    unsigned instance;
    struct buf heard; /* hints that have come */
};

static struct sim *running; /* one simulator a process: the list is opened without one */

void members_init(struct sim *s)
{
    running = s;
}

static struct gateways *last;

struct gateways *members_last(void)
{
    return last;
}

static struct gateway_life *life_of(const struct gateways *g)
{
    return &g->sim->lives[g->instance];
}

int gateways_open(const struct store_options *options,
                  const struct gateway_row *self,
                  struct gateways **ret,
                  struct error *err)
{
    struct gateways *g = disk_must(calloc(1, sizeof(*g)));

    (void)options;
    (void)err;
    g->sim = running;
    g->instance = (unsigned)strtoul(self->id.p + 1, NULL, 10);
    buf_init(&g->heard, SIZE_MAX / 4);
    *life_of(g) = (struct gateway_life){ .is_listed = true, .is_connected = true };
    *ret = last = g;
    return 0;
}

void gateways_close(struct gateways *g)
{
    if (g == NULL)
        return;
    if (life_of(g)->died == 0) { /* else nobody was there to do this */
        life_of(g)->is_listed = false;
        life_of(g)->died = g->sim->now;
    }
    buf_done(&g->heard);
    free(g);
}

void members_kill(struct sim *s, unsigned instance, struct store *ghost)
{
    s->lives[instance].died = s->now;
    s->lives[instance].ghost = ghost;
    s->lives[instance].is_connected = ghost != NULL;
}

void members_done(struct sim *s)
{
    for (unsigned i = 0; i < s->n_servers; i++)
        store_close(s->lives[i].ghost);
}

static bool is_writer(struct sim *s, unsigned instance)
{
    const struct server *g = gateways_find(s, instance);
    const struct store *store = g != NULL ? g->store : s->lives[instance].ghost;

    return store != NULL && disk_holds(s->disk, store);
}

int gateways_beat(struct gateways *g, gateway_cb cb, void *arg, struct error *err)
{
    struct sim *s = g->sim;

    if (!s->draining && !s->is_calm && chance_of(&s->chance, s->p.fault_permille / 2))
        return error_set(err, ERR_IO, "a beat was not stored");
    life_of(g)->beat++;
    life_of(g)->is_connected = true;
    for (unsigned i = 0; i < s->n_servers; i++) {
        char id[GATEWAY_ID_BYTES], url[40];

        if (!s->lives[i].is_listed)
            continue;
        gateways_put_id(id, i);
        (void)snprintf(url, sizeof(url), "http://gateway:%u", i);
        cb(arg, &(struct gateway_row){ .id = str_of(id),
                                       .url = str_of(url),
                                       .version = STR("1"),
                                       .beat = s->lives[i].beat,
                                       .newest_schema = 1,
                                       .shards = is_writer(s, i),
                                       .is_connected = s->lives[i].is_connected,
                                       .is_self = i == g->instance });
    }
    return 0;
}

int gateways_tell(struct gateways *g, struct str text, struct error *err)
{
    struct sim *s = g->sim;

    (void)err;
    for (size_t i = 0; i < s->p.n_gateways; i++) {
        struct server *other = &s->servers[i];

        if (other->up && other->gateways != NULL && other->gateways != g &&
            !chance_of(&s->chance, s->p.hint_permille))
            buf_str(&other->gateways->heard, text);
    }
    return 0;
}

void gateways_schema(const struct gateways *g, struct gateways_schema *ret)
{
    (void)g;
    *ret = (struct gateways_schema){ .version = 1, .newest = 1 };
}

int gateways_forget(struct gateways *g, const struct gateway_row *row, struct error *err)
{
    (void)err;
    sim_fail(g->sim, "%.*s is forgotten, and nobody waits for it", STR_ARG(row->id));
    return 0;
}

int gateways_end(struct gateways *g, struct str id, struct error *err)
{
    struct sim *s = g->sim;
    unsigned instance = (unsigned)strtoul(id.p + 1, NULL, 10);
    struct server *stale = gateways_find(s, instance);

    (void)err;
    sim_note(s, "%u ends the sessions of %u", g->instance, instance);
    if (stale != NULL && !stale->is_frozen && s->now - stale->beat_at < PEER_STALE_MS)
        sim_fail(s, "gateway %u has beaten %lld ms ago and counts as stale", instance,
                 (long long)(s->now - stale->beat_at));
    struct server *judge = gateways_find(s, g->instance);
    if (judge != NULL && s->now - judge->beat_at > 1500)
        sim_fail(s, "gateway %u judges another, and was late itself", g->instance);
    if (stale != NULL && stale->store != NULL)
        disk_end_session(s->disk, stale->store);
    store_close(s->lives[instance].ghost);
    s->lives[instance].ghost = NULL;
    s->lives[instance].is_connected = false;
    return 0;
}

void gateways_wait(struct gateways *g, int64_t ms, gateway_hint_cb cb, void *arg)
{
    struct buf heard = g->heard;

    (void)ms;
    buf_init(&g->heard, SIZE_MAX / 4);
    if (heard.n > 0)
        cb(arg, buf_text(&heard));
    buf_done(&heard);
}

void gateways_wake(struct gateways *g)
{
    (void)g;
}
