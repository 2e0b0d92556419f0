#include "transport/streams.h"

#include "auth/permit.h"
#include "base/clock.h"
#include "base/error.h"
#include "transport/poll.h"
#include "transport/stream.h"

#include <stdlib.h>

enum { RECHECK_MS = 500 }; /* a lost change is noticed after at most twice this */

int64_t streams_now(void)
{
    return clock_monotonic_ms();
}

unsigned streams_jitter(struct streams *l, unsigned n)
{
    l->seed = l->seed * 1103515245u + 12345u;
    return (l->seed >> 8) % n;
}

static void on_tick(uv_timer_t *timer)
{
    struct streams *l = timer->data;
    int64_t now = streams_now();
    struct wheel_entry *e;

    wheel_advance(&l->wheel, (uint64_t)now);
    while ((e = wheel_next_due(&l->wheel)) != NULL)
        stream_due(stream_of_deadline(e), now);
    if (now - l->rechecked >= RECHECK_MS) {
        l->rechecked = now;
        hub_recheck(l->hub, l->pool);
        thread_waits_tick(&l->thread_waits);
    }
}

int streams_new(struct http_loop *loop,
                struct hub *hub,
                struct thread_pool *pool,
                struct mailbox *box,
                struct traffic *traffic,
                const struct stream_options *options,
                struct streams **ret)
{
    struct streams *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return ERR_NOMEM;
    *l = (struct streams){
        .http = loop, .hub = hub, .pool = pool, .box = box, .traffic = traffic, .opt = *options
    };
    l->seed = (unsigned)clock_wall_ms();
    thread_waits_init(&l->thread_waits);
    wheel_init(&l->wheel, (uint64_t)streams_now());
    (void)uv_timer_init(http_loop_uv(loop), &l->timer); /* cannot fail */
    l->timer.data = l;
    (void)uv_timer_start(&l->timer, on_tick, WHEEL_TICK_MS, WHEEL_TICK_MS);
    *ret = l;
    return 0;
}

static void hurry(struct wheel_entry *e)
{
    wheel_hurry(&stream_of_deadline(e)->loop->wheel, e);
}

void streams_set_options(struct streams *l, const struct stream_options *options)
{
    l->opt = *options;
    if (!l->draining)
        wheel_each(&l->wheel, hurry); /* each computes its deadline again */
}

/* Spreads the disconnects evenly over the drain window. */
void streams_take_turn(struct stream *s)
{
    struct streams *l = s->loop;
    size_t n_parts = (size_t)(l->drain_ms / WHEEL_TICK_MS) + 1;

    if (s->has_turn)
        return;
    s->has_turn = true;
    wheel_arm(&l->wheel, &s->deadline, (uint64_t)streams_now(),
              l->n_drained++ % n_parts * WHEEL_TICK_MS);
}

static void visit(struct wheel_entry *e)
{
    streams_take_turn(stream_of_deadline(e));
}

void streams_drain(struct streams *l, int64_t window_ms)
{
    l->draining = true;
    l->drain_ms = window_ms;
    wheel_each(&l->wheel, visit);
    polls_drain(l);
}

static void check_permit(struct wheel_entry *e)
{
    struct stream *s = stream_of_deadline(e);

    if (!permit_holds(s->permit, clock_steady_ms()))
        wheel_hurry(&s->loop->wheel, e);
}

void streams_check_permits(struct streams *l)
{
    wheel_each(&l->wheel, check_permit);
}

void streams_close(struct streams *l)
{
    hub_stop(l->hub);
    uv_close((uv_handle_t *)&l->timer, NULL);
}

void streams_free(struct streams *l)
{
    free(l);
}
