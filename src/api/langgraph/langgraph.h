/* LangGraph's API: what its routes share.
 *
 * A run is a job with a thread; these routes show it in LangGraph's format.  Errors are
 * {"detail": text}; a client of theirs tries every POST again that was answered with 5xx, so
 * from the moment that a run exists there are none. */
#ifndef API_LANGGRAPH_LANGGRAPH_H
#define API_LANGGRAPH_LANGGRAPH_H

#include "api/api.h"
#include "api/shape.h"

enum { LANGGRAPH_MAX_DEPTH = 100 }; /* of a RunCreate */

/* --- lists -------------------------------------------------------------------------- */

/* Says in the headers how many of @total there are, and where the next page begins. */
void langgraph_set_pages(struct http_request *req, size_t total, size_t next);
/* Is @part in @text?  Ignores the case of ASCII letters. */
bool langgraph_has(struct str text, struct str part);

/* --- what is to be shown ------------------------------------------------------------ */

extern const char *const langgraph_thread_members[];
extern const char *const langgraph_run_members[];

/* A list of names as a set of members: `select`. */
struct selection langgraph_select(const char *const *members, const yyjson_val *list);
/* The same of a query, in which it is repeated, or a JSON list. */
struct selection langgraph_select_query(const char *const *members, struct http_request *req);

void langgraph_put_thread(struct buf *b, const struct thread_row *row, struct selection select);
/* @store tells what the job has besides; texts of @row that are the store's do not outlive it.
 */
int langgraph_put_run(struct buf *b,
                      struct store *store,
                      const struct job_row *row,
                      struct selection select,
                      struct error *err);
/* The same for one that has just been made. */
void langgraph_put_new_run(struct buf *b, const struct journal_request *j);

/* pending running error success timeout interrupted */
struct str langgraph_run_status(const struct job_row *row);
/* It was rolled back: treat it as absent. */
bool langgraph_is_hidden(const struct job_row *row);

/* --- requests ----------------------------------------------------------------------- */

/* A member of a body, by its name or as JavaScript spells it. */
yyjson_val *langgraph_member(const yyjson_val *body, const char *name, const char *camel);
/* JSON of a value in @mem; absent for null.  False: no memory. */
bool langgraph_keep_json(struct arena *mem, const yyjson_val *value, struct str *ret);
/* A new id in @mem, of which later ones sort behind earlier ones. */
bool langgraph_make_id(struct arena *mem, struct str *ret);
/* Calls @then with the assistant of that id, or of the graph of that name, at once or later;
 * answers 404 when there is none for the caller.  The row is @then's while it runs. */
void langgraph_with_assistant(struct http_request *req,
                              struct str id,
                              void (*then)(struct http_request *req,
                                           const struct assistant_row *row));
/* Stream modes of a body, or of a query (0 when it names none).  False: answered, 422. */
bool langgraph_read_modes(struct http_request *req, const yyjson_val *value, uint32_t *ret);
bool langgraph_read_query_modes(struct http_request *req, uint32_t *ret);
/* "1" and "true". */
bool langgraph_flag(struct http_request *req, const char *name);

/* Fills a SUBMIT of a run of call->assistant from a RunCreate; false: answered. */
bool langgraph_read_run(struct journal_call *call, const yyjson_val *body);
/* Answers what the journal refused: the client's mistake (422), or as it always is. */
bool langgraph_refused_run(struct journal_call *call);
/* It names none. */
void langgraph_refuse_assistant(struct http_request *req);
/* What the run of a SUBMIT is made with, from a RunCreate.  False: no memory. */
bool langgraph_fill_kwargs(struct journal_call *call, const yyjson_val *body);
bool langgraph_fill_metadata(struct journal_call *call, const yyjson_val *metadata);

/* The `supersteps` of a thread that is about to be made: when it is, a worker saves their
 * states.  False: answered. */
bool langgraph_read_supersteps(struct journal_call *create, const yyjson_val *body);

/* --- reading ------------------------------------------------------------------------ */

/* A run by the path's ids. */
struct run_query {
    struct str thread; /* absent: whichever it is of */
    bool any_job;      /* also one that was not made as a run */
    struct selection select;
};
/* The run of a query (its job) if it is of the query's thread; else query->status says why not.
 */
bool langgraph_get_run(struct store_query *query, struct store *store, struct job_row *ret);
#define LANGGRAPH_THREAD_BUSY "Thread is busy: its state can be changed when its run has ended"

/* The thread of that id, if it can be seen; else query->status says why not. */
bool langgraph_get_thread(struct store_query *query,
                          struct store *store,
                          struct str id,
                          struct thread_row *ret);
/* NULL when it was answered. */
struct store_query *langgraph_look_at_run(struct http_request *req,
                                          void (*run)(struct thread_task *, struct store *));

/* --- answers ------------------------------------------------------------------------ */

/* Content-Location, and Location with @tail behind (NULL: none). */
void langgraph_set_location(struct http_request *req,
                            struct str thread,
                            struct str run,
                            const char *tail);
/* Answers with the thread as it is. */
void langgraph_answer_thread(struct http_request *req, struct str id);
/* Answers with a stream of the run.  The permit is taken, here and below. */
void langgraph_stream(struct http_request *req,
                      struct permit *permit,
                      struct str run,
                      uint32_t modes,
                      bool subgraphs,
                      bool cancels);
/* Answers with the run's result when it has ended, with newlines until then; or, @quietly,
 * with 204 then. */
void langgraph_wait(struct http_request *req,
                    struct permit *permit,
                    struct str run,
                    bool cancels,
                    bool quietly);
/* Its only reader has left: it is cancelled, unless it is the server that goes. */
void langgraph_abandon(struct app *app, struct str run);

#endif
