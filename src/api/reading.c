#include "api/reading.h"

void reading_fail(struct reading *r, const char *what, const char *must)
{
    if (!r->failed)
        http_respond_error(r->req, 422, "\"%s\" must be %s", what, must);
    r->failed = true;
}

void reading_fail_memory(struct reading *r)
{
    if (!r->failed)
        http_respond_error(r->req, 503, "out of memory");
    r->failed = true;
}

struct str reading_keep(struct reading *r, struct str text)
{
    struct str kept = STR_NONE;

    if (!arena_copy(r->mem, text, &kept))
        reading_fail_memory(r);
    return kept;
}

struct str reading_text(struct reading *r,
                        const yyjson_val *of,
                        const char *name,
                        size_t least,
                        size_t most)
{
    struct str text = json_text(json_get(of, str_of(name)));

    if (str_absent(text) || text.n < least || text.n > most)
        reading_fail(r, name, least > 0 ? "a text that is not empty, nor too long" : "a text");
    return reading_keep(r, text);
}

struct str reading_optional(struct reading *r,
                            const yyjson_val *of,
                            const char *name,
                            struct str otherwise)
{
    yyjson_val *value = json_get(of, str_of(name));

    return json_is_null(value) ? otherwise : reading_text(r, of, name, 0, READING_MAX_TEXT);
}

struct str reading_keep_json(struct reading *r, const yyjson_val *value)
{
    struct str kept = STR_NONE;

    if (!api_keep_json(r->mem, value, &kept))
        reading_fail_memory(r);
    return kept;
}

struct str reading_object(struct reading *r, const yyjson_val *of, const char *name)
{
    yyjson_val *value = json_get(of, str_of(name));

    if (json_is_null(value))
        return STR("{}");
    if (yyjson_is_obj(value))
        return reading_keep_json(r, value);
    reading_fail(r, name, "an object");
    return STR("{}");
}
