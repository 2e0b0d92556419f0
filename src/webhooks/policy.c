#include "webhooks/policy.h"

#include "base/error.h"
#include "webhooks/address.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct webhook_rule {
    struct webhook_url url; /* scheme absent: any; port 0: any */
    bool is_below;          /* the host is any below it; an empty host: any at all */
    bool is_path;           /* of the app */
};

struct webhook_policy {
    struct webhook_policy_options options;
    struct webhook_rule *rules; /* owned; their texts are the options' */
    size_t n;
};

/* --- entries -------------------------------------------------------------------------------
 */

static int read_scheme(struct str *text, struct str *ret, struct error *err)
{
    for (size_t i = 0; i + 3 <= text->n; i++) {
        if (memcmp(text->p + i, "://", 3) != 0)
            continue;
        *ret = str_head(*text, i);
        *text = str_skip(*text, i + 3);
        return str_is(*ret, "http") || str_is(*ret, "https")
                   ? 0
                   : error_set(err, ERR_SYNTAX, "its scheme is neither http nor https");
    }
    return 0;
}

/* [SCHEME://]HOST[:PORT][PATH], where the host may begin with "*". */
static int read_host_rule(struct str text, struct webhook_rule *ret, struct error *err)
{
    struct str scheme = STR_NONE;
    int code = read_scheme(&text, &scheme, err);

    ret->is_below = str_starts(text, STR("*"));
    bool is_any = ret->is_below && !str_starts(text, STR("*."));
    if (ret->is_below)
        text = str_skip(text, is_any ? 1 : 2);
    if (code == 0)
        code = webhook_url_parse_place(text, !is_any, &ret->url, err);
    if (code == 0 && is_any && ret->url.host.n > 0)
        code = error_set(err, ERR_SYNTAX, "a '*' is followed by a dot");
    ret->url.scheme = scheme;
    return code;
}

static int read_rule(struct str text, struct webhook_rule *ret, struct error *err)
{
    *ret = (struct webhook_rule){ .is_path = str_starts(text, STR("/")) };
    return ret->is_path ? webhook_url_parse(text, &ret->url, err)
                        : read_host_rule(text, ret, err);
}

int webhook_policy_new(const struct webhook_policy_options *options,
                       struct webhook_policy **ret,
                       struct error *err)
{
    struct webhook_policy *p = calloc(1, sizeof(*p));
    struct error why;
    size_t n = 0;

    while (options->allow != NULL && options->allow[n] != NULL)
        n++;
    if (p != NULL)
        p->rules = calloc(n + 1, sizeof(*p->rules));
    if (p == NULL || p->rules == NULL) {
        webhook_policy_free(p);
        return error_set(err, ERR_NOMEM, "out of memory");
    }
    p->options = *options;
    for (; p->n < n; p->n++) {
        const char *text = options->allow[p->n];

        if (read_rule(str_of(text), &p->rules[p->n], &why) != 0) {
            webhook_policy_free(p);
            return error_set(err, ERR_SYNTAX,
                             "webhook_allow: '%.200s' is neither a host nor a URL: %s", text,
                             why.text);
        }
    }
    *ret = p;
    return 0;
}

void webhook_policy_free(struct webhook_policy *p)
{
    if (p == NULL)
        return;
    free(p->rules);
    free(p);
}

/* --- URLs ----------------------------------------------------------------------------------
 */

static bool same_letters(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        char x = a.p[i], y = b.p[i];

        x = x >= 'A' && x <= 'Z' ? (char)(x + 32) : x;
        y = y >= 'A' && y <= 'Z' ? (char)(y + 32) : y;
        if (x != y)
            return false;
    }
    return true;
}

/* A dot at the end names the same host. */
static struct str without_dot(struct str host)
{
    return host.n > 1 && host.p[host.n - 1] == '.' ? str_head(host, host.n - 1) : host;
}

