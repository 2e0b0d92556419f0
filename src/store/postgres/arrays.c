/* Arrays in PostgreSQL's binary format: a header of five numbers, then each value after its
 * length.
 *
 *     dimensions (1) | has NULLs | type | how many | first index (1) | length, bytes | …
 *
 * The length of a NULL is -1.  Two numbers of the header are only known at the end. */
#define _DEFAULT_SOURCE /* htobe64 */
#include "store/postgres/postgres.h"

#include <endian.h>
#include <limits.h>
#include <string.h>

enum { KEPT_BYTES = 1024 * 1024 };
enum { AT_NULLS = 4, AT_N = 12 };

static void put_u32(struct buf *b, uint32_t n)
{
    n = htobe32(n);
    buf_put(b, &n, sizeof(n));
}

static void put_head(struct postgres_array *a, uint32_t type)
{
    put_u32(&a->bytes, 1);
    put_u32(&a->bytes, 0);
    put_u32(&a->bytes, type);
    put_u32(&a->bytes, 0);
    put_u32(&a->bytes, 1);
}

void array_init(struct postgres_array *a, enum array_type type)
{
    *a = (struct postgres_array){ .type = type };
    buf_init(&a->bytes, INT_MAX);
}

void array_done(struct postgres_array *a)
{
    buf_done(&a->bytes);
}

void array_clear(struct postgres_array *a)
{
    if (a->bytes.cap > KEPT_BYTES || a->bytes.error != 0) {
        enum array_type type = a->type;

        array_done(a);
        array_init(a, type);
    }
    buf_clear(&a->bytes);
    a->n = 0;
    a->has_null = false;
}

static void begin_value(struct postgres_array *a, uint32_t length)
{
    if (a->n++ == 0)
        put_head(a, (uint32_t)a->type);
    put_u32(&a->bytes, length);
}

void array_int(struct postgres_array *a, int64_t value)
{
    uint64_t bytes = htobe64((uint64_t)value);

    begin_value(a, sizeof(bytes));
    buf_put(&a->bytes, &bytes, sizeof(bytes));
}

void array_text(struct postgres_array *a, struct str text)
{
    begin_value(a, (uint32_t)text.n);
    buf_str(&a->bytes, text);
}

void array_null(struct postgres_array *a)
{
    begin_value(a, UINT32_MAX);
    a->has_null = true;
}

bool params_array(struct postgres_params *p, struct postgres_array *a)
{
    uint32_t n = htobe32(a->n), nulls = htobe32(a->has_null);

    if (a->n == 0)
        put_head(a, (uint32_t)a->type);
    if (a->bytes.error != 0)
        return false;
    memcpy(a->bytes.p + AT_N, &n, sizeof(n));
    memcpy(a->bytes.p + AT_NULLS, &nulls, sizeof(nulls));
    params_text(p, buf_text(&a->bytes));
    return true;
}
