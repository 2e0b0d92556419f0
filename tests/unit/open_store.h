/* A store in memory for each test, in a transaction.  Included once, after cmocka.h, by a
 * program that is one test. */
#ifndef UNIT_OPEN_STORE_H
#define UNIT_OPEN_STORE_H

#include "base/error.h"
#include "postgres_place.h"
#include "store/store.h"

static struct error why;

#define ok(call) assert_int_equal((call), 0)

static int set_up(void **state)
{
    char place[PLACE_BYTES] = ":memory:";
    struct store_options options = { .url = place };
    struct store *s;

    if (postgres_database() != NULL && !postgres_make_place(place))
        return -1;
    if (store_open(&options, &s, &why) != 0)
        fail_msg("%s", why.text);
    ok(store_begin(s, &why));
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    store_close(*state);
    if (postgres_database() != NULL)
        postgres_drop_place();
    return 0;
}

#endif
