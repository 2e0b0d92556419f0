/* The companion: a process that runs what a project brings along for the server itself: its
 * handlers of authentication and authorization, and its own HTTP app.
 *
 *     loops ──asker.c──▶ ask.sock ──▶ ┌───────────┐   who is it, and may it do that?
 *     loops ──relay.c──▶ http.sock ─▶ │ companion │   requests for the app
 *     loops ◀────────── HTTP ──────── └───────────┘   what the app has no route for
 *
 * A thread with a loop of its own starts it, starts it again when it exits, and replaces it
 * when a file of the project changes.  The sockets are in a folder that only this user may
 * enter. When it is ready it says so on its stdout, with the secret that it was given, and what
 * it has; everything else that it prints goes to the server's log. */
#ifndef COMPANION_COMPANION_H
#define COMPANION_COMPANION_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct companion;
struct error;

/* A route of the app: requests whose path begins with it are the app's. */
struct companion_route {
    struct str prefix;
    bool is_whole;     /* the path is just that */
    bool is_websocket; /* for requests that ask for another protocol, and for these only */
};

/* What the process has said; never changes. */
struct companion_news {
    bool has_auth;
    bool has_app;
    struct companion_route *routes;
    size_t n_routes;
    struct companion_news *older;
    char *text; /* of the routes */
};

struct companion_options {
    char *const *argv;  /* borrowed, like all others */
    const char *cwd;    /* NULL: the server's */
    char *const *watch; /* folders whose changes replace the process; NULL: none */
    const char *mark;   /* of the server's processes; NULL: none */
    bool is_guarding;   /* it has handlers of authentication: without it nobody may enter */
    int64_t ask_ms;     /* how long an answer may take */
    void (*log)(void *arg, struct str line);
    void *arg;
};

/* Makes the sockets' folder and the secret.  ERR_IO, ERR_NOMEM. */
MUST_CHECK int companion_new(const struct companion_options *options,
                             struct companion **ret,
                             struct error *err);
/* Starts the process, when the server listens at @url. */
MUST_CHECK int companion_start(struct companion *c, const char *url, struct error *err);
/* Ends the process and its thread. */
void companion_stop(struct companion *c);
void companion_free(struct companion *c); /* may be NULL */

/* --- from any thread --------------------------------------------------------------------- */

/* NULL: it has not been ready yet. */
const struct companion_news *companion_news(const struct companion *c);
/* Callers without a token of ours are its business. */
bool companion_guards(const struct companion *c);
const char *companion_ask_path(const struct companion *c);
const char *companion_http_path(const struct companion *c);
int64_t companion_ask_ms(const struct companion *c);
/* Is this the text with which the process shows that it is ours? */
bool companion_knows(const struct companion *c, struct str secret);

#endif
