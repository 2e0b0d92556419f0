#include "base/json_merge.h"

#include "base/error.h"
#include "base/json.h"

enum { MAX_DEPTH = 256 };

/* The members of @object but those that @hidden has too. */
static void put_members(struct buf *b, const yyjson_val *object, const yyjson_val *hidden)
{
    json_each_member(key, value, object) {
        if (json_get(hidden, json_text(key)) != NULL)
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
}

static const yyjson_val *read(struct json_reader *reader, struct str text, struct json *json)
{
    return text.n > 0 && json_read(reader, text, json, NULL) == 0 && yyjson_is_obj(json->root)
               ? json->root
               : NULL;
}

void json_merge(struct buf *b, struct str under, struct str over)
{
    struct json_reader readers[2];
    struct json json[2];

    for (size_t i = 0; i < 2; i++)
        json_reader_init(&readers[i], SIZE_MAX / 64, MAX_DEPTH);
    const yyjson_val *low = read(&readers[0], under, &json[0]);
    const yyjson_val *high = read(&readers[1], over, &json[1]);
    json_begin(b);
    put_members(b, low, high);
    put_members(b, high, NULL);
    json_end(b);
    for (size_t i = 0; i < 2; i++)
        json_reader_done(&readers[i]);
}

int json_merge_copy(struct arena *mem, struct str under, struct str over, struct str *ret)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    json_merge(&b, under, over);
    return b.error == 0 && arena_copy(mem, buf_text(&b), ret) ? 0 : ERR_NOMEM;
}
