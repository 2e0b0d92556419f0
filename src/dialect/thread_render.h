/* What the files of the thread events share. */
#ifndef DIALECT_THREAD_RENDER_H
#define DIALECT_THREAD_RENDER_H

#include "dialect/dialect.h"

/* Starts an event up to its timestamp; the caller adds `data`.  NULL: it is left out. */
struct buf *thread_begin(const struct record *rec,
                         struct str method,
                         struct str ns,
                         struct frames *out);
/* Closes params and event. */
void thread_end(struct frames *out);

/* The lifecycle of the namespaces that begin with @rec, which has no header. */
void thread_put_opened(const struct record *rec, struct frames *out);

/* Tools (dialect/thread_tools.c). */
void thread_on_tool_start(const struct record *rec, struct frames *out);
void thread_on_tool_end(const struct record *rec, struct frames *out);
void thread_on_state_tools(const struct record *rec, struct frames *out);

/* Messages as content blocks (dialect/thread_messages.c). */
void thread_on_delta(const struct record *rec, struct frames *out);
void thread_on_llm_end(const struct record *rec, struct frames *out);
void thread_on_message(const struct record *rec, struct frames *out);

#endif
