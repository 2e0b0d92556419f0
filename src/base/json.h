/* JSON: reading one line, writing into a buffer.
 *
 * Reading is yyjson, with three things added: limits, the repair of what real
 * senders get wrong (lone surrogates, NaN), and the place of a member in the
 * original line.  Numbers stay text (YYJSON_TYPE_RAW), so they pass through byte
 * for byte.  Writing is always compact and on one line. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include "base/calendar.h"
#include "base/str.h"

#include <stdint.h>
#include <yyjson.h>

struct error;

/* Reads lines one after another with memory that it keeps. */
struct json_reader {
    size_t max_bytes; /* of one line */
    size_t max_depth;
    struct buf text;  /* the line as yyjson takes it apart in place */
    struct buf fixed; /* a repaired line */
    char *pool;       /* owned; yyjson's memory */
    size_t pool_bytes;
};

/* One line, read.  Valid until the reader's next line. */
struct json {
    struct str line;  /* as received, or as repaired */
    const char *base; /* where yyjson's copy of it starts */
    yyjson_val *root;
    bool repaired; /* strings may hold surrogate halves (as WTF-8) */
};

void json_reader_init(struct json_reader *r, size_t max_bytes, size_t max_depth);
void json_reader_done(struct json_reader *r);

/* For a local reader, as LOCAL_BUF:  struct json_reader reader LOCAL_READER(MAX, DEPTH); */
#define LOCAL_READER(bytes, depth) \
    __attribute__((cleanup(json_reader_done))) = json_reader_make((bytes), (depth))
struct json_reader json_reader_make(size_t max_bytes, size_t max_depth);

/* Reads @line.  A lone surrogate escape is no error: it stays in the string as
 * three bytes of WTF-8, and `repaired` is set.  NaN and Infinity become null. */
int json_read(struct json_reader *r, struct str line, struct json *ret, struct error *err);

/* The text of the member whose key is @key, as it stands in the line. */
struct str json_raw_member(const struct json *j, const yyjson_val *key);
/* Only its beginning: cheap, the end is the end of the line. */
struct str json_raw_from(const struct json *j, const yyjson_val *key);

/* --- reading values: all accept NULL and the wrong type ---------------------- */

/* The member of an object, or NULL. */
yyjson_val *json_get(const yyjson_val *object, struct str key);
#define json_at(object, literal) json_get((object), STR(literal))

/* Text of a string, else absent. */
static inline struct str json_text(const yyjson_val *v)
{
    return yyjson_is_str((yyjson_val *)v) ? str_make(unsafe_yyjson_get_str((yyjson_val *)v),
                                                     unsafe_yyjson_get_len((yyjson_val *)v))
                                          : STR_NONE;
}

/* A whole number within 64 bits, else @otherwise. */
int64_t json_int(const yyjson_val *v, int64_t otherwise);

/* A number as a double, rounded; false when it is not a number. */
bool json_number(const yyjson_val *v, double *ret);

static inline bool json_is_null(const yyjson_val *v)
{
    return v == NULL || yyjson_is_null((yyjson_val *)v);
}

/* Walks over the items of an array, or the members of an object; over nothing when it is NULL
 * or something else. */
