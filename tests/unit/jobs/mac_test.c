/* Signatures are HMAC-SHA256: the expected ones are those of Python's hmac. */
#include "base/error.h"
#include "jobs/mac.h"

#include <stdbool.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void fill_key(unsigned char key[MAC_KEY])
{
    for (size_t i = 0; i < MAC_KEY; i++)
        key[i] = (unsigned char)i;
}

static void assert_mac(struct str text, const char *want)
{
    unsigned char key[MAC_KEY];
    char got[MAC_CHARS];

    fill_key(key);
    assert_true(mac_make(key, text, got));
    assert_memory_equal(got, want, MAC_CHARS);
    assert_int_equal(mac_check(key, text, str_of(want)), 0);
}

static void signatures_are_those_of_others(void **state)
{
    char longer[200];

    (void)state;
    memset(longer, 'x', sizeof(longer));
    assert_mac(STR("lease 1 2 job"), "4f4b4b3d26aa2469b53298a09c654c6b");
    assert_mac(STR(""), "d38b42096d80f45f826b44a9d5607de7");
    assert_mac(str_make(longer, sizeof(longer)), "7b48ae507721b7feb27d8403d20568ca");
}

static void another_signature_is_refused(void **state)
{
    unsigned char key[MAC_KEY];

    (void)state;
    fill_key(key);
    assert_int_equal(
        mac_check(key, STR("lease 1 3 job"), STR("4f4b4b3d26aa2469b53298a09c654c6b")),
        ERR_REFUSED);
    assert_int_equal(
        mac_check(key, STR("lease 1 2 job"), STR("4f4b4b3d26aa2469b53298a09c654c6")),
        ERR_REFUSED);
    key[31] ^= 1;
    assert_int_equal(
        mac_check(key, STR("lease 1 2 job"), STR("4f4b4b3d26aa2469b53298a09c654c6b")),
        ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_of_others),
        cmocka_unit_test(another_signature_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
