/* A question of LangGraph's API that only a worker of the graph can answer.
 *
 * A client of theirs sends a request again after 5xx, so a worker that does not come in time is
 * 408 here. */
#ifndef API_LANGGRAPH_ASK_H
#define API_LANGGRAPH_ASK_H

#include "api/api.h"

/* A call to a worker of @graph; its params (JSON) are the caller's to set, and then
 * call_post.  NULL when it was answered: there is no such graph, nobody to ask, or no memory.
 */
struct journal_call *ask_new(struct http_request *req,
                             struct str graph,
                             const char *name,
                             void (*answer)(struct journal_call *));
/* 0, or the status that says @ret_why there is no answer of the worker. */
int ask_failed(const struct journal_call *call, struct str *ret_why);
/* The worker's answer, as it is. */
void ask_answer(struct journal_call *call);

#endif
