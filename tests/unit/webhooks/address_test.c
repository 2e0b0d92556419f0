/* Which addresses are public. */
#include "webhooks/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static bool is_private(const char *text)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in in = { .sin_family = AF_INET };

    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return address_is_private((const struct sockaddr *)&in);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return address_is_private((const struct sockaddr *)&in6);
}

static void private_addresses_are_known(void **state)
{
    static const char *const all[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "3fff::1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (!is_private(all[i]))
            fail_msg("%s is not private", all[i]);
}

static void public_addresses_are_known(void **state)
{
    static const char *const all[] = {
        "1.1.1.1",     "9.255.255.255",   "11.0.0.0",         "100.63.255.255", "100.128.0.0",
        "126.0.0.1",   "128.0.0.1",       "169.253.0.1",      "172.15.255.255", "172.32.0.0",
        "192.0.1.1",   "192.167.0.1",     "192.169.0.1",      "198.17.0.1",     "198.20.0.1",
        "223.255.1.1", "::ffff:8.8.8.8",  "64:ff9b::808:808", "2606:4700::1",   "2001:200::1",
        "2001:4860::", "2002:808:808::1", "2a00:1450::1",     "3ffe::1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (is_private(all[i]))
            fail_msg("%s is private", all[i]);
}

static void other_families_are_private(void **state)
{
    const struct sockaddr_un un = { .sun_family = AF_UNIX };

    (void)state;
    assert_true(address_is_private((const struct sockaddr *)&un));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_addresses_are_known),
        cmocka_unit_test(public_addresses_are_known),
        cmocka_unit_test(other_families_are_private),
    };

    return cmocka_run_group_tests_name("webhooks/address", tests, NULL, NULL);
}
