/* POST /threads/{thread}/stream/events: the thread's events, filtered. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "base/error.h"
#include "transport/thread_stream.h"

/* A place as clients write it: the number of an event, or its id, <ms>-<number>. */
static uint64_t place_of(struct str text)
{
    size_t dash = str_find(text, '-');
    struct str digits = dash < text.n && dash > 0 ? str_skip(text, dash + 1) : text;
    uint64_t n = 0;

    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9' || n > UINT64_MAX / 16)
            return 0; /* of another server: from the beginning */
        n = n * 10 + (uint64_t)(digits.p[i] - '0');
    }
    return n;
}

static uint64_t read_place(struct http_request *req, const yyjson_val *body)
{
    int64_t since = json_int(json_at(body, "since"), 0);
    struct str id = json_text(json_at(body, "since_event_id"));

    if (since > 0)
        return (uint64_t)since;
    return place_of(str_absent(id) ? http_header(req, "Last-Event-ID") : id);
}

void api_thread_events(struct http_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 16);
    struct thread_stream_request what = { .thread = http_param(req, "thread") };
    struct json json;

    if (!api_read_body(req, &reader, http_body(req), &json) ||
        !api_take_permit(req, &what.permit))
        return;
    what.filter = json.root;
    what.since = read_place(req, json.root);
    thread_stream_open(app_loop_of(req)->streams, req, &what);
}
