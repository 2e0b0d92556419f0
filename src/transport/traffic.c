#include "transport/traffic.h"

#include "dialect/dialect.h"

#include <assert.h>

const char *transport_name(enum transport_kind kind)
{
    static const char *const names[TRANSPORT_MAX] = { [TRANSPORT_SSE] = "sse",
                                                      [TRANSPORT_NDJSON] = "ndjson",
                                                      [TRANSPORT_WEBSOCKET] = "websocket",
                                                      [TRANSPORT_POLL] = "poll" };

    return names[kind];
}

const char *stream_resume_name(enum stream_resume result)
{
    static const char *const names[RESUME_MAX] = {
        [RESUME_OK] = "ok",
        [RESUME_GAP] = "gap",
        [RESUME_EMPTY] = "empty",
    };

    return names[result];
}

void traffic_init(struct traffic *t)
{
    *t = (struct traffic){ 0 };
    histogram_init(&t->first_event, &scale_latency);
    histogram_init(&t->lag, &scale_size);
}

static void merge(struct counter *to, const struct counter *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        counter_add(&to[i], counter_get(&from[i]));
}

void traffic_merge(struct traffic *to, const struct traffic *from)
{
    for (unsigned i = 0; i < TRANSPORT_MAX; i++) {
        merge(to->open[i], from->open[i], DIALECT_COUNT);
        merge(to->opened[i], from->opened[i], DIALECT_COUNT);
    }
    merge(to->closed, from->closed, STREAM_END_MAX);
    merge(to->resumed, from->resumed, RESUME_MAX);
    merge(&to->replayed, &from->replayed, 1);
    merge(&to->bytes, &from->bytes, 1);
    histogram_merge(&to->first_event, &from->first_event);
    histogram_merge(&to->lag, &from->lag);
}

static size_t number_of(const struct dialect *dialect)
{
    size_t i = 0;

    while (dialect_at(i) != dialect)
        i++;
    assert(i < DIALECT_COUNT);
    return i;
}

void traffic_opened(struct traffic *t, enum transport_kind kind, const struct dialect *dialect)
{
    size_t i = number_of(dialect);

    counter_add(&t->open[kind][i], 1);
    counter_add(&t->opened[kind][i], 1);
}

void traffic_closed(struct traffic *t,
                    enum transport_kind kind,
                    const struct dialect *dialect,
                    enum stream_end why)
{
    counter_sub(&t->open[kind][number_of(dialect)], 1);
    counter_add(&t->closed[stream_end_info(why)->counted], 1);
}
