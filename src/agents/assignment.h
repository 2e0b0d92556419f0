/* An assignment: the line that a worker finds on its stdin.
 *
 *     {"job":"a1","attempt":1,"lease":"8.1.5f0c…","agent":"triage","input":{...},"lease_seconds":60}
 *
 * The lease is what it shows to save checkpoints (docs/worker-protocol.md).
 *
 * A run of a thread has its thread and how it is to be run:
 *
 *     "thread":"<id>","run":{"run_id":...,"assistant_id":...,"graph_id":...,"metadata":{...},
 *     "command":...,"config":{...},...}
 *
 * A job that goes on has "resume":{"<interrupt id>":answer,...}, empty after a pause.
 *
 * A process of a pool, which has to show signs of life, is told how often
 * ("heartbeat_seconds":15); and it may be told to stop a job:
 *
 *     {"job":"a1","attempt":1,"cancel":true}
 *     {"job":"a1","attempt":1,"pause":true}
 *
 * One that takes calls may be asked something:
 *
 *     {"call":{"id":"c1","name":"graph","params":{...}},"agent":"triage"} */
#ifndef AGENTS_ASSIGNMENT_H
#define AGENTS_ASSIGNMENT_H

#include "base/buf.h"

#include <stdint.h>

struct taken_call;
struct run_row;

struct assignment {
    struct str job;
    const unsigned char *lease_key; /* NULL: it is not to have the lease */
    int64_t key;
    int64_t attempt;
    struct str agent;
    struct str input;          /* JSON; absent: null */
    struct str resume;         /* JSON: answers by question; absent: it is a start */
    const struct run_row *run; /* NULL, or without kwargs: it is no run of a thread */
    int64_t created;           /* milliseconds since 1970 */
    int64_t resumed;           /* the record with which it last went on; 0: it never did */
    int64_t lease_ms;
    bool needs_beats;
};

/* `,"thread":...,"run":{...}`; nothing for a job that is no run. */
void assignment_put_run(struct buf *b,
                        struct str job,
                        struct str agent,
                        const struct run_row *run);

/* `,"heartbeat_seconds":15`: four signs of life in the time of a lease. */
void assignment_put_beat(struct buf *b, int64_t lease_ms);

/* With its newline. */
void assignment_put(struct buf *b, const struct assignment *assignment);
void assignment_put_cancel(struct buf *b, struct str job, int64_t attempt);
void assignment_put_pause(struct buf *b, struct str job, int64_t attempt);
void assignment_put_call(struct buf *b, const struct taken_call *call, struct str agent);

#endif
