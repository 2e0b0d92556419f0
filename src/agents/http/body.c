#include "agents/http/body.h"

#include "agents/exec.h"
#include "agents/assignment.h"
#include "base/json.h"
#include "base/json_format.h"

#include <string.h>

/* The input of a resumed job is its answers. */
static void put_input(struct buf *b, const struct assignment *assignment)
{
    if (str_absent(assignment->resume)) {
        json_put_raw_or_null(b, assignment->input);
        return;
    }
    json_format(b, "{'resume':%j}", assignment->resume);
}

static void put_langserve(struct buf *b, const struct assignment *assignment)
{
    json_begin(b);
    json_key(b, "input");
    put_input(b, assignment);
    json_format(b, ",'config':{'configurable':{'thread_id':%s}}}", assignment->job);
}

/* After a pause, or at a breakpoint, there is nothing to answer: a run without input
 * resumes. */
static void put_command(struct buf *b, const struct assignment *assignment)
{
    if (str_absent(assignment->resume)) {
        json_put_raw_or_null(b, assignment->input);
        return;
    }
    buf_lit(b, "null");
    if (!str_is(assignment->resume, "{}"))
        json_format(b, ",'command':{'resume':%j}", assignment->resume);
}

/* A run of a thread creates the thread, which is the job's own, if it does not exist.  The run
 * ends when the connection is closed, as that ends the attempt here. */
static void put_langgraph(struct buf *b,
                          const struct exec_http *http,
                          const struct assignment *assignment)
{
    json_begin(b);
    json_add_str(b, "assistant_id", str_of(http->assistant));
    json_key(b, "input");
    put_command(b, assignment);
    json_add_array(b, "stream_mode");
    for (char *const *mode = http->modes; mode != NULL && *mode != NULL; mode++)
        json_put_str(json_next(b), str_of(*mode));
    json_end_array(b);
    json_add_const(b, "stream_subgraphs", "true");
    json_add_lit(b, "on_disconnect", "cancel");
    if (strstr(http->url, "/threads/") != NULL)
        json_add_lit(b, "if_not_exists", "create");
    json_end(b);
}

void body_put(struct buf *b, const struct exec_http *http, const struct assignment *assignment)
{
    struct assignment plain = *assignment;

    plain.lease_key = NULL; /* remote endpoints do not get the lease: it is for our own
                               processes */
    switch (http->body) {
    case EXEC_BODY_INPUT:
        put_input(b, assignment);
        break;
    case EXEC_BODY_ORDER:
        assignment_put(b, &plain);
        break;
    case EXEC_BODY_LANGSERVE:
        put_langserve(b, assignment);
        break;
    case EXEC_BODY_LANGGRAPH:
        put_langgraph(b, http, assignment);
        break;
    }
}
