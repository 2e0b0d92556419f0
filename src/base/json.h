/* JSON: reading one line, writing into a buffer.
 *
 * Reading is yyjson, with three things added: limits, the repair of what real
 * senders get wrong (lone surrogates, NaN), and the place of a member in the
 * original line.  Numbers stay text (YYJSON_TYPE_RAW), so they pass through byte
 * for byte.  Writing is always compact and on one line. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
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

/* What a double keeps of a number; false: it is none. */
bool json_number(const yyjson_val *v, double *ret);

static inline bool json_is_null(const yyjson_val *v)
{
    return v == NULL || yyjson_is_null((yyjson_val *)v);
}

/* --- writing ----------------------------------------------------------------- */

/* "text" with quotes and escapes; surrogate halves become U+FFFD. */
void json_put_str(struct buf *b, struct str s);
/* The same, or null when absent. */
void json_put_str_or_null(struct buf *b, struct str s);
/* The escaped text without the quotes. */
void json_put_escaped(struct buf *b, struct str s);
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

#endif
