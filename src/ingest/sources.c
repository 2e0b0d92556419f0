/* The shapes that occur in all source formats: metadata, exceptions, a model's message.
 *
 * Nothing here trusts a type.  What is optional and of the wrong type counts as missing;
 * what the event cannot be understood without is ERR_TYPE, with a sentence that names
 * the member. */
#include "ingest/sources.h"

#include "ingest/repr.h"
#include "record/record.h"

/* --- types ------------------------------------------------------------------- */

int wrong_type(const struct source_line *in,
               const yyjson_val *v,
               const char *member,
               const char *expected)
{
    if (v == NULL)
        return error_set(in->err, ERR_TYPE,
                         "\"%s\" is missing: send the event as it was produced", member);
    return error_set(in->err, ERR_TYPE, "\"%s\" must be %s: send the event as it was produced",
                     member, expected);
}

const char *quoted(struct str s, char out[QUOTED_BYTES])
{
    size_t n = s.n < QUOTED_BYTES - 4 ? s.n : QUOTED_BYTES - 4;

    for (size_t i = 0; i < n; i++)
        out[i] = s.p[i] > ' ' && s.p[i] <= '~' ? s.p[i] : '?';
    memcpy(out + n, n < s.n ? "..." : "", n < s.n ? 4 : 1);
    return out;
}

bool is_v3(const struct source_line *in)
{
    return in->top.method != NULL && str_is(json_text(in->top.type), "event") &&
           json_at(in->json->root, "params") != NULL;
}

int refuse_v3(const struct source_line *in)
{
    return error_set(in->err, ERR_REFUSED,
                     "astream_events version=\"v3\" is not supported: call "
                     "astream_events(..., version=\"v2\")");
}

/* --- metadata ---------------------------------------------------------------- */

void read_meta(const yyjson_val *meta, const yyjson_val *key, struct event *ev)
{
    if (!yyjson_is_obj((yyjson_val *)meta))
        return;
    ev->meta = meta;
    ev->meta_key = key;
    const yyjson_val *end = next_value(meta);
    for (const yyjson_val *k = meta + 1; k < end; k = next_value(k + 1)) {
        const char *name = unsafe_yyjson_get_str((yyjson_val *)k);
        const yyjson_val *v = k + 1;

        switch (unsafe_yyjson_get_len((yyjson_val *)k)) {
        case 7:
            if (key_is(name, "section"))
                ev->section = json_text(v);
            break;
        case 14:
            if (!key_is(name, "langgraph_"))
                break;
            if (key_is(name + 10, "node"))
                ev->node = json_text(v);
            else if (key_is(name + 10, "step"))
                ev->step = json_int(v, RECORD_NO_NUMBER);
            break;
        case 23:
            if (key_is(name, "langgraph_checkpoint_ns"))
                ev->ns = json_text(v);
            break;
        default:
            break;
        }
    }
}

/* --- exceptions -------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.';
}

/* Index of @part in @s, or s.n when it is not in there. */
static size_t find(struct str s, struct str part)
{
    for (size_t at = 0; at + part.n <= s.n; at++) {
        at += str_find(str_skip(s, at), part.p[0]);
        if (at + part.n <= s.n && memcmp(s.p + at, part.p, part.n) == 0)
            return at;
    }
    return s.n;
}

/* JavaScript sends one string: the message, a blank line, and `TypeError: message` with
 * the stack.  The stack names files of the worker's machine: it stays out. */
static void read_error_text(struct str s, struct event *ev)
{
    size_t blank = find(s, STR("\n\n")), stack = find(s, STR("\n    at "));
    struct str rest = str_skip(s, blank + 2);
    size_t n = 0;

    ev->error = str_head(s, blank < stack ? blank : stack);
    while (n < rest.n && is_name_char(rest.p[n]))
        n++;
    if (n > 0 && n < rest.n && rest.p[n] == ':')
        ev->error_type = str_head(rest, n);
}

static struct str last_text(const yyjson_val *list)
{
    return yyjson_is_arr((yyjson_val *)list)
               ? json_text(yyjson_arr_get_last((yyjson_val *)list))
               : STR_NONE;
}

