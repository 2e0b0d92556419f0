#include "api/shape.h"

#include "base/json.h"
#include "dialect/render.h"

/* Begins a member; false when it is not selected. */
static bool begin(struct shape *s, const char *name)
{
    for (size_t i = 0; s->select.bits != 0 && s->members[i] != NULL; i++)
        if (strcmp(s->members[i], name) == 0 && (s->select.bits & 1u << i) == 0)
            return false;
    json_put_key(s->b, str_of(name));
    return true;
}

void shape_text(struct shape *s, const char *name, struct str value)
{
    if (begin(s, name))
        json_put_str_or_null(s->b, value);
}

void shape_json(struct shape *s, const char *name, struct str value)
{
    if (begin(s, name))
        json_put_raw_or_null(s->b, value);
}

void shape_number(struct shape *s, const char *name, int64_t value)
{
    if (begin(s, name))
        buf_i64(s->b, value);
}

void shape_time(struct shape *s, const char *name, int64_t ms)
{
    if (begin(s, name))
        json_put_time_or_null(s->b, ms);
}
