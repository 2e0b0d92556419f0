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

enum { N_RECORDS = 20, CACHE_BYTES = 1 << 20 };

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
static size_t frames_within(struct store *s, struct page_cache *page_cache, size_t max_bytes)
{
    struct stream_format format = { .dialect = &dialect_raw, .framing = &framing_ndjson };
    struct page *p;

    ok(page_new(STR("j"), NULL, &format, (struct cursor){ 0 }, &p));
    p->page_cache = page_cache;
    if (max_bytes > 0)
        p->max_bytes = max_bytes;
    p->task.run(&p->task, s);
    ok(p->code);
    size_t n = p->cached->n_frames;
    page_free(p);
    return n;
}

static void a_page_has_as_much_as_was_asked_for(void **state)
{
    struct page_cache *page_cache;

    add_job(*state);
    ok(page_cache_new(CACHE_BYTES, &page_cache));
    assert_int_equal(frames_within(*state, page_cache, 1), 1);
    /* Not the small one, which is on the page cache. */
    assert_int_equal(frames_within(*state, page_cache, 0), N_RECORDS);
    assert_int_equal(frames_within(*state, page_cache, 1), 1);
    page_cache_free(page_cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_has_as_much_as_was_asked_for, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
