/* Items are sorted by a hash that equal values share; items with the same hash are compared. */
#include "schema/duplicates.h"

#include "base/json.h"
#include "base/error.h"
#include "base/json_match.h"
#include "base/table.h"

#include <stdlib.h>

struct hashed {
    uint64_t hash;
    yyjson_val *value;
};

static uint64_t hash_value(const struct table *t, yyjson_val *v);

static uint64_t hash_bytes(const struct table *t, uint64_t space, const void *p, size_t n)
{
    return table_key(t, space, str_make(p, n)).a;
}

static uint64_t hash_items(const struct table *t, yyjson_val *list)
{
    uint64_t hash = yyjson_arr_size(list);

    json_each(item, list) {
        uint64_t pair[2] = { hash, hash_value(t, item) };

        hash = hash_bytes(t, YYJSON_TYPE_ARR, pair, sizeof(pair));
    }
    return hash;
}

static uint64_t hash_members(const struct table *t, yyjson_val *object)
{
    uint64_t hash = yyjson_obj_size(object);

    json_each_member(name, member, object) {
        uint64_t pair[2] = { hash_value(t, name), hash_value(t, member) };

        hash += hash_bytes(t, YYJSON_TYPE_OBJ, pair, sizeof(pair)); /* a sum, so that the order
                                                                       of members does not
                                                                       matter */
    }
    return hash;
}

static uint64_t hash_value(const struct table *t, yyjson_val *v)
{
    double number;

    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_NUM:
        number = yyjson_get_num(v) + 0.0; /* turns -0 into 0 */
        return hash_bytes(t, YYJSON_TYPE_NUM, &number, sizeof(number));
    case YYJSON_TYPE_STR:
        return hash_bytes(t, YYJSON_TYPE_STR, yyjson_get_str(v), yyjson_get_len(v));
    case YYJSON_TYPE_ARR:
        return hash_items(t, v);
    case YYJSON_TYPE_OBJ:
        return hash_members(t, v);
    default:
        return unsafe_yyjson_get_tag(v);
    }
}

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;

    return (x->hash > y->hash) - (x->hash < y->hash);
}

int json_has_duplicates(yyjson_val *list)
{
    size_t n = yyjson_arr_size(list), i, max;
    struct hashed *all = n > 1 ? calloc(n, sizeof(*all)) : NULL;
    struct table keyed; /* supplies the key of the hash */
    yyjson_val *item;
    int found = 0;

    if (n <= 1)
        return 0;
    if (all == NULL)
        return ERR_NOMEM;
    table_init(&keyed);
    yyjson_arr_foreach(list, i, max, item) all[i] =
        (struct hashed){ hash_value(&keyed, item), item };
    qsort(all, n, sizeof(*all), by_hash);
    for (i = 0; i < n && !found; i++)
        for (size_t k = i + 1; k < n && all[k].hash == all[i].hash && !found; k++)
            found = json_same(all[i].value, all[k].value);
    free(all);
    return found;
}
