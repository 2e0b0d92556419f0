/* Admission: who may make which request.  See admit.c. */
#ifndef API_ADMIT_H
#define API_ADMIT_H

#include "api/api.h"

/* The name of the session cookie; the second one is for pages that were loaded over https. */
#define API_COOKIE        "spoolwire"
#define API_COOKIE_SECURE "__Host-spoolwire"

/* For http_options. */
bool api_admit(struct http_request *req, const struct http_route *route, void *app);
void api_visitor_free(void *visitor);

/* The caller's token; borrowed, valid as long as its connection.  NULL on public routes. */
struct token *api_token(const struct http_request *req);
/* These return false when they have answered the request. */
bool api_take_permit(struct http_request *req, struct permit **ret);
/* Whether the caller may change something.  Checked before the handler for every method but GET
 * and HEAD; GET handlers whose query changes something call it themselves. */
bool api_may_act(struct http_request *req);
bool api_may_use_agent(struct http_request *req, struct str agent);
/* The agent in the path; NULL: it is unknown or not the caller's, and the request is answered.
 */
const struct app_agent *api_agent(struct http_request *req);
/* Answers 429 with Retry-After. */
void api_refuse_limit(struct http_request *req,
                      enum refusal limit,
                      int64_t wait_ms,
                      const char *what);
/* For example "expired" or "streams". */
const char *refusal_name(enum refusal refusal);

/* Sets the owner of a new job, and the jobs that the request may name; borrows from @t. */
void api_set_caller(struct journal_request *j, const struct token *t);
/* Sets whose leases the caller may present; borrows from @t. */
void api_set_lease_caller(struct lease_caller *c, const struct token *t);

#endif
