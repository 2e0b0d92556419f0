/* URLs of webhooks, and which of them a list of settings allows. */
#include "webhooks/policy.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* --- URLs ----------------------------------------------------------------------------------
 */

static void urls_have_one_form(void **state)
{
    static const struct {
        const char *text, *form;
    } all[] = {
        { "http://a.b", "http://a.b:80/" },
        { "HTTPS://A.b/x?y=1", "https://A.b:443/x?y=1" },
        { "https://a:8443?x", "https://a:8443/?x" },
        { "http://[::1]:8/x", "http://[::1]:8/x" },
        { "http://a/@b", "http://a:80/@b" },
        { "/x/y?z", "http://localhost/x/y?z" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct buf b LOCAL_BUF(1024);
        struct webhook_url url;

        assert_int_equal(webhook_url_parse(str_of(all[i].text), &url, NULL), 0);
        webhook_url_put(&b, &url);
        if (!str_eq(buf_text(&b), str_of(all[i].form)))
            fail_msg("%s: %.*s", all[i].text, STR_ARG(buf_text(&b)));
    }
}

static void what_is_no_url_is_refused(void **state)
{
    static const char *const all[] = {
        "",
        "x",
        "a.b/c",
        "ftp://a/",
        "http:/a",
        "http://",
        "http:///x",
        "http://:80/",
        "http://a:/",
        "http://a:0/",
        "http://a:65536/",
        "http://a:x",
        "http://u@a/",
        "http://a\\",
        "http://a/\\",
        "http://a b/",
        "http://a/ b",
        "http://a/#",
        "http://[::1/",
        "http://[]/",
        "http://[g]/",
        "http://[::1]x",
        "http://a\n/",
        "http://é/",
        "//a/",
        "/a b",
        "http://a%2e/",
        "http://a,b/",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct webhook_url url;

        if (webhook_url_parse(str_of(all[i]), &url, NULL) != ERR_SYNTAX)
            fail_msg("%s was taken", all[i]);
    }
}

/* --- the lists -----------------------------------------------------------------------------
 */

static int check_with(const char *rule, const char *name, bool has_app, const char *url)
{
    char *const allow[] = { (char *)(uintptr_t)rule, NULL };
    char *const names[] = { (char *)(uintptr_t)name, NULL };
    const struct webhook_policy_options options = { .allow = allow,
                                                    .private_ones = names,
                                                    .has_app = has_app };
    struct webhook_policy *p = NULL;
    struct webhook_url parsed;
    int code = webhook_policy_new(&options, &p, NULL);

    if (code == 0)
        code = webhook_policy_check(p, str_of(url), &parsed, NULL);
    webhook_policy_free(p);
    return code;
}

static void a_list_allows_what_it_names(void **state)
{
    static const struct {
        const char *rule, *allowed, *refused;
    } all[] = {
        { "*", "http://a.test/x", "/x" },
        { "a.test", "https://a.test:1/x", "https://b.a.test/" },
        { "a.test", "https://A.TEST./", "https://aa.test/" },
        { "*.a.test", "https://b.a.test/", "https://a.test/" },
        { "*.a.test", "https://c.b.a.test/", "https://ba.test/" },
        { "https://*", "https://a.test/", "http://a.test/" },
        { "*:8080", "http://a.test:8080/", "http://a.test/" },
        { "http://a.test:8080/x", "http://a.test:8080/x/y", "http://a.test:8080/xy" },
        { "a.test/x", "http://a.test/x?y", "http://a.test/" },
        { "a.test/x/", "http://a.test/x/y", "http://a.test/x" },
        { "a.test/x", "http://a.test/x", "http://a.test/x/../y" },
        { "a.test/x", "http://a.test/x?../y", "http://a.test/x/%2e%2e/y" },
        { "/x", "/x/y", "/y" },
        { "/", "/x", "http://a.test/x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (check_with(all[i].rule, "", true, all[i].allowed) != 0)
            fail_msg("%s does not allow %s", all[i].rule, all[i].allowed);
        if (check_with(all[i].rule, "", true, all[i].refused) != ERR_REFUSED)
            fail_msg("%s allows %s", all[i].rule, all[i].refused);
    }
    assert_int_equal(check_with("/x", "", false, "/x"), ERR_REFUSED);
}

static void private_addresses_are_allowed_by_name(void **state)
{
    static const char *const all[] = { "127.0.0.1", "127.1", "0177.0.0.1",
                                       "10.0.0.1",  "[::1]", "[::ffff:7f00:1]" };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char url[64];

        (void)snprintf(url, sizeof(url), "http://%s/", all[i]);
        if (check_with("*", "10.0.0.2", false, url) != ERR_REFUSED)
            fail_msg("%s was taken", url);
    }
    assert_int_equal(check_with("*", "127.0.0.1", false, "http://127.0.0.1/"), 0);
    assert_int_equal(check_with("*", "::1", false, "http://[::1]/"), 0);
    assert_int_equal(check_with("*", "127.0.0.1", false, "http://127.1/"), ERR_REFUSED);
}

static void what_is_no_rule_is_refused(void **state)
{
    static const char *const all[] = {
        "", "*a", "*.", "a b", "ftp://a", "a:0", "http://", "a@b"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (check_with(all[i], "", false, "http://a/") != ERR_SYNTAX)
            fail_msg("'%s' was taken", all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_have_one_form),
        cmocka_unit_test(what_is_no_url_is_refused),
        cmocka_unit_test(a_list_allows_what_it_names),
        cmocka_unit_test(private_addresses_are_allowed_by_name),
        cmocka_unit_test(what_is_no_rule_is_refused),
    };

    return cmocka_run_group_tests_name("webhooks/policy", tests, NULL, NULL);
}
