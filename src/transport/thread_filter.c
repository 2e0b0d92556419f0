#include "transport/thread_filter.h"

#include "base/buf.h"
#include "base/error.h"

/* --- lines ------------------------------------------------------------------------------- */

/* Takes @literal from the beginning of @s. */
static bool take(struct str *s, struct str literal)
{
    if (!str_starts(*s, literal))
        return false;
    *s = str_skip(*s, literal.n);
    return true;
}

/* Takes up to @end, which is taken as well. */
static bool take_until(struct str *s, char end, struct str *ret)
{
    size_t n = str_find(*s, end);

    if (n == s->n)
        return false;
    *ret = str_head(*s, n);
    *s = str_skip(*s, n + 1);
    return true;
}

/* The length of the JSON string at the beginning of @s, with its quotes; 0: there is none. */
static size_t string_length(struct str s)
{
    if (s.n < 2 || s.p[0] != '"')
        return 0;
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '"')
            return i + 1;
    }
    return 0;
}

/* The first of the segments in @ns, which is moved behind it.  False: there are no more. */
static bool next_segment(struct str *ns, struct str *ret)
{
    size_t n = string_length(*ns);

    if (n == 0)
        return false;
    *ret = str_make(ns->p + 1, n - 2);
    *ns = str_skip(*ns, n + 1);
    return true;
}

static bool take_namespace(struct str *s, struct str *ret)
{
    struct str from = *s, segment;
    size_t n = 0;

    while (next_segment(s, &segment))
        n = (size_t)(segment.p + segment.n + 1 - from.p);
    *ret = str_head(from, n);
    *s = str_skip(from, n);
    return take(s, STR("]"));
}

static bool take_seq(struct str *s, uint64_t *ret)
{
    struct str digits;

    if (!take_until(s, ',', &digits))
        return false;
    *ret = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return false;
        *ret = *ret * 10 + (uint64_t)(digits.p[i] - '0');
    }
    return digits.n > 0;
}

/* The text that is the first member of `data`, behind the timestamp, if it is called @key. */
static struct str first_text(struct str rest, struct str key)
{
    struct str skipped;

    if (!take(&rest, STR("," JSON_KEY("timestamp"))) || !take_until(&rest, ',', &skipped) ||
        !take(&rest, STR(JSON_KEY("data") "{")) || !take(&rest, key))
        return STR_NONE;
    size_t n = string_length(rest);
    return n > 0 ? str_make(rest.p + 1, n - 2) : STR_NONE;
}

static bool is_end(struct str event)
{
    return str_is(event, "completed") || str_is(event, "failed") ||
           str_is(event, "interrupted");
}

bool thread_line_read(struct str line, struct thread_line *ret)
{
    struct str rest = line;

    *ret = (struct thread_line){ .text = line };
    if (!take(&rest, STR("{" JSON_LIT("type", "event") "," JSON_KEY("event_id") "\"")) ||
        !take_until(&rest, '"', &ret->id) || !take(&rest, STR("," JSON_KEY("seq"))) ||
        !take_seq(&rest, &ret->seq) || !take(&rest, STR(JSON_KEY("method") "\"")) ||
        !take_until(&rest, '"', &ret->method) ||
        !take(&rest, STR("," JSON_KEY("params") "{" JSON_KEY("namespace") "[")) ||
        !take_namespace(&rest, &ret->ns))
        return false;
    if (str_is(ret->method, "custom"))
        ret->name = first_text(rest, STR(JSON_KEY("name")));
    else if (str_is(ret->method, "lifecycle") && ret->ns.n == 0)
        ret->ends_run = is_end(first_text(rest, STR(JSON_KEY("event"))));
    return true;
}

/* --- filters ------------------------------------------------------------------------------ */

/* A channel has the name of its method, but for `input`. */
static const struct {
    struct str channel, method;
} channels[] = {
    { { "values", 6 }, { "values", 6 } },
    { { "updates", 7 }, { "updates", 7 } },
    { { "messages", 8 }, { "messages", 8 } },
    { { "tools", 5 }, { "tools", 5 } },
    { { "lifecycle", 9 }, { "lifecycle", 9 } },
    { { "input", 5 }, { "input.requested", 15 } },
    { { "checkpoints", 11 }, { "checkpoints", 11 } },
    { { "tasks", 5 }, { "tasks", 5 } },
    { { "custom", 6 }, { "custom", 6 } },
};

enum { N_CHANNELS = sizeof(channels) / sizeof(channels[0]) };

static int no_memory(struct error *err)
{
    return error_set(err, ERR_NOMEM, "out of memory");
}

/* @text as JSON without quotes, in the filter's memory. */
static bool keep_escaped(struct thread_filter *f, struct str text, struct str *ret)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    json_put_escaped(&b, text);
    return b.error == 0 && arena_copy(&f->mem, buf_text(&b), ret);
}

