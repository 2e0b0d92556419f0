/* A loop call: who gets the answer, on which thread, and what becomes of one that nobody wants.
 */
#include "loop/loop_call.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct caller {
    uv_loop_t loop;
    struct mailbox *box;
    struct loop_call call;
    unsigned n_answered, n_dropped;
    pthread_t thread; /* which called */
};

static void on_answered(struct loop_call *call)
{
    struct caller *c = call->owner;

    c->n_answered++;
    c->thread = pthread_self();
}

static void on_dropped(struct loop_call *call)
{
    struct caller *c = call->owner;

    c->n_dropped++;
    c->thread = pthread_self();
}

static int setup(void **state)
{
    static struct caller c;

    c = (struct caller){ 0 };
    assert_int_equal(uv_loop_init(&c.loop), 0);
    assert_int_equal(mailbox_new(&c.loop, &c.box), 0);
    c.call = (struct loop_call){
        .home = c.box, .owner = &c, .answered = on_answered, .dropped = on_dropped
    };
    *state = &c;
    return 0;
}

/* The loop ends. */
static void end_loop(struct caller *c)
{
    mailbox_close(c->box);
    (void)uv_run(&c->loop, UV_RUN_DEFAULT); /* until the mailbox is closed */
    assert_int_equal(uv_loop_close(&c->loop), 0);
}

static void *answer(void *call)
{
    loop_call_answer(call);
    return NULL;
}

/* Another thread does the request; returns when it has. */
static pthread_t be_served(struct caller *c)
{
    pthread_t thread;

    loop_call_start(&c->call);
    assert_true(c->call.is_pending);
    assert_int_equal(pthread_create(&thread, NULL, answer, &c->call), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return thread;
}

static void an_answer_comes_on_the_loop(void **state)
{
    struct caller *c = *state;

    (void)be_served(c);
    assert_int_equal(c->n_answered, 0);
    assert_true(c->call.is_pending);
    (void)uv_run(&c->loop, UV_RUN_ONCE);
    assert_int_equal(c->n_answered, 1);
    assert_false(c->call.is_pending);
    assert_true(pthread_equal(c->thread, pthread_self()));
    (void)be_served(c); /* once more with the same call */
    (void)uv_run(&c->loop, UV_RUN_ONCE);
    assert_int_equal(c->n_answered, 2);
    assert_int_equal(c->n_dropped, 0);
    end_loop(c);
    mailbox_free(c->box);
}

static void a_cancelled_call_is_dropped_on_the_loop(void **state)
{
    struct caller *c = *state;

    (void)be_served(c);
    loop_call_cancel(&c->call); /* its answer is on the way */
    (void)uv_run(&c->loop, UV_RUN_ONCE);
    assert_int_equal(c->n_answered, 0);
    assert_int_equal(c->n_dropped, 1);
    assert_ptr_equal(c->call.home, c->box);
    assert_true(pthread_equal(c->thread, pthread_self()));
    c->call.dropped = NULL; /* there is nothing to free */
    (void)be_served(c);
    (void)uv_run(&c->loop, UV_RUN_ONCE);
    assert_false(c->call.is_pending);
    assert_int_equal(c->n_answered, 0);
    end_loop(c);
    mailbox_free(c->box);
}

static void a_call_whose_loop_has_ended_is_dropped_where_it_is_answered(void **state)
{
    struct caller *c = *state;

    end_loop(c);
    pthread_t other = be_served(c);
    assert_int_equal(c->n_answered, 0);
    assert_int_equal(c->n_dropped, 1);
    assert_null(c->call.home);
    assert_true(pthread_equal(c->thread, other));
    (void)be_served(c); /* it may be sent again by `dropped`, and is dropped again */
    assert_int_equal(c->n_answered, 0);
    assert_int_equal(c->n_dropped, 2);
    mailbox_free(c->box);
}

static void a_call_without_a_loop_is_answered_where_it_is_done(void **state)
{
    struct caller *c = *state;

    c->call.home = NULL;
    pthread_t other = be_served(c);
    assert_int_equal(c->n_answered, 1);
    assert_true(pthread_equal(c->thread, other));
    end_loop(c);
    mailbox_free(c->box);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        TEST(an_answer_comes_on_the_loop),
        TEST(a_cancelled_call_is_dropped_on_the_loop),
        TEST(a_call_whose_loop_has_ended_is_dropped_where_it_is_answered),
        TEST(a_call_without_a_loop_is_answered_where_it_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
