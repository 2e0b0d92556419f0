/* A reader over SSE: one connection, from its request to its end.
 *
 *     opening ──first page──▶ catching up ──no more──▶ live ──terminal record──▶ end
 *                                 ▲                     │
 *                                 └──behind the window──┘
 *
 * A finished stream ends cleanly; every other close cuts the connection, because stock
 * clients take a clean end for the end of the run. */
#ifndef TRANSPORT_SSE_H
#define TRANSPORT_SSE_H

#include "http/http.h"
#include "hub/hub.h"
#include "hub/pool.h"

struct permit;
struct sse_loop; /* the readers of one loop */
struct traffic;

struct sse_options {
    int64_t keep_alive_ms; /* a comment after so much silence (15 000) */
    int64_t heartbeat_ms;  /* job.heartbeat to readers of aiq and raw (30 000) */
    int64_t max_age_ms;    /* then the connection is cut, with some jitter; 0: never */
};

int sse_loop_new(struct http_loop *loop,
                 struct hub *hub,
                 struct pool *pool,
                 struct mailbox *box,
                 struct traffic *traffic,
                 const struct sse_options *options,
                 struct sse_loop **ret);
/* The server goes down: readers are told where their dialect can say it, and cut one after
 * another within @window_ms. */
void sse_loop_drain(struct sse_loop *l, int64_t window_ms);
/* Permits may hold no longer: readers whose do not are cut, soon. */
void sse_loop_check_permits(struct sse_loop *l);
void sse_loop_close(struct sse_loop *l); /* on the loop; its readers are gone */
void sse_loop_free(struct sse_loop *l);

struct sse_request {
    struct str job;
    struct way way; /* `chunked` is set here */
    struct cursor after;
    bool by_header;        /* the cursor is a browser's Last-Event-ID */
    bool resumed;          /* a cursor above 0 was given */
    struct permit *permit; /* sse_open takes it; NULL: may read all, for ever */
};

/* Answers @req: 404, 204 (a browser that has everything of a finished job), or the stream. */
void sse_open(struct sse_loop *l, struct http_request *req, const struct sse_request *what);

#endif
