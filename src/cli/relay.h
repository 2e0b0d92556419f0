/* A relay in front of a server: bytes to and fro, streams of events at their own pace, and
 * faults on demand.
 *
 *     client ◀──▶ relay ◀──▶ server
 *                   │ before a frame: its time, a stall      behind one: a cut
 *
 * It never changes a byte of a response: it only delays or cuts.  A submission gets the
 * recorded job (redirect.h).  Frames are known by their ids: in SSE, and in JSON lines with an
 * envelope. A thread for each connection: it is for tests. */
#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "base/str.h"

#include <stdint.h>

struct error;
struct relay;

enum { RELAY_MAX_FAULTS = 16, RELAY_ID = 32 };

/* Each happens once, to the first connection that reaches it. */
struct relay_fault {
    char id[RELAY_ID]; /* of the frame, such as 57 or 57.1 */
    int64_t stall_ms;  /* before it; 0: the connection is cut behind it */
};

struct relay_options {
    const char *host;     /* numeric */
    uint16_t port;        /* 0: any free one */
    const char *upstream; /* a Unix socket */
    const char *job;      /* the one that is served */
    /* When each record was made, by its number from 1, in milliseconds; the run begins when a
     * client reads its first record. */
    const int64_t *made_ms;
    size_t n_made;
    double speed; /* 0: no waiting */
    struct relay_fault faults[RELAY_MAX_FAULTS];
    size_t n_faults;
};

/* Listens; what @options points to is borrowed. */
int relay_new(const struct relay_options *options, struct relay **ret, struct error *err);
uint16_t relay_port(const struct relay *r);
/* Takes connections, in a thread of its own, until the program ends. */
int relay_start(struct relay *r, struct error *err);

#endif
