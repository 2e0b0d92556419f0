/* A request of LangGraph's API that only a worker of the graph can answer.
 *
 * LangGraph's clients retry after 5xx, so the answer is 408 when no worker replies in time. */
#ifndef API_LANGGRAPH_ASK_H
#define API_LANGGRAPH_ASK_H

#include "api/api.h"

/* A call to a worker of @graph; the caller sets its params (JSON) and posts it.  NULL when it
 * was answered: unknown graph, no worker can be asked, or out of memory. */
struct journal_call *ask_new(struct http_request *req,
                             struct str graph,
                             const char *name,
                             void (*answer)(struct journal_call *));
/* The same for what the server itself has to know, whatever agents its caller may use. */
struct journal_call *ask_of_server(struct http_request *req,
                                   struct str graph,
                                   const char *name,
                                   void (*answer)(struct journal_call *));
/* Can a worker of @graph be asked by this caller?  Answers nothing. */
bool ask_is_possible(struct http_request *req, struct str graph);
/* 0, or the HTTP status when the worker gave no answer; @ret_why is the reason. */
int ask_failed(const struct journal_call *call, struct str *ret_why);
/* Answers with the worker's answer, unchanged. */
void ask_answer(struct journal_call *call);

#endif
