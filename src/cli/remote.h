/* What the commands that talk to a server share. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "base/json.h"
#include "client/client.h"
#include "cli/command.h"

/* Timeout of a request. */
enum { REMOTE_TIMEOUT_MS = 30000, REMOTE_MAX_PATH = 16 * 1024 };

struct term;

struct remote {
    const char *path; /* of the command, for messages */
    struct client *client;
};

/* The server of --url and --token.  Says what is wrong; EXIT_OK or an exit code. */
int remote_open(const struct args *args, struct remote *ret);
/* The same for @url, unless it is NULL. */
int remote_open_at(const struct args *args, const char *url, struct remote *ret);
void remote_close(struct remote *r);

/* For locals, as LOCAL_BUF: a server, and the reader of its answers. */
#define LOCAL_REMOTE  __attribute__((cleanup(remote_close))) = { 0 }
#define ANSWER_READER LOCAL_READER(SIZE_MAX / 64, 256)

/* One request.  EXIT_OK: it was answered with 2xx; else an exit code, and the reason is on
 * standard error. */
int remote_get(struct remote *r, const char *path, struct client_reply *reply);
int remote_post(struct remote *r,
                const char *path,
                const char *type,
                struct str body,
                struct client_reply *reply);
/* The same for "<prefix><job><rest>"; @method is GET, POST without a body, or DELETE. */
int remote_job(struct remote *r,
               const char *method,
               const char *prefix,
               struct str job,
               const char *rest,
               struct client_reply *reply);

/* "<prefix><job><rest>", terminated. */
void remote_job_path(struct buf *b, const char *prefix, struct str job, const char *rest);

/* For the client's last call, which returned @err. */
int remote_failed(const struct remote *r, int err);
/* For an answer that is not the wanted one. */
int remote_refused(const struct remote *r, const struct client_reply *reply);

/* Reads an answer's JSON object, which is good as long as the reader and the reply are. */
int remote_json(const struct remote *r,
                const struct client_reply *reply,
                struct json_reader *reader,
                struct json *ret);
/* Writes an answer's body as it is, and a line end. */
int remote_write(const struct remote *r, struct client_reply *reply);
/* The same as a `tell` of remote_each(). */
int remote_tell(const struct remote *r, struct str job, struct client_reply *reply);

/* --- whole commands ------------------------------------------------------------------ */

/* Writes what @put makes of an answer for people; @put returns EXIT_OK or an exit code. */
int remote_put(const struct remote *r,
               const struct args *args,
               const struct client_reply *reply,
               int (*put)(const struct args *args, yyjson_val *answer, struct buf *out));
/* Asks for "<prefix><job><rest>", the job being the command's word, and writes the answer: as
 * it is with --json, else by remote_put. */
int remote_show(const struct args *args,
                const char *prefix,
                const char *rest,
                int (*put)(const struct args *args, yyjson_val *answer, struct buf *out));
/* The same request for each of the command's words, with @tell for --json; the worst code. */
int remote_each(const struct args *args,
                const char *method,
                const char *prefix,
                const char *rest,
                int (*tell)(const struct remote *r,
                            struct str job,
                            struct client_reply *reply));

/* --- following a job (follow.c) ---------------------------------------------------------- */

struct remote_follow {
    struct remote *remote;
    struct str job;
    const char *dialect;
    const char *after; /* an id, or NULL: from the beginning */
    bool raw;          /* whole frames instead of their data */
    struct term *term; /* show it live there; NULL: write lines.  Wants the agent dialect */
    struct client *answers; /* with a term: for answers that are typed; NULL: not interactive */
};

#define FOLLOW_COLOR_HELP \
    "On a terminal: auto (default), unless NO_COLOR is set; always; never."

/* The terminal for remote_follow, or NULL when it is to be lines: not a terminal, one that
 * cannot move its cursor, or @lines.  False: @color is not a valid value. */
bool remote_view(struct term *term, const char *color, bool lines, struct term **ret);

/* Opens *@ret for answers that a user types, if the follow is interactive.  The caller closes
 * it in any case. */
int remote_hear(const struct args *args, struct remote_follow *f, struct remote *ret);

/* Writes the job's frames until the end of its stream; an exit code that says how it ended. */
int remote_follow(const struct remote_follow *f);

/* --- waiting for a job (wait.c) ------------------------------------------------------------
 */

struct remote_wait {
    struct remote *remote;
    struct str job;
    int64_t timeout_ms; /* 0: as long as it takes */
    bool json;          /* write the whole answer, not only the job's output */
};

/* Waits until the job has ended and writes its output; the exit code says how it ended. */
int remote_wait(const struct remote_wait *w);

/* EXIT_OK or EXIT_BAD_NEWS, by the job's `state`. */
int remote_ending(const yyjson_val *job);

#endif
