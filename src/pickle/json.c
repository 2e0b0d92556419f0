/* One function for each kind of value; an object is looked up by its class.  Depth is limited,
 * because values may contain themselves; the buffer's limit stops values that are repeated
 * exponentially.  Keys within keys are limited too: each level of escapes doubles them. */
#include "pickle/json.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/json.h"
#include "pickle/moment.h"
#include "pickle/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_KEY_DEPTH = 4 };

struct printer {
    struct buf *out;
    size_t depth, max_depth, key_depth;
    int code;
};

static void put(struct printer *p, const struct value *v);

/* --- plain values ------------------------------------------------------------ */

/* The shortest text that is read back as the same number. */
static void put_float(struct buf *out, double number)
{
    char text[40];

    if (!isfinite(number)) {
        buf_lit(out, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number); /* fits */
        if (memcmp(&(double){ strtod(text, NULL) }, &number, sizeof(number)) == 0)
            break;
    }
    buf_str(out, str_of(text));
    if (strpbrk(text, ".e") == NULL)
        buf_lit(out, ".0");
}

static void put_base64(struct buf *out, struct str bytes)
{
    json_begin_parts(out);
    base64_put(out, bytes);
    json_end_parts(out);
}

static void put_list(struct printer *p, struct value *const *items, size_t n)
{
    json_begin_array(p->out);
    for (size_t i = 0; i < n; i++) {
        json_next(p->out);
        put(p, items[i]);
    }
    json_end_array(p->out);
}

/* A key as text: one that is not a text is written as JSON first. */
static void put_key(struct printer *p, const struct value *key)
{
    struct printer inner = *p;
    struct buf text;

    if (key->kind == VALUE_TEXT) {
        json_put_str(p->out, key->text);
        return;
    }
    buf_init(&text, p->out->max);
    inner.out = &text;
    if (inner.key_depth++ >= MAX_KEY_DEPTH)
        inner.code = ERR_TOO_LARGE;
    put(&inner, key);
    struct str s = buf_text(&text);
    if (inner.code != 0)
        p->code = inner.code;
    else if (text.error != 0)
        p->out->error = text.error;
    else if (s.n > 0 && s.p[0] == '"') /* a date, a UUID */
        buf_str(p->out, s);
    else
        json_put_str(p->out, s);
    buf_done(&text);
}

static void put_pairs(struct printer *p, struct value *const *items, size_t n)
{
    json_begin(p->out);
    for (size_t i = 0; i + 1 < n; i += 2) {
        if (i > 0)
            buf_char(p->out, ',');
        put_key(p, items[i]);
        buf_char(p->out, ':');
        put(p, items[i + 1]);
    }
    json_end(p->out);
}

/* --- objects ----------------------------------------------------------------- */

static const struct value *first_arg(const struct value *object, enum value_kind kind)
{
    return object->args->n > 0 && object->args->items[0]->kind == kind ? object->args->items[0]
                                                                       : NULL;
}

static const struct value *member(const struct value *dict, struct str key)
{
    for (size_t i = 0; dict != NULL && dict->kind == VALUE_DICT && i + 1 < dict->n; i += 2)
        if (dict->items[i]->kind == VALUE_TEXT && str_eq(dict->items[i]->text, key))
            return dict->items[i + 1];
    return NULL;
}

/* Each returns false when the object is not as it should be. */

static bool put_moment(struct printer *p, const struct value *object)
{
    return moment_put(p->out, object);
}

/* Decimal('1.5') */
static bool put_text_of(struct printer *p, const struct value *object)
{
    const struct value *text = first_arg(object, VALUE_TEXT);

    if (text == NULL)
        return false;
    json_put_str(p->out, text->text);
    return true;
}

/* Its state is a number of 128 bits. */
static bool put_uuid(struct printer *p, const struct value *object)
{
    const struct value *number = member(object->state, STR("int"));
    unsigned char bytes[17] = { 0 };
    struct buf le LOCAL_BUF(sizeof(bytes));

    if (number == NULL || number->kind != VALUE_INT || number->text.p[0] == '-')
        return false;
    bool ok = number_put_bytes(&le, number->text) == 0 && le.error == 0 &&
              (le.n < sizeof(bytes) || le.p[16] == 0);
    if (ok && le.n > 0)
        memcpy(bytes, le.p, le.n);
    if (!ok)
        return false;
    buf_char(p->out, '"');
    for (size_t i = 16; i > 0; i--) {
        char hex[3];
        (void)snprintf(hex, sizeof(hex), "%02x", (unsigned)bytes[i - 1]); /* fits */
        buf_put(p->out, hex, 2);
        if (i == 13 || i == 11 || i == 9 || i == 7)
            buf_char(p->out, '-');
    }
    buf_char(p->out, '"');
    return true;
}

/* PosixPath('/', 'a', 'b') */
static bool put_path(struct printer *p, const struct value *object)
{
    struct value *const *parts = object->args->items;
    bool after_slash = true;

    for (size_t i = 0; i < object->args->n; i++)
        if (parts[i]->kind != VALUE_TEXT)
            return false;
    buf_char(p->out, '"');
    for (size_t i = 0; i < object->args->n; i++) {
        if (!after_slash)
            buf_char(p->out, '/');
        json_put_escaped(p->out, parts[i]->text);
        after_slash = str_ends(parts[i]->text, STR("/"));
    }
    buf_char(p->out, '"');
    return true;
}

