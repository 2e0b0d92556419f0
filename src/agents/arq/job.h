/* The jobs and results that ARQ stores in Redis: pickles, or JSON where both sides are
 * configured for it.
 *
 *     job     {t: try, f: function, a: args, k: kwargs, et: enqueued}
 *     result  the same, and {s: success, r: result or exception, st: started, ft: finished,
 *             q: queue, id: its id}
 *
 * Pure. */
#ifndef AGENTS_ARQ_JOB_H
#define AGENTS_ARQ_JOB_H

#include "base/must_check.h"
#include "base/json.h"

struct assignment;

enum arq_form { ARQ_PICKLE, ARQ_JSON };

/* Writes the job that calls @function with the arguments @words (config/values/arq_argument.h),
 * for @order.  ERR_TOO_LARGE, ERR_NOMEM, ERR_SYNTAX. */
MUST_CHECK int arq_put_job(struct buf *out,
                           enum arq_form form,
                           struct str function,
                           char *const *words,
                           const struct assignment *assignment,
                           int64_t now_ms,
                           struct error *err);

/* A result that was read. */
struct arq_result {
    bool is_success;
    bool is_cancelled;     /* it failed because it was cancelled */
    int64_t enqueued;      /* milliseconds since 1970; 0: unknown */
    struct buf output;     /* JSON; empty: None */
    struct buf error;      /* the exception's text */
    struct buf error_type; /* its class, without the module */
};

void arq_result_init(struct arq_result *r);
void arq_result_done(struct arq_result *r);
/* ERR_SYNTAX, ERR_REFUSED (see pickle/read.h), ERR_TYPE, ERR_TOO_LARGE, ERR_NOMEM. */
MUST_CHECK int arq_result_read(struct arq_result *r,
                               enum arq_form form,
                               struct str bytes,
                               struct error *err);

/* A job that was read. */
struct arq_task {
    struct buf text; /* as JSON */
    struct json_reader reader;
    struct str function;
    const yyjson_val *args, *kwargs; /* a list or NULL, an object or NULL */
    int64_t enqueued;                /* milliseconds since 1970 */
};

void arq_task_init(struct arq_task *t);
void arq_task_done(struct arq_task *t);
MUST_CHECK int arq_task_read(struct arq_task *t,
                             enum arq_form form,
                             struct str bytes,
                             struct error *err);

/* The argument at the position where @words has @word; NULL: there is none. */
const yyjson_val *arq_task_argument(const struct arq_task *t,
                                    char *const *words,
                                    struct str word);

/* How a job has ended, for the client that waits for its result. */
struct arq_ending {
    bool is_success, is_cancelled;
    struct str output; /* JSON; absent: None */
    struct str error, error_type;
    struct str queue, id;
    int64_t job_try, started, finished;
};

/* @t may be a job that could not be parsed. */
void arq_put_result(struct buf *out,
                    enum arq_form form,
                    const struct arq_task *t,
                    const struct arq_ending *ending);

#endif
