/* Sends webhooks: the store is asked which deliveries are due, and each is claimed, sent, and
 * its result stored.
 *
 * On one loop of each gateway; only the gateway that writes the first shard sends. */
#ifndef API_LANGGRAPH_WEBHOOK_SENDER_H
#define API_LANGGRAPH_WEBHOOK_SENDER_H

#include "base/buf.h"
#include "base/must_check.h"

struct app_loop;
struct http_loop;
struct webhook_row;
struct webhook_sender;

/* ERR_NOMEM. */
MUST_CHECK int webhook_sender_new(struct http_loop *http,
                                  struct app_loop *loop,
                                  struct webhook_sender **ret);
/* Begins no more attempts, and cancels those under way; on the loop, before it ends. */
void webhook_sender_stop(struct webhook_sender *s);
/* After the loop and the threads that read have ended; may be NULL. */
void webhook_sender_free(struct webhook_sender *s);

/* What is sent at @now, as LangGraph's servers send it: the run, its status and times, the
 * thread's values, the error; of these the members that are among @fields (NULL: all). */
void webhook_put_body(struct buf *b,
                      const struct webhook_row *row,
                      int64_t now,
                      char *const *fields);

#endif
