/* A framing: where a message ends on the wire.  Pure functions, no state.
 *
 * A frame's id is `seq` when it is the last one that its record gives, else
 * `seq.k`; a cursor of the same form names the place after that frame. */
#ifndef FRAMING_FRAMING_H
#define FRAMING_FRAMING_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

struct message_out {
    uint64_t seq;
    uint32_t k;       /* from 1 */
    uint32_t total;   /* frames of the record */
    struct str event; /* from a strict alphabet */
    struct str data;  /* one line of JSON */
    bool wrap;        /* not SSE: as {"id","event","data"} */
    struct str job;   /* wrapped: whose it is, where several share a connection */
};

struct framing {
    const char *name;
    void (*put)(const struct message_out *m, struct buf *out);
};

extern const struct framing framing_sse;    /* id, event, data, blank line */
extern const struct framing framing_ndjson; /* one JSON value a line */
/* One JSON value a message, with its frame header; not for files. */
extern const struct framing framing_websocket;

const struct framing *framing_find(struct str name);

/* A place in a stream: after frame k of record seq, or after the whole record (k == 0). */
struct cursor {
    uint64_t seq;
    uint32_t k;
};

/* Reads "57" or "57.1"; strict decimal, no sign, no spaces. */
int cursor_parse(struct str text, struct cursor *ret);

/* The same as clients write it: "", "0", "-" and "-1" are the beginning, and a number that is
 * too long is a place beyond every end. */
int cursor_read(struct str text, struct cursor *ret);

/* Does frame @k of record @seq come after the cursor? */
bool cursor_before(struct cursor c, uint64_t seq, uint32_t k);

#endif
