#include "base/json_match.h"

static int order_of(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int order_of_texts(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;

    return order != 0 ? order : order_of((double)a.n, (double)b.n);
}

static bool is_negative(const yyjson_val *v)
{
    return yyjson_is_sint((yyjson_val *)v) && yyjson_get_sint((yyjson_val *)v) < 0;
}

int json_compare_numbers(const yyjson_val *a, const yyjson_val *b)
{
    double x = 0, y = 0;

    if (!yyjson_is_int((yyjson_val *)a) || !yyjson_is_int((yyjson_val *)b)) {
        (void)json_number(a, &x); /* numbers, as the caller has seen */
        (void)json_number(b, &y);
        return order_of(x, y);
    }
    /* Two's complement: those of one sign are in the order of their bits. */
    uint64_t m = yyjson_get_uint((yyjson_val *)a), n = yyjson_get_uint((yyjson_val *)b);

    if (is_negative(a) != is_negative(b))
        return is_negative(a) ? -1 : 1;
    return m < n ? -1 : m > n;
}

/* False when they cannot be compared. */
static bool compare(const yyjson_val *a, const yyjson_val *b, int *ret)
{
    double x, y;

    if (json_number(a, &x) && json_number(b, &y)) {
        *ret = json_compare_numbers(a, b);
        return true;
    }
    if (str_absent(json_text(a)) || str_absent(json_text(b)))
        return false;
    *ret = order_of_texts(json_text(a), json_text(b));
    return true;
}

/* --- the same ---------------------------------------------------------------- */

static bool same_objects(const yyjson_val *a, const yyjson_val *b)
{
    if (yyjson_obj_size((yyjson_val *)a) != yyjson_obj_size((yyjson_val *)b))
        return false;
    json_each_member(key, value, a) {
        yyjson_val *other = json_get(b, json_text(key));

        if (other == NULL || !json_same(value, other))
            return false;
    }
    return true;
}

static bool same_lists(const yyjson_val *a, const yyjson_val *b)
{
    yyjson_val *other = yyjson_arr_get_first((yyjson_val *)b);

    if (yyjson_arr_size((yyjson_val *)a) != yyjson_arr_size((yyjson_val *)b))
        return false;
    json_each(value, a) {
        if (!json_same(value, other))
            return false;
        other = unsafe_yyjson_get_next(other);
    }
    return true;
}

bool json_same(const yyjson_val *a, const yyjson_val *b)
{
    int order;

    if (compare(a, b, &order))
        return order == 0;
    if (json_is_null(a) || json_is_null(b))
        return json_is_null(a) && json_is_null(b);
    if (yyjson_is_obj((yyjson_val *)a) && yyjson_is_obj((yyjson_val *)b))
        return same_objects(a, b);
    if (yyjson_is_arr((yyjson_val *)a) && yyjson_is_arr((yyjson_val *)b))
        return same_lists(a, b);
    return yyjson_is_bool((yyjson_val *)a) && yyjson_is_bool((yyjson_val *)b) &&
           yyjson_get_bool((yyjson_val *)a) == yyjson_get_bool((yyjson_val *)b);
}

/* --- a part ------------------------------------------------------------------ */

static bool has_element(const yyjson_val *list, const yyjson_val *part)
{
    json_each(value, list)
        if (json_contains(value, part))
            return true;
    return false;
}

bool json_contains(const yyjson_val *whole, const yyjson_val *part)
{
    if (yyjson_is_obj((yyjson_val *)whole) && yyjson_is_obj((yyjson_val *)part)) {
        json_each_member(key, value, part) {
            yyjson_val *other = json_get(whole, json_text(key));

            if (other == NULL || !json_contains(other, value))
                return false;
        }
        return true;
    }
    if (yyjson_is_arr((yyjson_val *)whole) && yyjson_is_arr((yyjson_val *)part)) {
        json_each(value, part)
            if (!has_element(whole, value))
                return false;
        return true;
    }
    return json_same(whole, part);
}

/* --- a filter ---------------------------------------------------------------- */

enum { BELOW = 1, EQUAL = 2, ABOVE = 4 };

static const struct {
    const char *name;
    int orders; /* that satisfy it */
} conditions[] = {
    { "$gt", ABOVE },
    { "$gte", ABOVE | EQUAL },
    { "$lt", BELOW },
    { "$lte", BELOW | EQUAL },
};

enum { N_CONDITIONS = sizeof(conditions) / sizeof(conditions[0]) };

static int orders_of(struct str name)
{
    for (size_t i = 0; i < N_CONDITIONS; i++)
        if (str_eq(name, str_of(conditions[i].name)))
            return conditions[i].orders;
    return 0;
}

static bool holds(struct str name, const yyjson_val *value, const yyjson_val *wanted)
{
    int order;

    if (str_is(name, "$eq"))
        return json_same(value, wanted);
    if (str_is(name, "$ne"))
        return !json_same(value, wanted);
    if (!compare(value, wanted, &order))
        return false;
    return (orders_of(name) & (order < 0 ? BELOW : order > 0 ? ABOVE : EQUAL)) != 0;
}

/* An object whose first member begins with '$'. */
static bool is_conditions(const yyjson_val *wanted)
{
    yyjson_obj_iter it;
    yyjson_val *key =
        yyjson_obj_iter_init((yyjson_val *)wanted, &it) ? yyjson_obj_iter_next(&it) : NULL;

    return str_starts(json_text(key), STR("$"));
}

static bool matches_one(const yyjson_val *value, const yyjson_val *wanted)
{
    if (!is_conditions(wanted))
        return json_same(value, wanted);
    json_each_member(key, operand, wanted)
        if (!holds(json_text(key), value, operand))
            return false;
    return true;
}

bool json_matches(const yyjson_val *value, const yyjson_val *filter)
{
    if (filter == NULL)
        return true;
    json_each_member(key, wanted, filter)
        if (!matches_one(json_get(value, json_text(key)), wanted))
            return false;
    return true;
}

static struct str conditions_fault(const yyjson_val *wanted)
{
    json_each_member(key, operand, wanted) {
        struct str name = json_text(key);

        if (!str_is(name, "$eq") && !str_is(name, "$ne") && orders_of(name) == 0)
            return name;
    }
    return STR_NONE;
}

struct str json_filter_fault(const yyjson_val *filter)
{
    if (filter == NULL)
        return STR_NONE;
    json_each_member(key, wanted, filter) {
        struct str fault = is_conditions(wanted) ? conditions_fault(wanted) : STR_NONE;

        if (!str_absent(fault))
            return fault;
    }
    return STR_NONE;
}
