/* What the environment says of a graph: LANGGRAPH_CONFIG, as LangGraph's servers read it.
 *
 *     {"agent": {"configurable": {"model": "small"}}, "other": {"context": {"size": 3}}} */
#ifndef CLI_DEFAULTS_H
#define CLI_DEFAULTS_H

#include "base/buf.h"

struct error;

/* Appends the config and the context of the graph's own assistant as JSON; `configurable` and
 * the context are the same.  Nothing when the environment says nothing of it.  ERR_SYNTAX,
 * ERR_TYPE, ERR_NOMEM. */
int defaults_of_graph(const char *graph,
                      struct buf *ret_config,
                      struct buf *ret_context,
                      struct error *err);

#endif
