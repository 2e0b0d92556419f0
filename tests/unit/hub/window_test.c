/* The window of a channel: which records it holds, and what readers of a dropped block keep. */
#include "hub/window.h"

#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RECORD_BYTES = 10000, N_RECORDS = 200 }; /* about four times what a window holds */

static void add(struct window *w, uint64_t seq)
{
    static char bytes[RECORD_BYTES];

    memset(bytes, 'a' + (int)(seq % 26), sizeof(bytes));
    assert_int_equal(window_add(w, (struct str){ bytes, sizeof(bytes) }, seq, false), 0);
    w->last = seq;
}

static void fill(struct window *w, uint64_t n)
{
    window_reset(w, 0);
    for (uint64_t seq = 1; seq <= n; seq++)
        add(w, seq);
}

/* The byte that the record behind @seq is made of; 0: the window has not got it. */
static char byte_after(const struct window *w, uint64_t seq)
{
    size_t offset = 0;
    const struct block *b = window_find(w, seq, &offset);

    return b != NULL ? b->bytes.p[offset] : 0;
}

static void it_holds_the_records_behind_its_base(void **state)
{
    struct window w = { 0 };

    (void)state;
    fill(&w, N_RECORDS);
    assert_true(w.base > 0);
    assert_true(w.base < N_RECORDS - 1);
    for (uint64_t seq = w.base; seq < N_RECORDS; seq++)
        assert_int_equal(byte_after(&w, seq), 'a' + (int)((seq + 1) % 26));
    assert_int_equal(byte_after(&w, N_RECORDS), 0);
    window_reset(&w, 7);
}

static void nothing_is_dropped_while_there_is_room(void **state)
{
    struct window w = { 0 };

    (void)state;
    fill(&w, 20);
    assert_int_equal(w.base, 0);
    assert_int_equal(byte_after(&w, 0), 'b');
    window_reset(&w, 20);
    assert_int_equal(w.base, 20);
    assert_null(w.first);
    assert_int_equal(w.n_bytes, 0);
}

static void a_block_that_is_sent_from_outlives_the_window(void **state)
{
    struct window w = { 0 };
    size_t offset = 0;

    (void)state;
    fill(&w, 3);
    struct block *b = window_find(&w, 0, &offset);
    b->refs++;
    for (uint64_t seq = 4; seq <= N_RECORDS; seq++)
        add(&w, seq);
    assert_true(b->left);
    assert_int_equal(b->bytes.p[offset], 'b');
    block_unref(b);
    window_reset(&w, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_the_records_behind_its_base),
        cmocka_unit_test(nothing_is_dropped_while_there_is_room),
        cmocka_unit_test(a_block_that_is_sent_from_outlives_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
