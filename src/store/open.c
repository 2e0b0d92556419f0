/* Opens a store: the URL of the database selects the backend.
 *
 *     sqlite:PATH   scheme, colon, and the rest, which the backend parses
 *     PATH          the same, for the first backend of the list
 *
 * A URL with another scheme (`mysql://…`) is refused.  Any other text with a colon is a
 * path. */
#include "store/backend.h"
#include "store/gateways.h"
#include "store/list.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS(name) &store_backend_##name,
static const struct store_backend *const backends[] = { STORE_BACKENDS(ADDRESS) };
#undef ADDRESS

enum { N_BACKENDS = sizeof(backends) / sizeof(backends[0]) };

/* The part before the first colon. */
static struct str scheme_of(const char *url)
{
    const char *colon = strchr(url, ':');

    return colon != NULL ? str_make(url, (size_t)(colon - url)) : STR_NONE;
}

/* The message does not repeat what follows the scheme: it may contain a password. */
static int unknown(struct str scheme, struct error *err)
{
    char known[200];
    size_t n = 0;

    for (size_t i = 0; i < N_BACKENDS && n < sizeof(known); i++)
        n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i > 0 ? ", " : "",
                              backends[i]->form);
    return error_set(err, ERR_REFUSED,
                     "there is no store for \"%.*s://\": give %s, or the path alone",
                     STR_ARG(str_head(scheme, 40)), known);
}

/* The backend with that scheme; NULL: none. */
static const struct store_backend *find(struct str scheme)
{
    for (size_t i = 0; !str_absent(scheme) && i < N_BACKENDS; i++)
        if (str_eq(scheme, str_of(backends[i]->scheme)))
            return backends[i];
    return NULL;
}

bool store_is_shared(const char *url)
{
    const struct store_backend *backend = find(scheme_of(url));

    return backend != NULL && backend->is_shared;
}

static int open_as(const struct store_options *options,
                   enum store_role role,
                   struct store **ret,
                   struct error *err)
{
    struct str scheme = scheme_of(options->url);
    const char *rest = options->url + scheme.n + 1;
    const struct store_backend *backend = find(scheme);

    if (backend != NULL)
        return backend->open(rest, options, role, ret, err);
    if (!str_absent(scheme) && strncmp(rest, "//", 2) == 0 && scheme.n > 0)
        return unknown(scheme, err);
    return backends[0]->open(options->url, options, role, ret, err);
}

void store_examine(const struct store_options *options, store_examine_cb cb, void *arg)
{
    const struct store_backend *backend = find(scheme_of(options->url));
    struct store *s = NULL;
    struct error why = { 0 };

    if (backend != NULL && backend->examine != NULL)
        backend->examine(options, cb, arg);
    else if (open_as(options, STORE_READER, &s, &why) == 0)
        cb(arg, STORE_GOOD, "database", "it can be opened", NULL);
    else
        cb(arg, STORE_BAD, "database", why.text, NULL);
    store_close(s);
}

int store_open(const struct store_options *options, struct store **ret, struct error *err)
{
    return open_as(options, STORE_WRITER, ret, err);
}

int store_open_reader(const struct store_options *options,
                      struct store **ret,
                      struct error *err)
{
    return open_as(options, STORE_READER, ret, err);
}

int store_open_beside(const struct store_options *options,
                      struct store **ret,
                      struct error *err)
{
    return open_as(options, STORE_BESIDE, ret, err);
}
