/* A store in memory for each test, in a transaction.  Included once, after cmocka.h, by a
 * program that is one test. */
#ifndef UNIT_OPEN_STORE_H
#define UNIT_OPEN_STORE_H

#include "base/error.h"
#include "store/store.h"

static struct error why;

#define ok(call) assert_int_equal((call), 0)

static int set_up(void **state)
{
    struct store_options options = { .url = ":memory:" };
    struct store *s;

    ok(store_open(&options, &s, &why));
    ok(store_begin(s, &why));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    store_close(*state);
    return 0;
}

#endif
