/* What a langgraph.json says of the server itself: `auth`, `http` and `webhooks`.
 *
 *     {"auth": {"path": "./auth.py:auth", "disable_studio_auth": true},
 *      "http": {"app": "./app.py:app", "cors": {"allow_origins": ["https://app.example.com"]}}}
 */
#ifndef CLI_PROJECT_SERVER_H
#define CLI_PROJECT_SERVER_H

#include "base/json.h"

struct error;

struct project_server {
    char *auth;        /* FILE:EXPORT of the handlers; NULL: none.  Owned, like all others */
    char *app;         /* FILE:EXPORT of the HTTP app; NULL: none */
    char *settings;    /* JSON for the companion */
    char **origins;    /* NULL: any */
    char **disabled;   /* parts of LangGraph's API; NULL: none */
    char **headers;    /* that graphs find in their config; NULL: the usual ones */
    char **no_headers; /* NULL: none more */
    char *prefix;      /* NULL: none */
    bool no_webhooks;
    char **webhook_allow, **webhook_private, **webhook_headers, **webhook_fields; /* options */
};

/* Calls @ignored with a sentence for each member that is not honoured.  ERR_TYPE, ERR_NOMEM. */
int project_server_read(struct project_server *p,
                        const yyjson_val *root,
                        void (*ignored)(void *arg, const char *sentence),
                        void *arg,
                        struct error *err);
void project_server_done(struct project_server *p);

#endif
