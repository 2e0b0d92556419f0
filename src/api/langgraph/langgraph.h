/* LangGraph's API: what its routes share.
 *
 * A run is a job with a thread; these routes show it in LangGraph's format.  Errors are
 * {"detail": text}.  LangGraph's clients retry every POST that was answered with 5xx, so no 5xx
 * is sent once the run exists. */
#ifndef API_LANGGRAPH_LANGGRAPH_H
#define API_LANGGRAPH_LANGGRAPH_H

#include "api/api.h"
#include "api/shape.h"

enum { LANGGRAPH_MAX_DEPTH = 100 }; /* of a RunCreate */

/* --- lists -------------------------------------------------------------------------- */

/* Sets the headers with the total number, and with the offset of the next page. */
void langgraph_set_pages(struct http_request *req, size_t total, size_t next);
/* Does @text contain @part?  ASCII letters match in either case. */
bool langgraph_has(struct str text, struct str part);

/* --- selected members --------------------------------------------------------------- */

extern const char *const langgraph_thread_members[];
extern const char *const langgraph_run_members[];

/* Reads `select`: a list of names, as a set of members. */
struct selection langgraph_select(const char *const *members, const yyjson_val *list);
/* The same from the query: a repeated parameter, or a JSON list. */
struct selection langgraph_select_query(const char *const *members, struct http_request *req);

void langgraph_put_thread(struct buf *b, const struct thread_row *row, struct selection select);
/* Reads the rest of the run from @store; texts of @row that belong to the store are invalid
 * afterwards. */
int langgraph_put_run(struct buf *b,
                      struct store *store,
                      const struct job_row *row,
                      struct selection select,
                      struct error *err);
/* The same for a run that was just created. */
void langgraph_put_new_run(struct buf *b, const struct journal_request *j);

/* The run was rolled back: treat it as absent. */
bool langgraph_is_hidden(const struct job_row *row);

/* --- requests ----------------------------------------------------------------------- */

/* A member of a body, by its snake_case or its camelCase name. */
yyjson_val *langgraph_member(const yyjson_val *body, const char *name, const char *camel);
/* Copies a value as JSON text to @mem; absent for null.  False: out of memory. */
bool langgraph_keep_json(struct arena *mem, const yyjson_val *value, struct str *ret);
/* Makes a new id in @mem; later ids sort after earlier ones. */
bool langgraph_make_id(struct arena *mem, struct str *ret);
/* Calls @then with the assistant that has that id, or with the default of the graph with that
 * name, at once or later; answers 404 when the caller may use neither.  The row is valid during
 * @then. */
void langgraph_with_assistant(struct http_request *req,
                              struct str id,
                              void (*then)(struct http_request *req,
                                           const struct assistant_row *row));
/* Reads stream modes from a body or the query (0 when there are none).  False: answered,
 * 422. */
bool langgraph_read_modes(struct http_request *req, const yyjson_val *value, uint32_t *ret);
/* Calls back for each value of a repeated query parameter, or each element of a JSON list. */
void langgraph_each_query(struct http_request *req,
                          const char *name,
                          void (*take)(void *arg, struct str value),
                          void *arg);
bool langgraph_read_query_modes(struct http_request *req, uint32_t *ret);
/* True for "1" and "true". */
bool langgraph_flag(struct http_request *req, const char *name);

/* Fills a SUBMIT of a run of call->assistant from a RunCreate; false: answered. */
bool langgraph_read_run(struct journal_call *call, const yyjson_val *body);
/* Finds the assistant that the request's body names, and calls @then with it; with NULL if it
 * names none, or cannot be parsed. */
void langgraph_with_assistant_of_body(struct http_request *req,
                                      void (*then)(struct http_request *req,
                                                   const struct assistant_row *row));
/* If the journal refused the request, answers 422 for a client's mistake, else as
 * journal_call_refused() does, and returns true. */
bool langgraph_refused_run(struct journal_call *call);
/* Answers that the request names no known assistant. */
void langgraph_refuse_assistant(struct http_request *req);
/* Fills the kwargs and metadata of a SUBMIT from a RunCreate.  False: out of memory. */
/* `config.configurable` and `context` are two names of the same values: clients send one.
 * False when @config and @context have both; then it is answered. */
bool langgraph_one_context(struct http_request *req,
                           const yyjson_val *config,
                           const yyjson_val *context);
bool langgraph_fill_kwargs(struct journal_call *call, const yyjson_val *body);
bool langgraph_fill_metadata(struct journal_call *call, const yyjson_val *metadata);

/* Reads the `supersteps` of a thread that is to be created; a worker saves their states after
 * that.  False: answered. */
bool langgraph_read_supersteps(struct journal_call *create, const yyjson_val *body);

/* --- reading ------------------------------------------------------------------------ */

/* A run by the ids in the path. */
struct run_query {
    struct str thread; /* absent: of any thread */
    bool any_job;      /* also a job that was not created as a run */
    struct selection select;
};
/* Reads the query's run if it belongs to the query's thread; on false, query->status says
 * why. */
bool langgraph_get_run(struct store_query *query, struct store *store, struct job_row *ret);
#define LANGGRAPH_THREAD_BUSY "Thread is busy: its state can be changed when its run has ended"

/* Reads the thread with that id, if the caller may see it; on false, query->status says why. */
bool langgraph_get_thread(struct store_query *query,
                          struct store *store,
                          struct str id,
                          struct thread_row *ret);
/* NULL when it was answered. */
struct store_query *langgraph_look_at_run(struct http_request *req,
                                          void (*run)(struct thread_task *, struct store *));

/* --- answers ------------------------------------------------------------------------ */

/* Sets Content-Location, and Location with @tail appended (NULL: no Location). */
void langgraph_set_location(struct http_request *req,
                            struct str thread,
                            struct str run,
                            const char *tail);
/* Answers with the thread's current row. */
void langgraph_answer_thread(struct http_request *req, struct str id);
/* Answers with a stream of the run; @end: the record behind which it begins when the client
 * names no place.  This function and the next take over the permit. */
void langgraph_stream(struct http_request *req,
                      struct permit *permit,
                      struct str run,
                      uint32_t modes,
                      bool subgraphs,
                      bool cancels,
                      uint64_t end);
/* Answers with the run's result when it has ended, and sends newlines until then. */
void langgraph_wait(struct http_request *req,
                    struct permit *permit,
                    struct str run,
                    bool cancels);
/* The same in another form: @put writes the answer from the result, which is JSON, and the
 * request's id. */
struct wait_form {
    struct str id;
    void (*put)(struct buf *b, struct str id, struct str result); /* NULL: the result alone */
};
void langgraph_wait_as(struct http_request *req,
                       struct permit *permit,
                       struct str run,
                       bool cancels,
                       const struct wait_form *form);
/* The run's only reader has disconnected: cancels the run, unless the server is shutting
 * down. */
void langgraph_abandon(struct app *app, struct str run);
/* Somebody reads the run's stream, as the first one. */
void langgraph_mark_read(struct app *app, struct str run);

#endif
