/* Vectors of texts: how they are read from JSON, stored and compared. */
#include "store/vectors.h"

#include "base/error.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { LIMIT = 1 << 20 };

static int put(struct buf *b, const char *json, int (*how)(struct buf *, const yyjson_val *))
{
    struct json_reader reader LOCAL_READER(LIMIT, 8);
    struct json value;

    assert_int_equal(json_read(&reader, str_of(json), &value, NULL), 0);
    return how(b, value.root);
}

static float score_of(const char *stored, const char *wanted)
{
    struct buf all LOCAL_BUF(LIMIT);
    struct buf one LOCAL_BUF(LIMIT);
    float score = -7;

    assert_int_equal(put(&all, stored, vectors_put), 0);
    assert_int_equal(put(&one, wanted, vectors_put_one), 0);
    return vectors_score(buf_text(&all), buf_text(&one), &score) ? score : -9;
}

static void the_nearest_vector_counts(void **state)
{
    (void)state;
    assert_true(fabsf(score_of("[[3,0]]", "[1,0]") - 1) < 1e-6F); /* whatever their lengths */
    assert_true(fabsf(score_of("[[0,2]]", "[1,0]")) < 1e-6F);
    assert_true(fabsf(score_of("[[-1,0]]", "[5,0]") + 1) < 1e-6F);
    assert_true(fabsf(score_of("[[0,1],[1,1],[-1,0]]", "[1,0]") - 0.70710678F) < 1e-6F);
    /* More numbers than are added at a time, and some that are left. */
    assert_true(fabsf(score_of("[[1,1,1,1,1,1,1,1,1,1,1]]", "[1,1,1,1,1,1,1,1,1,1,0]") -
                      sqrtf(10.0F / 11)) < 1e-6F);
}

static void what_cannot_be_compared_has_no_score(void **state)
{
    struct buf one LOCAL_BUF(LIMIT);
    float score;

    (void)state;
    assert_int_equal(put(&one, "[1,2]", vectors_put_one), 0);
    assert_true(score_of("[[1,2,3]]", "[1,2]") < -8); /* another model */
    assert_true(score_of("[]", "[1,2]") < -8);
    assert_false(vectors_score(STR("abc"), buf_text(&one), &score));
    assert_false(vectors_score(str_head(buf_text(&one), one.n - 1), buf_text(&one), &score));
    assert_false(vectors_score(STR_NONE, STR_NONE, &score));
    assert_true(fabsf(score_of("[[0,0]]", "[1,0]")) < 1e-6F); /* of an empty text */
}

static void what_is_no_vector_is_refused(void **state)
{
    static const char *const bad[] = { "[[]]",     "[[1],[1,2]]",    "[1]", "[[\"x\"]]", "{}",
                                       "[[null]]", "[[1e308,1e308]]" };
    struct buf b LOCAL_BUF(LIMIT);

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(put(&b, bad[i], vectors_put), ERR_TYPE);
    assert_int_equal(put(&b, "[]", vectors_put_one), ERR_TYPE);
    assert_int_equal(put(&b, "3", vectors_put_one), ERR_TYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_vector_counts),
        cmocka_unit_test(what_cannot_be_compared_has_no_score),
        cmocka_unit_test(what_is_no_vector_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
