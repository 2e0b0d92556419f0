/* What may go wrong with a job in a queue of ARQ, before or after its worker. */
#ifndef AGENTS_ARQ_TROUBLE_H
#define AGENTS_ARQ_TROUBLE_H

#include "agents/executor.h"

enum arq_trouble {
    TROUBLE_NONE,
    TROUBLE_PAYLOAD,  /* the arguments cannot be written */
    TROUBLE_REDIS,    /* Redis has refused a command */
    TROUBLE_RESULT,   /* the result cannot be read */
    TROUBLE_EXPIRED,  /* before a worker took it */
    TROUBLE_VANISHED, /* it left the queue without a result */
    TROUBLE_SILENT,   /* no sign of its worker */
};

/* How the job ends by it; @error gets the sentence for it, with @why where that is known. */
enum outcome arq_trouble_put(enum arq_trouble trouble,
                             struct str why,
                             struct buf *error,
                             struct str *ret_type);

#endif
