#define _GNU_SOURCE /* memmem */
#include "webhooks/headers.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL)))
            return false;
    }
    return name.n > 0 && name.n <= 256;
}

/* A line break would begin another header. */
static bool is_value(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ' && value.p[i] != '\t')
            return false;
    return value.n > 0;
}

static bool is_ours(struct str name)
{
    static const char *const names[] = { "content-type",      "content-length", "host",
                                         "transfer-encoding", "connection",     "expect" };

    if (name.n >= 8 && strncasecmp(name.p, "webhook-", 8) == 0)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == name.n && strncasecmp(name.p, names[i], name.n) == 0)
            return true;
    return false;
}

int webhook_headers_check(char *const *headers, struct error *err)
{
    for (char *const *h = headers; h != NULL && *h != NULL; h++) {
        struct str line = str_of(*h);
        size_t colon = str_find(line, ':');
        struct str name = str_head(line, colon);

        if (colon >= line.n || !is_name(name))
            return error_set(err, ERR_SYNTAX, "webhook_headers: a header is 'Name: value'");
        struct str value = str_skip(line, colon + 1);
        while (value.n > 0 && value.p[0] == ' ')
            value = str_skip(value, 1);
        if (!is_value(value) || is_ours(name))
            return error_set(err, ERR_SYNTAX, "webhook_headers: '%.*s' %s", STR_ARG(name),
                             is_ours(name) ? "is set by the server itself"
                                           : "has no value, or one with control characters");
    }
    return 0;
}

/* --- variables ------------------------------------------------------------------ */

/* The value of "env.NAME", whose name must begin with @prefix. */
static int put_variable(struct buf *b,
                        struct str expression,
                        struct str prefix,
                        struct error *err)
{
    struct str name = str_starts(expression, STR("env.")) ? str_skip(expression, 4) : STR("");
    char text[256];

    if (str_empty(name) || !str_starts(name, prefix) || name.n >= sizeof(text))
        return error_set(err, ERR_REFUSED,
                         "'webhooks.headers': '%.*s' is no 'env.NAME' whose name begins with "
                         "'%.*s' ('webhooks.env_prefix')",
                         STR_ARG(str_head(expression, 100)), STR_ARG(str_head(prefix, 100)));
    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(name)); /* fits */
    const char *value = getenv(text);
    if (value == NULL)
        return error_set(err, ERR_REFUSED,
                         "'webhooks.headers': there is no variable '%s' in the environment",
                         text);
    buf_str(b, str_of(value));
    return 0;
}

static struct str without_blanks(struct str s)
{
    while (s.n > 0 && s.p[0] == ' ')
        s = str_skip(s, 1);
    while (s.n > 0 && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

int webhook_header_expand(struct buf *b, struct str text, struct str prefix, struct error *err)
{
    int code = 0;

    while (code == 0 && text.n > 0) {
        const char *end = str_starts(text, STR("${{")) ? memmem(text.p, text.n, "}}", 2) : NULL;

        if (end == NULL) {
            buf_char(b, text.p[0]);
            text = str_skip(text, 1);
            continue;
        }
        struct str inner = str_make(text.p + 3, (size_t)(end - text.p) - 3);
        code = put_variable(b, without_blanks(inner), prefix, err);
        text = str_skip(text, (size_t)(end - text.p) + 2);
    }
    return code;
}
