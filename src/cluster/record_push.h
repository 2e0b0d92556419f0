/* A push: what a commit has changed in a job, with its new records, for a gateway that has
 * readers of it.
 *
 *     the line of a wake-up (cluster/wakeup.h), then
 *     2 numbers   how many header records follow, and how many records
 *     each        its length, and its stored form
 *
 * Numbers have 4 bytes, big-endian.  A record needs the header record that it refers to.  It
 * is sent once, before the first record that needs it: both sides remember the last few of
 * each job, in the same order, and so agree on which are known.  If one is missing, the change
 * is taken without its records, and readers find them in the store.
 *
 * A push has no state changes: those come as hints, to all gateways. */
#ifndef CLUSTER_RECORD_PUSH_H
#define CLUSTER_RECORD_PUSH_H

#include "base/buf.h"
#include "cluster/wakeup.h"

/* --- writing ------------------------------------------------------------------------------ */

enum { RECORD_PUSH_HEADERS = 32 };

/* The header records of one job that the other side has. */
struct record_push_headers {
    int64_t key; /* of the job; 0: none yet */
    size_t next;
    uint64_t seqs[RECORD_PUSH_HEADERS];
};

void record_push_put(struct buf *b,
                     const struct publication *p,
                     struct record_push_headers *known);

/* --- reading: what came over one connection ----------------------------------------------- */

struct record_push_reader;

MUST_CHECK int record_push_reader_new(struct record_push_reader **ret);
void record_push_reader_free(struct record_push_reader *r);
/* The other side has forgotten what it has sent of @job; absent: of all. */
void record_push_reader_forget(struct record_push_reader *r, struct str job);

struct record_push {
    struct wakeup wakeup; /* its texts point into the bytes */
    struct live_records live;
};

/* ERR_SYNTAX; ERR_NOMEM.  @ret is valid until the next call, and as long as @bytes. */
MUST_CHECK int record_push_read(struct record_push_reader *r,
                                struct str bytes,
                                struct record_push *ret);

#endif
