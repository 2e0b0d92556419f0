/* How a worker says that a job has ended, over stdio and over HTTP alike:
 *
 *     {"status":"failure","error":"no such repository","error_type":"ValueError"} */
#ifndef AGENTS_FINISH_H
#define AGENTS_FINISH_H

#include "base/json.h"
#include "ingest/event.h"

struct finish {
    enum job_end end; /* NONE: interrupted */
    bool interrupted;
    struct str error, error_type; /* absent, or borrowed */
};

/* ERR_TYPE when the status is none. */
int finish_read(const yyjson_val *object, struct finish *ret, struct error *err);

#endif
