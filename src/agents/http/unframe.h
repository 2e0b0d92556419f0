/* What a remote endpoint streams, as lines for the journal: server-sent events or JSON lines
 * in, one JSON document a line out.
 *
 *     event: updates                 {"event":"updates","data":{"writer":{}}}
 *     data: {"writer":{}}     ──▶
 *     {"type":"llm.chunk",…}         {"type":"llm.chunk",…}
 *
 * The lines of a batch are taken one by one (ingest/intake.h), so a message must not be cut in
 * two.  What is no JSON is found out there. */
#ifndef AGENTS_HTTP_UNFRAME_H
#define AGENTS_HTTP_UNFRAME_H

#include "agents/lines.h"
#include "ingest/sse.h"

struct unframe {
    struct lines lines;
    struct sse sse;
    struct buf line; /* one that had to be written anew */
    lines_cb cb;     /* each line, with its newline */
    void *arg;
    int error;      /* of the message at hand */
    uint64_t n_bad; /* lines that were neither */
};

/* @max_bytes of a line and of a message. */
void unframe_init(struct unframe *u, size_t max_bytes, lines_cb cb, void *arg);
void unframe_done(struct unframe *u);

/* ERR_TOO_LARGE: a line over the limit, ERR_NOMEM.  It is of no more use then. */
int unframe_put(struct unframe *u, struct str bytes);
/* There is no more: what is left is the last message. */
int unframe_end(struct unframe *u);

#endif