static bool fits_host(const struct webhook_rule *rule, struct str host)
{
    struct str end = rule->url.host;

    if (!rule->is_below)
        return same_letters(host, end);
    return end.n == 0 || (host.n > end.n + 1 && host.p[host.n - end.n - 1] == '.' &&
                          same_letters(str_skip(host, host.n - end.n), end));
}

/* A path with dots in it may mean another one. */
static bool has_dots(struct str rest)
{
    struct str path = rest;

    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] == '?') {
            path = str_head(rest, i);
            break;
        }
    for (size_t i = 0; i + 1 < path.n; i++)
        if ((path.p[i] == '.' && path.p[i + 1] == '.') || path.p[i] == '%')
            return true;
    return false;
}

/* "/hooks" allows "/hooks", "/hooks/x" and "/hooks?x", but not "/hooksy"; "/hooks/" not
 * "/hooks". */
static bool fits_path(struct str prefix, struct str rest)
{
    if (prefix.n == 0 || str_is(prefix, "/"))
        return true;
    if (!str_starts(rest, prefix) || has_dots(rest))
        return false;
    return rest.n == prefix.n || prefix.p[prefix.n - 1] == '/' || rest.p[prefix.n] == '/' ||
           rest.p[prefix.n] == '?';
}

static bool fits(const struct webhook_rule *rule, const struct webhook_url *url)
{
    if (rule->is_path || str_absent(url->scheme))
        return rule->is_path && str_absent(url->scheme) && fits_path(rule->url.rest, url->rest);
    return (str_absent(rule->url.scheme) || str_eq(rule->url.scheme, url->scheme)) &&
           fits_host(rule, without_dot(url->host)) &&
           (rule->url.port == 0 || rule->url.port == url->port) &&
           fits_path(rule->url.rest, url->rest);
}

static bool may_be_private(const struct webhook_policy *p, struct str host)
{
    for (char *const *name = p->options.private_ones; name != NULL && *name != NULL; name++)
        if (same_letters(str_of(*name), without_dot(host)))
            return true;
    return false;
}

bool webhook_policy_may_reach(const struct webhook_policy *p,
                              struct str host,
                              const struct sockaddr *address)
{
    return !address_is_private(address) || may_be_private(p, host);
}

/* Judges a host that is an address, in any of the forms that the resolver takes for one. */
static bool is_refused_address(const struct webhook_policy *p, struct str host)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL;
    char name[256];
    bool is_refused = false;

    if (host.n >= sizeof(name))
        return true;
    memcpy(name, host.p, host.n);
    name[host.n] = '\0';
    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false; /* a name: it is resolved when it is needed */
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next)
        is_refused |= !webhook_policy_may_reach(p, host, a->ai_addr);
    freeaddrinfo(list);
    return is_refused;
}

int webhook_policy_check(const struct webhook_policy *p,
                         struct str text,
                         struct webhook_url *ret,
                         struct error *err)
{
    struct webhook_url url;
    struct error why;
    bool is_allowed = false;

    if (webhook_url_parse(text, &url, &why) != 0)
        return error_set(err, ERR_SYNTAX, "the webhook's URL is not valid: %s", why.text);
    for (size_t i = 0; i < p->n && !is_allowed; i++)
        is_allowed = fits(&p->rules[i], &url);
    if (!is_allowed)
        return error_set(err, ERR_REFUSED,
                         "this server does not send webhooks to '%.*s': the setting "
                         "webhook_allow has to list it",
                         STR_ARG(str_head(str_absent(url.scheme) ? url.rest : url.host, 120)));
    if (str_absent(url.scheme) && !p->options.has_app)
        return error_set(err, ERR_REFUSED,
                         "'%.*s' is a path, and this server has no HTTP app of a project "
                         "(`http.app` of langgraph.json)",
                         STR_ARG(str_head(url.rest, 120)));
    if (!str_absent(url.scheme) && is_refused_address(p, url.host))
        return error_set(err, ERR_REFUSED,
                         "'%.*s' is a private address: the setting webhook_private has to "
                         "list it",
                         STR_ARG(str_head(url.host, 120)));
    *ret = url;
    return 0;
}
