#include "config/values/redis_url.h"

#include "base/error.h"

enum { DEFAULT_PORT = 6379, MAX_DB = 1 << 20 };

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies @text with a NUL behind it; false when it is too long or has one inside. */
static bool copy(struct str text, bool decode, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        int c = (unsigned char)text.p[i];

        if (decode && c == '%') {
            int high = i + 2 < text.n ? nibble(text.p[i + 1]) : -1;
            int low = high >= 0 ? nibble(text.p[i + 2]) : -1;

            if (low < 0)
                return false;
            c = high * 16 + low;
            i += 2;
        }
        if (c == '\0' || n + 1 >= size)
            return false;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return true;
}

/* Takes "[user]:password@" off *@rest; a password may hold an @ only as %40. */
static bool take_login(struct str *rest, struct redis_url *u)
{
    size_t at = str_find(*rest, '@');

    if (at == rest->n)
        return true;
    struct str login = str_head(*rest, at);
    size_t colon = str_find(login, ':');
    *rest = str_skip(*rest, at + 1);
    return copy(str_head(login, colon), true, u->user, sizeof(u->user)) &&
           copy(str_skip(login, colon + 1), true, u->password, sizeof(u->password)) &&
           u->password[0] != '\0';
}

static bool take_db(struct str text, struct redis_url *u)
{
    int64_t db;

    if (str_empty(text))
        return true;
    if (!str_number(text, &db) || db > MAX_DB)
        return false;
    u->db = (unsigned)db;
    return true;
}

static int parse_unix(struct str rest, struct redis_url *u, struct error *err)
{
    struct str prefix = STR("?db=");

    if (!take_login(&rest, u))
        return error_set(err, ERR_SYNTAX, "the user or password before @ cannot be read");
    size_t end = str_find(rest, '?');
    struct str query = str_skip(rest, end);
    if (end < 2 || rest.p[0] != '/' ||
        !copy(str_head(rest, end), false, u->unix_path, sizeof(u->unix_path)))
        return error_set(err, ERR_SYNTAX,
                         "unix: must be followed by the path of a socket, as in "
                         "unix:/run/redis/redis.sock");
    if (!str_empty(query) &&
        (!str_starts(query, prefix) || !take_db(str_skip(query, prefix.n), u)))
        return error_set(err, ERR_SYNTAX, "behind the path may only stand ?db=NUMBER");
    return 0;
}

/* "host", "host:port", "[::1]:port" */
static bool take_address(struct str text, struct redis_url *u)
{
    bool brackets = !str_empty(text) && text.p[0] == '[';
    struct str host = brackets ? str_skip(text, 1) : text;
    int64_t port = DEFAULT_PORT;

    host = str_head(host, str_find(host, brackets ? ']' : ':'));
    if (brackets && host.n + 2 > text.n)
        return false;
    struct str rest = str_skip(text, host.n + (brackets ? 2 : 0));
    if (!str_empty(rest) && (rest.p[0] != ':' || !str_number(str_skip(rest, 1), &port)))
        return false;
    if (port < 1 || port > UINT16_MAX || str_empty(host))
        return false;
    u->port = (uint16_t)port;
    return copy(host, false, u->host, sizeof(u->host));
}

static int parse_tcp(struct str rest, struct redis_url *u, struct error *err)
{
    if (!take_login(&rest, u))
        return error_set(err, ERR_SYNTAX, "the user or password before @ cannot be read");
    size_t slash = str_find(rest, '/');
    if (!take_db(str_skip(rest, slash + 1), u))
        return error_set(err, ERR_SYNTAX, "behind the slash must stand a number, as in /0");
    if (!take_address(str_head(rest, slash), u))
        return error_set(err, ERR_SYNTAX,
                         "the host or port cannot be read: it must be as in "
                         "redis://127.0.0.1:6379/0");
    return 0;
}

int redis_url_parse(struct str text, struct redis_url *ret, struct error *err)
{
    struct str tcp = STR("redis://"), local = STR("unix:"), slashes = STR("//");
    struct redis_url u = { 0 };
    int code;

    if (str_starts(text, STR("rediss://")))
        return error_set(err, ERR_SYNTAX,
                         "rediss:// (TLS) is not supported: use redis:// to a tunnel on "
                         "this machine, or unix:");
    if (str_starts(text, tcp)) {
        code = parse_tcp(str_skip(text, tcp.n), &u, err);
    } else if (str_starts(text, local)) {
        struct str rest = str_skip(text, local.n);

        code =
            parse_unix(str_starts(rest, slashes) ? str_skip(rest, slashes.n) : rest, &u, err);
    } else {
        code = error_set(err, ERR_SYNTAX, "it must begin with redis:// or unix:");
    }
    if (code == 0)
        *ret = u;
    return code;
}
