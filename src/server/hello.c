/* What a server prints when it listens: its address, and what to type next. */
#include "server/server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void server_put_url(const struct server *s, const char *host, char *ret, size_t n)
{
    bool six = strchr(host, ':') != NULL;

    (void)snprintf(ret, n, "%s://%s%s%s:%u",
                   s->now->config->tls_cert != NULL ? "https" : "http", six ? "[" : "", host,
                   six ? "]" : "", (unsigned)http_server_port(s->http)); /* fits */
}

/* The name of this program as a user types it in this folder. */
static const char *own_name(const struct server *s)
{
    char here[4096];
    size_t n = getcwd(here, sizeof(here)) != NULL ? strlen(here) : 0;

    return n > 0 && strncmp(s->self, here, n) == 0 && s->self[n] == '/' ? s->self + n + 1
                                                                        : s->self;
}

/* For users who need a token. */
static void say_locked(const struct server *s, const char *url)
{
    const char *database = server_config_database(s->now->config);

    printf("spoolwire %s listens on %s (data in %s); callers need a token\n\n"
           "Type in another terminal:\n\n"
           "    export SPOOLWIRE_URL=%s\n"
           "    export SPOOLWIRE_TOKEN=$(%s token create --%s %s --scope client)\n"
           "    %s submit demo --follow    # a job, and its events as they come\n"
           "    curl -H \"Authorization: Bearer $SPOOLWIRE_TOKEN\" %s/v1/jobs    # its jobs\n\n"
           "Ctrl-C ends it; what was acknowledged is kept.\n",
           SPOOLWIRE_VERSION, url, database, url, own_name(s),
           s->now->config->store != NULL ? "store" : "data", database, own_name(s), url);
    (void)fflush(stdout); /* also into a pipe */
}

static void say_open(const struct server *s, const char *url)
{
    printf(
        "spoolwire %s listens on %s (data in %s)\n\n"
        "Open %s, or type in another terminal:\n\n"
        "    export SPOOLWIRE_URL=%s\n"
        "    %s submit demo --follow    # a job, and its events as they come\n"
        "    JOB=$(%s submit demo)      # another, as a LangGraph client sees it:\n"
        "    curl -N \"%s/v1/jobs/$JOB/events?dialect=messages\"\n"
        "    curl %s/v1/jobs    # all jobs\n\n"
        "Ctrl-C ends it, kill -9 %d too: start it again, and every reader goes on where it was.\n",
        SPOOLWIRE_VERSION, url, server_config_database(s->now->config), url, url, own_name(s),
        own_name(s), url, url, (int)getpid());
    (void)fflush(stdout); /* also into a pipe */
}

static void say_socket(const struct server *s, const char *path)
{
    printf("spoolwire %s listens on %s (data in %s)\n\n"
           "    curl --unix-socket %s http://localhost/v1/jobs    # all jobs\n",
           SPOOLWIRE_VERSION, path, server_config_database(s->now->config), path);
    (void)fflush(stdout); /* also into a pipe */
}

void server_say_hello(const struct server *s)
{
    const struct server_config *c = s->now->config;
    bool is_socket = c->address.host[0] == '\0';
    char url[128];

    server_put_url(s, c->address.host, url, sizeof(url));
    const char *place = is_socket ? c->address.unix_path : url;
    if (s->hello != NULL)
        s->hello(s->hello_arg, c, place);
    else if (is_socket)
        say_socket(s, place);
    else if (token_service_is_locked(s->tokens))
        say_locked(s, place);
    else
        say_open(s, place);
}
