#include "config/values/database_url.h"

#include "base/error.h"

#include <string.h>

#define FORMS "sqlite:PATH, postgres://USER@HOST/DATABASE, or the path alone"

static bool is_postgres(struct str scheme)
{
    return str_is(scheme, "postgres") || str_is(scheme, "postgresql");
}

/* As libpq looks for it: the login ends at the first '@', unless a '/' comes before. */
static bool login_has_password(struct str rest)
{
    struct str login = str_head(rest, str_find(rest, '@'));

    return login.n < rest.n && !str_has(login, '/') && str_find(login, ':') + 1 < login.n;
}

static bool query_has_password(struct str rest)
{
    struct str query = str_skip(rest, str_find(rest, '?') + 1);

    while (query.n > 0) {
        struct str part = str_head(query, str_find(query, '&'));
        struct str name = str_head(part, str_find(part, '='));

        if (str_is(name, "password") || str_is(name, "sslpassword"))
            return true;
        query = str_skip(query, part.n + 1);
    }
    return false;
}

int database_url_check(struct str url, struct error *err)
{
    struct str scheme = str_head(url, str_find(url, ':'));
    struct str rest = str_skip(url, scheme.n + 3);

    if (scheme.n == 0 || !str_starts(str_skip(url, scheme.n), STR("://")) ||
        str_is(scheme, "sqlite"))
        return 0;
    if (!is_postgres(scheme))
        return error_set(err, ERR_REFUSED, "there is no store for \"%.*s://\": give " FORMS,
                         STR_ARG(str_head(scheme, 40)));
    if (login_has_password(rest) || query_has_password(rest))
        return error_set(err, ERR_REFUSED,
                         "the URL of the database has a password, which `ps` and logs would "
                         "show: put it into ~/.pgpass, a file (passfile=FILE in the URL) or "
                         "PGPASSWORD");
    return 0;
}

bool database_url_is_pairs(struct str url)
{
    static const char *const words[] = { "host=",     "hostaddr=", "port=",
                                         "dbname=",   "user=",     "password=",
                                         "passfile=", "service=",  "sslmode=" };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_starts(url, str_of(words[i])))
            return true;
    return false;
}
