/* The dialect raw, in exact bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dialect_cast.h"

static void raw_says_every_kind_once(void **state)
{
    struct frames f;

    (void)state;
    frames_init(&f, MAX_BYTES);
    for (size_t i = 0; i < REC_KIND_MAX; i++) {
        struct record rec = make((enum record_kind)i);
        struct buf want;

        buf_init(&want, MAX_BYTES);
        record_encode_alone(&rec, &want);
        assert_int_equal(dialect_render(&dialect_raw, &rec, &usual, &f), 0);
        assert_int_equal(f.n, 1);
        assert_int_equal(f.total, 1);
        assert_true(str_eq(frame_name(&f, &f.frame[0]), str_of(record_kind_name(rec.kind))));
        assert_true(str_eq(frame_data(&f, &f.frame[0]), buf_text(&want)));
        buf_done(&want);
    }
    frames_done(&f);
}

static void raw_stands_alone_unless_the_stored_form_is_asked_for(void **state)
{
    static const struct variant stored = { .stored = true };
    struct cast c;

    (void)state;
    cast_init(&c);
    c.completion.info.meta = STR_NONE;
    c.completion.info.tags = STR_NONE;
    c.completion.info.ns = STR_NONE;
    c.completion.info.parent = STR_NONE;
    c.completion.info.card = false;
    struct record delta = of(&c.completion, REC_LLM_DELTA);
    delta.text = STR("Hi");
    expect(&dialect_raw, &delta,
           "57 llm.delta {'seq':57,'ts':1771237800123,'kind':'llm.delta','run':'run-llm',"
           "'name':'ChatOpenAI','type':'llm','model':'gpt-x','step':4,'text':'Hi'}\n");
    expect_as(&dialect_raw, &stored, &delta,
              "57 llm.delta {'seq':57,'ts':1771237800123,'kind':'llm.delta','head':3,"
              "'text':'Hi'}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_says_every_kind_once),
        cmocka_unit_test(raw_stands_alone_unless_the_stored_form_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
