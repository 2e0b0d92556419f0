/* Rows: what is copied is nobody else's. */
#include "base/arena.h"
#include "store/rows.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Each text of it another one, and the last absent. */
static void fill(const struct row_texts *texts, void *row, char text[][2])
{
    for (size_t i = 0; i < texts->n; i++) {
        text[i][0] = (char)('a' + i);
        *row_text(texts, row, i) = i + 1 < texts->n ? str_make(text[i], 1) : STR_NONE;
    }
}

static void expect_filled(const struct row_texts *texts, void *row, char text[][2])
{
    for (size_t i = 0; i + 1 < texts->n; i++) {
        struct str got = *row_text(texts, row, i);

        assert_true(str_eq(got, str_make(text[i], 1)));
        assert_ptr_not_equal(got.p, text[i]);
    }
    assert_true(str_absent(*row_text(texts, row, texts->n - 1)));
}

static void a_copied_row_has_its_texts_in_the_arena(void **state)
{
    struct job_row row = { .key = 7 };
    char text[ROW_TEXTS_MAX][2];
    struct arena mem;

    (void)state;
    arena_init(&mem);
    fill(&job_texts, &row, text);
    assert_true(row_copy(&mem, &job_texts, &row));
    expect_filled(&job_texts, &row, text);
    assert_int_equal(row.key, 7);
    arena_done(&mem);
}

static void a_row_that_owns_its_texts_frees_them(void **state)
{
    struct job_row row = { .key = 7 };
    char text[ROW_TEXTS_MAX][2];

    (void)state;
    fill(&job_texts, &row, text);
    assert_int_equal(row_own(&job_texts, &row), 0);
    expect_filled(&job_texts, &row, text);
    row_disown(&job_texts, &row);
    for (size_t i = 0; i < job_texts.n; i++)
        assert_true(str_absent(*row_text(&job_texts, &row, i)));
}

/* What is between two numbers of the struct is a text, so that none was left out of the list.
 */
static void all_texts_of_a_job_are_in_the_list(void **state)
{
    size_t from = offsetof(struct job_row, id), to = offsetof(struct job_row, attempt);

    (void)state;
    assert_int_equal(job_texts.n, (to - from) / sizeof(struct str));
    for (size_t i = 0; i < job_texts.n; i++) {
        assert_in_range(job_texts.at[i], from, to - 1);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(job_texts.at[i], job_texts.at[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copied_row_has_its_texts_in_the_arena),
        cmocka_unit_test(a_row_that_owns_its_texts_frees_them),
        cmocka_unit_test(all_texts_of_a_job_are_in_the_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
