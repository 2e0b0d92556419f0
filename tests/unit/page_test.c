/* Pages: how much of a job's past is on one. */
#include "hub/page.h"

#include "dialect/dialect.h"
#include "framing/framing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "open_store.h"

enum { N_RECORDS = 20, SHELF_BYTES = 1 << 20 };

static void add_job(struct store *s)
{
    struct job_row row = { .id = STR("j"),
                           .agent = STR("a"),
                           .state = STR("running"),
                           .created = 1,
                           .updated = 1,
                           .producer_seq = -1,
                           .first_seq = 1 };

    ok(store_job_insert(s, &row, &why));
    for (uint64_t seq = 1; seq <= N_RECORDS; seq++) {
        struct record rec;
        struct buf b;

        record_init(&rec, seq == 1 ? REC_JOB_START : REC_JOB_UPDATE);
        rec.seq = seq;
        rec.ts = 1000;
        rec.job_id = row.id;
        buf_init(&b, 4096);
        record_encode(&rec, &b);
        ok(store_append(s, row.key, seq, buf_text(&b), -1, &why));
        buf_done(&b);
    }
}

/* As a thread of the pool reads it. */
static size_t frames_within(struct store *s, struct shelf *shelf, size_t max_bytes)
{
    struct way way = { .dialect = &dialect_raw, .framing = &framing_ndjson };
    struct page *p;

    ok(page_new(STR("j"), &way, (struct cursor){ 0 }, &p));
    p->shelf = shelf;
    if (max_bytes > 0)
        p->max_bytes = max_bytes;
    p->task.run(&p->task, s);
    ok(p->code);
    size_t n = p->sheet->n_frames;
    page_free(p);
    return n;
}

static void a_page_has_as_much_as_was_asked_for(void **state)
{
    struct shelf *shelf;

    add_job(*state);
    ok(shelf_new(SHELF_BYTES, &shelf));
    assert_int_equal(frames_within(*state, shelf, 1), 1);
    /* Not the small one, which is on the shelf. */
    assert_int_equal(frames_within(*state, shelf, 0), N_RECORDS);
    assert_int_equal(frames_within(*state, shelf, 1), 1);
    shelf_free(shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_has_as_much_as_was_asked_for, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