static int add_channel(struct thread_filter *f, struct str name, struct error *err)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        if (!str_eq(name, channels[i].channel))
            continue;
        f->channels |= UINT32_C(1) << i;
        return 0;
    }
    if (!str_starts(name, STR("custom:")))
        return error_set(err, ERR_TYPE,
                         "there is no channel '%.*s': channels are values, updates, messages, "
                         "tools, lifecycle, input, checkpoints, tasks, custom and custom:NAME",
                         STR_ARG(str_head(name, 40)));
    return keep_escaped(f, str_skip(name, 7), &f->names[f->n_names++]) ? 0 : no_memory(err);
}

static int read_channels(struct thread_filter *f, yyjson_val *list, struct error *err)
{
    int code = 0;

    if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
        return error_set(err, ERR_TYPE, "\"channels\" must be a list of channels' names");
    f->names = arena_alloc(&f->mem, yyjson_arr_size(list) * sizeof(*f->names));
    if (f->names == NULL)
        return no_memory(err);
    json_each(name, list) {
        struct str text = json_text(name);

        if (code == 0)
            code = add_channel(f, str_absent(text) ? STR("") : text, err);
    }
    return code;
}

static int keep_prefix(struct thread_filter *f, const yyjson_val *ns, struct error *err)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    if (!yyjson_is_arr((yyjson_val *)(uintptr_t)ns))
        return error_set(err, ERR_TYPE, "\"namespaces\" must be a list of lists of texts");
    json_each(segment, ns) {
        struct str text = json_text(segment);

        if (str_absent(text))
            return error_set(err, ERR_TYPE, "\"namespaces\" must be a list of lists of texts");
        if (b.n > 0)
            buf_char(&b, ',');
        json_put_str(&b, text);
    }
    return b.error == 0 && arena_copy(&f->mem, buf_text(&b), &f->prefixes[f->n_prefixes++])
               ? 0
               : no_memory(err);
}

static int read_namespaces(struct thread_filter *f, yyjson_val *list, struct error *err)
{
    int code = 0;

    if (json_is_null(list))
        return 0;
    if (!yyjson_is_arr(list))
        return error_set(err, ERR_TYPE, "\"namespaces\" must be a list of lists of texts");
    f->prefixes = arena_alloc(&f->mem, (yyjson_arr_size(list) + 1) * sizeof(*f->prefixes));
    if (f->prefixes == NULL)
        return no_memory(err);
    json_each(ns, list)
        if (code == 0)
            code = keep_prefix(f, ns, err);
    return code;
}

int thread_filter_init(struct thread_filter *f, const yyjson_val *params, struct error *err)
{
    yyjson_val *depth = json_at(params, "depth");

    *f = (struct thread_filter){ .depth = -1 };
    arena_init(&f->mem);
    int code = read_channels(f, json_at(params, "channels"), err);
    if (code == 0)
        code = read_namespaces(f, json_at(params, "namespaces"), err);
    if (code != 0 || json_is_null(depth))
        return code;
    f->depth = json_int(depth, -1);
    return f->depth >= 0
               ? 0
               : error_set(err, ERR_TYPE, "\"depth\" must be a whole number from 0 on");
}

void thread_filter_done(struct thread_filter *f)
{
    arena_done(&f->mem);
}

static bool takes_channel(const struct thread_filter *f, const struct thread_line *line)
{
    for (size_t i = 0; i < N_CHANNELS; i++)
        if ((f->channels & UINT32_C(1) << i) != 0 && str_eq(line->method, channels[i].method))
            return true;
    for (size_t i = 0; i < f->n_names; i++)
        if (!str_absent(line->name) && str_eq(line->name, f->names[i]))
            return true;
    return false;
}

/* A segment without an id names all tasks of its node. */
static bool is_same_segment(struct str asked, struct str has)
{
    return str_eq(asked, has) || (str_find(asked, ':') == asked.n &&
                                  str_eq(asked, str_head(has, str_find(has, ':'))));
}

static bool is_below(const struct thread_filter *f, struct str prefix, struct str ns)
{
    struct str asked, has;
    int64_t n_more = 0;

    while (next_segment(&prefix, &asked))
        if (!next_segment(&ns, &has) || !is_same_segment(asked, has))
            return false;
    while (next_segment(&ns, &has))
        n_more++;
    return f->depth < 0 || n_more <= f->depth;
}

bool thread_filter_takes(const struct thread_filter *f, const struct thread_line *line)
{
    if (!takes_channel(f, line))
        return false;
    for (size_t i = 0; i < f->n_prefixes; i++)
        if (is_below(f, f->prefixes[i], line->ns))
            return true;
    return f->n_prefixes == 0;
}
