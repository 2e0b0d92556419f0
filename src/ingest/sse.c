/* Lines in, messages out.  The fields of an SSE message are collected in two buffers and
 * handed out at its blank line; JSON lines are handed out directly.
 *
 * Stricter than a browser in one thing: a line that is neither a field, a comment nor
 * JSON is an error rather than ignored, for it is most likely a worker's stray print. */
#include "ingest/sse.h"

void sse_init(struct sse *s, size_t max_bytes)
{
    *s = (struct sse){ .max_bytes = max_bytes };
    buf_init(&s->event, max_bytes);
    buf_init(&s->data, max_bytes);
}

void sse_done(struct sse *s)
{
    buf_done(&s->event);
    buf_done(&s->data);
}

static void forget(struct sse *s)
{
    buf_clear(&s->event);
    buf_clear(&s->data);
    s->has_event = false;
    s->has_data = false;
    s->delivered = false;
}

static bool pending(const struct sse *s)
{
    return s->has_event || s->has_data;
}

/* Drops the message, and its lines that are still to come. */
static int lose(struct sse *s, int code)
{
    forget(s);
    s->skipping = true;
    if (code == ERR_TOO_LARGE)
        return error_set(&s->error, code, "a message of more than %zu bytes", s->max_bytes);
    return error_set(&s->error, code, "%s", error_name(code));
}

static int deliver(struct sse *s, struct sse_message *ret)
{
    s->skipping = false;
    if (!pending(s))
        return 0;
    ret->event = s->has_event ? buf_text(&s->event) : STR_NONE;
    ret->data = buf_text(&s->data);
    s->delivered = true;
    return 1;
}

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != ' ' && line.p[i] != '\t')
            return false;
    return true;
}

static bool is_json(struct str line)
{
    size_t i = 0;

    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
        i++;
    return i < line.n && (line.p[i] == '{' || line.p[i] == '[');
}

static int take_data(struct sse *s, struct str value)
{
    if (s->has_data)
        buf_char(&s->data, '\n');
    buf_str(&s->data, value);
    s->has_data = true;
    if (s->data.error != 0)
        return lose(s, s->data.error);
    return s->event.n + s->data.n > s->max_bytes ? lose(s, ERR_TOO_LARGE) : 0;
}

static int take_event(struct sse *s, struct str value)
{
    buf_clear(&s->event); /* the last one counts */
    buf_str(&s->event, value);
    s->has_event = true;
    if (s->event.error != 0)
        return lose(s, s->event.error);
    return s->event.n + s->data.n > s->max_bytes ? lose(s, ERR_TOO_LARGE) : 0;
}

static int take_field(struct sse *s, struct str line)
{
    size_t colon = str_find(line, ':');
    struct str name = str_head(line, colon), value = str_skip(line, colon + 1);

    if (value.n > 0 && value.p[0] == ' ')
        value = str_skip(value, 1);
    if (str_is(name, "data"))
        return take_data(s, value);
    if (str_is(name, "event"))
        return take_event(s, value);
    if (str_is(name, "id") || str_is(name, "retry"))
        return 0;
    return error_set(&s->error, ERR_SYNTAX, "not JSON and not an SSE field");
}

int sse_line(struct sse *s, struct str line, struct sse_message *ret)
{
    if (s->delivered)
        forget(s);
    if (!s->begun) {
        s->begun = true;
        if (str_starts(line, STR("\xEF\xBB\xBF")))
            line = str_skip(line, 3);
    }
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n == 0)
        return deliver(s, ret);
    if (!pending(s) && !s->skipping) {
        if (is_json(line)) {
            if (line.n > s->max_bytes)
                return error_set(&s->error, ERR_TOO_LARGE,
                                 "a line of %zu bytes, the limit is %zu", line.n, s->max_bytes);
            *ret = (struct sse_message){ .event = STR_NONE, .data = line };
            return 1;
        }
        if (is_blank(line))
            return 0;
    }
    if (s->skipping || line.p[0] == ':')
        return 0;
    return take_field(s, line);
}

void sse_lose_line(struct sse *s, struct str beginning)
{
    if (s->delivered)
        forget(s);
    if (pending(s) || !is_json(beginning))
        (void)lose(s, ERR_TOO_LARGE); /* the caller reports the reason */
}

int sse_end(struct sse *s, struct sse_message *ret)
{
    if (s->delivered)
        forget(s);
    return deliver(s, ret);
}
