/* The Redis keys of one ARQ job, named as ARQ names them. */
#ifndef AGENTS_ARQ_KEYS_H
#define AGENTS_ARQ_KEYS_H

struct assignment;
struct exec_arq;

struct arq_keys {
    char id[96]; /* the job's id in ARQ */
    char job[128], result[128], in_progress[128], retry[128];
    char health[300]; /* written by the workers of the queue */
};

/* ARQ's id is the job's own id.  A job that resumes after a question gets another one, because
 * ARQ keeps the result of its first part. */
void arq_keys_init(struct arq_keys *k,
                   const struct exec_arq *settings,
                   const struct assignment *assignment);

#endif
