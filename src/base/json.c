/* Reading: the line is copied once and yyjson takes the copy apart in place, so
 * that a string's offset in the copy is its offset in the line.  Memory for the
 * values comes from a pool that grows to the largest line and then stays.
 *
 * Repair happens only after a line was refused: most lines never pay for it. */
#include "base/json.h"

#include "base/calendar.h"
#include "base/error.h"
#include "base/utf8.h"

#include <stdlib.h>

/* Read in place, numbers as text. */
#define READ_FLAGS (YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW)

void json_reader_init(struct json_reader *r, size_t max_bytes, size_t max_depth)
{
    *r = json_reader_make(max_bytes, max_depth);
}

struct json_reader json_reader_make(size_t max_bytes, size_t max_depth)
{
    struct buf unbounded = { .max = SIZE_MAX / 4 };

    return (struct json_reader){ max_bytes, max_depth, .text = unbounded, .fixed = unbounded };
}

void json_reader_done(struct json_reader *r)
{
    buf_done(&r->text);
    buf_done(&r->fixed);
    free(r->pool);
    r->pool = NULL;
    r->pool_bytes = 0;
}

static int grow_pool(struct json_reader *r, size_t line_bytes)
{
    size_t need = yyjson_read_max_memory_usage(line_bytes, READ_FLAGS);

    if (need <= r->pool_bytes)
        return 0;
    need += need / 2;
    char *pool = realloc(r->pool, need);
    if (pool == NULL)
        return ERR_NOMEM;
    r->pool = pool;
    r->pool_bytes = need;
    return 0;
}

static size_t count_containers(const yyjson_val *root, size_t n_values)
{
    size_t n = 0;

    /* Arrays are 6 and objects 7: both of bits 1 and 2. */
    for (size_t i = 0; i < n_values; i++)
        n += root[i].tag >> 1 & root[i].tag >> 2 & 1;
    return n;
}

/* Deeper than @max?  Values lie one after another; a container knows where it ends. */
static bool too_deep(yyjson_val *root, size_t n_values, size_t max)
{
    enum { FRAMES = 256 };
    yyjson_val *end[FRAMES];
    size_t depth = 0;
    yyjson_val *stop = root + n_values;

    if (count_containers(root, n_values) <= max)
        return false; /* the usual case, and far cheaper to see */
    for (yyjson_val *v = root; v < stop; v++) {
        while (depth > 0 && v == end[depth - 1])
            depth--;
        if (unsafe_yyjson_is_ctn(v)) {
            if (depth == max || depth == FRAMES)
                return true;
            end[depth++] = unsafe_yyjson_get_next(v);
        }
    }
    return false;
}

static int parse(struct json_reader *r,
                 struct str line,
                 yyjson_read_flag more,
                 struct json *ret,
                 yyjson_read_err *why)
{
    static const char padding[YYJSON_PADDING_SIZE];
    yyjson_alc alc;

    int err = grow_pool(r, line.n);
    if (err != 0)
        return err;
    buf_clear(&r->text);
    buf_str(&r->text, line);
    buf_put(&r->text, padding, sizeof(padding));
    if (r->text.error != 0)
        return r->text.error;
    if (!yyjson_alc_pool_init(&alc, r->pool, r->pool_bytes))
        return ERR_NOMEM;
    yyjson_doc *doc = yyjson_read_opts(r->text.p, line.n, READ_FLAGS | more, &alc, why);
    /* The pool has room for any valid line: what does not fit is mostly opening brackets. */
    if (doc == NULL && why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        why->msg = "unclosed brackets";
    if (doc == NULL)
        return ERR_SYNTAX;
    /* The document lives in the pool and needs no freeing. */
    *ret = (struct json){ .line = line, .base = r->text.p, .root = doc->root };
    return too_deep(doc->root, doc->val_read, r->max_depth) ? ERR_TOO_LARGE : 0;
}

static int hex4(const char *p, uint32_t *ret)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16;
        if (d == 16)
            return ERR_SYNTAX;
        v = v << 4 | d;
    }
    *ret = v;
    return 0;
}

/* The \uXXXX escape at @at; 0 when there is none. */
static uint32_t escape_at(struct str s, size_t at)
{
    uint32_t v = 0;

    if (at + 6 > s.n || s.p[at] != '\\' || s.p[at + 1] != 'u' || hex4(s.p + at + 2, &v) != 0)
        return 0;
    return v;
}

/* Copies the backslash sequence at @at; a lone surrogate becomes WTF-8.  Returns its length. */
static size_t repair_escape(struct str line, size_t at, struct buf *out, bool *ret_changed)
{
    uint32_t first = escape_at(line, at);
    char wtf8[4];

    if (utf8_is_high(first) && utf8_is_low(escape_at(line, at + 6))) {
        buf_put(out, line.p + at, 12);
        return 12;
    }
    if (utf8_is_high(first) || utf8_is_low(first)) {
        buf_put(out, wtf8, utf8_put(wtf8, first));
        *ret_changed = true;
        return 6;
    }
    size_t n = line.n - at < 2 ? line.n - at : 2;
    buf_put(out, line.p + at, n);
    return n;
}

