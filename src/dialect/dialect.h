/* A dialect: how one protocol expresses a record.
 *
 * A dialect is a table of pure functions indexed by record kind.  Each reads its record (and
 * its header) and writes frames; it knows no clock, socket, store or other record, so the same
 * record always gives the same bytes.  (One mode of `messages` repeats whole messages: see
 * dialect/gathered.h.)
 *
 * To add an event type: one function, one line in the table.
 * To add a dialect: one file, one line in dialect/list.h, and what CONTRIBUTING.md names. */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H

#include "base/str.h"
#include "dialect/frames.h"
#include "dialect/list.h"
#include "record/record.h"

typedef void (*dialect_fn)(const struct record *rec, struct frames *out);

/* Frames that are made for a connection and not from a record.  They have no id. */
enum connection_frame_kind {
    FRAME_STREAM_MODE, /* which records follow: those of the store, or new ones */
    FRAME_JOB_STATUS,  /* the job's state, when it changes and when the reader has caught up */
    FRAME_HEARTBEAT, /* sent at intervals; a dialect without it gets the transport's keep-alive
                      */
    FRAME_SHUTDOWN,  /* the server stops */
    CONNECTION_FRAME_MAX
};

struct connection_frame {
    enum connection_frame_kind kind;
    int64_t ms;              /* time of sending */
    struct str mode;         /* stream mode: polling, live or pubsub */
    struct str state;        /* job status: the job's state, which is not final */
    bool reconnected;        /* job status: the first one of a reader who came back */
    uint64_t uptime_seconds; /* heartbeat: of the connection */
    struct str worker;       /* heartbeat: that runs the job; empty: none */
};

typedef void (*connection_fn)(const struct connection_frame *what, struct frames *out);

struct dialect {
    const char *name;
    const char *about;           /* one line for a person */
    bool names_itself;           /* the payload carries its own event name */
    bool says_reconnected;       /* the terminal frame looks at variant.reconnected */
    dialect_fn on[REC_KIND_MAX]; /* NULL: this kind gives no frame */
    connection_fn connection[CONNECTION_FRAME_MAX]; /* NULL: it has no such frame */
};

#define DIALECT_DECLARE(name, kind) extern const struct dialect dialect_##name;
DIALECT_LIST(DIALECT_DECLARE)
#undef DIALECT_DECLARE

/* NULL when there is none of that name. */
const struct dialect *dialect_find(struct str name);
/* The @i-th of the list, NULL after the last. */
const struct dialect *dialect_at(size_t i);
/* The @i-th of those that can be published, NULL after the last. */
const struct dialect *dialect_published_at(size_t i);

/* Renders @rec into @out, which is cleared first.  0 or the buffer's error.  Where messages are
 * gathered it must be the job's next record. */
int dialect_render(const struct dialect *d,
                   const struct record *rec,
                   const struct variant *variant,
                   struct frames *out);

/* The same of a frame that is made for a connection. */
int dialect_render_connection(const struct dialect *d,
                              const struct connection_frame *what,
                              const struct variant *variant,
                              struct frames *out);

#endif
