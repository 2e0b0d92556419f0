/* One request: what was asked, and what its answer needs. */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include "base/buf.h"
#include "base/str.h"
#include "http/guard.h"
#include "http/header.h"
#include "http/http.h"
#include "http/parser.h"
#include "http/pipeline.h"
#include "http/router.h"

#include <stdarg.h>
#include <stdint.h>

struct conn;
struct http_loop;

struct http_request {
    struct parser parser;
    struct conn *conn;                /* borrowed; NULL: it closed before the answer */
    struct http_loop *loop;           /* borrowed */
    struct http_request *prev, *next; /* among the loop's spare ones or orphans, or in line */
    struct pipeline line;             /* of the newest: those ahead of it */

    const char *method;        /* static; NULL while unknown */
    struct router_match match; /* its values decoded */
    struct buf decoded;        /* path, parameters and query; does not move once filled */
    struct str path;
    struct str query; /* see query_find */
    struct str host;  /* the Host that it names; absent: HTTP/1.0 may leave it out */
    enum guard_origin origin;
    unsigned preflight; /* methods to name in the answer */
    char id[REQUEST_ID_MAX];
    size_t id_n;

    struct buf headers; /* of the answer */
    struct buf answer;  /* the whole of it, while others are ahead */
    struct buf rest;    /* what was received after it */
    size_t rest_at;

    struct conn *outer; /* of an inner one: the connection that it came over; NULL: closed */
    http_inner_answered *inner; /* takes the answer of an inner one; NULL: it is none */
    void *inner_arg;
    void *visitor; /* of an inner one without a connection: who asks; borrowed */

    void (*gone)(struct http_request *req, void *data);
    void *gone_data;
    uint64_t start_us;
    size_t body_mark; /* bytes received when the window for the body's rate began */
    int status;       /* of the answer; 0 before it */
    uint64_t answer_bytes;
    bool keep_alive;
    bool is_handled;  /* a handler has been called */
    bool is_unrouted; /* match.route is none of the server's routes: see `unrouted` */
    bool is_answered;
    bool is_busy; /* inside request_advance, which finishes it */
    bool is_logged;
    bool waits; /* until the requests before it are answered; its head is not checked yet */
};

/* A spare request of the loop, or a new one; NULL without memory. */
struct http_request *request_new(struct conn *c);
/* The same without a connection. */
struct http_request *request_new_on(struct http_loop *loop);
void request_release(struct http_request *req);
/* Frees all requests that the loop still has, at its end. */
void requests_free(struct http_loop *loop);

/* Starts it: its first byte has come. */
void request_begin(struct http_request *req);
/* Acts on what the parser has found: checks a head, calls the handler, refuses. */
void request_advance(struct http_request *req);
/* After the answer was handed over: on to the next, or to the end. */
void request_finish(struct http_request *req);
/* Its connection is closed: tells the handler that has it, and forgets it. */
void request_leave(struct http_request *req);

/* False without memory.  @rest may be a piece of what is kept already. */
bool request_keep_rest(struct http_request *req, struct str rest);
struct str request_rest(const struct http_request *req);

/* Hands the answer of an inner request over, and frees it. */
void inner_respond(struct http_request *req, int status, struct str body);
/* Among those that no connection has; in their list. */
void request_add_orphan(struct http_request *req);
void request_remove_orphan(struct http_request *req);

/* Bytes of the body since the last call. */
size_t request_body_progress(struct http_request *req);

/* Begun and not in the log yet. */
bool request_is_open(const struct http_request *req);
void request_log(struct http_request *req, struct str why);

/* --- check.c ------------------------------------------------------------------------ */

/* Path and query of its target, and the host that it names.  A target that is a whole URL
 * (absolute form, RFC 9112 3.2.2) has its own host; else it is the header's. */
struct str request_target(const struct http_request *req, struct str *ret_host);
/* The head is complete: answers, or lets the body come. */
void request_check(struct http_request *req);
/* Answers with an error and closes, also in the middle of reading. */
void request_refuse(struct http_request *req, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- respond.c ---------------------------------------------------------------------- */

/* True when an answer can be given; frees an orphan otherwise. */
bool respond_begin(struct http_request *req);
/* Status line and headers, up to the blank line; @length is -1 for none. */
void respond_put_head(struct http_request *req, int status, const char *type, int64_t length);
/* True when the text in conn_out is whole; else answers with 500 instead. */
bool respond_is_whole(struct http_request *req, size_t from);
void respond_end(struct http_request *req);
void respond_error(struct http_request *req, int status, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* --- stream.c ----------------------------------------------------------------------- */

void stream_log(struct conn *c, struct str why);
void stream_tell_closed(struct conn *c);
void stream_tell_received(struct conn *c, struct str bytes);

#endif
