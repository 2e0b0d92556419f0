/* Creates a thread with a history: its supersteps.
 *
 *     create ──▶ ask (a worker of the graph saves the states) ──▶ the thread
 *                 └─ it failed ──▶ undo ──▶ why
 *
 * All three requests are prepared before the first is sent, so that an invalid one is refused
 * before the thread exists.  If the client disconnects in between, the thread is deleted: the
 * client never learned its id.  A thread that existed already (do_nothing) gets the states
 * after its newest one, as in LangGraph's own server, and nothing is undone. */
#include "api/langgraph/ask.h"
#include "api/langgraph/langgraph.h"

#include "base/json_format.h"

static bool is_superstep(const yyjson_val *value)
{
    yyjson_val *updates = json_at(value, "updates");

    if (!yyjson_is_arr(updates) || yyjson_arr_size(updates) == 0)
        return false;
    json_each(update, updates)
        if (!yyjson_is_obj(update))
            return false;
    return true;
}

static bool check(struct http_request *req, const yyjson_val *supersteps, struct str graph)
{
    if (!yyjson_is_arr((yyjson_val *)supersteps))
        return http_respond_error(req, 422, "\"supersteps\" must be a list");
    json_each(one, supersteps) {
        if (!is_superstep(one))
            return http_respond_error(
                req, 422,
                "each of \"supersteps\" must be {\"updates\": [{\"values\": …, "
                "\"as_node\": …}, …]}, with one update or more");
    }
    return !str_empty(graph) ||
           http_respond_error(
               req, 422,
               "\"supersteps\" need the graph that makes states of them: \"graph_id\" "
               "in \"metadata\"");
}

/* --- after the thread exists ----------------------------------------------------------- */

static bool unmake(struct journal_call *call)
{
    struct journal_request *j = &call->journal;

    if (j->op == JOURNAL_THREAD_CREATE && (j->code != 0 || j->new_thread.existed))
        return false;
    call->left = NULL;
    j->op = JOURNAL_THREAD_DELETE;
    journal_batch_put(&call->loop->batch, j);
    return true;
}

static void answer_undone(struct journal_call *undo)
{
    http_respond_error(undo->req, undo->status, "the thread was not made: %.*s",
                       STR_ARG(buf_text(&undo->out)));
}

static void on_saved(struct journal_call *ask)
{
    struct journal_call *undo = ask->then;
    struct str why;
    int status = ask_failed(ask, &why);

    if (status == 0) {
        langgraph_answer_thread(ask->req, ask->journal.thread);
        return;
    }
    if (undo == NULL) {
        ask_answer(ask);
        return;
    }
    ask->then = NULL;
    undo->status = status;
    buf_str(&undo->out, why);
    journal_call_post(undo);
}

static void on_created(struct journal_call *create)
{
    struct journal_call *ask = create->then;

    if (journal_call_refused(create))
        return;
    if (create->journal.new_thread.existed &&
        str_is(create->journal.new_thread.row.status, "busy")) {
        http_respond_error(create->req, 409, LANGGRAPH_THREAD_BUSY);
        return;
    }
    if (create->journal.new_thread.existed) {
        journal_call_free(ask->then);
        ask->then = NULL;
        ask->left = NULL;
    }
    create->then = NULL;
    journal_call_post(ask);
}

/* --- before the thread exists ---------------------------------------------------------- */

/* {"thread", "config": {"configurable": …}, "supersteps"} */
static bool put_params(struct journal_request *j, struct str id, const yyjson_val *supersteps)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    json_format(&b,
                "{'thread':%s,'config':{'configurable':{'thread_id':%s,'checkpoint_ns':''}}",
                id, id);
    json_add_value(&b, "supersteps", supersteps);
    json_end(&b);
    return b.error == 0 && arena_copy(&j->mem, buf_text(&b), &j->call.params) &&
           arena_copy(&j->mem, id, &j->thread);
}

bool langgraph_read_supersteps(struct journal_call *create, const yyjson_val *body)
{
    yyjson_val *supersteps = json_at(body, "supersteps");
    struct str graph = json_text(json_at(json_at(body, "metadata"), "graph_id"));
    struct str id = create->journal.thread;

    if (json_is_null(supersteps) ||
        (yyjson_is_arr(supersteps) && yyjson_arr_size(supersteps) == 0))
        return true;
    if (!check(create->req, supersteps, graph))
        return false;
    struct journal_call *ask = ask_new(create->req, graph, "bulk_update_state", on_saved);
    create->then = ask;
    if (ask == NULL)
        return false;
    ask->then = journal_call_new(create->req, JOURNAL_THREAD_DELETE, answer_undone);
    if (ask->then == NULL)
        return false;
    create->answer = on_created;
    create->left = ask->left = unmake;
    return (put_params(&ask->journal, id, supersteps) &&
            arena_copy(&ask->then->journal.mem, id, &ask->then->journal.thread)) ||
           api_no_memory(create->req);
}
