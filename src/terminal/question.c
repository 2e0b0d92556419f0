#include "terminal/question.h"

enum { MAX_ANSWER = 1024 * 1024 };

const yyjson_val *question_words(const yyjson_val *q)
{
    const yyjson_val *words = json_at(q, "question");

    return json_is_null(words) ? json_at(q, "value") : words;
}

void question_put(struct buf *b, const yyjson_val *q)
{
    const yyjson_val *words = question_words(q);

    if (!str_absent(json_text(words)))
        buf_str(b, json_text(words));
    else
        json_put_value(b, words);
}

const yyjson_val *question_choices(const yyjson_val *q)
{
    const yyjson_val *list = json_at(json_at(json_at(q, "value"), "schema"), "enum");

    return yyjson_is_arr((yyjson_val *)(uintptr_t)list) ? list : NULL;
}

bool question_wants_text(const yyjson_val *q)
{
    return str_is(json_text(json_at(json_at(json_at(q, "value"), "schema"), "type")), "string");
}

static void put_value(struct buf *b, struct str text, bool as_text)
{
    struct json_reader reader LOCAL_READER(MAX_ANSWER, 64);
    struct json json;

    if (!as_text && json_read(&reader, text, &json, NULL) == 0)
        json_put_value(b, json.root);
    else
        json_put_str(b, text);
}

void question_put_body(struct buf *b, struct str text, bool as_text, struct str id)
{
    json_begin(b);
    json_key(b, "value");
    put_value(b, text, as_text);
    if (!str_empty(id))
        json_add_str(b, "interrupt_id", id);
    json_end(b);
}
