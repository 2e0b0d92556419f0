/* Crons: what their routes share. */
#ifndef API_LANGGRAPH_CRONS_H
#define API_LANGGRAPH_CRONS_H

#include "api/langgraph/langgraph.h"
#include "store/crons.h"

extern const char *const crons_members[];

void crons_put(struct buf *b, const struct cron_row *row, struct selection select);
/* May the caller of the query see it? */
bool crons_is_visible(const struct store_query *query, const struct cron_row *row);

#endif
