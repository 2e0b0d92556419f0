#include "store/vectors.h"

#include "base/error.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 }; /* sums at a time, which the processor adds side by side */

static void put_float(struct buf *b, float f)
{
    char bytes[sizeof(f)];

    memcpy(bytes, &f, sizeof(f));
    buf_put(b, bytes, sizeof(bytes));
}

/* A vector of zeros, of an empty text perhaps, stays one: it is like nothing. */
static int put_one(struct buf *b, const yyjson_val *vector)
{
    double sum = 0, x;

    json_each(value, vector) {
        if (!json_number(value, &x) || !isfinite(x))
            return ERR_TYPE;
        sum += x * x;
    }
    double length = sum > 0 ? sqrt(sum) : 1;
    if (!isfinite(length))
        return ERR_TYPE;
    json_each(value, vector) {
        (void)json_number(value, &x); /* as above */
        put_float(b, (float)(x / length));
    }
    return b->error;
}

static int put_dimension(struct buf *b, size_t dimension)
{
    uint32_t head = (uint32_t)dimension;
    char bytes[sizeof(head)];

    if (dimension == 0)
        return ERR_TYPE;
    if (dimension > VECTORS_MAX_DIMENSION)
        return ERR_TOO_LARGE;
    memcpy(bytes, &head, sizeof(head));
    buf_put(b, bytes, sizeof(bytes));
    return b->error;
}

int vectors_put_one(struct buf *b, const yyjson_val *vector)
{
    int err = put_dimension(b, yyjson_arr_size((yyjson_val *)(uintptr_t)vector));

    return err != 0 ? err : put_one(b, vector);
}

int vectors_put(struct buf *b, const yyjson_val *list)
{
    yyjson_val *all = (yyjson_val *)(uintptr_t)list;
    size_t dimension = yyjson_arr_size(yyjson_arr_get_first(all));

    if (!yyjson_is_arr(all))
        return ERR_TYPE;
    if (yyjson_arr_size(all) > VECTORS_MAX)
        return ERR_TOO_LARGE;
    if (yyjson_arr_size(all) == 0)
        return 0;
    int err = put_dimension(b, dimension);
    if (err != 0)
        return err;
    json_each(vector, list) {
        if (!yyjson_is_arr(vector) || yyjson_arr_size(vector) != dimension)
            return ERR_TYPE;
        err = put_one(b, vector);
        if (err != 0)
            return err;
    }
    return b->error;
}

/* The numbers of @stored, how many there are, and their dimension; false: it is cut off. */
static bool open_vectors(struct str stored, uint32_t *ret_dimension, struct str *ret)
{
    if (stored.n < sizeof(*ret_dimension))
        return false;
    memcpy(ret_dimension, stored.p, sizeof(*ret_dimension));
    *ret = str_skip(stored, sizeof(*ret_dimension));
    size_t bytes = (size_t)*ret_dimension * sizeof(float);
    return bytes > 0 && ret->n >= bytes && ret->n % bytes == 0;
}

/* Bytes of a row are not aligned. */
static float dot(const char *a, const char *b, size_t n)
{
    float sums[LANES] = { 0 }, x[LANES], y[LANES], sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        memcpy(x, a + i * sizeof(float), sizeof(x));
        memcpy(y, b + i * sizeof(float), sizeof(y));
        for (size_t k = 0; k < LANES; k++)
            sums[k] += x[k] * y[k];
    }
    for (; i < n; i++) {
        memcpy(x, a + i * sizeof(float), sizeof(float));
        memcpy(y, b + i * sizeof(float), sizeof(float));
        sum += x[0] * y[0];
    }
    for (size_t k = 0; k < LANES; k++)
        sum += sums[k];
    return sum;
}

bool vectors_score(struct str stored, struct str wanted, float *ret)
{
    uint32_t dimension, same;
    struct str all, one;

    if (!open_vectors(stored, &dimension, &all) || !open_vectors(wanted, &same, &one) ||
        dimension != same)
        return false;
    size_t bytes = dimension * sizeof(float);
    for (size_t at = 0; at < all.n; at += bytes) {
        float score = dot(all.p + at, one.p, dimension);

        if (at == 0 || score > *ret)
            *ret = score;
    }
    return true;
}
