/* The body of a POST to a remote endpoint: a job, in the format that the endpoint expects.
 *
 *     input      the job's input unchanged; {"resume":{"<question>":answer,…}} when it resumes
 *     order      the line that a process reads from its stdin (assignment.h)
 *     langserve  {"input":…,"config":{"configurable":{"thread_id":"<job>"}}}
 *     langgraph  a run of a LangGraph Server: {"assistant_id":…,"input":…,"stream_mode":[…],…},
 *                with "command":{"resume":…} when it resumes
 *
 * Pure. */
#ifndef AGENTS_HTTP_BODY_H
#define AGENTS_HTTP_BODY_H

struct buf;
struct exec_http;
struct assignment;

void body_put(struct buf *b, const struct exec_http *http, const struct assignment *assignment);

#endif
