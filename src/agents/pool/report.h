/* A report: a line that a process of a pool writes to its stdout.
 *
 *     {"ready":true}, {"ready":true,"calls":true}
 *     {"call":"c1","answer":...}, {"call":"c1","error":"no such graph"}
 *     {"job":"a1","attempt":1,"event":{...}}
 *     {"job":"a1","attempt":1,"heartbeat":true}
 *     {"job":"a1","attempt":1,"finish":{"status":"success"}}
 *     {"job":"a1","attempt":1,"return":true} */
#ifndef AGENTS_POOL_REPORT_H
#define AGENTS_POOL_REPORT_H

#include "agents/finish.h"

#include <stdint.h>

enum report_kind {
    REPORT_READY,
    REPORT_CALL,
    REPORT_EVENT,
    REPORT_HEARTBEAT,
    REPORT_FINISH,
    REPORT_RETURN
};

/* Parses lines one after another, reusing its memory. */
struct report_reader {
    struct json_reader json;
    struct buf event; /* the last event that had to be rewritten */
};

/* For lines up to @max_bytes; the journal checks the depth of an event. */
void report_reader_init(struct report_reader *r, size_t max_bytes);
void report_reader_done(struct report_reader *r);

/* Texts are in the reader or the line: valid until the next line is read. */
struct report {
    enum report_kind kind;
    bool takes_calls;         /* of READY */
    struct str call;          /* of CALL: its id; and one of the next two */
    struct str answer, error; /* JSON, without a newline; a text */
    struct str job;           /* of all kinds but READY and CALL, like the next one */
    int64_t attempt;
    struct str event; /* of EVENT: JSON as it came, without a newline */
    struct finish finish;
};

/* ERR_SYNTAX, ERR_TYPE, ERR_TOO_LARGE, ERR_NOMEM. */
int report_read(struct report_reader *reader,
                struct str line,
                struct report *ret,
                struct error *err);

/* The job that a line of stderr names, if it is a JSON object with a "job"; else absent. */
struct str report_job(struct report_reader *reader, struct str line);

#endif
