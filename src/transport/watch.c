#include "transport/watch.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/json_format.h"
#include "dialect/render.h"
#include "jobs/job_scope.h"
#include "transport/mux.h"
#include "transport/mux_out.h"

enum { MAX_WAITING = 64 * 1024 }; /* bytes that a slow reader has not read */

bool watch_catch_up(struct mux *m)
{
    bool has_missed = m->watch.has_missed;

    m->watch.has_missed = false;
    if (has_missed)
        mux_put_type(m, STR_NONE, "stream.gap");
    return has_missed;
}

static void put_change(struct mux *m, const struct change *c)
{
    struct buf *data = hub_scratch(m->stream.loop->hub);

    json_format(data, "{'type':'job.state','agent':%s,'state':%s,'attempt':%d", c->agent,
                c->gone ? "deleted" : job_state_name(c->state), c->attempt);
    json_add_timestamp(data, "timestamp", c->ts);
    json_end(data);
    if (data->error == 0)
        mux_put(m, c->job, STR("job.state"), buf_text(data));
}

static const char *question_state_name(enum question_state state)
{
    static const char *const names[] = { [QUESTION_OPEN] = "open",
                                         [QUESTION_ANSWERED] = "answered",
                                         [QUESTION_EXPIRED] = "expired",
                                         [QUESTION_CLOSED] = "closed" };

    return names[state];
}

static void put_question(struct mux *m, const struct change *c)
{
    const struct question_news *q = &c->question;
    struct buf *data = hub_scratch(m->stream.loop->hub);

    json_format(data, "{'type':'interrupt.state','agent':%s,'interrupt_id':%s,'state':%s",
                c->agent, q->id, question_state_name(q->state));
    if (q->state == QUESTION_OPEN)
        json_add_raw(data, "question", q->question);
    if (q->expires != 0)
        json_add_timestamp(data, "expires_at", q->expires);
    json_add_timestamp(data, "timestamp", c->ts);
    json_end(data);
    if (data->error == 0)
        mux_put(m, c->job, STR("interrupt.state"), buf_text(data));
}

static void on_change(struct hub_listener *l, const struct change *c)
{
    struct mux *m = container_of(l, struct mux, watch.listener);

    if (c == NULL && m->has_begun) {
        m->watch.has_missed = true;
        mux_carry(m);
    }
    if (c == NULL || !m->has_begun ||
        !job_scope_includes(permit_job_scope(m->stream.permit), c->job, c->owner))
        return;
    if (stream_small(&m->stream)->n > MAX_WAITING) {
        m->watch.has_missed = true;
        return;
    }
    (void)watch_catch_up(m); /* sent with the rest */
    if (str_absent(c->question.id))
        put_change(m, c);
    else
        put_question(m, c);
    mux_carry(m);
}

void watch_start(struct mux *m)
{
    if (m->watch.is_on)
        return;
    m->watch.is_on = true;
    m->watch.listener.hear = on_change;
    hub_listen(m->stream.loop->hub, &m->watch.listener);
}

void watch_stop(struct mux *m)
{
    if (m->watch.is_on)
        hub_unlisten(m->stream.loop->hub, &m->watch.listener);
    m->watch.is_on = false;
}
