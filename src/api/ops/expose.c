#include "api/ops/expose.h"

#include "base/histogram.h"

static void put(struct expose *e, const char *text)
{
    buf_str(e->out, str_of(text));
}

void expose_family(struct expose *e, const char *name, const char *type, const char *help)
{
    e->name = name;
    put(e, "# HELP ");
    put(e, name);
    buf_char(e->out, ' ');
    put(e, help);
    put(e, "\n# TYPE ");
    put(e, name);
    buf_char(e->out, ' ');
    put(e, type);
    buf_char(e->out, '\n');
}

/* Writes `name_bucket{labels,le="`, up to where the value of le follows. */
static void put_series(struct expose *e, const char *suffix, const char *labels, bool has_le)
{
    bool has_labels = labels[0] != '\0';

    put(e, e->name);
    put(e, suffix);
    if (has_labels || has_le)
        buf_char(e->out, '{');
    put(e, labels);
    if (has_le)
        put(e, has_labels ? ",le=\"" : "le=\"");
    else if (has_labels)
        put(e, "} ");
    else
        buf_char(e->out, ' ');
}

/* Writes 1500000 as 1.5. */
static void put_seconds(struct buf *b, uint64_t us)
{
    uint64_t rest = us % 1000000;

    buf_u64(b, us / 1000000);
    if (rest > 0)
        buf_char(b, '.');
    for (uint64_t digit = 100000; rest > 0; digit /= 10) {
        buf_char(b, (char)('0' + rest / digit));
        rest %= digit;
    }
}

void expose_value(struct expose *e, const char *labels, uint64_t value)
{
    put_series(e, "", labels, false);
    buf_u64(e->out, value);
    buf_char(e->out, '\n');
}

void expose_seconds(struct expose *e, const char *labels, uint64_t us)
{
    put_series(e, "", labels, false);
    put_seconds(e->out, us);
    buf_char(e->out, '\n');
}

static void put_amount(struct expose *e, const struct scale *scale, uint64_t value)
{
    if (scale->is_time)
        put_seconds(e->out, value);
    else
        buf_u64(e->out, value);
}

void expose_histogram(struct expose *e, const char *labels, const struct histogram *h)
{
    const struct scale *scale = h->scale;
    uint64_t n = 0;

    for (size_t i = 0; i <= scale->n; i++) {
        n += counter_get(&h->counts[i]);
        put_series(e, "_bucket", labels, true);
        if (i < scale->n)
            put_amount(e, scale, scale->bounds[i]);
        else
            put(e, "+Inf");
        put(e, "\"} ");
        buf_u64(e->out, n);
        buf_char(e->out, '\n');
    }
    put_series(e, "_sum", labels, false);
    put_amount(e, scale, counter_get(&h->sum));
    buf_char(e->out, '\n');
    put_series(e, "_count", labels, false);
    buf_u64(e->out, n);
    buf_char(e->out, '\n');
}

void expose_counter(struct expose *e, const char *name, uint64_t value, const char *help)
{
    expose_family(e, name, "counter", help);
    expose_value(e, "", value);
}

void expose_gauge(struct expose *e, const char *name, uint64_t value, const char *help)
{
    expose_family(e, name, "gauge", help);
    expose_value(e, "", value);
}
