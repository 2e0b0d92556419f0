/* The public face of the filter: plain C strings and no header of ours. */
#include "spoolwire.h"

#include "dialect/dialect.h"
#include "filter/filter.h"

#include <stdlib.h>

/* Everything else in the library is hidden. */
#define PUBLIC __attribute__((visibility("default")))

struct spoolwire {
    struct spoolwire_options opt;
    struct agent *agent; /* owned */
    struct filter *filter;
};

static int on_write(void *arg, struct str bytes)
{
    const struct spoolwire *s = arg;

    return s->opt.write(s->opt.arg, bytes.p, bytes.n);
}

static int64_t on_clock(void *arg)
{
    const struct spoolwire *s = arg;

    return s->opt.clock != NULL ? s->opt.clock(s->opt.arg) : 0;
}

static void on_bad(void *arg, uint64_t line, const struct error *why)
{
    const struct spoolwire *s = arg;

    if (s->opt.bad_line != NULL)
        s->opt.bad_line(s->opt.arg, line, why->text);
}

static struct str or_default(const char *text, struct str otherwise)
{
    return text != NULL ? str_of(text) : otherwise;
}

static int choose(const struct spoolwire_options *o, struct filter_options *f)
{
    f->dialect = dialect_find(or_default(o->to, STR("agent")));
    f->framing = framing_find(or_default(o->framing, STR("sse")));
    if (f->dialect == NULL || f->framing == NULL || o->write == NULL ||
        !event_source_find(or_default(o->from, STR("auto")), &f->intake.from))
        return ERR_NOT_FOUND;
    return o->after != NULL ? cursor_parse(str_of(o->after), &f->after) : 0;
}

PUBLIC int spoolwire_new(const struct spoolwire_options *options, struct spoolwire **ret)
{
    struct spoolwire *s = calloc(1, sizeof(*s));
    struct filter_options f = {
        .variant = { .modes = MODE_DEFAULT, .subgraphs = options->subgraphs },
        .intake = { .max_line = options->max_line,
                    .max_depth = options->max_depth,
                    .strict = options->strict,
                    .bad = on_bad,
                    .arg = s },
        .field_limit = options->max_field,
        .write = on_write,
        .clock = on_clock,
        .arg = s,
    };

    if (s == NULL)
        return ERR_NOMEM;
    s->opt = *options;
    int err = choose(options, &f);
    if (err == 0)
        err = agent_new(or_default(options->agent, STR("agent")), &s->agent);
    f.agent = s->agent;
    if (err == 0)
        err = filter_new(&f, &s->filter);
    if (err != 0) {
        spoolwire_free(s);
        return err;
    }
    *ret = s;
    return 0;
}

PUBLIC void spoolwire_free(struct spoolwire *s)
{
    if (s == NULL)
        return;
    filter_free(s->filter);
    agent_free(s->agent);
    free(s);
}

PUBLIC int spoolwire_begin(struct spoolwire *s, const char *job)
{
    return filter_begin(s->filter, str_of(job));
}

PUBLIC int spoolwire_feed(struct spoolwire *s, const char *bytes, size_t n)
{
    return filter_feed(s->filter, str_make(bytes, n));
}

PUBLIC int spoolwire_end(struct spoolwire *s)
{
    return filter_end(s->filter);
}

PUBLIC const char *spoolwire_error(const struct spoolwire *s)
{
    return filter_error(s->filter)->text;
}
