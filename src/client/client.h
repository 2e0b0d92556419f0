/* A client of the server: one connection, blocking, for command-line programs.
 *
 * A call either gets an answer, whatever its status, or fails with ERR_IO and a sentence in
 * client_error.  One thread. */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

struct client;
struct error;

/* @url is the server's, such as http://127.0.0.1:8400; @token is sent as a bearer token, or
 * NULL.  ERR_REFUSED: not a URL, or not a token, that we could use. */
int client_new(const char *url, const char *token, struct client **ret, struct error *err);
void client_free(struct client *c);

const char *client_url(const struct client *c);
/* Why the last call failed. */
const char *client_error(const struct client *c);

struct client_reply {
    int status;
    struct buf body;
    int retry_after_s; /* 0: the server did not say */
};

void client_reply_init(struct client_reply *reply);
void client_reply_done(struct client_reply *reply);

enum { CLIENT_MAX_REPLY = 64 * 1024 * 1024 };

/* For a local one, as LOCAL_BUF:  struct client_reply reply LOCAL_REPLY; */
#define LOCAL_REPLY \
    __attribute__((cleanup(client_reply_done))) = { .body = { .max = CLIENT_MAX_REPLY } }

/* @path begins with '/' and is escaped where needed (client_put_escaped). */
int client_get(struct client *c,
               const char *path,
               unsigned timeout_ms,
               struct client_reply *reply);
int client_delete(struct client *c,
                  const char *path,
                  unsigned timeout_ms,
                  struct client_reply *reply);
/* @type is the body's media type, or NULL when there is no body. */
int client_post(struct client *c,
                const char *path,
                const char *type,
                struct str body,
                unsigned timeout_ms,
                struct client_reply *reply);

/* Percent-encodes all but unreserved characters. */
void client_put_escaped(struct buf *b, struct str s);

/* What the server says is wrong: the `detail` or `title` of its answer, else its status. */
void client_reply_detail(const struct client_reply *reply, struct error *err);

/* How long to wait before attempt number @n (from 1), in milliseconds: doubled each time
 * up to @max_ms, then a random half to the whole of it. */
int64_t client_backoff_ms(unsigned n, int64_t first_ms, int64_t max_ms);

/* --- streams ----------------------------------------------------------------------------- */

/* Each absent when the frame does not have it.  Data is without its last line end. */
struct client_frame {
    struct str id, event, data;
};

struct client_follow {
    const char *path;  /* with a query, for the first connection */
    const char *again; /* the same without a cursor, once there is an id to go on from */
    /* Takes a frame.  Anything but 0 ends the stream with that code. */
    int (*frame)(void *arg, const struct client_frame *frame);
    /* What has arrived has been handed out: a good time to flush.  May be NULL. */
    int (*rest)(void *arg);
    /* The connection was lost (@why), or is there again (NULL).  May be NULL. */
    void (*note)(void *arg, const char *why);
    /* Called every @tick_ms, whatever else happens.  Anything but 0 ends the stream with that
     * code.  May be NULL. */
    int (*tick)(void *arg);
    int tick_ms;
    void *arg;
};

/* Reads a stream of server-sent events to its clean end, over as many connections as that
 * takes: a lost one is made again with Last-Event-ID.  ERR_IO: not reachable, at first or
 * for ten minutes; ERR_NOT_FOUND, ERR_REFUSED: the server said no.  See client_error. */
int client_follow(struct client *c, const struct client_follow *f);

#endif
