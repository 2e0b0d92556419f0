/* The failures of a job in an ARQ queue that are not failures of its worker's code. */
#ifndef AGENTS_ARQ_TROUBLE_H
#define AGENTS_ARQ_TROUBLE_H

#include "agents/executor.h"

enum arq_trouble {
    TROUBLE_NONE,
    TROUBLE_PAYLOAD,  /* the arguments cannot be encoded */
    TROUBLE_REDIS,    /* Redis returned an error */
    TROUBLE_RESULT,   /* the result cannot be decoded */
    TROUBLE_EXPIRED,  /* before a worker took it */
    TROUBLE_VANISHED, /* it left the queue without a result */
    TROUBLE_SILENT,   /* no sign of life of its worker */
};

/* The outcome of the job; writes the message to @error, with @why if that is known. */
enum outcome arq_trouble_put(enum arq_trouble trouble,
                             struct str why,
                             struct buf *error,
                             struct str *ret_type);

#endif
