/* Any bytes as a line of JSON: it is read exactly when it is JSON, or when it has nothing
 * wrong with it but lone surrogates and NaN; and what is written again is the same value. */
#include "fuzz.h"

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_BYTES = 1 << 16,
    MAX_DEPTH = 16,
};

#define RAW YYJSON_READ_NUMBER_AS_RAW /* no constant expression in C */

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static size_t depth_of(yyjson_val *v)
{
    size_t deepest = 0, i, n;
    yyjson_val *key, *item;

    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach(v, i, n, item)
        {
            size_t d = depth_of(item);

            deepest = d > deepest ? d : deepest;
        }
    } else if (yyjson_is_obj(v)) {
        yyjson_obj_foreach(v, i, n, key, item)
        {
            size_t d = depth_of(item);

            deepest = d > deepest ? d : deepest;
        }
    }
    return deepest + yyjson_is_ctn(v);
}

/* Any that cannot stand even between values; repair must not let them in. */
static bool has_control(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.p[i] < ' ' && strchr("\t\n\r", line.p[i]) == NULL)
            return true;
    return str_find(line, '\0') < line.n;
}

/* Compact, on one line, strictly valid, and stable. */
static void check_written(yyjson_val *root)
{
    struct json_reader reader;
    struct json again;
    struct buf once, twice;

    json_reader_init(&reader, SIZE_MAX / 64, MAX_DEPTH);
    buf_init(&once, SIZE_MAX / 4);
    buf_init(&twice, SIZE_MAX / 4);
    json_put_value(&once, root);
    check(str_find(buf_text(&once), '\n') == once.n, "more than one line");
    check(utf8_valid(buf_text(&once)) == once.n, "not UTF-8");
    check(json_read(&reader, buf_text(&once), &again, NULL) == 0, "cannot be read again");
    check(!again.repaired, "needs repair");
    json_put_value(&twice, again.root);
    check(str_eq(buf_text(&once), buf_text(&twice)), "changes when it is written twice");
    buf_done(&once);
    buf_done(&twice);
    json_reader_done(&reader);
}

/* Each member as it stands in the line is its value. */
static void check_members(const struct json *j)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(j->root);
    yyjson_val *key;

    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        struct str raw = json_raw_member(j, key), from = json_raw_from(j, key);

        check(str_starts(from, raw), "a member is elsewhere than its beginning");
        yyjson_doc *doc = yyjson_read(raw.p, raw.n, RAW | YYJSON_READ_ALLOW_INVALID_UNICODE);
        check(doc != NULL, "a member is not JSON");
        check(yyjson_equals(yyjson_doc_get_root(doc), yyjson_obj_iter_get_val(key)),
              "a member is another value");
        yyjson_doc_free(doc);
    }
}

static void check_against_yyjson(const struct json *j, int code, struct str line)
{
    yyjson_doc *doc = yyjson_read(line.p, line.n, RAW);

    if (doc != NULL && depth_of(yyjson_doc_get_root(doc)) <= MAX_DEPTH) {
        check(code == 0 && !j->repaired, "JSON, and not read as it is");
        check(yyjson_equals(yyjson_doc_get_root(doc), j->root), "read as another value");
    } else if (doc != NULL) {
        check(code == ERR_TOO_LARGE, "too deep, and read");
    } else {
        check(code != 0 || j->repaired, "not JSON, and read as it is");
    }
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str line = str_make((const char *)data, size);
    struct json_reader reader;
    struct error err = { 0 };
    struct json j = { 0 };

    if (size > MAX_BYTES)
        return 0;
    json_reader_init(&reader, MAX_BYTES, MAX_DEPTH);
    int code = json_read(&reader, line, &j, &err);
    check(code == 0 || code == ERR_SYNTAX || code == ERR_TOO_LARGE, "an unexpected error");
    check(code == 0 || (err.code == code && err.text[0] != '\0'), "an error without a word");
    check_against_yyjson(&j, code, line);
    if (code == 0) {
        check(depth_of(j.root) <= MAX_DEPTH, "deeper than the limit");
        check(!has_control(line), "a control character, and read");
        check_members(&j);
        check_written(j.root);
    }
    json_reader_done(&reader);
    return 0;
}
