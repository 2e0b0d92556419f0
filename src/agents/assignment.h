/* An assignment: the line with a job that a worker process reads from its stdin.
 *
 *     {"job":"a1","attempt":1,"lease":"8.1.5f0c…","agent":"triage","input":{...},"lease_seconds":60}
 *
 * The worker presents the lease to save checkpoints (docs/worker-protocol.md).
 *
 * A run of a thread also has its thread and its arguments:
 *
 *     "thread":"<id>","run":{"run_id":...,"assistant_id":...,"graph_id":...,"metadata":{...},
 *     "command":...,"config":{...},...}
 *
 * A resumed job has "resume":{"<interrupt id>":answer,...}, which is empty after a pause.
 *
 * A process of a pool must send heartbeats, and is told how often ("heartbeat_seconds":15).  It
 * may be told to stop a job:
 *
 *     {"job":"a1","attempt":1,"cancel":true}
 *     {"job":"a1","attempt":1,"pause":true}
 *
 * A process that takes calls may get one:
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
    const unsigned char *lease_key; /* NULL: the assignment has no lease */
    int64_t key;
    int64_t attempt;
    struct str agent;
    struct str input;          /* JSON; absent: null */
    struct str resume;         /* JSON: answers by question; absent: the job starts */
    const struct run_row *run; /* NULL, or without kwargs: not a run of a thread */
    int64_t created;           /* milliseconds since 1970 */
    int64_t resumed;           /* the record with which it last resumed; 0: it never did */
    int64_t lease_ms;
    bool needs_beats;
};

/* `,"thread":...,"run":{...}`; nothing for a job that is not a run. */
void assignment_put_run(struct buf *b,
                        struct str job,
                        struct str agent,
                        const struct run_row *run);

/* `,"heartbeat_seconds":15`: a quarter of the lease, so that four heartbeats fit into it. */
void assignment_put_beat(struct buf *b, int64_t lease_ms);

/* Writes the line, with its newline. */
void assignment_put(struct buf *b, const struct assignment *assignment);
void assignment_put_cancel(struct buf *b, struct str job, int64_t attempt);
void assignment_put_pause(struct buf *b, struct str job, int64_t attempt);
void assignment_put_call(struct buf *b, const struct taken_call *call, struct str agent);

#endif