#define json_each(item, array)                                             \
    for (yyjson_val *item##_of = (yyjson_val *)(uintptr_t)(array),         \
                    *item = json_first(item##_of, YYJSON_TYPE_ARR),        \
                    *item##_end = json_behind(item##_of, YYJSON_TYPE_ARR); \
         item != item##_end; item = unsafe_yyjson_get_next(item))
#define json_each_member(key, value, object)                               \
    for (yyjson_val *key##_of = (yyjson_val *)(uintptr_t)(object), *value, \
                    *key = json_first(key##_of, YYJSON_TYPE_OBJ),          \
                    *key##_end = json_behind(key##_of, YYJSON_TYPE_OBJ);   \
         key != key##_end && (value = key + 1, true); key = unsafe_yyjson_get_next(value))

static inline yyjson_val *json_first(yyjson_val *v, yyjson_type type)
{
    return yyjson_get_type(v) == type ? unsafe_yyjson_get_first(v) : NULL;
}

/* What follows all of its items. */
static inline yyjson_val *json_behind(yyjson_val *v, yyjson_type type)
{
    return yyjson_get_type(v) == type ? unsafe_yyjson_get_next(v) : NULL;
}

/* --- writing values ---------------------------------------------------------- */

/* "text" with quotes and escapes; surrogate halves become U+FFFD. */
void json_put_str(struct buf *b, struct str s);
/* The same, or null when absent. */
void json_put_str_or_null(struct buf *b, struct str s);
/* The escaped text without the quotes. */
void json_put_escaped(struct buf *b, struct str s);
/* The same and the quote behind it. */
void json_end_str(struct buf *b, struct str s);
/* Any value, compact. */
void json_put_value(struct buf *b, const yyjson_val *v);
/* Already JSON, or null when absent. */
static inline void json_put_raw_or_null(struct buf *b, struct str raw)
{
    if (str_absent(raw))
        buf_lit(b, "null");
    else
        buf_str(b, raw);
}
/* 2026-02-16T10:30:00.123Z in quotes, or null for 0. */
void json_put_time_or_null(struct buf *b, int64_t ms);

/* --- members as literals --------------------------------------------------------
 *
 * For texts that are known when the program is compiled, to write or to compare with:
 *
 *     STR("{" JSON_LIT("status", "alive") "}")
 *
 * Keys and texts are literals that need no escapes. */

#define JSON_KEY(key)         "\"" key "\":"
#define JSON_LIT(key, text)   JSON_KEY(key) "\"" text "\""
#define JSON_CONST(key, json) JSON_KEY(key) json

/* --- writing objects and arrays ------------------------------------------------
 *
 *     json_begin(b);
 *     json_add_text(b, "id", row->id);
 *     json_add_array(b, "tags");
 *     for (size_t i = 0; i < n; i++)
 *         json_put_str(json_next(b), tags[i]);
 *     json_end_array(b);
 *     json_end(b);
 *
 * A member writes the comma before it, unless the last byte is the brace of its object.  No
 * other state is kept, so parts of an object may be written by several functions.  Keys are
 * literals that need no escapes: comma, key and colon are one copy.
 *
 * Where most of the text is constant, and speed does not matter, a template is easier to read:
 * base/json_format.h.  No other code writes keys (scripts/layers checks that). */

static inline void json_begin(struct buf *b)
{
    buf_char(b, '{');
}

static inline void json_end(struct buf *b)
{
    buf_char(b, '}');
}

static inline void json_begin_array(struct buf *b)
{
    buf_char(b, '[');
}

static inline void json_end_array(struct buf *b)
{
    buf_char(b, ']');
}

static inline bool json_follows(const struct buf *b, char opening)
{
    return b->n > 0 && b->p[b->n - 1] == opening;
}

/* Before each element of an array, or of a list that begins with its buffer. */
static inline struct buf *json_next(struct buf *b)
{
    if (b->n > 0 && !json_follows(b, '['))
        buf_char(b, ',');
    return b;
}

/* An object whose only member, or whose first one, is a list: {"jobs":[ and ]} */
#define json_begin_list(b, key) buf_lit((b), "{" JSON_KEY(key) "[")
#define json_end_list(b)        buf_lit((b), "]}")

/* A string that is written in parts, which need no escapes or are json_put_escaped(). */
static inline void json_begin_parts(struct buf *b)
{
    buf_char(b, '"');
}

static inline void json_end_parts(struct buf *b)
{
    buf_char(b, '"');
}

/* @text begins with the comma that the first member has not. */
static inline void json_put_member(struct buf *b, const char *text, size_t n)
{
    if (json_follows(b, '{'))
        buf_put(b, text + 1, n - 1);
    else
        buf_put(b, text, n);
}
/* @literal: one member or several with commas between, as JSON_LIT() and JSON_CONST() make. */
#define json_add_members(b, literal) json_put_member((b), "," literal, sizeof("," literal) - 1)

/* A key; its value is to follow. */
#define json_key(b, key) json_add_members((b), JSON_KEY(key))
/* The same, with a key that is no literal. */
void json_put_key(struct buf *b, struct str key);

/* "key":"value"; absent: "". */
#define json_add_str(b, key, value) (json_add_parts((b), key), json_end_str((b), (value)))
/* "key":"value"; absent: null. */
#define json_add_text(b, key, value) (json_key((b), key), json_put_str_or_null((b), (value)))
/* "key":value of a text that is JSON already; absent: null. */
#define json_add_raw(b, key, value) (json_key((b), key), json_put_raw_or_null((b), (value)))
/* "key":value of a yyjson_val. */
#define json_add_value(b, key, value) (json_key((b), key), json_put_value((b), (value)))
#define json_add_int(b, key, value)   (json_key((b), key), buf_i64((b), (value)))
#define json_add_uint(b, key, value)  (json_key((b), key), buf_u64((b), (value)))
#define json_add_bool(b, key, value) \
    (json_key((b), key), buf_str((b), (value) ? STR("true") : STR("false")))
/* Milliseconds since 1970 as text; 0: null. */
#define json_add_time(b, key, ms) (json_key((b), key), json_put_time_or_null((b), (ms)))
/* A text that is a literal and needs no escapes. */
#define json_add_lit(b, key, text) json_add_members((b), JSON_LIT(key, text))
/* A literal that is JSON: null, true, 0, {}. */
#define json_add_const(b, key, json) json_add_members((b), JSON_CONST(key, json))
/* Begins an object, an array or a string in parts that is a member. */
#define json_add_object(b, key) json_add_const((b), key, "{")
#define json_add_array(b, key)  json_add_const((b), key, "[")
#define json_add_parts(b, key)  json_add_const((b), key, "\"")
/* "key":"2026-02-16T10:30:00.123Z", whenever that is. */
#define json_add_timestamp(b, key, ms) \
    (json_add_parts((b), key), calendar_put((b), (ms)), json_end_parts(b))

#endif
