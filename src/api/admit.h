/* Who may: see admit.c. */
#ifndef API_ADMIT_H
#define API_ADMIT_H

#include "api/api.h"

/* The name of a session's cookie; the second where the page came over https. */
#define API_COOKIE        "spoolwire"
#define API_COOKIE_SECURE "__Host-spoolwire"

/* For http_options. */
bool api_admit(struct http_request *req, const struct http_route *route, void *app);
void api_visitor_free(void *visitor);

/* The caller's; borrowed while its connection is there.  NULL on public routes. */
struct token *api_token(const struct http_request *req);
/* Each false when it has answered. */
bool api_take_permit(struct http_request *req, struct permit **ret);
/* Whether it may change something: asked for every method but GET and HEAD before its handler
 * is called, and by the handlers of GET whose query makes them change something. */
bool api_may_act(struct http_request *req);
bool api_may_use_agent(struct http_request *req, struct str agent);
/* 429, with Retry-After. */
void api_refuse_limit(struct http_request *req,
                      enum refusal limit,
                      int64_t wait_ms,
                      const char *what);
/* "expired", "streams" */
const char *refusal_name(enum refusal refusal);

/* The owner of a new job, and the jobs that the request may name; borrows from @t. */
void api_set_caller(struct journal_request *j, const struct token *t);
/* Whose leases it may show; borrows from @t. */
void api_set_lease_caller(struct lease_caller *c, const struct token *t);

#endif
