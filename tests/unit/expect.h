/* What tests compare and read with.  Included after cmocka.h. */
#ifndef UNIT_EXPECT_H
#define UNIT_EXPECT_H

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

/* NULL: it must be absent. */
static inline void expect_str(struct str got, const char *want)
{
    if (want == NULL) {
        assert_null(got.p);
        return;
    }
    if (got.p == NULL)
        fail_msg("absent instead of \"%s\"", want);
    if (got.n != strlen(want) || memcmp(got.p, want, got.n) != 0)
        fail_msg("\"%.*s\" instead of \"%s\"", (int)got.n, got.p, want);
}

/* A file of the sources, with a NUL behind; owned. */
static inline char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct buf b;
    char block[4096];
    size_t n;

    if (file == NULL)
        fail_msg("%s: not there (this test runs in the root of the sources)", path);
    buf_init(&b, 1 << 20);
    while ((n = fread(block, 1, sizeof(block), file)) > 0)
        buf_put(&b, block, n);
    (void)fclose(file); /* only read from */
    buf_char(&b, '\0');
    assert_int_equal(b.error, 0);
    return b.p;
}

/* Hands each ```yaml example of a document to @check; there is at least one. */
static inline void each_example(const char *document, void (*check)(const char *yaml))
{
    static const char fence[] = "```yaml\n";
    char *text = read_whole(document);
    int n_examples = 0;

    for (char *at = text; (at = strstr(at, fence)) != NULL; n_examples++) {
        at += sizeof(fence) - 1;
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        check(at);
        at = end + 1;
    }
    assert_true(n_examples > 0);
    free(text);
}

#endif
