#include "cli/question.h"

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