/* Length of a NaN or Infinity at @at, as Python's json module writes them; else 0. */
static size_t not_a_number(struct str line, size_t at)
{
    struct str rest = str_skip(line, at);

    if (str_starts(rest, STR("NaN")))
        return 3;
    if (str_starts(rest, STR("Infinity")))
        return 8;
    return str_starts(rest, STR("-Infinity")) ? 9 : 0;
}

/* Rewrites what real senders get wrong into r->fixed; true when anything was. */
static bool repair(struct json_reader *r, struct str line)
{
    bool in_string = false, changed = false;
    size_t at = 0;

    buf_clear(&r->fixed);
    while (at < line.n) {
        char c = line.p[at];
        size_t n = 0;

        if (in_string && (unsigned char)c < 0x20)
            return false; /* stays an error, whatever else could be repaired */
        if (in_string && c == '\\') {
            at += repair_escape(line, at, &r->fixed, &changed);
            continue;
        }
        if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == 'N' || c == 'I' || c == '-'))
            n = not_a_number(line, at);
        if (n > 0) {
            buf_lit(&r->fixed, "null");
            changed = true;
            at += n;
        } else {
            buf_char(&r->fixed, c);
            at++;
        }
    }
    return changed;
}

static int refuse(struct str line,
                  size_t max_depth,
                  int code,
                  const yyjson_read_err *why,
                  struct error *err)
{
    size_t valid = utf8_valid(line);

    if (code == ERR_TOO_LARGE)
        return error_set(err, code, "nested deeper than %zu levels", max_depth);
    if (code != ERR_SYNTAX)
        return error_set(err, code, "%s", error_name(code));
    if (str_has(line, '\0'))
        return error_set(err, code, "not JSON: a NUL byte at position %zu",
                         str_find(line, '\0'));
    if (valid < line.n)
        return error_set(err, code, "not valid UTF-8 at byte %zu", valid);
    return error_set(err, code, "not JSON: %s at byte %zu", why->msg, why->pos);
}

int json_read(struct json_reader *r, struct str line, struct json *ret, struct error *err)
{
    yyjson_read_err why = { 0 };

    if (line.n > r->max_bytes)
        return error_set(err, ERR_TOO_LARGE, "line of %zu bytes, the limit is %zu", line.n,
                         r->max_bytes);
    int code = parse(r, line, 0, ret, &why);
    if (code == ERR_SYNTAX && utf8_valid(line) == line.n && repair(r, line)) {
        yyjson_read_err ignored = { 0 };

        code = r->fixed.error != 0 ? r->fixed.error
                                   : parse(r, buf_text(&r->fixed),
                                           YYJSON_READ_ALLOW_INVALID_UNICODE, ret, &ignored);
        ret->repaired = true;
    }
    return code == 0 ? 0 : refuse(line, r->max_depth, code, &why, err);
}

/* --- the place of a member in the line --------------------------------------- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str json_raw_from(const struct json *j, const yyjson_val *key)
{
    size_t at = (size_t)(json_text(key).p - j->base);

    while (j->line.p[at] != '"') /* the key's closing quote; it may hold escapes */
        at += j->line.p[at] == '\\' ? 2 : 1;
    at++;
    while (at < j->line.n && (blank(j->line.p[at]) || j->line.p[at] == ':'))
        at++;
    return str_skip(j->line, at);
}

/* Length of the JSON value at the start of @s, which is known to be valid. */
static size_t value_length(struct str s)
{
    size_t depth = 0, at = 0;
    bool in_string = false;

    for (; at < s.n; at++) {
        char c = s.p[at];

        if (in_string) {
            at += c == '\\';
            in_string = c != '"';
            if (!in_string && depth == 0)
                return at + 1;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth <= 1)
                return depth == 1 ? at + 1 : at;
            depth--;
        } else if (depth == 0 && (c == ',' || blank(c))) {
            return at;
        }
    }
    return at;
}

struct str json_raw_member(const struct json *j, const yyjson_val *key)
{
    struct str rest = json_raw_from(j, key);

    return str_head(rest, value_length(rest));
}

/* --- values ------------------------------------------------------------------ */

yyjson_val *json_get(const yyjson_val *object, struct str key)
{
    return yyjson_obj_getn((yyjson_val *)object, key.p, key.n);
}

int64_t json_int(const yyjson_val *v, int64_t otherwise)
{
    if (v == NULL || !unsafe_yyjson_is_raw((yyjson_val *)v))
        return otherwise;
    const char *p = unsafe_yyjson_get_raw((yyjson_val *)v);
    size_t n = unsafe_yyjson_get_len((yyjson_val *)v), at = n > 0 && p[0] == '-';
    int64_t value = 0;
    if (at == n)
        return otherwise;
    for (; at < n; at++) {
        if (p[at] < '0' || p[at] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, p[at] - '0', &value))
            return otherwise;
    }
    if (p[0] == '-')
        return value;
    return value == INT64_MIN ? otherwise : -value;
}

