#define _GNU_SOURCE /* memmem */
/* Records on their way to another gateway: what it reads is what was published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "expect.h"

#include "base/error.h"
#include "cluster/record_push.h"
#include "record/record.h"

enum { MAX = 80 };

struct fixture {
    struct record_push_headers known;
    struct record_push_reader *reader;
    struct record *headers[MAX]; /* refs */
    size_t n_headers;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(record_push_reader_new(&f->reader), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < f->n_headers; i++)
        record_unref(f->headers[i]);
    record_push_reader_free(f->reader);
    free(f);
    return 0;
}

/* The record that begins a run. */
static struct record *new_header(struct fixture *f, uint64_t seq)
{
    struct record rec, *made;

    record_init(&rec, REC_LLM_START);
    rec.seq = seq;
    rec.job_id = STR("j");
    rec.info.run = STR("run");
    rec.info.name = STR("a model");
    assert_int_equal(record_new(&rec, &made), 0);
    f->headers[f->n_headers++] = made;
    return record_ref(made);
}

static struct record *new_token(uint64_t seq, struct record *header)
{
    struct record rec, *made;

    record_init(&rec, REC_LLM_DELTA);
    rec.seq = seq;
    rec.job_id = STR("j");
    rec.header = header;
    rec.header_seq = header->seq;
    rec.text = STR("a \"token\"\n");
    assert_int_equal(record_new_with_header(&rec, &made), 0);
    return made;
}

/* Publishes the records, which are given up, and reads what was sent. */
static void pass(struct fixture *f,
                 int64_t key,
                 struct record **records,
                 size_t n,
                 struct record_push *ret,
                 struct buf *bytes)
{
    struct publication p = { .job = STR("j"),
                             .key = key,
                             .state = JOB_RUNNING,
                             .state_changed = true,
                             .last_seq = records[n - 1]->seq,
                             .records = records,
                             .n_records = n };

    buf_init(bytes, 1 << 20);
    record_push_put(bytes, &p, &f->known);
    assert_int_equal(bytes->error, 0);
    assert_int_equal(record_push_read(f->reader, buf_text(bytes), ret), 0);
    assert_int_equal(ret->wakeup.change.key, key);
    assert_int_equal(ret->wakeup.change.last_seq, p.last_seq);
    assert_false(ret->wakeup.change.state_changed); /* that comes as a hint */
    for (size_t i = 0; i < n; i++)
        record_unref(records[i]);
}

static void expect_token(const struct record *rec, uint64_t seq, const char *name)
{
    assert_int_equal(rec->seq, seq);
    expect_str(rec->text, "a \"token\"\n");
    expect_str(rec->job_id, "j");
    assert_non_null(rec->header);
    expect_str(record_info(rec)->name, name);
    assert_true(rec->header->info_json.n > 0);
}

static void a_header_record_is_sent_once(void **state)
{
    struct fixture *f = *state;
    struct record *header = new_header(f, 3);
    struct record_push push;
    struct buf first, second, third;

    pass(f, 1, (struct record *[]){ new_token(7, header), new_token(8, header) }, 2, &push,
         &first);
    assert_int_equal(push.live.n, 2);
    expect_token(push.live.records[0], 7, "a model");
    expect_token(push.live.records[1], 8, "a model");
    pass(f, 1, (struct record *[]){ new_token(9, header) }, 1, &push, &second);
    assert_int_equal(push.live.n, 1);
    expect_token(push.live.records[0], 9, "a model");
    assert_null(memmem(second.p, second.n, "a model", 7));
    /* The job was deleted, and another one has its id. */
    pass(f, 2, (struct record *[]){ new_token(4, header) }, 1, &push, &third);
    expect_token(push.live.records[0], 4, "a model");
    assert_non_null(memmem(third.p, third.n, "a model", 7));
    record_unref(header);
    buf_done(&first);
    buf_done(&second);
    buf_done(&third);
}

static void a_header_record_among_the_records_is_found(void **state)
{
    struct fixture *f = *state;
    struct record *header = new_header(f, 1);
    struct record_push push;
    struct buf first, second;

    pass(f, 1, (struct record *[]){ record_ref(header), new_token(2, header) }, 2, &push,
         &first);
    assert_int_equal(push.live.n, 2);
    expect_token(push.live.records[1], 2, "a model");
    pass(f, 1, (struct record *[]){ new_token(3, header) }, 1, &push, &second);
    expect_token(push.live.records[0], 3, "a model");
    record_unref(header);
    buf_done(&first);
    buf_done(&second);
}

/* More runs in one commit than are remembered: the change is told without records, and what
 * follows has them again. */
static void records_whose_header_is_forgotten_are_left_to_the_store(void **state)
{
    struct fixture *f = *state;
    struct record *header = new_header(f, 1), *list[RECORD_PUSH_HEADERS + 2];
    struct record_push push;
    struct buf first, second, third;
    uint64_t seq = 2;

    pass(f, 1, (struct record *[]){ record_ref(header) }, 1, &push, &first);
    for (size_t i = 0; i <= RECORD_PUSH_HEADERS; i++)
        list[i] = new_header(f, seq++);
    list[RECORD_PUSH_HEADERS + 1] = new_token(seq++, header);
    pass(f, 1, list, RECORD_PUSH_HEADERS + 2, &push, &second);
    assert_int_equal(push.live.n, 0);
    pass(f, 1, (struct record *[]){ new_token(seq, header) }, 1, &push, &third);
    assert_int_equal(push.live.n, 1);
    expect_token(push.live.records[0], seq, "a model");
    record_unref(header);
    buf_done(&first);
    buf_done(&second);
    buf_done(&third);
}

static void other_bytes_are_refused(void **state)
{
    struct fixture *f = *state;
    struct record *header = new_header(f, 3);
    struct record_push push;
    struct buf bytes;

    pass(f, 1, (struct record *[]){ new_token(7, header) }, 1, &push, &bytes);
    for (size_t n = 0; n < bytes.n; n++)
        assert_int_equal(record_push_read(f->reader, str_head(buf_text(&bytes), n), &push),
                         ERR_SYNTAX);
    buf_char(&bytes, '\0');
    assert_int_equal(record_push_read(f->reader, buf_text(&bytes), &push), ERR_SYNTAX);
    assert_int_equal(record_push_read(f->reader, STR("W 0\n"), &push), ERR_SYNTAX);
    assert_int_equal(record_push_read(f->reader, STR("L\n"), &push), 0);
    assert_int_equal(push.wakeup.kind, WAKEUP_LOST);
    record_unref(header);
    buf_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_header_record_is_sent_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_header_record_among_the_records_is_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(records_whose_header_is_forgotten_are_left_to_the_store,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_bytes_are_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
