/* The events of one job over one connection. */
#ifndef TRANSPORT_JOB_STREAM_H
#define TRANSPORT_JOB_STREAM_H

#include "transport/stream.h"

struct permit;

struct job_request {
    struct str job;
    const struct transport *transport;
    struct stream_format format; /* framing and `chunked` are the transport's */
    struct cursor after;
    bool by_header; /* the cursor is a browser's Last-Event-ID */
    bool resumed;   /* a cursor above 0 was given */
    bool by_path;   /* it is a person's: at the end of a finished job the last frame comes again
                     */
    bool plain;     /* nothing but the job's frames: no 204, no stream.gap */
    /* The reader has left before the end.  May be NULL. */
    void (*left)(struct streams *l, struct str job);
    struct permit *permit; /* is taken; NULL: may read all, for ever */
};

/* Answers @req: 404, 204 (a browser that has everything of a finished job), or the stream. */
void job_stream_open(struct streams *l,
                     struct http_request *req,
                     const struct job_request *what);

#endif
