/* The events of one job over one connection. */
#ifndef TRANSPORT_JOB_STREAM_H
#define TRANSPORT_JOB_STREAM_H

#include "transport/stream.h"

struct permit;

struct job_request {
    struct str job;
    const struct transport *transport;
    struct stream_format format; /* the transport sets framing and `chunked` */
    struct cursor after;
    bool by_header; /* the cursor is from a browser's Last-Event-ID header */
    bool resumed;   /* a cursor above 0 was given */
    bool by_path;   /* the cursor is from the path, maybe typed by a person: at the end of a
                       finished job the last frame is sent again */
    bool plain;     /* only the job's frames: no 204, no stream.gap */
    /* Called when the reader disconnects before the end.  May be NULL. */
    void (*left)(struct streams *l, struct str job);
    struct permit *permit; /* taken over; NULL: may read all jobs, without a time limit */
};

/* Answers @req: 404, 204 (to a browser that already has all of a finished job), or the
 * stream. */
void job_stream_open(struct streams *l,
                     struct http_request *req,
                     const struct job_request *what);

#endif
