/* Frames: what gateways send each other over a connection.
 *
 *     length   4 bytes, of all that follows
 *     kind     1 byte
 *     number   8 bytes: of the request; the sender of requests chooses it
 *     payload  of requests and answers: see cluster/codec.h
 *
 * Numbers are big-endian. */
#ifndef CLUSTER_FRAME_H
#define CLUSTER_FRAME_H

#include "base/buf.h"

enum frame_kind {
    FRAME_REQUEST,  /* → a request */
    FRAME_WITHDRAW, /* → its caller has gone; it is answered soon */
    FRAME_ANSWER,   /* ← its answer, in any order */
    FRAME_PING,     /* → */
    FRAME_PONG,     /* ← */
    FRAME_WATCH,    /* → ids of jobs, each with a newline, whose records are to be pushed */
    FRAME_UNWATCH,  /* → of those that are not, any more */
    FRAME_WATCHED,  /* ← the same ids: every later commit is pushed */
    FRAME_PUSH,     /* ← what a commit has changed: cluster/record_push.h */
    FRAME_KIND_MAX
};

#define FRAME_PROTOCOL "spoolwire-journal"
enum { FRAME_HEAD = 13, FRAME_MAX = 256 * 1024 * 1024 };

struct frame_in {
    enum frame_kind kind;
    uint64_t number;
    struct str payload;
};

/* Begins a frame; frame_end() with what this has returned sets its length. */
size_t frame_begin(struct buf *b, enum frame_kind kind, uint64_t number);
void frame_end(struct buf *b, size_t from);

/* The first frame of @bytes and, in *@ret_n, its length; 0: it is not whole yet.  ERR_SYNTAX.
 */
int frame_read(struct str bytes, struct frame_in *ret, size_t *ret_n);

#endif
