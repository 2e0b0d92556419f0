/* Any JSON as a pickle: it is one, and says the same. */
#include "fuzz.h"

#include "base/error.h"
#include "base/json.h"
#include "pickle/read.h"
#include "pickle/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_OUT = 1 << 20, MAX_DEPTH = 100 };

static const struct pickle_limits limits = { .max_bytes = MAX_OUT,
                                             .max_values = 1 << 20,
                                             .max_depth = MAX_DEPTH };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* JSON to a pickle and back to JSON; false when it was none. */
static bool there_and_back(struct json_reader *reader, struct str text, struct buf *ret)
{
    struct error err = { 0 };
    struct json json;
    struct buf pickle;

    if (json_read(reader, text, &json, NULL) != 0)
        return false;
    buf_init(&pickle, MAX_OUT);
    pickle_begin(&pickle);
    pickle_value(&pickle, json.root);
    pickle_end(&pickle);
    bool ok = pickle.error == 0;
    if (ok && pickle_to_json(buf_text(&pickle), &limits, ret, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    buf_done(&pickle);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_reader reader;
    struct buf once, twice;

    if (size > 1 << 14)
        return 0;
    json_reader_init(&reader, MAX_OUT, MAX_DEPTH);
    buf_init(&once, MAX_OUT);
    buf_init(&twice, MAX_OUT);
    if (there_and_back(&reader, str_make((const char *)data, size), &once)) {
        check(there_and_back(&reader, buf_text(&once), &twice), "what was read is no JSON");
        check(str_eq(buf_text(&once), buf_text(&twice)), "it changes on the way");
    }
    json_reader_done(&reader);
    buf_done(&once);
    buf_done(&twice);
    return 0;
}
