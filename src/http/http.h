/* HTTP/1.1: loops, connections, requests, routes.  Knows nothing of jobs.
 *
 * A server runs one event loop per thread, each with its own listening socket and its
 * own connections: no lock guards a connection, and everything here that takes a
 * connection or a request is called on the thread of its loop.
 *
 * A handler is called when a request is complete (its body too).  It answers at once or
 * later, with http_respond or http_stream_begin, exactly once. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/must_check.h"
#include "base/buf.h"
#include "base/histogram.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct error;
struct http_loop;    /* one event loop of the server */
struct http_request; /* one request, until it is answered */
struct http_server;
struct http_stream; /* a response whose length is not known, such as SSE */

/* --- routes ------------------------------------------------------------------------- */

/* A function type: `http_handler api_job, api_list;` declares two handlers. */
typedef void http_handler(struct http_request *req);

enum {
    HTTP_ROUTE_PROBLEM = 1 << 0,  /* errors as RFC 9457 problems instead of {"detail"} */
    HTTP_ROUTE_DETAIL = 1 << 5,   /* errors as {"detail"} for every client, see
                                     http_respond_error() */
    HTTP_ROUTE_HEALTH = 1 << 1,   /* answered also when connections are at their limit */
    HTTP_ROUTE_STREAM = 1 << 2,   /* also called then: its handler checks http_is_over() and
                                   * explains the refusal */
    HTTP_ROUTE_PIPELINE = 1 << 3, /* the connection's next request need not wait for the answer;
                                   * not for routes that stream */
    HTTP_ROUTE_ANY_HOST = 1 << 4, /* whatever Host says: for programs that show a secret */
};

enum { HTTP_BODIES = 4 }; /* kinds of bodies, each with a limit of its own */

struct http_route {
    const char *method;  /* "GET"; HEAD is answered by GET's handler, without the body */
    const char *pattern; /* "/v1/jobs/{id}/events"; the last one may be {rest...} */
    http_handler *handler;
    unsigned body; /* which of max_body */
    unsigned flags;
    unsigned access; /* what `admit` requires of the caller; 0 is an error if there is `admit`
                      */
};

struct http_options {
    /* A numeric address, a Unix socket's path, or both; neither means 127.0.0.1. */
    const char *host;
    uint16_t port; /* 0: any free one, see http_server_port */
    const char *unix_path;
    unsigned unix_mode;   /* permissions of the socket's file; 0: what the umask leaves */
    const char *tls_cert; /* PEM file: TLS on the port (not the Unix socket); NULL: none */
    const char *tls_key;  /* its key */
    unsigned n_loops;     /* 0: one per core */
    const struct http_route *routes; /* borrowed; ends with a zeroed one */
    void *arg;                       /* for the callbacks below */
    /* Called on each loop's thread after its start and before its end. */
    void (*loop_start)(struct http_loop *loop, void *arg);
    void (*loop_stop)(struct http_loop *loop, void *arg);
    /* Called when a request's route is known and before any of its body is read.  Returns true
     * to let the request go on; false when it has answered.  NULL: every request goes on. */
    bool (*admit)(struct http_request *req, const struct http_route *route, void *arg);
    /* Called when a request's head is known and its host and origin are allowed, whether or not
     * it has a route.  Returns true when it has taken the connection over, by http_tunnel().
     * NULL: it takes none. */
    bool (*divert)(struct http_request *req, void *arg);
    /* Called for a request that has no route.  Returns the route that answers it instead, such
     * as one that asks who the caller is first, and then http_respond_unrouted(); or NULL.
     * NULL: such requests are answered at once. */
    const struct http_route *(*unrouted)(struct http_request *req, void *arg);
    /* Called when a request is complete, before its handler.  Returns true when it keeps the
     * request, and answers it or lets it go on (http_resume) at once or later.  NULL: it keeps
     * none. */
    bool (*hold)(struct http_request *req, const struct http_route *route, void *arg);
    /* Releases what http_set_visitor() gave to a connection. */
    void (*visitor_free)(void *visitor);

    /* A path, "/api", below which all routes are reachable too; borrowed.  NULL: none. */
    const char *prefix;
    /* Exact Host values that are allowed besides the bound address, localhost and loopback
     * addresses with our port; NULL-terminated, or NULL.  "*": any. */
    const char *const *hosts;
    /* Origins that pages may come from (CORS); same-origin always may.  "*": any. */
    const char *const *origins;

    size_t max_head;                      /* request line and headers, bytes (16 KiB) */
    size_t max_body[HTTP_BODIES];         /* bytes, for the kinds that routes name (1 MiB) */
    unsigned head_ms;                     /* time for the whole head (10 s) */
    unsigned idle_ms;                     /* keep-alive without a request (75 s) */
    unsigned body_min_rate;               /* bytes per second, over 5 s (1 KiB/s) */
    unsigned write_stall_ms;              /* a response or stream without progress (60 s) */
    unsigned max_connections;             /* in all (20 000) */
    unsigned max_connections_per_address; /* (0: no limit) */
    bool log_text;                        /* access log as text instead of JSON lines */
    bool log_off;
};

