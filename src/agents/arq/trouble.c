#include "agents/arq/trouble.h"

#include "base/buf.h"

struct trouble {
    enum outcome outcome;
    const char *type;
    const char *text; /* ends with a colon if the reason follows */
};

static const struct trouble troubles[] = {
    [TROUBLE_NONE] = { OUTCOME_WELL, "", "" },
    [TROUBLE_PAYLOAD] = { OUTCOME_FAILED, "ArqPayload", "the job cannot be written for ARQ: " },
    [TROUBLE_REDIS] = { OUTCOME_LOST, "ArqRefused", "Redis has refused the job: " },
    [TROUBLE_RESULT] = { OUTCOME_FAILED, "ArqResult", "the result in Redis cannot be read: " },
    [TROUBLE_EXPIRED] = { OUTCOME_FAILED, "ArqExpired",
                          "no worker of ARQ took the job before it expired" },
    [TROUBLE_VANISHED] = { OUTCOME_LOST, "ArqVanished",
                           "the job left the queue of ARQ without a result" },
    [TROUBLE_SILENT] = { OUTCOME_LOST, "ArqWorkerLost",
                         "worker lost: no sign of it in the queue of ARQ for as long as a lease" },
};

enum outcome arq_trouble_put(enum arq_trouble trouble,
                             struct str why,
                             struct buf *error,
                             struct str *ret_type)
{
    const struct trouble *t = &troubles[trouble];

    buf_str(error, str_of(t->text));
    if (str_ends(str_of(t->text), STR(": ")))
        buf_str(error, why);
    *ret_type = str_of(t->type);
    return t->outcome;
}
