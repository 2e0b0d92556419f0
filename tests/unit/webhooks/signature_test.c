/* Signatures are those of the standard's own example, and of Python's hmac. */
#include "webhooks/signature.h"

#include "base/error.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void the_standards_own_example(void **state)
{
    char one[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    char two[] = "MDEyMzQ1Njc4OWFiY2RlZg==";
    char *const secrets[] = { one, NULL }, *const both[] = { one, two, NULL };
    struct buf b LOCAL_BUF(1024);

    (void)state;
    assert_int_equal(signature_check_secrets(both, NULL), 0);
    assert_int_equal(signature_put(&b, secrets, STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                                   STR("{\"test\": 2432232314}")),
                     0);
    assert_true(str_is(buf_text(&b), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    buf_clear(&b);
    assert_int_equal(signature_put(&b, both, STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                                   STR("{\"test\": 2432232314}")),
                     0);
    assert_true(
        str_starts(buf_text(&b), STR("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,")));
}

static void what_is_no_secret_is_refused(void **state)
{
    static const char *const all[] = { "", "whsec_", "whsec_AAAA",
                                       "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
                                       "not base64 at all, is it" };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char text[64];
        char *const secrets[] = { text, NULL };

        (void)snprintf(text, sizeof(text), "%s", all[i]);
        assert_int_equal(signature_check_secrets(secrets, &err), ERR_SYNTAX);
    }
    assert_int_equal(signature_check_secrets(NULL, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standards_own_example),
        cmocka_unit_test(what_is_no_secret_is_refused),
    };

    return cmocka_run_group_tests_name("webhooks/signature", tests, NULL, NULL);
}
