/* The contract: questions. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

static void ask(struct store *s, int64_t job, uint64_t seq, const char *id)
{
    struct question_row row = { .job = job,
                                .seq = seq,
                                .id = str_of(id),
                                .attempt = 1,
                                .asked = 100,
                                .expires = 200,
                                .on_expiry = STR("default"),
                                .fallback = STR("0"),
                                .question = STR("\"which?\"") };

    ok(store_question_insert(s, &row, err));
}

struct asked {
    char ids[32];
    struct question_row last; /* texts that the test does not look at are gone */
};

static int on_question(void *arg, const struct question_row *row)
{
    struct asked *asked = arg;

    strncat(asked->ids, row->id.p, row->id.n);
    asked->last = *row;
    expect_text(row->job_id, STR("j"));
    expect_text(row->agent, STR("a"));
    expect_text(row->on_expiry, STR("default"));
    expect_text(row->fallback, STR("0"));
    expect_text(row->question, STR("\"which?\""));
    assert_true(str_absent(row->schema) && str_absent(row->context));
    assert_true(row->attempt == 1 && row->asked == 100 && row->expires == 200);
    return 0;
}

static void questions_come_in_the_order_in_which_they_were_asked(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "j", "a", "running"),
            other = add_job(f->w, "k", "a", "running");
    struct asked all = { 0 };

    ok(store_begin(f->w, err));
    ask(f->w, key, 3, "b");
    ask(f->w, key, 5, "a");
    ask(f->w, other, 4, "x");
    ok(store_commit(f->w, err));
    ok(store_questions(f->r, key, on_question, &all, err));
    assert_string_equal(all.ids, "ba");
    assert_true(all.last.seq == 5 && all.last.job == key && all.last.answered == 0);
}

static void a_question_is_answered_once(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "j", "a", "waiting");
    struct asked all = { 0 }, open = { 0 }, behind = { 0 };

    ok(store_begin(f->w, err));
    ask(f->w, key, 3, "a");
    ask(f->w, key, 4, "b");
    ask(f->w, key, 5, "c");
    ok(store_question_answer(f->w, key, 4, STR("1"), STR("ann"), 150, err));
    refused(store_question_answer(f->w, key, 4, STR("2"), STR("bob"), 160, err), ERR_REFUSED);
    ok(store_commit(f->w, err)); /* a refusal does not spoil it */
    ok(store_open_questions(f->r, 0, 0, on_question, &open, err));
    assert_string_equal(open.ids, "ac");
    ok(store_open_questions(f->r, key, 3, on_question, &behind, err));
    assert_string_equal(behind.ids, "c");

    ok(store_begin(f->w, err));
    ok(store_questions_resumed(f->w, key, 7, err));
    ok(store_question_answer(f->w, key, 5, STR("3"), STR_NONE, 170, err));
    ok(store_commit(f->w, err));
    ok(store_questions(f->r, key, on_question, &all, err));
    assert_string_equal(all.ids, "abc");
    assert_true(all.last.answered == 170 && all.last.resumed == 0);
}

static int on_resumed(void *arg, const struct question_row *row)
{
    ((uint64_t *)arg)[row->seq] = row->resumed;
    return 0;
}

static void a_job_goes_on_with_the_answers_that_it_has(void **state)
{
    struct fixture *f = *state;
    int64_t key = add_job(f->w, "j", "a", "waiting");
    uint64_t resumed[8] = { 0 };

    ok(store_begin(f->w, err));
    for (uint64_t seq = 1; seq <= 3; seq++)
        ask(f->w, key, seq, "q");
    ok(store_question_answer(f->w, key, 1, STR("1"), STR_NONE, 150, err));
    ok(store_questions_resumed(f->w, key, 5, err));
    ok(store_question_answer(f->w, key, 2, STR("1"), STR_NONE, 150, err));
    ok(store_questions_resumed(f->w, key, 9, err));
    ok(store_commit(f->w, err));
    ok(store_questions(f->r, key, on_resumed, resumed, err));
    assert_true(resumed[1] == 5 && resumed[2] == 9 && resumed[3] == 0);
}

const struct contract_case contract_questions[] = {
    CASE(questions_come_in_the_order_in_which_they_were_asked),
    CASE(a_question_is_answered_once),
    CASE(a_job_goes_on_with_the_answers_that_it_has),
    { .name = NULL },
};
