/* What the commands that talk to a server share. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "base/str.h"

#include <getopt.h>

struct buf;
struct client;
struct client_reply;

enum { EXIT_JOB_FAILED = 1 }; /* the job failed or was cancelled */

/* A request that takes longer is given up. */
enum { REMOTE_TIMEOUT_MS = 30000 };

#define REMOTE_HELP                                                                    \
    "  --url URL             the server (SPOOLWIRE_URL, else http://127.0.0.1:8400)\n" \
    "\n"                                                                               \
    "SPOOLWIRE_TOKEN is sent as a bearer token when it is set.\n"

/* @url is the option's value, or NULL.  Says what is wrong; EXIT_OK or an exit code. */
int remote_open(const char *command, const char *url, struct client **ret);

/* For the option that getopt_long has just found fault with (':' or '?'). */
int remote_bad_option(const char *command, int id, char *const *argv);

/* "spoolwire COMMAND: …" on standard error; returns EXIT_TROUBLE. */
int remote_trouble(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an answer that is not the wanted one. */
int remote_refused(const char *command, const struct client_reply *reply);

/* "/v1/jobs/<job>" and what follows; terminated. */
void remote_job_path(struct buf *b, const char *prefix, struct str job, const char *rest);

/* --- following a job (tail.c) ----------------------------------------------------------- */

struct remote_follow {
    const char *command;
    struct str job;
    const char *dialect;
    const char *after; /* an id, or NULL: from the beginning */
    bool raw;          /* whole frames instead of their data */
};

/* Writes the job's frames until the end of its stream; an exit code that says how it ended. */
int remote_follow(struct client *c, const struct remote_follow *f);

#endif
