/* What the routes of /assistants share: how one is found, and its shape. */
#ifndef API_LANGGRAPH_ASSISTANTS_H
#define API_LANGGRAPH_ASSISTANTS_H

#include "api/langgraph/langgraph.h"

enum { ASSISTANT_MAX_DEPTH = 64 };

/* Their names in JSON, NULL at the end; the order is that of the bits of a selection. */
extern const char *const assistant_members[];

/* The agent that is the graph of that name, or whose own assistant has that id; NULL: none.
 * Borrowed from the app. */
const struct app_agent *assistants_find_graph(const struct app *app, struct str id);
/* The one that a graph has by itself; @id is its memory. */
struct assistant_row assistants_of_graph(const struct app *app,
                                         const struct app_agent *a,
                                         char id[KEY_UUID_CHARS]);
/* One that was made, in a store query; false: query->status says why not. */
bool assistants_read(struct store_query *query,
                     struct store *store,
                     struct str id,
                     struct assistant_row *ret);
/* Is the path's one that was made?  A graph's own stays as it is: answered, 409. */
bool assistants_may_change(struct http_request *req);
void assistants_put(struct buf *b, const struct assistant_row *row, struct selection select);

#endif