MUST_CHECK int http_server_new(const struct http_options *options,
                               struct http_server **ret,
                               struct error *err);
/* Binds and starts the loops' threads. */
MUST_CHECK int http_server_start(struct http_server *s, struct error *err);
/* 0: only a Unix socket. */
uint16_t http_server_port(const struct http_server *s);
/* Reads certificate and key again, for new connections; open ones keep theirs.  When they
 * cannot be read, the old ones stay.  From any thread; only with tls_cert. */
MUST_CHECK int http_server_renew(struct http_server *s, struct error *err);
/* From the thread that started it, while it runs: takes hosts, origins, max_body,
 * body_min_rate, head_ms, idle_ms, write_stall_ms and the log's form of @options, and nothing
 * else.  ERR_NOMEM. */
MUST_CHECK int http_server_reload(struct http_server *s, const struct http_options *options);
/* No new connections; idle ones are closed; requests and streams go on. */
void http_server_drain(struct http_server *s);
/* Cuts what is left, stops the loops and waits for their threads. */
void http_server_stop(struct http_server *s);
void http_server_free(struct http_server *s);

/* --- counts: from any thread --------------------------------------------------------- */

struct http_counts {
    uint64_t connections; /* open now */
    uint64_t accepted;
    uint64_t refused;  /* over a limit of connections */
    uint64_t inflight; /* requests that a handler has; streams are not among them */
    uint64_t handshakes, handshakes_failed; /* of TLS */
    int64_t tls_expiry; /* of the certificate, in seconds since 1970; 0: no TLS */
};

enum { HTTP_CLASSES = 5 }; /* 1xx to 5xx */

struct http_route_counts {
    struct counter classes[HTTP_CLASSES];
    struct histogram duration; /* from the first byte to the answer; not of streams */
};

void http_server_counts(struct http_server *s, struct http_counts *ret);
/* Of a route of the table, or NULL: of the requests that no route was found for. */
void http_server_route_counts(const struct http_server *s,
                              const struct http_route *route,
                              struct http_route_counts *ret);

/* --- loops -------------------------------------------------------------------------- */

uv_loop_t *http_loop_uv(struct http_loop *loop);
unsigned http_loop_index(const struct http_loop *loop); /* from 0 */
void http_loop_set_data(struct http_loop *loop, void *data);
void *http_loop_data(const struct http_loop *loop);

/* --- requests ----------------------------------------------------------------------- */

struct http_loop *http_request_loop(struct http_request *req);
struct str http_method(const struct http_request *req);
struct str http_path(const struct http_request *req); /* decoded, without the query */
/* The @name of the pattern ({id}), percent-decoded. */
struct str http_param(const struct http_request *req, const char *name);
/* The first value of a query key, percent-decoded ('+' is a space); absent when missing. */
struct str http_query(const struct http_request *req, const char *name);
/* The @i-th value of it, from 0. */
struct str http_query_nth(const struct http_request *req, const char *name, size_t i);
/* The @i-th header, from 0, its name as it was sent; false after the last. */
bool http_header_at(const struct http_request *req,
                    size_t i,
                    struct str *ret_name,
                    struct str *ret_value);
/* A header, case-insensitive; absent when missing. */
struct str http_header(const struct http_request *req, const char *name);
struct str http_body(const struct http_request *req);
/* Replaces the body, for a request that is held.  False: out of memory. */
MUST_CHECK bool http_set_body(struct http_request *req, struct str body);
/* Calls the handler of a request that was held. */
void http_resume(struct http_request *req);
/* Path and query as they were sent. */
struct str http_target(const struct http_request *req);
bool http_is_10(const struct http_request *req); /* HTTP/1.0: no chunks */
/* The connection is above the limit of connections: answer at once and do not stream. */
bool http_is_over(const struct http_request *req);
/* Identity for log lines and the X-Request-Id answer header. */
struct str http_request_id(const struct http_request *req);

bool http_is_tls(const struct http_request *req);
/* It asks for another protocol on this connection (Upgrade); see http_upgrade. */
bool http_asks_upgrade(const struct http_request *req);
/* GET or HEAD.  A handler of these that changes something asks http_page_may_act(). */
bool http_is_safe(const struct http_request *req);
/* The page that sends it, as its browser says (Origin, Sec-Fetch-Site). */
enum http_page {
    HTTP_PAGE_UNKNOWN, /* neither header: no browser, or a navigation */
    HTTP_PAGE_TRUSTED, /* ours, or of an origin that is listed */
    HTTP_PAGE_OTHER,
};
enum http_page http_page(const struct http_request *req);
/* May the page that sends it change something?  Asked here for every method but GET and HEAD,
 * and for upgrades; a handler of GET that changes something asks it too. */
bool http_page_may_act(const struct http_request *req);

/* The caller that `admit` has authenticated, kept with the connection so that its next requests
 * are cheaper to check.  NULL: none yet, or the connection is gone. */
void *http_visitor(const struct http_request *req);
void http_set_visitor(struct http_request *req, void *visitor);

