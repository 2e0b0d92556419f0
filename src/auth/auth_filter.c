#include "auth/auth_filter.h"

#include "base/json_match.h"

enum { MAX_NESTING = 8, MAX_DEPTH = 256 };

static bool matches(const yyjson_val *filter, const yyjson_val *metadata, size_t nesting);

static bool has_element(const yyjson_val *list, const yyjson_val *wanted)
{
    json_each(element, list)
        if (json_same(element, wanted))
            return true;
    return false;
}

static bool contains(const yyjson_val *list, const yyjson_val *wanted)
{
    if (!yyjson_is_arr((yyjson_val *)(uintptr_t)list))
        return false;
    if (!yyjson_is_arr((yyjson_val *)(uintptr_t)wanted))
        return has_element(list, wanted);
    json_each(one, wanted)
        if (!has_element(list, one))
            return false;
    return true;
}

/* {"$eq": ...}, {"$contains": ...}: all of them must hold, and there must be one. */
static bool meets(const yyjson_val *value, const yyjson_val *conditions)
{
    if (yyjson_obj_size((yyjson_val *)(uintptr_t)conditions) == 0)
        return false;
    json_each_member(name, wanted, conditions) {
        bool ok = str_is(json_text(name), "$eq")         ? json_same(value, wanted)
                  : str_is(json_text(name), "$contains") ? contains(value, wanted)
                                                         : false;

        if (!ok)
            return false;
    }
    return true;
}

static bool any_matches(const yyjson_val *filters, const yyjson_val *metadata, size_t nesting)
{
    json_each(one, filters)
        if (matches(one, metadata, nesting))
            return true;
    return false;
}

static bool all_match(const yyjson_val *filters, const yyjson_val *metadata, size_t nesting)
{
    if (!yyjson_is_arr((yyjson_val *)(uintptr_t)filters))
        return false;
    json_each(one, filters)
        if (!matches(one, metadata, nesting))
            return false;
    return true;
}

static bool holds(struct str key,
                  const yyjson_val *wanted,
                  const yyjson_val *metadata,
                  size_t nesting)
{
    if (str_is(key, "$or"))
        return any_matches(wanted, metadata, nesting + 1);
    if (str_is(key, "$and"))
        return all_match(wanted, metadata, nesting + 1);
    const yyjson_val *value = json_get(metadata, key);
    if (value == NULL)
        return false;
    return yyjson_is_obj((yyjson_val *)(uintptr_t)wanted) ? meets(value, wanted)
                                                          : json_same(value, wanted);
}

static bool matches(const yyjson_val *filter, const yyjson_val *metadata, size_t nesting)
{
    if (nesting > MAX_NESTING || !yyjson_is_obj((yyjson_val *)(uintptr_t)filter))
        return false;
    json_each_member(key, wanted, filter)
        if (!holds(json_text(key), wanted, metadata, nesting))
            return false;
    return true;
}

bool auth_filter_matches(const yyjson_val *filter, const yyjson_val *metadata)
{
    return json_is_null(filter) || matches(filter, metadata, 0);
}

bool auth_filter_lets(struct str filter, struct str metadata)
{
    struct json_reader one LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json_reader other LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json f, m = { 0 };

    if (str_empty(filter))
        return true;
    if (json_read(&one, filter, &f, NULL) != 0)
        return false;
    if (!str_empty(metadata) && json_read(&other, metadata, &m, NULL) != 0)
        return false;
    return auth_filter_matches(f.root, m.root);
}
