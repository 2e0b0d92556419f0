/* The server as other commands start it. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

struct server_config;

/* Called when it listens.  @url is its address (a path for a Unix socket alone). */
typedef void (*serve_hello)(const void *arg,
                            const struct server_config *config,
                            const char *url);

/* Runs until it is told to end.  @argv has its options, after a name; returns an exit code.
 * With @hello NULL it prints its own message. */
int serve_run(int argc, char **argv, serve_hello hello, const void *arg);

#endif