bool json_number(const yyjson_val *v, double *ret)
{
    char text[64];

    if (yyjson_is_num((yyjson_val *)v)) {
        *ret = yyjson_get_num((yyjson_val *)v); /* a document that json_read() has not read */
        return true;
    }
    if (!yyjson_is_raw((yyjson_val *)v))
        return false;
    size_t n = unsafe_yyjson_get_len((yyjson_val *)v);
    if (n >= sizeof(text))
        n = sizeof(text) - 1;
    memcpy(text, unsafe_yyjson_get_raw((yyjson_val *)v), n);
    text[n] = '\0';
    *ret = strtod(text, NULL);
    return true;
}

/* --- writing ----------------------------------------------------------------- */

/* 0: as it is; 1: \u00XX; 2: perhaps a surrogate half; else the message after the backslash. */
static const unsigned char escape[256] = {
    [0] = 1,  [1] = 1,   [2] = 1,   [3] = 1,    [4] = 1,     [5] = 1,       [6] = 1,
    [7] = 1,  [8] = 'b', [9] = 't', [10] = 'n', [11] = 1,    [12] = 'f',    [13] = 'r',
    [14] = 1, [15] = 1,  [16] = 1,  [17] = 1,   [18] = 1,    [19] = 1,      [20] = 1,
    [21] = 1, [22] = 1,  [23] = 1,  [24] = 1,   [25] = 1,    [26] = 1,      [27] = 1,
    [28] = 1, [29] = 1,  [30] = 1,  [31] = 1,   ['"'] = '"', ['\\'] = '\\', [0xED] = 2,
};

static size_t put_escape(struct buf *b, struct str s, size_t at)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char c = (unsigned char)s.p[at];

    switch (escape[c]) {
    case 1:
        buf_lit(b, "\\u00");
        buf_char(b, hex[c >> 4]);
        buf_char(b, hex[c & 15]);
        return 1;
    case 2:
        if (utf8_half_first(str_skip(s, at)) != 0) {
            buf_lit(b, "\xEF\xBF\xBD");
            return 3;
        }
        buf_char(b, (char)c);
        return 1;
    default:
        buf_char(b, '\\');
        buf_char(b, (char)escape[c]);
        return 1;
    }
}

/* Eight bytes at once: none below 0x20, none of `"` and `\\`, none above 0x7F (where a
 * surrogate half may begin).  The classic test for a zero byte, three times. */
static bool plain8(const char *p)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    uint64_t w;

    memcpy(&w, p, 8);
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    return ((w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & high) == 0;
}

void json_put_escaped(struct buf *b, struct str s)
{
    size_t from = 0, at = 0;

    while (at < s.n) {
        if (at + 8 <= s.n && plain8(s.p + at)) {
            at += 8;
            continue;
        }
        if (escape[(unsigned char)s.p[at]] == 0) {
            at++;
            continue;
        }
        buf_put(b, s.p + from, at - from);
        at += put_escape(b, s, at);
        from = at;
    }
    if (at > from)
        buf_put(b, s.p + from, at - from);
}

void json_end_str(struct buf *b, struct str s)
{
    json_put_escaped(b, s);
    buf_char(b, '"');
}

void json_put_str(struct buf *b, struct str s)
{
    buf_char(b, '"');
    json_end_str(b, s);
}

void json_put_str_or_null(struct buf *b, struct str s)
{
    if (str_absent(s))
        buf_lit(b, "null");
    else
        json_put_str(b, s);
}

static void put_object(struct buf *b, const yyjson_val *v)
{
    json_begin(b);
    json_each_member(key, value, v) {
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
    json_end(b);
}

static void put_array(struct buf *b, const yyjson_val *v)
{
    json_begin_array(b);
    json_each(item, v)
        json_put_value(json_next(b), item);
    json_end_array(b);
}

void json_put_value(struct buf *b, const yyjson_val *v)
{
    yyjson_val *val = (yyjson_val *)v;

    switch (yyjson_get_type(val)) {
    case YYJSON_TYPE_OBJ:
        put_object(b, v);
        break;
    case YYJSON_TYPE_ARR:
        put_array(b, v);
        break;
    case YYJSON_TYPE_STR:
        json_put_str(b, json_text(v));
        break;
    case YYJSON_TYPE_RAW:
        buf_put(b, unsafe_yyjson_get_raw(val), unsafe_yyjson_get_len(val));
        break;
    case YYJSON_TYPE_BOOL:
        if (unsafe_yyjson_get_bool(val))
            buf_lit(b, "true");
        else
            buf_lit(b, "false");
        break;
    default:
        buf_lit(b, "null");
        break;
    }
}

void json_put_time_or_null(struct buf *b, int64_t ms)
{
    if (ms == 0) {
        buf_lit(b, "null");
        return;
    }
    json_begin_parts(b);
    calendar_put(b, ms);
    json_end_parts(b);
}

void json_put_key(struct buf *b, struct str key)
{
    if (!json_follows(b, '{'))
        buf_char(b, ',');
    json_put_str(b, key);
    buf_char(b, ':');
}
