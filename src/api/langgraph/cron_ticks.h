/* The ticks of crons: once a second the store is asked which crons are due, and a run is
 * created for each.
 *
 * On one loop of each gateway; only the gateway that writes the first shard asks. */
#ifndef API_LANGGRAPH_CRON_TICKS_H
#define API_LANGGRAPH_CRON_TICKS_H

#include "base/must_check.h"

struct app_loop;
struct cron_ticks;
struct http_loop;

/* ERR_NOMEM. */
MUST_CHECK int cron_ticks_new(struct http_loop *http,
                              struct app_loop *loop,
                              struct cron_ticks **ret);
/* Begins no more ticks; on the loop, before it ends. */
void cron_ticks_stop(struct cron_ticks *t);
/* After the loop and the threads that read have ended; may be NULL. */
void cron_ticks_free(struct cron_ticks *t);

#endif
