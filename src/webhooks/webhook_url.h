/* The URL of a webhook, strictly parsed: what is checked here is what is connected to.
 *
 *     https://hooks.example.com:8443/runs?x=1      a host, http or https
 *     /runs                                        a path of the project's own HTTP app
 *
 * No user names, no blanks, no backslashes, no fragment: programs disagree about these. */
#ifndef WEBHOOKS_WEBHOOK_URL_H
#define WEBHOOKS_WEBHOOK_URL_H

#include "base/buf.h"
#include "base/must_check.h"

struct error;

struct webhook_url {
    struct str scheme; /* "http", "https"; absent: a path of the app, and so are the next two */
    struct str host;   /* without the brackets of an IPv6 address */
    unsigned port;
    bool is_ipv6;
    struct str rest; /* the path and the query; begins with "/" or "?", or is empty */
};

/* Points into @text.  ERR_SYNTAX; @err says what is wrong with the URL. */
MUST_CHECK int webhook_url_parse(struct str text, struct webhook_url *ret, struct error *err);
/* Parses what comes after the scheme: HOST[:PORT][REST]; without @needs_host the host may be
 * empty.  The port is 0 if none is given. */
MUST_CHECK int webhook_url_parse_place(struct str text,
                                       bool needs_host,
                                       struct webhook_url *ret,
                                       struct error *err);
/* The same URL in one form: "https://host:443/rest"; of a path: "http://localhost/rest". */
void webhook_url_put(struct buf *b, const struct webhook_url *url);

#endif
