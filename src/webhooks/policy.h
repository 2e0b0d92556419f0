/* Which webhooks this server may send: what the settings allow.
 *
 * An entry of the list `webhook_allow` is one of
 *
 *     *                          any public host
 *     example.com                this host          *.example.com    any host below it
 *     https://example.com/hooks  the same with a scheme, a port or the beginning of a path;
 * what is not given may be anything /hooks                     paths of the project's own HTTP
 * app that begin so
 *
 * A host of the list `webhook_private` may have private addresses (address.h) too.
 *
 * Never changes after it was made: any thread may use it. */
#ifndef WEBHOOKS_POLICY_H
#define WEBHOOKS_POLICY_H

#include "base/must_check.h"
#include "webhooks/webhook_url.h"

struct sockaddr;
struct webhook_policy;

struct webhook_policy_options {
    char *const *allow;        /* NULL: nothing; borrowed, like the next */
    char *const *private_ones; /* NULL: none */
    bool has_app;              /* the project has an HTTP app */
};

/* ERR_SYNTAX: an entry of the lists is none; ERR_NOMEM. */
MUST_CHECK int webhook_policy_new(const struct webhook_policy_options *options,
                                  struct webhook_policy **ret,
                                  struct error *err);
void webhook_policy_free(struct webhook_policy *p); /* may be NULL */

/* May a run name this URL?  ERR_SYNTAX, or ERR_REFUSED; @err says which setting to change.
 * Resolves no name: only an address in the URL itself is judged. */
MUST_CHECK int webhook_policy_check(const struct webhook_policy *p,
                                    struct str url,
                                    struct webhook_url *ret,
                                    struct error *err);
/* May the host be reached at this address? */
bool webhook_policy_may_reach(const struct webhook_policy *p,
                              struct str host,
                              const struct sockaddr *address);

#endif
