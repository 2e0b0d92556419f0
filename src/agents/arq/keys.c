#include "agents/arq/keys.h"

#include "agents/assignment.h"
#include "agents/exec.h"

#include <stdio.h>

void arq_keys_init(struct arq_keys *k,
                   const struct exec_arq *settings,
                   const struct assignment *assignment)
{
    const char *health = settings->health_key;
    struct str job = str_head(assignment->job, 64);

    if (assignment->resumed > 0)
        (void)snprintf(k->id, sizeof(k->id), "%.*s:%lld", STR_ARG(job),
                       (long long)assignment->resumed);
    else
        (void)snprintf(k->id, sizeof(k->id), "%.*s", STR_ARG(job));
    (void)snprintf(k->job, sizeof(k->job), "arq:job:%s", k->id);
    (void)snprintf(k->result, sizeof(k->result), "arq:result:%s", k->id);
    (void)snprintf(k->in_progress, sizeof(k->in_progress), "arq:in-progress:%s", k->id);
    (void)snprintf(k->retry, sizeof(k->retry), "arq:retry:%s", k->id); /* all fit */
    (void)snprintf(k->health, sizeof(k->health), "%s%s",
                   health != NULL ? health : settings->queue,
                   health != NULL ? "" : ":health-check");
}