/* {"error","message"}, {"status_code","message"}, {"name","message","stack"}, and
 * Python's {"lc":1,"type":"not_implemented","id":[…,"RuntimeError"],"repr":…}. */
static void read_error_object(const yyjson_val *v, struct buf *scratch, struct event *ev)
{
    struct str repr = json_text(json_at(v, "repr"));
    struct str message = json_text(json_at(v, "message"));
    struct str word = json_text(json_at(v, "error"));

    if (json_at(v, "lc") != NULL && !str_absent(repr)) {
        ev->error = repr_call_text(repr, scratch);
        ev->error_type = last_text(json_at(v, "id"));
        return;
    }
    if (!str_absent(message)) {
        read_error_text(message, ev);
        ev->error_type = word;
    } else if (!str_absent(word)) {
        read_error_text(word, ev);
    }
    if (str_absent(ev->error_type))
        ev->error_type = json_text(either(json_at(v, "error_type"), json_at(v, "name")));
    if (str_absent(ev->error_type))
        ev->error_type = json_text(json_at(v, "type"));
    if (str_absent(ev->error) && unsafe_yyjson_get_len((yyjson_val *)v) > 0)
        ev->error = text_of(v, scratch);
}

void read_error(const yyjson_val *v, struct buf *scratch, struct event *ev)
{
    ev->error = STR_NONE;
    ev->error_type = STR_NONE;
    if (yyjson_is_str((yyjson_val *)v))
        read_error_text(json_text(v), ev);
    else if (yyjson_is_obj((yyjson_val *)v))
        read_error_object(v, scratch, ev);
    else
        ev->error = text_of(v, scratch);
    if (str_empty(ev->error))
        ev->error = str_empty(ev->error_type) ? STR("unknown error") : ev->error_type;
    if (ev->error_type.n == 0)
        ev->error_type = STR_NONE;
}

/* --- messages ---------------------------------------------------------------- */

/* The generation in an LLMResult: generations[0][0]; NULL when @v is none. */
static const yyjson_val *first_generation(const yyjson_val *v)
{
    const yyjson_val *list = json_at(v, "generations");

    if (list == NULL)
        list = json_at(json_at(v, "kwargs"), "generations");
    const yyjson_val *first = yyjson_arr_get_first((yyjson_val *)list);
    return yyjson_is_arr((yyjson_val *)first) ? yyjson_arr_get_first((yyjson_val *)first)
                                              : first;
}

void read_model_message(const yyjson_val *v, struct buf *scratch, struct event *ev)
{
    if (json_is_null(v))
        return;
    message_fill(v, scratch, &ev->message);
    if (ev->message.cls == MESSAGE_NONE) {
        const yyjson_val *generation = first_generation(v);

        if (generation != NULL)
            message_read(generation, scratch, &ev->message);
    }
    ev->has_message = ev->message.cls != MESSAGE_NONE;
    ev->lossy = ev->message.lossy;
}

void read_tool_message(const yyjson_val *v, struct buf *scratch, struct event *ev)
{
    size_t before = scratch->n;
    struct message m;

    if (json_is_null(v))
        return;
    message_read(v, scratch, &m);
    /* A tool's own strings and objects are no messages, whatever they look like. */
    if (m.cls == MESSAGE_NONE || m.cls == MESSAGE_GENERATION || m.cls == MESSAGE_OTHER) {
        buf_cut(scratch, before);
        return;
    }
    ev->message = m;
    ev->has_message = true;
    ev->lossy = m.lossy;
    if (!str_absent(m.call))
        ev->call = m.call;
}

void set_text_message(struct event *ev, struct str text, bool chunk)
{
    ev->message = (struct message){ .cls = MESSAGE_AI,
                                    .chunk = chunk,
                                    .text = str_absent(text) ? STR("") : text };
    ev->has_message = true;
}

struct str text_of(const yyjson_val *v, struct buf *scratch)
{
    size_t from = scratch->n;

    if (json_is_null(v))
        return STR_NONE;
    if (unsafe_yyjson_is_str((yyjson_val *)v))
        return json_text(v);
    json_put_value(scratch, v);
    return buf_since(scratch, from);
}
