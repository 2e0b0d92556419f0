/* Any bytes as what is stored of an item's meaning, and as what an embedding function answers.
 * The first byte says where the first ends.  What was made from JSON is of length 1, so that no
 * two are more alike than equal ones. */
#include "fuzz.h"

#include "base/error.h"
#include "store/vectors.h"

#include <math.h>
#include <stdlib.h>

enum { LIMIT = 1 << 20 };

static void score(struct str stored, struct str wanted, bool is_ours)
{
    float ret = 0;
    bool is_like = vectors_score(stored, wanted, &ret);

    if (is_like && is_ours && !(fabsf(ret) < 1.001F))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_reader reader LOCAL_READER(LIMIT, 8);
    struct buf all LOCAL_BUF(LIMIT);
    struct buf one LOCAL_BUF(LIMIT);
    struct json json;

    if (size == 0)
        return 0;
    struct str rest = str_make((const char *)data + 1, size - 1);
    struct str first = str_head(rest, data[0] < rest.n ? data[0] : rest.n);
    struct str second = str_skip(rest, first.n);
    score(first, second, false);
    score(first, first, false);
    if (json_read(&reader, rest, &json, NULL) != 0)
        return 0;
    int code = vectors_put(&all, json.root);
    if (code == 0 && all.n > 0 && vectors_put_one(&one, yyjson_arr_get_first(json.root)) == 0) {
        float ret = -2;

        score(buf_text(&all), buf_text(&one), true);
        if (!vectors_score(buf_text(&all), buf_text(&one), &ret))
            abort(); /* it has the vector itself */
    }
    return 0;
}
