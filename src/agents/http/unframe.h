/* Converts the stream of a remote endpoint to lines for the journal: server-sent events or JSON
 * lines in, one JSON document per line out.
 *
 *     event: updates                 {"event":"updates","data":{"writer":{}}}
 *     data: {"writer":{}}     ──▶
 *     {"type":"llm.chunk",…}         {"type":"llm.chunk",…}
 *
 * The journal parses a batch line by line (ingest/intake.h), so a message must be on one line.
 * Invalid JSON is detected there. */
#ifndef AGENTS_HTTP_UNFRAME_H
#define AGENTS_HTTP_UNFRAME_H

#include "agents/lines.h"
#include "ingest/sse.h"

struct unframe {
    struct lines lines;
    struct sse sse;
    struct buf line; /* the last line that had to be rewritten */
    lines_cb cb;     /* called for each line, with its newline */
    void *arg;
    int error;      /* of the current message */
    uint64_t n_bad; /* lines that were neither SSE nor JSON */
};

/* @max_bytes limits both lines and messages. */
void unframe_init(struct unframe *u, size_t max_bytes, lines_cb cb, void *arg);
void unframe_done(struct unframe *u);

/* ERR_TOO_LARGE: a line over the limit, ERR_NOMEM.  It cannot be used after an error. */
int unframe_put(struct unframe *u, struct str bytes);
/* End of input: the rest is the last message. */
int unframe_end(struct unframe *u);

#endif
