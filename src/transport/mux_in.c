#include "transport/mux_in.h"

#include "base/error.h"
#include "transport/mux.h"
#include "transport/mux_out.h"
#include "transport/mux_command.h"
#include "transport/subscription.h"

enum { MAX_DEPTH = 16 }; /* of a message */

static void subscribe(struct mux *m, const struct mux_command *order)
{
    const struct subscription_request what = { .job = order->job,
                                               .format = order->format,
                                               .after = order->after };
    int err = subscription_open(m, &what);

    if (err != 0) {
        struct feed_refusal r = feed_refusal(err, order->job);
        mux_put_error(m, order->job, r.status, r.text);
    }
}

static void take_subscribe(struct mux *m, const struct mux_command *order)
{
    if (order->is_system) {
        watch_start(m);
        mux_put_type(m, STR_NONE, "stream.subscribed");
    } else if (subscription_find(m, order->job) != NULL) {
        mux_put_error(m, order->job, 409, "this job is subscribed to: unsubscribe first");
    } else if (m->n >= m->stream.loop->opt.max_subscriptions) {
        mux_put_error(m, order->job, 429,
                      "there are as many subscriptions as one connection may have");
    } else {
        subscribe(m, order);
    }
}

static void take_unsubscribe(struct mux *m, const struct mux_command *order)
{
    struct subscription *sub = order->is_system ? NULL : subscription_find(m, order->job);

    if (order->is_system ? !m->watch.is_on : sub == NULL) {
        mux_put_error(m, order->job, 404, "there is no such subscription");
        return;
    }
    if (order->is_system)
        watch_stop(m);
    else
        subscription_leave(sub);
    mux_put_type(m, order->job, "stream.unsubscribed");
}

void mux_take(struct mux *m, struct str text)
{
    struct mux_command order = { .format = m->format };
    struct json_reader reader;
    struct error err = { 0 };
    struct str job;

    json_reader_init(&reader, m->stream.loop->opt.websocket.message + 1, MAX_DEPTH);
    int code = mux_command_read(&reader, text, &order, &job, &err);
    if (code != 0)
        mux_put_error(m, job, code == ERR_NOMEM ? 503 : 422, err.text);
    else if (order.kind == MUX_COMMAND_SUBSCRIBE)
        take_subscribe(m, &order);
    else
        take_unsubscribe(m, &order);
    json_reader_done(&reader);
}
