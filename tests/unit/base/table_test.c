/* The hash table, and the keys that ids become. */
#include "base/random.h"
#include "base/table.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static struct key key_number(unsigned i)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "id-%u", i);

    return key_stable(1, str_make(text, (size_t)n));
}

static void an_empty_table_has_nothing(void **state)
{
    struct table t;

    (void)state;
    table_init(&t);
    assert_null(table_get(&t, key_number(1)));
    table_remove(&t, key_number(1));
    table_done(&t);
}

static void what_was_put_is_found(void **state)
{
    enum { MANY = 5000 };
    static int values[MANY];
    struct table t;

    (void)state;
    table_init(&t);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(table_put(&t, key_number(i), &values[i]), 0);
    assert_int_equal(t.n, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_ptr_equal(table_get(&t, key_number(i)), &values[i]);
    assert_null(table_get(&t, key_number(MANY)));
    table_done(&t);
}

static void putting_again_replaces(void **state)
{
    struct table t;
    int a, b;

    (void)state;
    table_init(&t);
    assert_int_equal(table_put(&t, key_number(1), &a), 0);
    assert_int_equal(table_put(&t, key_number(1), &b), 0);
    assert_ptr_equal(table_get(&t, key_number(1)), &b);
    assert_int_equal(t.n, 1);
    table_done(&t);
}

/* Keys that collide, removed in every order: what is left must still be found. */
static void removing_leaves_the_others(void **state)
{
    enum { MANY = 40 };
    static int values[MANY];

    (void)state;
    for (unsigned step = 1; step < MANY; step++) {
        struct table t;

        table_init(&t);
        for (unsigned i = 0; i < MANY; i++) {
            /* All in the same few slots, also across the end of the table. */
            struct key k = { .a = 62 + i % 4, .b = i };

            assert_int_equal(table_put(&t, k, &values[i]), 0);
        }
        bool gone[MANY] = { false };
        for (unsigned i = 0, at = 0; i < MANY; i++, at = (at + step) % MANY) {
            while (gone[at])
                at = (at + 1) % MANY;
            table_remove(&t, (struct key){ .a = 62 + at % 4, .b = at });
            gone[at] = true;
            for (unsigned k = 0; k < MANY; k++) {
                void *found = table_get(&t, (struct key){ .a = 62 + k % 4, .b = k });

                assert_ptr_equal(found, gone[k] ? NULL : (void *)&values[k]);
            }
        }
        assert_int_equal(t.n, 0);
        table_done(&t);
    }
}

static void spaces_and_lengths_tell_keys_apart(void **state)
{
    (void)state;
    assert_true(key_eq(key_stable(1, STR("id")), key_stable(1, STR("id"))));
    assert_false(key_eq(key_stable(1, STR("id")), key_stable(2, STR("id"))));
    assert_false(key_eq(key_stable(1, STR("id")), key_stable(1, STR("id\0"))));
    assert_false(key_eq(key_stable(1, STR("")), key_stable(1, STR("\0"))));
    assert_false(key_eq(key_stable(1, STR("")), key_stable(2, STR(""))));
    assert_true(key_eq(key_stable(1, STR("")), key_stable(1, STR_NONE)));
    assert_false(key_eq(key_stable(1, STR("12345678")), key_stable(1, STR("12345679"))));
    assert_false(key_eq(key_stable(1, STR("123456789")), key_stable(1, STR("223456789"))));
}

/* Otherwise anybody could choose ids that collide. */
static void keys_of_a_table_depend_on_the_process(void **state)
{
    struct table t, other;

    (void)state;
    table_init(&t);
    table_init(&other);
    assert_false(key_eq(table_key(&t, 1, STR("id")), key_stable(1, STR("id"))));
    assert_true(key_eq(table_key(&t, 1, STR("id")), table_key(&other, 1, STR("id"))));
    assert_false(key_eq(table_key(&t, 1, STR("id")), table_key(&t, 2, STR("id"))));
    table_done(&t);
    table_done(&other);
}

static void assert_uuid(const char text[KEY_UUID_CHARS], char version)
{
    for (size_t at = 0; at < KEY_UUID_CHARS; at++) {
        bool dash = at == 8 || at == 13 || at == 18 || at == 23;
        bool hex = (text[at] >= '0' && text[at] <= '9') || (text[at] >= 'a' && text[at] <= 'f');

        assert_true(dash ? text[at] == '-' : hex);
    }
    assert_int_equal(text[14], version);
    assert_non_null(strchr("89ab", text[19]));
}

static void a_uuid_has_its_form(void **state)
{
    char text[KEY_UUID_CHARS], again[KEY_UUID_CHARS];

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        key_uuid(key_number(i), text);
        key_uuid(key_number(i), again);
        assert_memory_equal(text, again, sizeof(text));
        assert_uuid(text, '8');
        key_uuid(key_number(i + 1), again);
        assert_memory_not_equal(text, again, sizeof(text));
    }
}

static void a_random_uuid_is_another_each_time(void **state)
{
    char text[100][KEY_UUID_CHARS];

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        assert_true(random_uuid(text[i]));
        assert_uuid(text[i], '4');
        for (unsigned k = 0; k < i; k++)
            assert_memory_not_equal(text[k], text[i], KEY_UUID_CHARS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_has_nothing),
        cmocka_unit_test(what_was_put_is_found),
        cmocka_unit_test(putting_again_replaces),
        cmocka_unit_test(removing_leaves_the_others),
        cmocka_unit_test(spaces_and_lengths_tell_keys_apart),
        cmocka_unit_test(keys_of_a_table_depend_on_the_process),
        cmocka_unit_test(a_uuid_has_its_form),
        cmocka_unit_test(a_random_uuid_is_another_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
