/* Any bytes as a pickle: what is taken from them is JSON, and the same every time; what is
 * refused has a reason. */
#include "fuzz.h"

#include "base/error.h"
#include "base/json.h"
#include "pickle/read.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_OUT = 1 << 18, MAX_DEPTH = 100 };

static const struct pickle_limits limits = { .max_bytes = 1 << 16,
                                             .max_values = 1 << 12,
                                             .max_depth = MAX_DEPTH };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_make((const char *)data, size);
    struct error err = { 0 };
    struct json_reader reader;
    struct json json;
    struct buf first, second;

    buf_init(&first, MAX_OUT);
    buf_init(&second, MAX_OUT);
    json_reader_init(&reader, MAX_OUT, MAX_DEPTH + 1);
    int code = pickle_to_json(bytes, &limits, &first, &err);
    check((code != 0) == (err.text[0] != '\0'), "a refusal without words");
    check(pickle_to_json(bytes, &limits, &second, NULL) == code, "it depends");
    if (code == 0) {
        check(str_eq(buf_text(&first), buf_text(&second)), "it says something else");
        check(json_read(&reader, buf_text(&first), &json, NULL) == 0, "it is not JSON");
        check(!json.repaired, "it is JSON that has to be repaired");
    }
    json_reader_done(&reader);
    buf_done(&first);
    buf_done(&second);
    return 0;
}
