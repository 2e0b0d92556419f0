/* The arena: pieces that stay where they are, until all go at once. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void pieces_do_not_overlap_and_do_not_move(void **state)
{
    enum { MANY = 2000 };
    static char *piece[MANY];
    struct arena a;

    (void)state;
    arena_init(&a);
    for (size_t i = 0; i < MANY; i++) {
        piece[i] = arena_alloc(&a, i % 100);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % alignof(max_align_t), 0);
        memset(piece[i], (int)(i % 251), i % 100);
    }
    for (size_t i = 0; i < MANY; i++)
        for (size_t k = 0; k < i % 100; k++)
            assert_int_equal((unsigned char)piece[i][k], i % 251);
    arena_done(&a);
}

static void a_piece_larger_than_a_block_fits(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    char *small = arena_alloc(&a, 10);
    char *large = arena_alloc(&a, 1 << 20);
    assert_non_null(small);
    assert_non_null(large);
    memset(large, 1, 1 << 20);
    memset(small, 2, 10);
    assert_int_equal(large[0], 1);
    arena_done(&a);
}

static void a_size_that_cannot_be_is_refused(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 40));
    assert_non_null(arena_alloc(&a, 1));
    arena_done(&a);
}

static void after_a_reset_the_same_work_needs_one_block(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    for (int turn = 0; turn < 5; turn++) {
        char *first = NULL;

        for (int i = 0; i < 500; i++) {
            char *p = arena_alloc(&a, 100);

            assert_non_null(p);
            memset(p, turn, 100);
            if (i == 0)
                first = p;
        }
        assert_int_equal(first[99], turn);
        struct arena_block *before = a.blocks;
        if (turn > 1) { /* one block, the same one each time */
            arena_reset(&a);
            assert_ptr_equal(a.blocks, before);
        } else {
            arena_reset(&a);
        }
        assert_int_equal(a.used, 0);
    }
    arena_done(&a);
}

static void a_copy_is_a_copy(void **state)
{
    char text[] = "text";
    struct str copy;
    struct arena a;

    (void)state;
    arena_init(&a);
    assert_true(arena_copy(&a, str_make(text, 4), &copy));
    text[0] = 'n';
    assert_true(str_is(copy, "text"));
    assert_true(arena_copy(&a, STR(""), &copy));
    assert_non_null(copy.p);
    assert_int_equal(copy.n, 0);
    assert_true(arena_copy(&a, STR_NONE, &copy));
    assert_null(copy.p);
    arena_done(&a);
    arena_reset(&a); /* an empty one */
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap_and_do_not_move),
        cmocka_unit_test(a_piece_larger_than_a_block_fits),
        cmocka_unit_test(a_size_that_cannot_be_is_refused),
        cmocka_unit_test(after_a_reset_the_same_work_needs_one_block),
        cmocka_unit_test(a_copy_is_a_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
