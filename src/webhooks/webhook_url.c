#include "webhooks/webhook_url.h"

#include "base/error.h"

enum { MAX_URL = 4096, MAX_HOST = 253 };

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_of_host(char c)
{
    return is_word(c) || c == '.' || c == '-' || c == '_';
}

static bool is_of_ipv6(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
           c == ':' || c == '.';
}

static bool is_of_rest(char c)
{
    return c > ' ' && c < 0x7F && c != '\\' && c != '#' && c != '"' && c != '<' && c != '>';
}

static size_t span(struct str text, bool (*is_in)(char c))
{
    size_t n = 0;

    while (n < text.n && is_in(text.p[n]))
        n++;
    return n;
}

static int refuse(struct error *err, const char *why)
{
    return error_set(err, ERR_SYNTAX, "%s", why);
}

static int read_host(struct str *text, struct webhook_url *ret, struct error *err)
{
    ret->is_ipv6 = text->n > 0 && text->p[0] == '[';
    if (ret->is_ipv6)
        *text = str_skip(*text, 1);
    size_t n = span(*text, ret->is_ipv6 ? is_of_ipv6 : is_of_host);
    ret->host = str_head(*text, n);
    *text = str_skip(*text, n);
    if (ret->is_ipv6) {
        if (text->n == 0 || text->p[0] != ']')
            return refuse(err, "its IPv6 address is not closed with ']'");
        *text = str_skip(*text, 1);
    }
    return n > MAX_HOST ? refuse(err, "its host is too long") : 0;
}

static int read_port(struct str *text, struct webhook_url *ret, struct error *err)
{
    unsigned port = 0;
    size_t n = 0;

    if (text->n == 0 || text->p[0] != ':')
        return 0;
    *text = str_skip(*text, 1);
    while (n < text->n && n < 6 && text->p[n] >= '0' && text->p[n] <= '9')
        port = port * 10 + (unsigned)(text->p[n++] - '0');
    *text = str_skip(*text, n);
    ret->port = port;
    return n == 0 || port == 0 || port > 65535 ? refuse(err, "it has no valid port") : 0;
}

static int read_rest(struct str text, struct webhook_url *ret, struct error *err)
{
    ret->rest = text;
    if (span(text, is_of_rest) < text.n)
        return refuse(err, "it has a character that no URL has, or a fragment");
    return text.n > 0 && text.p[0] != '/' && text.p[0] != '?'
               ? refuse(err, "its host is not followed by a port or a path")
               : 0;
}

int webhook_url_parse_place(struct str text,
                            bool needs_host,
                            struct webhook_url *ret,
                            struct error *err)
{
    struct webhook_url url = { .scheme = STR_NONE };
    int code = read_host(&text, &url, err);

    if (code == 0 && url.host.n == 0 && (needs_host || url.is_ipv6))
        code = refuse(err, "it has no valid host");
    if (code == 0)
        code = read_port(&text, &url, err);
    if (code == 0)
        code = read_rest(text, &url, err);
    if (code == 0)
        *ret = url;
    return code;
}

/* In lower case, as it is compared. */
static struct str scheme_of(struct str text)
{
    static const struct {
        const char *prefix, *name;
    } schemes[] = { { "https://", "https" }, { "http://", "http" } };

    for (size_t i = 0; i < 2; i++) {
        struct str prefix = str_of(schemes[i].prefix);
        size_t k = 0;

        while (k < prefix.n && k < text.n && (text.p[k] | 0x20) == (prefix.p[k] | 0x20))
            k++;
        if (k == prefix.n)
            return str_of(schemes[i].name);
    }
    return STR_NONE;
}

int webhook_url_parse(struct str text, struct webhook_url *ret, struct error *err)
{
    struct webhook_url url = { .host = STR_NONE };
    struct str scheme = scheme_of(text);
    int code;

    if (text.n > MAX_URL)
        return refuse(err, "it is longer than 4096 bytes");
    if (str_starts(text, STR("//")))
        return refuse(err, "it begins with two slashes");
    if (str_absent(scheme) && !str_starts(text, STR("/")))
        return refuse(err, "it begins with none of http://, https:// and /");
    if (str_absent(scheme))
        code = read_rest(text, &url, err);
    else
        code = webhook_url_parse_place(str_skip(text, scheme.n + 3), true, &url, err);
    if (code != 0)
        return code;
    url.scheme = scheme;
    if (!str_absent(scheme) && url.port == 0)
        url.port = str_is(scheme, "https") ? 443 : 80;
    *ret = url;
    return 0;
}

void webhook_url_put(struct buf *b, const struct webhook_url *url)
{
    if (str_absent(url->scheme)) {
        buf_lit(b, "http://localhost");
    } else {
        buf_str(b, url->scheme);
        buf_lit(b, "://");
        if (url->is_ipv6)
            buf_char(b, '[');
        buf_str(b, url->host);
        if (url->is_ipv6)
            buf_char(b, ']');
        buf_char(b, ':');
        buf_u64(b, url->port);
    }
    if (url->rest.n == 0 || url->rest.p[0] != '/')
        buf_char(b, '/');
    buf_str(b, url->rest);
}
