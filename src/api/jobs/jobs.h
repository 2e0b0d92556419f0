/* What /v1/jobs and /v1/jobs/async share. */
#ifndef API_JOBS_JOBS_H
#define API_JOBS_JOBS_H

#include "api/api.h"

/* Reads an integer from the query; @otherwise when it is absent.  False when it is invalid,
 * which is answered. */
bool jobs_read_number(struct http_request *req,
                      const char *name,
                      int64_t otherwise,
                      int64_t *ret);
/* Reads ?wait=30, in seconds; 0 when absent, 300 at most.  False when it is invalid, which is
 * answered. */
bool jobs_read_wait(struct http_request *req, int64_t *ret_ms);

/* Makes a new id in @mem that cannot be guessed. */
bool jobs_make_id(struct arena *mem, struct str *ret);
/* Fills the request of a submit; false when it has answered. */
bool jobs_fill_submit(struct journal_call *call,
                      struct str agent,
                      const yyjson_val *input,
                      struct str id,
                      int64_t expiry);
void jobs_answer_submit(struct journal_call *call);

/* Posts a request to the journal that needs nothing but the job in the path. */
void jobs_post(struct http_request *req,
               enum journal_op op,
               void (*answer)(struct journal_call *),
               bool aiq);

/* Reads the row of the query's job; on false, query->status says why. */
bool jobs_get(struct store_query *query, struct store *store, struct job_row *ret);

/* task.run of a query: the job and its result. */
void state_run_result(struct thread_task *task, struct store *store);
/* Answers @req with the job's result when it ends within @wait_ms, else with the job. */
void jobs_wait(struct http_request *req, struct str job, int64_t wait_ms);

/* The Last-Event-ID header, else @given. */
bool jobs_read_place(struct http_request *req, struct str given, struct job_request *ret);

#endif
