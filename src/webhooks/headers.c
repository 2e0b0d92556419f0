#include "webhooks/headers.h"

#include "base/error.h"

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
