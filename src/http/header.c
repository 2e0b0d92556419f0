#include "http/header.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool header_eq(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

static bool is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static struct str trim(struct str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_skip(s, 1);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

bool header_lists(struct str list, struct str word)
{
    while (list.n > 0) {
        struct str item = str_head(list, str_find(list, ','));

        if (header_eq(trim(str_head(item, str_find(item, ';'))), word))
            return true;
        list = str_skip(list, item.n + 1);
    }
    return false;
}

bool header_name_valid(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_alnum(name.p[i]) && !is_in(name.p[i], "!#$%&'*+-.^_`|~"))
            return false;
    return name.n > 0;
}

struct str header_bearer(struct str value)
{
    struct str scheme = str_head(value, str_find(value, ' '));
    struct str token = trim(str_skip(value, scheme.n));

    return header_is(scheme, "bearer") && token.n > 0 ? token : STR_NONE;
}

struct str header_cookie(struct str value, struct str name)
{
    while (value.n > 0) {
        struct str pair = str_head(value, str_find(value, ';'));
        struct str key = str_head(pair, str_find(pair, '='));

        if (key.n < pair.n && str_eq(trim(key), name))
            return trim(str_skip(pair, key.n + 1));
        value = str_skip(value, pair.n + 1);
    }
    return STR_NONE;
}

bool request_id_valid(struct str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (!is_alnum(id.p[i]) && !is_in(id.p[i], "._-"))
            return false;
    return id.n > 0 && id.n <= REQUEST_ID_MAX;
}

void header_put(struct buf *b, struct str name, struct str value)
{
    if (!header_name_valid(name))
        return;
    buf_str(b, name);
    buf_lit(b, ": ");
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] >= 0x20 && value.p[i] < 0x7f)
            buf_char(b, value.p[i]);
    buf_lit(b, "\r\n");
}

static const struct {
    int status;
    const char *text;
} statuses[] = {
    { 100, "Continue" },
    { 101, "Switching Protocols" },
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 206, "Partial Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 411, "Length Required" },
    { 412, "Precondition Failed" },
    { 413, "Content Too Large" },
    { 414, "URI Too Long" },
    { 415, "Unsupported Media Type" },
    { 416, "Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 421, "Misdirected Request" },
    { 422, "Unprocessable Content" },
    { 425, "Too Early" },
    { 426, "Upgrade Required" },
    { 428, "Precondition Required" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
    { 507, "Insufficient Storage" },
};

const char *status_text(int status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return status < 300 ? "OK" : status < 400 ? "Redirect" : "Error";
}
