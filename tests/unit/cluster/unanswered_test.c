/* Requests on their way to another gateway: in order, sent again, answered once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

#include "cluster/codec.h"
#include "cluster/frame.h"
#include "cluster/unanswered.h"

#include <stdlib.h>

enum { N = 3 };

struct fixture {
    struct unanswered_table table;
    struct journal_request reqs[N];
    struct buf out;
};

static void on_answered(struct loop_call *call)
{
    (void)call;
}

static void begin(struct fixture *f, enum journal_op op)
{
    unanswered_init(&f->table, "g", 0);
    buf_init(&f->out, 1 << 20);
    for (size_t i = 0; i < N; i++) {
        journal_request_init(&f->reqs[i], NULL, NULL, on_answered);
        (void)journal_request_begin(&f->reqs[i], op);
        assert_non_null(unanswered_add(&f->table, &f->reqs[i], 1000));
    }
}

static void end(struct fixture *f)
{
    for (size_t i = 0; i < f->table.cap; i++)
        if (f->table.entries[i].req != NULL)
            (void)unanswered_take(&f->table, &f->table.entries[i]);
    unanswered_done(&f->table);
    buf_done(&f->out);
    for (size_t i = 0; i < N; i++)
        journal_request_done(&f->reqs[i]);
}

/* Sends all, and gives their numbers; each must be a repeat, or none. */
static void send_all(struct fixture *f, bool is_repeat, uint64_t numbers[N])
{
    size_t n, bytes;
    struct unanswered **list = unanswered_sorted(&f->table, &n);

    assert_int_equal(n, N);
    buf_clear(&f->out);
    for (size_t i = 0; i < n; i++)
        unanswered_put(&f->table, list[i], &f->out);
    free(list);
    struct str rest = buf_text(&f->out);
    for (size_t i = 0; i < N; i++) {
        struct frame_in frame;
        struct journal_request got;

        assert_int_equal(frame_read(rest, &frame, &bytes), 0);
        rest = str_skip(rest, bytes);
        journal_request_init(&got, NULL, NULL, on_answered);
        assert_int_equal(codec_read_request(frame.payload, &got), 0);
        assert_true(str_eq(got.operation, f->reqs[i].operation));
        assert_int_equal(got.is_repeat, is_repeat);
        codec_request_done(&got);
        numbers[i] = frame.number;
    }
    assert_int_equal(rest.n, 0);
}

static void what_is_sent_again_is_in_order_and_has_its_name(void **state)
{
    struct fixture f;
    uint64_t numbers[N];

    (void)state;
    begin(&f, JOURNAL_CANCEL);
    /* The place of the first is used again, by the last. */
    (void)unanswered_take(&f.table, &f.table.entries[0]);
    struct journal_request first = f.reqs[0];
    f.reqs[0] = f.reqs[1];
    f.reqs[1] = f.reqs[2];
    f.reqs[2] = first;
    f.table.entries[1].req = &f.reqs[0];
    f.table.entries[2].req = &f.reqs[1];
    assert_non_null(unanswered_add(&f.table, &f.reqs[2], 1000));
    assert_ptr_equal(f.table.entries[0].req, &f.reqs[2]);
    send_all(&f, false, numbers);
    unanswered_unsend(&f.table, 2000);
    send_all(&f, true, numbers);
    end(&f);
}

/* Peers that send it away at once do not prolong its wait for one that keeps it. */
static void a_request_that_is_sent_away_waits_since_it_came(void **state)
{
    struct fixture f;
    uint64_t numbers[N];

    (void)state;
    begin(&f, JOURNAL_CANCEL);
    send_all(&f, false, numbers);
    int64_t sent = f.table.entries[0].sent;
    unanswered_unsend(&f.table, sent + 20);
    assert_int_equal(f.table.entries[0].since, 1000);
    send_all(&f, true, numbers);
    sent = f.table.entries[0].sent;
    unanswered_unsend(&f.table, sent + 5000);
    assert_int_equal(f.table.entries[0].since, sent + 5000);
    end(&f);
}

static void a_late_answer_finds_nobody(void **state)
{
    struct fixture f;
    uint64_t numbers[N];

    (void)state;
    begin(&f, JOURNAL_CANCEL);
    send_all(&f, false, numbers);
    struct unanswered *e = unanswered_find(&f.table, numbers[1]);
    assert_non_null(e);
    assert_ptr_equal(unanswered_take(&f.table, e), &f.reqs[1]);
    assert_null(unanswered_find(&f.table, numbers[1]));
    assert_ptr_equal(unanswered_add(&f.table, &f.reqs[1], 1000), e); /* in the same place */
    assert_null(unanswered_find(&f.table, numbers[1]));
    end(&f);
}

static void a_request_that_comes_back_keeps_its_name(void **state)
{
    struct fixture f;
    uint64_t numbers[N];
    char name[80];

    (void)state;
    begin(&f, JOURNAL_LEASE);
    send_all(&f, false, numbers);
    str_copy(name, f.reqs[2].operation);
    struct str operation = str_make(name, f.reqs[2].operation.n);
    (void)unanswered_take(&f.table, unanswered_find(&f.table, numbers[2]));
    assert_non_null(unanswered_add(&f.table, &f.reqs[2], 1000));
    assert_true(str_eq(f.reqs[2].operation, operation));
    assert_true(f.reqs[2].is_repeat);
    assert_false(str_eq(f.reqs[0].work.request_id, f.reqs[1].work.request_id));
    end(&f);
}

static void a_withdrawal_is_told_once_over_a_connection(void **state)
{
    struct fixture f;
    uint64_t numbers[N];
    struct frame_in frame;
    size_t n;

    (void)state;
    begin(&f, JOURNAL_LEASE);
    send_all(&f, false, numbers);
    struct unanswered *e = unanswered_find(&f.table, numbers[1]);
    assert_false(unanswered_is_abandoned(e));
    f.reqs[1].withdrawn = true;
    assert_true(unanswered_is_abandoned(e));
    buf_clear(&f.out);
    unanswered_withdraw(&f.table, e, &f.out);
    assert_int_equal(frame_read(buf_text(&f.out), &frame, &n), 0);
    assert_int_equal(frame.kind, FRAME_WITHDRAW);
    assert_int_equal(frame.number, numbers[1]);
    buf_clear(&f.out);
    unanswered_withdraw(&f.table, e, &f.out);
    assert_int_equal(f.out.n, 0);
    unanswered_put(&f.table, e, &f.out); /* over the next one */
    buf_clear(&f.out);
    unanswered_withdraw(&f.table, e, &f.out);
    assert_true(f.out.n > 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_again_is_in_order_and_has_its_name),
        cmocka_unit_test(a_request_that_is_sent_away_waits_since_it_came),
        cmocka_unit_test(a_late_answer_finds_nobody),
        cmocka_unit_test(a_request_that_comes_back_keeps_its_name),
        cmocka_unit_test(a_withdrawal_is_told_once_over_a_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