/* For handlers that answer later: @gone is called once, with @data, when the connection closes
 * before the answer; no answer is possible then.  A peer that ends its sending
 * side counts as gone.  Without @gone, an answer that comes too late is dropped. */
void http_on_gone(struct http_request *req,
                  void (*gone)(struct http_request *req, void *data),
                  void *data);

/* Has the peer left, or ended its sending side?  Asks the socket: true as soon as its FIN or
 * RST has arrived, which may be before @gone is called. */
bool http_has_left(const struct http_request *req);

/* Adds a header to the answer.  Name and value are copied; bytes outside printable ASCII
 * in the value are dropped. */
void http_set_header(struct http_request *req, const char *name, struct str value);

/* Appends the headers that the answer has because of the page that sent it (CORS). */
void http_put_cors(const struct http_request *req, struct buf *b);

/* Answers.  @body is copied unless empty; @type is NULL for none. */
void http_respond(struct http_request *req, int status, const char *type, struct str body);
/* {"detail": text} or, on HTTP_ROUTE_PROBLEM routes, application/problem+json.  Clients in Node
 * get the text alone, except on HTTP_ROUTE_DETAIL routes.  Returns false, for functions that
 * say whether they could read a request. */
bool http_respond_error(struct http_request *req, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 404, or 405 when its path has other methods: the handler of `unrouted`. */
void http_respond_unrouted(struct http_request *req);

/* --- streams ------------------------------------------------------------------------ */

struct http_stream_events {
    /* Everything handed to http_stream_send has gone out; send more if there is more. */
    void (*ready)(struct http_stream *st, void *data);
    /* The peer left, or it was cut: the stream is gone after this call. */
    void (*closed)(struct http_stream *st, void *data);
    /* Bytes have come; only after an upgrade. */
    void (*received)(struct http_stream *st, struct str bytes, void *data);
};

/* Sends the head of a response without length (chunked for HTTP/1.1; the bytes that are
 * sent must already be chunks, see http/chunk.h).  The request is answered by this.
 * NULL when there is nothing to send to: it was a HEAD, or the connection is gone; then no
 * event follows.  @events is borrowed and outlives the stream. */
struct http_stream *http_stream_begin(struct http_request *req,
                                      int status,
                                      const char *type,
                                      const struct http_stream_events *events,
                                      void *data);

/* The same for a request that http_asks_upgrade: answers 101, and from then on the bytes are
 * the caller's both ways.  What the peer has sent already is received from the loop's next
 * turn. */
struct http_stream *http_upgrade(struct http_request *req,
                                 struct str protocol,
                                 const struct http_stream_events *events,
                                 void *data);

/* The same for a request whose body is still to come, from `divert`: nothing is answered, and
 * all bytes behind its head are the caller's, both ways. */
struct http_stream *http_tunnel(struct http_request *req,
                                const struct http_stream_events *events,
                                void *data);

/* Sends bytes.  They stay the caller's and must live until `ready` or `closed`; true when
 * all went out at once (no callback follows), false when `ready` will be called.  Not to be
 * called again before that.  May call nothing back. */
bool http_stream_send(struct http_stream *st, const char *p, size_t n);

/* The same for several pieces in one write; @pieces itself is the caller's again at once. */
enum { HTTP_STREAM_PIECES = 64 }; /* the most of them */
bool http_stream_send_pieces(struct http_stream *st, const uv_buf_t *pieces, unsigned n);

/* --- requests inside of a stream: http/inner.c --- */

typedef void http_inner_answered(struct http_request *req,
                                 int status,
                                 struct str body,
                                 void *arg);

/* A request that came over an upgraded stream, such as a command over a WebSocket, of the
 * caller that the stream's request was of.  The caller hands it to a handler, which must not
 * answer with a stream; @answered takes the answer, also from inside of the handler, and the
 * request is gone after it.  NULL: out of memory. */
struct http_request *http_inner_new(struct http_stream *st,
                                    const char *param,
                                    struct str value,
                                    struct str body,
                                    http_inner_answered *answered,
                                    void *arg);
/* The same for a request of the server itself: @visitor, which is borrowed until the answer, is
 * who asks.  An absent @value: it has no parameter. */
struct http_request *http_inner_new_for(struct http_loop *loop,
                                        void *visitor,
                                        const char *param,
                                        struct str value,
                                        struct str body,
                                        http_inner_answered *answered,
                                        void *arg);
void *http_inner_arg(const struct http_request *req);
/* The stream is closed before the answer: @answered is not called. */
void http_inner_leave(struct http_request *req);

/* Pauses or resumes receiving. */
void http_stream_pause(struct http_stream *st, bool is_paused);
/* Bytes that the peer has not acknowledged. */
size_t http_stream_unsent(const struct http_stream *st);

/* Ends it cleanly: the last chunk; `closed` follows later. */
void http_stream_end(struct http_stream *st);
/* Cuts the connection hard (RST), so that no client takes it for a clean end. */
void http_stream_cut(struct http_stream *st, const char *reason);

/* For `closed`: it was cut because the peer acknowledged nothing for too long. */
bool http_stream_is_stalled(const struct http_stream *st);
bool http_stream_is_chunked(const struct http_stream *st);

#endif
