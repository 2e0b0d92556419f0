/* What a companion says when it is ready, as JSON:
 *
 *     {"auth": true, "app": {"routes": ["/custom/", "=/hello"], "websockets": ["=/chat"]}}
 *
 * A route that begins with "=" is a whole path, all others are beginnings of paths: an app with
 * middleware has "/". */
#ifndef COMPANION_NEWS_H
#define COMPANION_NEWS_H

#include "companion/companion.h"

enum { NEWS_MAX_ROUTES = 2000 };

/* ERR_SYNTAX, ERR_TYPE, ERR_NOMEM. */
MUST_CHECK int news_read(struct str text, struct companion_news **ret);
void news_free(struct companion_news *n); /* and all older ones; may be NULL */
/* Is a request for @path (decoded, without its query) the app's? */
bool news_has_route(const struct companion_news *n, struct str path, bool is_websocket);

#endif
