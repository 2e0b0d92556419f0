/* The keys of one job of ARQ in Redis, by ARQ's own rules. */
#ifndef AGENTS_ARQ_KEYS_H
#define AGENTS_ARQ_KEYS_H

struct assignment;
struct exec_arq;

struct arq_keys {
    char id[96]; /* of the job in its queue */
    char job[128], result[128], in_progress[128], retry[128];
    char health[300]; /* that the workers of the queue write */
};

/* The id is the job's own; one that goes on after a question has another, because the result of
 * its beginning is kept. */
void arq_keys_init(struct arq_keys *k,
                   const struct exec_arq *settings,
                   const struct assignment *assignment);

#endif
