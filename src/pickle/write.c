#include "pickle/write.h"

#include "base/error.h"
#include "pickle/number.h"
#include "pickle/opcodes.h"

#include <stdlib.h>

static void put_op(struct buf *b, enum pickle_op op)
{
    buf_char(b, (char)op);
}

static void put_u32(struct buf *b, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        buf_char(b, (char)(unsigned char)(value >> shift));
}

static void fail(struct buf *b, int err)
{
    if (b->error == 0)
        b->error = err;
}

void pickle_begin(struct buf *b)
{
    put_op(b, OP_PROTO);
    buf_char(b, 3);
}

void pickle_end(struct buf *b)
{
    put_op(b, OP_STOP);
}

void pickle_none(struct buf *b)
{
    put_op(b, OP_NONE);
}

void pickle_bool(struct buf *b, bool value)
{
    put_op(b, value ? OP_NEWTRUE : OP_NEWFALSE);
}

void pickle_text(struct buf *b, struct str text)
{
    if (text.n > UINT32_MAX) {
        fail(b, ERR_TOO_LARGE);
        return;
    }
    put_op(b, OP_BINUNICODE);
    put_u32(b, (uint32_t)text.n);
    buf_str(b, text);
}

/* --- numbers ----------------------------------------------------------------- */

static void put_long(struct buf *b, struct str decimal)
{
    struct buf bytes LOCAL_BUF(NUMBER_MAX_BYTES + 1);

    int err = number_put_bytes(&bytes, decimal);
    if (err != 0 || bytes.error != 0) {
        fail(b, err != 0 ? err : bytes.error);
    } else if (bytes.n < 256) {
        put_op(b, OP_LONG1);
        buf_char(b, (char)(unsigned char)bytes.n);
    } else {
        put_op(b, OP_LONG4);
        put_u32(b, (uint32_t)bytes.n);
    }
    buf_str(b, buf_text(&bytes));
}

void pickle_int(struct buf *b, int64_t value)
{
    struct buf text LOCAL_BUF(32);

    if (value >= INT32_MIN && value <= INT32_MAX) {
        put_op(b, OP_BININT);
        put_u32(b, (uint32_t)value);
        return;
    }
    buf_i64(&text, value);
    fail(b, text.error);
    put_long(b, buf_text(&text));
}

/* The number's text, with what ends it behind it. */
static void put_float(struct buf *b, const char *text)
{
    double value = strtod(text, NULL);
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_op(b, OP_BINFLOAT);
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_char(b, (char)(unsigned char)(bits >> shift));
}

static bool is_whole(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '.' || text.p[i] == 'e' || text.p[i] == 'E')
            return false;
    return true;
}

static void put_number(struct buf *b, struct str text)
{
    if (!is_whole(text))
        put_float(b, text.p);
    else if (text.n <= 18)
        pickle_int(b, strtoll(text.p, NULL, 10));
    else
        put_long(b, text);
}

/* --- containers -------------------------------------------------------------- */

void pickle_dict_begin(struct buf *b, size_t n)
{
    put_op(b, OP_EMPTY_DICT);
    if (n > 0)
        put_op(b, OP_MARK);
}

void pickle_dict_end(struct buf *b, size_t n)
{
    if (n > 0)
        put_op(b, OP_SETITEMS);
}

void pickle_tuple_begin(struct buf *b, size_t n)
{
    if (n > 3)
        put_op(b, OP_MARK);
}

void pickle_tuple_end(struct buf *b, size_t n)
{
    static const enum pickle_op ops[] = { OP_EMPTY_TUPLE, OP_TUPLE1, OP_TUPLE2, OP_TUPLE3 };

    put_op(b, n <= 3 ? ops[n] : OP_TUPLE);
}

static void put_list(struct buf *b, yyjson_val *v)
{
    put_op(b, OP_EMPTY_LIST);
    if (yyjson_arr_size(v) == 0)
        return;
    put_op(b, OP_MARK);
    json_each(item, v)
        pickle_value(b, item);
    put_op(b, OP_APPENDS);
}

static void put_dict(struct buf *b, yyjson_val *v)
{
    pickle_dict_begin(b, yyjson_obj_size(v));
    json_each_member(key, value, v) {
        pickle_text(b, json_text(key));
        pickle_value(b, value);
    }
    pickle_dict_end(b, yyjson_obj_size(v));
}

/* As deep as the reader of JSON allows. */
void pickle_value(struct buf *b, const yyjson_val *value)
{
    yyjson_val *v = (yyjson_val *)(uintptr_t)value; /* yyjson's getters take no const */

    if (yyjson_is_str(v))
        pickle_text(b, json_text(v));
    else if (yyjson_is_raw(v))
        put_number(b, str_make(yyjson_get_raw(v), yyjson_get_len(v)));
    else if (yyjson_is_bool(v))
        pickle_bool(b, yyjson_get_bool(v));
    else if (yyjson_is_arr(v))
        put_list(b, v);
    else if (yyjson_is_obj(v))
        put_dict(b, v);
    else
        pickle_none(b);
}

void pickle_exception(struct buf *b, struct str module, struct str name, struct str text)
{
    put_op(b, OP_GLOBAL);
    buf_str(b, module);
    buf_char(b, '\n');
    buf_str(b, name);
    buf_char(b, '\n');
    pickle_tuple_begin(b, 1);
    pickle_text(b, text);
    pickle_tuple_end(b, 1);
    put_op(b, OP_REDUCE);
}
