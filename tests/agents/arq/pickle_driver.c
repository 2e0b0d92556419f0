/* Pickles for tests in Python:
 *
 *     pickle_driver write    JSON lines in; for each a pickle in hexadecimal, or "error ..."
 *     pickle_driver read     pickles in hexadecimal, a line each; for each JSON, or "error ..."
 */
#include "base/error.h"
#include "base/json.h"
#include "pickle/read.h"
#include "pickle/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX = 1 << 26, MAX_DEPTH = 200 };

static const struct pickle_limits limits = { .max_bytes = MAX,
                                             .max_values = 1 << 20,
                                             .max_depth = MAX_DEPTH };

static void write_one(struct json_reader *reader, struct str line)
{
    struct error err = { 0 };
    struct json json;
    struct buf b;

    buf_init(&b, MAX);
    if (json_read(reader, line, &json, &err) == 0) {
        pickle_begin(&b);
        pickle_value(&b, json.root);
        pickle_end(&b);
        if (b.error != 0)
            (void)error_set(&err, b.error, "%s", error_name(b.error));
    }
    if (err.code != 0)
        printf("error %s", err.text);
    for (size_t i = 0; err.code == 0 && i < b.n; i++) {
        (void)putchar("0123456789abcdef"[(unsigned char)b.p[i] >> 4]);
        (void)putchar("0123456789abcdef"[(unsigned char)b.p[i] & 15]);
    }
    printf("\n");
    buf_done(&b);
}

static void read_one(struct str line)
{
    struct error err = { 0 };
    struct buf bytes, out;

    buf_init(&bytes, MAX);
    buf_init(&out, MAX);
    for (size_t i = 0; i + 1 < line.n; i += 2) {
        char hex[3] = { line.p[i], line.p[i + 1], '\0' };
        buf_char(&bytes, (char)(unsigned char)strtoul(hex, NULL, 16));
    }
    if (pickle_to_json(buf_text(&bytes), &limits, &out, &err) == 0)
        printf("%.*s\n", STR_ARG(buf_text(&out)));
    else
        printf("error %s\n", err.text);
    buf_done(&bytes);
    buf_done(&out);
}

int main(int argc, char **argv)
{
    struct json_reader reader;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    if (argc != 2)
        return 2;
    json_reader_init(&reader, MAX, MAX_DEPTH);
    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct str s = str_make(line, (size_t)n - 1);
        if (strcmp(argv[1], "write") == 0)
            write_one(&reader, s);
        else
            read_one(s);
    }
    json_reader_done(&reader);
    free(line);
    return 0;
}
