/* Requests of all operations, filled by their layouts, on their way and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

#include "cluster/codec.h"
#include "support/filled_request.h"

#include <stdio.h>
#include <stdlib.h>

/* --- comparing, by the layout ------------------------------------------------------------- */

static void compare(const struct layout *l, const char *a, const char *b, unsigned flow);

static void compare_arrays(const struct member *m, const char *a, const char *b, unsigned flow)
{
    size_t n = *(const size_t *)(const void *)(a + m->n_at);
    const char *rows_a = *(char *const *)(const void *)(a + m->at);
    const char *rows_b = *(char *const *)(const void *)(b + m->at);

    assert_int_equal(n, *(const size_t *)(const void *)(b + m->n_at));
    for (size_t i = 0; i < n; i++)
        compare(m->of, rows_a + i * m->of->size, rows_b + i * m->of->size, flow);
}

static void compare_member(const struct member *m, const char *a, const char *b, unsigned flow)
{
    const void *p = a + m->at, *q = b + m->at;

    switch (m->kind) {
    case MEMBER_TEXT:
        assert_int_equal(str_absent(*(const struct str *)p),
                         str_absent(*(const struct str *)q));
        assert_true(str_eq(*(const struct str *)p, *(const struct str *)q));
        break;
    case MEMBER_INT64:
    case MEMBER_INT:
    case MEMBER_BOOL:
        assert_memory_equal(p, q, m->size);
        break;
    case MEMBER_STRUCT:
        compare(m->of, p, q, flow);
        break;
    case MEMBER_POINTER:
        assert_int_equal(*(char *const *)p == NULL, *(char *const *)q == NULL);
        if (*(char *const *)p != NULL)
            compare(m->of, *(char *const *)p, *(char *const *)q, flow);
        break;
    case MEMBER_ARRAY:
        compare_arrays(m, a, b, flow);
        break;
    case MEMBER_OWN:
        break;
    }
}

static void compare(const struct layout *l, const char *a, const char *b, unsigned flow)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->members[i].flow & flow)
            compare_member(&l->members[i], a, b, flow);
}

static void compare_requests(const struct journal_request *a,
                             const struct journal_request *b,
                             unsigned flow)
{
    const struct layout *op = layout_of_op(a->op);

    assert_int_equal(a->op, b->op);
    compare(layout_of_header(), (const char *)a, (const char *)b, flow);
    if (op != NULL)
        compare(op, (const char *)a + LAYOUT_OP_AT, (const char *)b + LAYOUT_OP_AT, flow);
}

/* --- round trips -------------------------------------------------------------------------- */

static void init(struct journal_request *req, enum journal_op op)
{
    journal_request_init(req, NULL, NULL, NULL);
    (void)journal_request_begin(req, op);
}

/* @a goes to another gateway and is @b there; filled answers of @b come back to @a. */
static void go_and_return(struct filler *f, struct journal_request *a)
{
    struct journal_request b;
    struct buf bytes;

    init(&b, JOURNAL_OP_MAX - 1);
    buf_init(&bytes, SIZE_MAX / 4);
    codec_put_request(&bytes, a);
    assert_int_equal(codec_read_request(buf_text(&bytes), &b), 0);
    for (struct journal_request *p = a, *q = &b; p != NULL || q != NULL;
         p = a->op == JOURNAL_SUBMIT ? p->submit.more : NULL,
                                q = a->op == JOURNAL_SUBMIT ? q->submit.more : NULL) {
        assert_non_null(p);
        assert_non_null(q);
        compare_requests(p, q, FLOW_IN);
        fill_request(f, q, FLOW_OUT);
    }
    b.code = error_set(&b.why, ERR_REFUSED, "because");
    buf_clear(&bytes);
    codec_put_answer(&bytes, &b);
    assert_int_equal(codec_read_answer(buf_text(&bytes), a), 0);
    assert_int_equal(a->code, ERR_REFUSED);
    assert_string_equal(a->why.text, "because");
    for (struct journal_request *p = a, *q = &b; p != NULL;
         p = a->op == JOURNAL_SUBMIT ? p->submit.more : NULL,
                                q = a->op == JOURNAL_SUBMIT ? q->submit.more : NULL)
        compare_requests(p, q, FLOW_OUT);
    /* A cut answer is never taken for a whole one. */
    for (size_t n = 0; n < bytes.n; n++)
        assert_int_equal(codec_read_answer(str_head(buf_text(&bytes), n), a), ERR_SYNTAX);
    buf_done(&bytes);
    codec_request_done(&b);
}

static void a_full_request_of_every_operation_goes_and_returns(void **state)
{
    (void)state;
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++) {
        struct filler f = { .n = op };
        struct journal_request req;

        if (op == JOURNAL_SETTINGS)
            continue;
        init(&req, op);
        fill_request(&f, &req, FLOW_IN);
        go_and_return(&f, &req);
        arena_done(&req.mem);
        arena_done(&f.mem);
    }
}

