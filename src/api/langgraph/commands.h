/* Commands of LangGraph's thread-scoped protocol: what their files share.
 *
 *     {"id":1,"method":"run.start","params":{…}}
 *         ──▶ {"type":"success","id":1,"result":{…},"meta":{…}}
 *         ──▶ {"type":"error","id":1,"error":"no_such_interrupt","message":…} */
#ifndef API_LANGGRAPH_COMMANDS_H
#define API_LANGGRAPH_COMMANDS_H

#include "api/langgraph/langgraph.h"

/* A command's body, read again whenever it is needed: it lives as long as its request. */
struct thread_command {
    struct json_reader reader;
    struct json json;
    int64_t id;
    struct str method;
    yyjson_val *params; /* NULL: none */
};

/* False: it is no command.  To be done with in any case. */
bool thread_command_init(struct thread_command *c, struct str body);
void thread_command_done(struct thread_command *c);
#define LOCAL_THREAD_COMMAND __attribute__((cleanup(thread_command_done))) = { .id = -1 }

/* What is known of the path's thread; texts are in the query's memory. */
struct command_thread {
    struct str body;     /* of the command, for the pool */
    bool has_checkpoint; /* state.fork: the checkpoint that it names exists */
    bool is_there;
    bool has_run; /* agent.getTree: there is a run to tell of */
    int64_t key;
    uint64_t n_runs;
    struct str interrupts; /* JSON list of the ids of its open questions */
    struct str assistant;  /* of its last run; absent: it has none */
};

/* Answers with a result, which is JSON. */
void thread_command_answer(struct http_request *req, struct str result, uint64_t n_runs);
/* Answers with one of the protocol's codes. */
void thread_command_refuse(struct http_request *req, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- the commands ------------------------------------------------------------------------- */

/* Start a run: a new one, or one that continues with answers. */
void thread_command_run_start(struct http_request *req, const struct command_thread *thread);
void thread_command_input_respond(struct http_request *req,
                                  const struct command_thread *thread);
void thread_command_input_inject(struct http_request *req, const struct command_thread *thread);
/* Starts a run at an older checkpoint; the first function looks for that on the pool. */
void thread_command_find_checkpoint(struct store_query *query,
                                    struct store *store,
                                    const struct thread_command *c,
                                    struct str thread);
void thread_command_fork(struct http_request *req, const struct command_thread *thread);
/* On a thread of the pool: fills query->out with the result. */
void thread_command_state_get(struct store_query *query,
                              struct store *store,
                              const struct thread_command *c,
                              struct str thread);
void thread_command_list_checkpoints(struct store_query *query,
                                     struct store *store,
                                     const struct thread_command *c,
                                     struct str thread);
/* The same; sets has_run. */
void thread_command_get_tree(struct store_query *query,
                             struct store *store,
                             const struct thread_command *c,
                             struct str thread);

#endif
