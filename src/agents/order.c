#include "agents/order.h"

#include "base/json.h"

/* On one line: outside of its strings JSON may have newlines. */
static void put_json(struct buf *b, struct str input)
{
    size_t from = b->n;

    json_put_raw_or_null(b, input);
    for (size_t i = from; i < b->n; i++)
        if (b->p[i] == '\n' || b->p[i] == '\r')
            b->p[i] = ' ';
}

static void put_job(struct buf *b, struct str job, int64_t attempt)
{
    buf_lit(b, "{\"job\":");
    json_put_str(b, job);
    buf_lit(b, ",\"attempt\":");
    buf_i64(b, attempt);
}

void order_put(struct buf *b, const struct order *order)
{
    put_job(b, order->job, order->attempt);
    buf_lit(b, ",\"agent\":");
    json_put_str(b, order->agent);
    buf_lit(b, ",\"input\":");
    put_json(b, order->input);
    if (order->resume.p != NULL) {
        buf_lit(b, ",\"resume\":");
        put_json(b, order->resume);
    }
    buf_lit(b, ",\"lease_seconds\":");
    buf_i64(b, (order->lease_ms + 999) / 1000);
    if (order->needs_beats) {
        buf_lit(b, ",\"heartbeat_seconds\":");
        buf_i64(b, order->lease_ms >= 4000 ? order->lease_ms / 4000 : 1);
    }
    buf_lit(b, "}\n");
}

void order_put_cancel(struct buf *b, struct str job, int64_t attempt)
{
    put_job(b, job, attempt);
    buf_lit(b, ",\"cancel\":true}\n");
}

void order_put_pause(struct buf *b, struct str job, int64_t attempt)
{
    put_job(b, job, attempt);
    buf_lit(b, ",\"pause\":true}\n");
}