/* set([…]), and the items of list-like objects such as deque. */
static bool put_listed(struct printer *p, const struct value *object)
{
    const struct value *from = object->args->n > 0 ? object->args->items[0] : NULL;

    if (object->n > 0 && !object->has_pairs)
        put_list(p, object->items, object->n);
    else if (from == NULL)
        put_list(p, NULL, 0);
    else if (from->kind == VALUE_LIST || from->kind == VALUE_TUPLE || from->kind == VALUE_SET)
        put_list(p, from->items, from->n);
    else
        return false;
    return true;
}

/* Counter({…}), defaultdict(int) with its items behind it. */
static bool put_mapped(struct printer *p, const struct value *object)
{
    const struct value *from = first_arg(object, VALUE_DICT);

    if (from != NULL && object->n == 0)
        put_pairs(p, from->items, from->n);
    else
        put_pairs(p, object->items, object->has_pairs ? object->n : 0);
    return true;
}

static bool put_bytes_of(struct printer *p, const struct value *object)
{
    const struct value *bytes = first_arg(object, VALUE_BYTES);

    if (bytes == NULL && object->args->n > 0)
        return false;
    put_base64(p->out, bytes != NULL ? bytes->text : STR(""));
    return true;
}

static const struct {
    const char *name;
    bool (*put)(struct printer *p, const struct value *object);
} classes[] = {
    { "datetime.datetime", put_moment },
    { "datetime.date", put_moment },
    { "datetime.time", put_moment },
    { "datetime.timedelta", put_moment },
    { "uuid.UUID", put_uuid },
    { "decimal.Decimal", put_text_of },
    { "pathlib.PosixPath", put_path },
    { "pathlib.PurePosixPath", put_path },
    { "pathlib._local.PosixPath", put_path },
    { "pathlib._local.PurePosixPath", put_path },
    { "collections.OrderedDict", put_mapped },
    { "collections.defaultdict", put_mapped },
    { "collections.Counter", put_mapped },
    { "collections.deque", put_listed },
    { "builtins.set", put_listed },
    { "builtins.frozenset", put_listed },
    { "__builtin__.set", put_listed },
    { "__builtin__.frozenset", put_listed },
    { "builtins.bytes", put_bytes_of },
    { "builtins.bytearray", put_bytes_of },
    { "__builtin__.bytes", put_bytes_of },
    { "__builtin__.bytearray", put_bytes_of },
};

/* What an object's attributes are in its state: {…}; (None, {…}) with slots; and with
 * "__dict__", as pydantic has it. */
static const struct value *attributes(const struct value *object)
{
    const struct value *state = object->state;

    if (state == NULL || object->args->n > 0 || object->n > 0)
        return NULL;
    if (state->kind == VALUE_TUPLE && state->n == 2 && state->items[0]->kind == VALUE_NONE)
        state = state->items[1];
    if (state->kind != VALUE_DICT)
        return NULL;
    const struct value *inner = member(state, STR("__dict__"));
    return inner != NULL && inner->kind == VALUE_DICT ? inner : state;
}

static void put_marker(struct printer *p, const struct value *object)
{
    json_begin(p->out);
    json_add_str(p->out, "type", object->text);
    json_key(p->out, "args");
    put(p, object->args);
    if (object->state != NULL) {
        json_key(p->out, "state");
        put(p, object->state);
    }
    if (object->n > 0) {
        json_key(p->out, "items");
        if (object->has_pairs)
            put_pairs(p, object->items, object->n);
        else
            put_list(p, object->items, object->n);
    }
    json_end(p->out);
}

static void put_object(struct printer *p, const struct value *object)
{
    const struct value *fields = attributes(object);

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        size_t start = p->out->n;
        if (!str_eq(object->text, str_of(classes[i].name)))
            continue;
        if (classes[i].put(p, object))
            return;
        buf_cut(p->out, start);
    }
    if (fields != NULL)
        put_pairs(p, fields->items, fields->n);
    else
        put_marker(p, object);
}

/* --- any value --------------------------------------------------------------- */

static void put_nested(struct printer *p, const struct value *v)
{
    if (v->kind == VALUE_DICT)
        put_pairs(p, v->items, v->n);
    else if (v->kind == VALUE_OBJECT)
        put_object(p, v);
    else
        put_list(p, v->items, v->n);
}

static void put(struct printer *p, const struct value *v)
{
    if (p->code != 0 || p->out->error != 0)
        return;
    switch (v->kind) {
    case VALUE_NONE:
    case VALUE_MARK:
        buf_lit(p->out, "null");
        break;
    case VALUE_BOOL:
        buf_str(p->out, v->truth ? STR("true") : STR("false"));
        break;
    case VALUE_INT:
        buf_str(p->out, v->text);
        break;
    case VALUE_FLOAT:
        put_float(p->out, v->number);
        break;
    case VALUE_TEXT:
    case VALUE_NAME:
        json_put_str(p->out, v->text);
        break;
    case VALUE_BYTES:
        put_base64(p->out, v->text);
        break;
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_SET:
    case VALUE_DICT:
    case VALUE_OBJECT:
        if (p->depth++ >= p->max_depth)
            p->code = ERR_TOO_LARGE;
        else
            put_nested(p, v);
        p->depth--;
        break;
    }
}

int pickle_put_json(struct buf *out, const struct value *v, size_t max_depth, struct error *err)
{
    struct printer p = { .out = out, .max_depth = max_depth };

    put(&p, v);
    if (p.code != 0)
        return error_set(
            err, p.code,
            "the pickle is deeper than %zu levels (%d of keys), or contains itself", max_depth,
            MAX_KEY_DEPTH);
    if (out->error != 0)
        return error_set(err, out->error, "the pickle says too much: %s",
                         error_name(out->error));
    return 0;
}