static void an_empty_request_of_every_operation_goes_and_returns(void **state)
{
    (void)state;
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++) {
        struct filler f = { .n = 0 };
        struct journal_request req;

        if (op == JOURNAL_SETTINGS)
            continue;
        init(&req, op);
        go_and_return(&f, &req);
        arena_done(&req.mem);
        arena_done(&f.mem);
    }
}

static void further_jobs_go_with_the_first(void **state)
{
    struct filler f = { .n = 0 };
    struct journal_request jobs[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        init(&jobs[i], JOURNAL_SUBMIT);
        fill_request(&f, &jobs[i], FLOW_IN);
        if (i > 0)
            jobs[i - 1].submit.more = &jobs[i];
    }
    go_and_return(&f, &jobs[0]);
    for (size_t i = 0; i < 3; i++)
        arena_done(&jobs[i].mem);
    arena_done(&f.mem);
}

static void lines_of_a_feed_stand_behind_one_another(void **state)
{
    struct journal_line lines[] = { { .text = STR("{\"a\":1}") }, { .text = STR("{}") } };
    struct journal_request req, got;
    struct buf bytes;

    (void)state;
    init(&req, JOURNAL_FEED);
    init(&got, JOURNAL_FEED);
    req.feed.lines = lines;
    req.feed.n_lines = 2;
    buf_init(&bytes, 1000);
    codec_put_request(&bytes, &req);
    assert_int_equal(codec_read_request(buf_text(&bytes), &got), 0);
    assert_memory_equal(got.feed.lines[0].text.p, "{\"a\":1}\n{}\n", 11);
    assert_ptr_equal(got.feed.lines[1].text.p, got.feed.lines[0].text.p + 8);
    buf_done(&bytes);
    codec_request_done(&got);
    arena_done(&req.mem);
}

/* --- that nothing is forgotten ------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct member *m = a, *n = b;

    return m->at < n->at ? -1 : m->at > n->at;
}

/* Between two members is nothing but what aligns the second. */
static void expect_whole(const struct layout *l, size_t size)
{
    struct member m[64];
    size_t end = 0;

    assert_true(l->n <= 64);
    memcpy(m, l->members, l->n * sizeof(m[0]));
    qsort(m, l->n, sizeof(m[0]), by_place);
    for (size_t i = 0; i < l->n; i++) {
        size_t align = m[i].size >= 8 ? 8 : m[i].size;

        if (m[i].at < end || m[i].at - end >= align)
            fail_msg("a member between the bytes %zu and %zu of %zu is missing in layout.c",
                     end, m[i].at, size);
        end = m[i].at + m[i].size;
        if (m[i].of != NULL)
            expect_whole(m[i].of, m[i].of->size);
    }
    if (size < end || size - end >= 8)
        fail_msg("a member behind the byte %zu of %zu is missing in layout.c", end, size);
}

static void layouts_name_every_member(void **state)
{
    (void)state;
    expect_whole(layout_of_header(), LAYOUT_OP_AT);
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++)
        if (layout_of_op(op) != NULL)
            expect_whole(layout_of_op(op), layout_of_op(op)->size);
}

/* --- bad bytes ---------------------------------------------------------------------------- */

static void expect_refused(const char *bytes, size_t n)
{
    struct journal_request req;

    init(&req, JOURNAL_APPEND);
    assert_int_equal(codec_read_request(str_make(bytes, n), &req), ERR_SYNTAX);
    codec_request_done(&req);
}

static void bad_bytes_are_refused(void **state)
{
    struct journal_request req;
    struct buf bytes;

    (void)state;
    expect_refused("", 0);
    expect_refused("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11);
    expect_refused((const char[]){ JOURNAL_OP_MAX, 0 }, 2);
    expect_refused((const char[]){ JOURNAL_SETTINGS, 0 }, 2);
    init(&req, JOURNAL_COUNT);
    buf_init(&bytes, 1000);
    codec_put_request(&bytes, &req);
    for (size_t n = 0; n < bytes.n; n++)
        expect_refused(bytes.p, n);
    bytes.p[bytes.n - 1] = 100; /* so many agents, and nothing behind */
    expect_refused(bytes.p, bytes.n);
    buf_done(&bytes);
    arena_done(&req.mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_request_of_every_operation_goes_and_returns),
        cmocka_unit_test(an_empty_request_of_every_operation_goes_and_returns),
        cmocka_unit_test(further_jobs_go_with_the_first),
        cmocka_unit_test(lines_of_a_feed_stand_behind_one_another),
        cmocka_unit_test(layouts_name_every_member),
        cmocka_unit_test(bad_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
