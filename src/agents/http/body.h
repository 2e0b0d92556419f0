/* The body of a POST to a remote endpoint: a job, in the shape that the endpoint takes.
 *
 *     input      the job's input as it is; {"resume":{"<question>":answer,…}} when it goes on
 *     order      what a process finds on its stdin (assignment.h)
 *     langserve  {"input":…,"config":{"configurable":{"thread_id":"<job>"}}}
 *     langgraph  a run of a LangGraph Server: {"assistant_id":…,"input":…,"stream_mode":[…],…},
 *                with "command":{"resume":…} when it goes on
 *
 * Pure. */
#ifndef AGENTS_HTTP_BODY_H
#define AGENTS_HTTP_BODY_H

struct buf;
struct exec_http;
struct assignment;

void body_put(struct buf *b, const struct exec_http *http, const struct assignment *assignment);

#endif
