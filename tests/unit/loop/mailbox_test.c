/* A mailbox on a loop of its own: what is delivered, in which order, and which loop is woken.
 */
#include "loop/mailbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MANY = 1000, N_THREADS = 4 };

struct scene {
    uv_loop_t loop;
    struct mailbox *box;
    unsigned n_delivered;
    int last; /* of those that were delivered */
};

struct note {
    struct loop_message message;
    struct scene *scene;
    int number;
    struct note *then; /* is posted when this one is delivered */
};

static int setup(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    assert_int_equal(uv_loop_init(&s->loop), 0);
    assert_int_equal(mailbox_new(&s->loop, &s->box), 0);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct scene *s = *state;

    assert_int_equal(uv_loop_close(&s->loop), 0); /* so it was closed */
    mailbox_free(s->box);
    free(s);
    return 0;
}

static void on_note(struct loop_message *message)
{
    struct note *note = (struct note *)(void *)message;
    struct scene *s = note->scene;

    s->n_delivered++;
    s->last = note->number;
    if (note->then != NULL)
        assert_int_equal(mailbox_post(s->box, &note->then->message), 0);
}

static struct note note_of(struct scene *s, int number)
{
    return (struct note){ .message.deliver = on_note, .scene = s, .number = number };
}

/* One turn of the loop, which waits for nothing. */
static void turn(struct scene *s)
{
    (void)uv_run(&s->loop, UV_RUN_NOWAIT);
}

static void end(struct scene *s)
{
    mailbox_close(s->box);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
}

static void messages_come_in_their_order_and_in_one_turn(void **state)
{
    struct scene *s = *state;
    struct note one = note_of(s, 1), two = note_of(s, 2);

    assert_int_equal(mailbox_post(s->box, &one.message), 0);
    assert_int_equal(mailbox_post(s->box, &two.message), 0);
    assert_int_equal(s->n_delivered, 0); /* not from inside the call */
    turn(s);
    assert_int_equal(s->n_delivered, 2);
    assert_int_equal(s->last, 2);
    end(s);
}

static void a_message_may_be_posted_by_another(void **state)
{
    struct scene *s = *state;
    struct note one = note_of(s, 1), two = note_of(s, 2);

    one.then = &two;
    assert_int_equal(mailbox_post(s->box, &one.message), 0);
    (void)uv_run(&s->loop, UV_RUN_ONCE);
    assert_int_equal(s->n_delivered, 1);
    (void)uv_run(&s->loop, UV_RUN_ONCE); /* it is woken, else this would not return */
    assert_int_equal(s->last, 2);
    end(s);
}

static void a_box_that_rests_wakes_nobody(void **state)
{
    struct scene *s = *state;
    struct note notes[] = { note_of(s, 1), note_of(s, 2), note_of(s, 3), note_of(s, 4) };

    assert_int_equal(mailbox_post(s->box, &notes[0].message), 0);
    mailbox_look(s->box, true); /* delivers what is there */
    assert_int_equal(s->n_delivered, 1);
    turn(s); /* the first message had woken the loop */
    mailbox_look(s->box, true);
    assert_int_equal(mailbox_post(s->box, &notes[1].message), 0);
    turn(s);
    assert_int_equal(s->n_delivered, 1);
    mailbox_look(s->box, true); /* the look is up to whoever let it rest */
    assert_int_equal(s->last, 2);
    assert_int_equal(mailbox_post(s->box, &notes[2].message), 0);
    mailbox_look(s->box, false);
    assert_int_equal(s->last, 3);
    assert_int_equal(mailbox_post(s->box, &notes[3].message), 0);
    (void)uv_run(&s->loop, UV_RUN_ONCE);
    assert_int_equal(s->last, 4);
    end(s);
}

static void what_waits_when_it_is_closed_is_delivered(void **state)
{
    struct scene *s = *state;
    struct note one = note_of(s, 1), late = note_of(s, 2);

    mailbox_look(s->box, true);
    assert_int_equal(mailbox_post(s->box, &one.message), 0);
    end(s);
    assert_int_equal(s->n_delivered, 1);
    assert_int_equal(mailbox_post(s->box, &late.message), UV_ECANCELED);
    assert_int_equal(s->n_delivered, 1);
}

struct sender {
    uv_thread_t thread;
    struct note notes[MANY];
};

static void send_all(void *arg)
{
    struct sender *sender = arg;

    for (size_t i = 0; i < MANY; i++)
        (void)mailbox_post(sender->notes[i].scene->box, &sender->notes[i].message); /* open */
}

/* Rests begin and end as messages come: none is left when the last look lets nobody rest. */
static void no_message_is_lost_between_rests(void **state)
{
    struct scene *s = *state;
    struct sender *senders = calloc(N_THREADS, sizeof(*senders));

    assert_non_null(senders);
    for (size_t i = 0; i < N_THREADS; i++) {
        for (size_t k = 0; k < MANY; k++)
            senders[i].notes[k] = note_of(s, (int)k);
        assert_int_equal(uv_thread_create(&senders[i].thread, send_all, &senders[i]), 0);
    }
    for (unsigned i = 0; i < 200; i++) {
        mailbox_look(s->box, i % 3 != 0);
        turn(s);
    }
    mailbox_look(s->box, false);
    while (s->n_delivered < N_THREADS * MANY)
        (void)uv_run(&s->loop, UV_RUN_ONCE);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(uv_thread_join(&senders[i].thread), 0);
    end(s);
    assert_int_equal(s->n_delivered, N_THREADS * MANY);
    free(senders);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_come_in_their_order_and_in_one_turn),
        TEST(a_message_may_be_posted_by_another),
        TEST(a_box_that_rests_wakes_nobody),
        TEST(what_waits_when_it_is_closed_is_delivered),
        TEST(no_message_is_lost_between_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
