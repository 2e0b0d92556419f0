/* Any bytes as the URL of a webhook: what is taken has a host that nobody can misread, and its
 * one form is taken again, as the same.  The same bytes as an entry of the settings, too. */
#include "fuzz.h"

#include "webhooks/policy.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct webhook_url *a, const struct webhook_url *b)
{
    return str_eq(a->scheme, b->scheme) && str_eq(a->host, b->host) && a->port == b->port &&
           a->is_ipv6 == b->is_ipv6;
}

static void try_rule(struct str text)
{
    char rule[256];
    char *const allow[] = { rule, NULL };
    const struct webhook_policy_options options = { .allow = allow, .has_app = true };
    struct webhook_policy *p = NULL;

    if (text.n >= sizeof(rule) || memchr(text.p, '\0', text.n) != NULL)
        return;
    memcpy(rule, text.p, text.n);
    rule[text.n] = '\0';
    if (webhook_policy_new(&options, &p, NULL) == 0)
        webhook_policy_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    struct buf b LOCAL_BUF(8192);
    struct webhook_url url, again;

    if (size == 0)
        return 0;
    try_rule(text);
    if (webhook_url_parse(text, &url, NULL) != 0)
        return 0;
    webhook_url_put(&b, &url);
    if (b.error != 0 || webhook_url_parse(buf_text(&b), &again, NULL) != 0)
        abort();
    if (!str_absent(url.scheme) && (!is_same(&url, &again) || url.host.n == 0 ||
                                    str_has(url.host, '@') || str_has(url.host, '/')))
        abort();
    return 0;
}
