/* What the routes of /assistants share: finding an assistant, and its JSON. */
#ifndef API_LANGGRAPH_ASSISTANTS_H
#define API_LANGGRAPH_ASSISTANTS_H

#include "api/langgraph/langgraph.h"

enum { ASSISTANT_MAX_DEPTH = 64 };

/* Names of an assistant's members in JSON, NULL-terminated; the index is the bit in a
 * selection. */
extern const char *const assistant_members[];

/* The agent whose graph has that name, or whose default assistant has that id; NULL: none.
 * Borrowed from the app. */
const struct app_agent *assistants_find_graph(const struct app *app, struct str id);
/* The default assistant of a graph; its id is stored in @id. */
struct assistant_row assistants_of_graph(const struct app *app,
                                         const struct app_agent *a,
                                         char id[KEY_UUID_CHARS]);
/* Reads an assistant that a client created, in a store query; on false, query->status says
 * why. */
bool assistants_read(struct store_query *query,
                     struct store *store,
                     struct str id,
                     struct assistant_row *ret);
/* Calls back for the assistants that the caller may use: those that clients made, then those of
 * graphs, until it returns false.  With an @id, for the versions of that one.  In a store
 * query. */
int assistants_visit(struct store_query *query,
                     struct store *store,
                     struct str id,
                     bool (*visit)(void *arg, const struct assistant_row *row),
                     void *arg,
                     struct error *why);
/* Answers 404 in the words of LangGraph's server. */
void assistants_put_unknown(struct store_query *query);
/* Was the path's assistant created by a client?  A graph's default cannot be changed: answers
 * 409. */
bool assistants_may_change(struct http_request *req);
void assistants_put(struct buf *b, const struct assistant_row *row, struct selection select);

#endif
