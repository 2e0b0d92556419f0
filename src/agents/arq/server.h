/* Serves an ARQ queue: takes the calls that a Python program enqueued, submits them as jobs of
 * agents, and writes the results that the program waits for.
 *
 *     ZRANGEBYSCORE ──▶ in-progress key ──▶ job ──▶ SUBMIT ──▶ (an agent does it) ──▶ result
 *
 * A call of a function with a job id and an input becomes a job of the agent that serves the
 * function, with that id.  The call is done when its job has ended, or when the job waits for
 * an answer: then the result is None.  If a server is killed and the call is taken again, it
 * refers to the same job.
 *
 * It has a thread with a loop of its own. */
#ifndef AGENTS_ARQ_SERVER_H
#define AGENTS_ARQ_SERVER_H

#include "base/must_check.h"
#include "agents/arq/job.h"
#include "base/counter.h"
#include "store/store.h"

struct arq_server;
struct journal;
struct redis_url;

/* A function and the agent that serves it. */
struct arq_function {
    struct str name;
    struct str agent;
    char *const *args; /* argument words (config/values/arq_argument.h); job_id and input are
                          used */
    bool is_answer;    /* the call resumes a job: `answer` is the answer to its open question */
};

struct arq_server_options {
    const struct redis_url *redis;        /* copied */
    const struct arq_function *functions; /* with all they point to: borrowed */
    size_t n;
    struct journal *journal; /* borrowed; stopped after it */
    struct store_options store;
    const char *queue;           /* borrowed */
    const char *expire_function; /* borrowed; the function that ends the wait for an answer;
                                    NULL: none */
    enum arq_form form;
    unsigned max_jobs;
    bool allow_abort;
    int64_t max_tries;
    int64_t poll_ms;
    int64_t lease_ms;       /* time to live of the in-progress key, which is renewed */
    int64_t keep_result_ms; /* 0: none is written */
    int64_t health_ms;
    /* Receives log lines, on the server's thread.  May be NULL. */
    void (*log)(void *arg, struct str job, struct str line);
    void *arg;
};

struct arq_server_counts {
    struct counter taken, done, failed, ongoing;
};

MUST_CHECK int arq_server_new(const struct arq_server_options *options,
                              struct arq_server **ret,
                              struct error *err);
MUST_CHECK int arq_server_start(struct arq_server *s, struct error *err);
const struct arq_server_counts *arq_server_counts(const struct arq_server *s);
/* From any thread, until arq_server_free: of several gateways, the one that writes serves the
 * queue.  Others release their calls.  True until it is told. */
void arq_server_set_writer(struct arq_server *s, bool is_writer);
/* By the thread that started it.  Releases its calls, so that the next server takes them. */
void arq_server_stop(struct arq_server *s);
/* May be NULL. */
void arq_server_free(struct arq_server *s);

#endif
