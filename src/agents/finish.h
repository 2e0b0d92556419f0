/* A worker's report that a job has ended, over stdio and over HTTP alike:
 *
 *     {"status":"success","output":{"report":"..."}}
 *     {"status":"failure","error":"no such repository","error_type":"ValueError",
 *      "details":{"url":"..."}} */
#ifndef AGENTS_FINISH_H
#define AGENTS_FINISH_H

#include "base/json.h"
#include "ingest/event.h"

struct finish {
    enum job_end end; /* NONE: interrupted */
    bool interrupted;
    struct str error, error_type; /* absent, or borrowed */
    const yyjson_val *output;     /* borrowed; NULL: none */
    const yyjson_val *details;    /* of a failure: an object, borrowed; NULL: none */
};

/* ERR_TYPE when the status is not one of these. */
int finish_read(const yyjson_val *object, struct finish *ret, struct error *err);
/* Write the output, or the details, as JSON; nothing when there are none. */
void finish_put_output(struct buf *b, const struct finish *finish);
void finish_put_details(struct buf *b, const struct finish *finish);

#endif
