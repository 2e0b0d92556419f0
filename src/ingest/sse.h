/* Input framing: server-sent events and JSON lines, mixed as they come.
 *
 * Fed line by line (the caller splits on '\n' only).  A line that starts with '{' or '['
 * is a message of its own, and is handed out without copying; SSE fields are collected
 * until a blank line. */
#ifndef INGEST_SSE_H
#define INGEST_SSE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

struct sse {
    size_t max_bytes; /* of one message: its event name and its data */
    struct buf event;
    struct buf data;
    bool has_event;
    bool has_data;
    bool begun;         /* the first line has been seen */
    bool delivered;     /* the fields were handed out; the next line clears them */
    bool skipping;      /* the message was too large: drop its rest, up to the blank line */
    struct error error; /* why the last line was refused */
};

struct sse_message {
    struct str event; /* absent when none was named */
    struct str data;  /* empty when there was none (`event: end`) */
};

void sse_init(struct sse *s, size_t max_bytes);
void sse_done(struct sse *s);

/* Takes one line, with or without its '\r'.  1: @ret is a complete message, valid until
 * the next call and as long as @line; 0: more is needed.  ERR_SYNTAX: neither JSON nor an
 * SSE field; ERR_TOO_LARGE, ERR_NOMEM: the message is lost.  The sentence is in s->error,
 * and the next line may follow. */
int sse_line(struct sse *s, struct str line, struct sse_message *ret);

/* A line that began with @beginning was too long to be handed over: the message that it is
 * a part of is lost with it. */
void sse_lose_line(struct sse *s, struct str beginning);

/* The end of the input: 1 when a last message had no blank line after it. */
int sse_end(struct sse *s, struct sse_message *ret);

#endif
