/* GET /v1/jobs/{id}/events and /v1/stream: chooses the format, the start position and the
 * transport. */
#include "api/admit.h"
#include "api/jobs/jobs.h"

#include "base/error.h"
#include "http/header.h"
#include "transport/mux.h"
#include "transport/websocket.h"

enum { DEFAULT_LIMIT = 500, MAX_LIMIT = 5000 };

/* --- start position ----------------------------------------------------------------- */

bool jobs_read_place(struct http_request *req, struct str given, struct job_request *ret)
{
    struct str header = http_header(req, "Last-Event-ID");
    struct str text = header.n > 0 ? header : given;

    ret->by_header = header.n > 0;
    if (cursor_read(text, &ret->after) != 0) {
        if (!ret->by_header)
            return false;
        ret->after = (struct cursor){ 0 }; /* an id of another server: start at the beginning */
        ret->by_header = false;
    }
    ret->resumed = ret->after.seq > 0;
    return true;
}

/* --- format ---------------------------------------------------------------------------- */

/* This function and the next ones return false when a value is invalid; they have answered
 * then. */
static bool read_modes(struct http_request *req, uint32_t *ret)
{
    struct error err;
    int code = mode_list(http_query(req, "modes"), ret, &err);

    if (code != 0)
        http_respond_error(req, 422, "%s", err.text);
    return code == 0;
}

static bool read_flag(struct http_request *req, const char *name, bool otherwise, bool *ret)
{
    struct str value = http_query(req, name);
    bool is_true = str_is(value, "true") || str_is(value, "1");

    *ret = str_absent(value) ? otherwise : is_true;
    if (str_absent(value) || is_true || str_is(value, "false") || str_is(value, "0"))
        return true;
    return http_respond_error(req, 422, "%s must be true or false, not '%.*s'", name,
                              STR_ARG(str_head(value, 40)));
}

static bool read_dialect(struct http_request *req, const struct dialect **ret)
{
    struct str name = http_query(req, "dialect");

    *ret = dialect_find(name.n > 0 ? name : STR("agent"));
    if (*ret == NULL)
        http_respond_error(req, 422, "there is no dialect '%.*s': see /v1/dialects",
                           STR_ARG(str_head(name, 40)));
    return *ret != NULL;
}

static bool read_format(struct http_request *req, struct stream_format *ret)
{
    ret->variant.aiq_compat = app_loop_of(req)->app->aiq_compat;
    return read_dialect(req, &ret->dialect) && read_modes(req, &ret->variant.modes) &&
           read_flag(req, "subgraphs", false, &ret->variant.subgraphs);
}

/* --- transport ---------------------------------------------------------------------- */

static bool accepts_lines(struct str accept)
{
    return (header_lists(accept, STR("application/x-ndjson")) ||
            header_lists(accept, STR("application/ndjson")) ||
            header_lists(accept, STR("application/jsonl"))) &&
           !header_lists(accept, STR("text/event-stream"));
}

/* NULL: none of our transports. */
static const struct transport *choose_transport(struct http_request *req, struct str format)
{
    if (str_absent(format))
        return accepts_lines(http_header(req, "Accept")) ? &transport_ndjson : &transport_sse;
    return str_is(format, "sse")      ? &transport_sse
           : str_is(format, "ndjson") ? &transport_ndjson
                                      : NULL;
}

static void open_socket(struct http_request *req, struct job_request *what)
{
    what->transport = &transport_websocket;
    if (websocket_check(req) && read_flag(req, "envelope", false, &what->format.wrap) &&
        api_take_permit(req, &what->permit))
        job_stream_open(app_loop_of(req)->streams, req, what);
}

static void open_stream(struct http_request *req, struct job_request *what)
{
    what->transport = choose_transport(req, http_query(req, "format"));
    if (what->transport == NULL) {
        http_respond_error(req, 422, "format must be sse, ndjson or json");
        return;
    }
    http_set_header(req, "Vary", STR("Accept"));
    /* JSON lines carry the event id in the envelope; without it a reader could not resume. */
    bool wraps = what->transport == &transport_ndjson;
    if (read_flag(req, "envelope", wraps, &what->format.wrap) &&
        api_take_permit(req, &what->permit))
        job_stream_open(app_loop_of(req)->streams, req, what);
}

/* ?wait=S or ?format=json: one page. */
static bool asks_page(const struct http_request *req)
{
    return !str_absent(http_query(req, "wait")) || str_is(http_query(req, "format"), "json");
}

static void open_page(struct http_request *req, const struct job_request *what)
{
    struct poll_request poll = { .job = what->job,
                                 .format = what->format,
                                 .after = what->after };
    int64_t limit;

    if (!jobs_read_number(req, "limit", DEFAULT_LIMIT, &limit) ||
        !jobs_read_wait(req, &poll.wait_ms))
        return;
    poll.limit = (size_t)limit;
    if (limit < 1 || limit > MAX_LIMIT)
        http_respond_error(req, 422, "limit must be from 1 to %d", MAX_LIMIT);
    else if (api_take_permit(req, &poll.permit))
        poll_open(app_loop_of(req)->streams, req, &poll);
}

void api_events(struct http_request *req)
{
    struct job_request what = { .job = http_param(req, "id") };

    if (!read_format(req, &what.format))
        return;
    if (!jobs_read_place(req, http_query(req, "after"), &what))
        http_respond_error(req, 422, "after must be an id such as 57 or 57.1");
    else if (websocket_is_asked(req))
        open_socket(req, &what);
    else if (asks_page(req))
        open_page(req, &what);
    else
        open_stream(req, &what);
}

/* --- several jobs ---------------------------------------------------------------------- */

static bool read_topics(struct http_request *req, bool *ret)
{
    struct str topics = http_query(req, "topics");

    *ret = str_is(topics, "system");
    if (topics.n == 0 || *ret)
        return true;
    return http_respond_error(req, 422, "the only topic is system");
}

static const struct transport *choose_for_many(struct http_request *req)
{
    const struct transport *transport = websocket_is_asked(req)
                                            ? &transport_websocket
                                            : choose_transport(req, http_query(req, "format"));

    if (transport == NULL)
        http_respond_error(req, 422, "format must be sse or ndjson");
    else if (transport == &transport_websocket && !websocket_check(req))
        return NULL;
    return transport;
}

void api_stream(struct http_request *req)
{
    struct mux_request what = { .jobs = http_query(req, "jobs"),
                                .last_id = http_header(req, "Last-Event-ID") };

    if (!read_format(req, &what.format) || !read_topics(req, &what.watches))
        return;
    what.transport = choose_for_many(req);
    if (what.transport == NULL)
        return;
    if (what.transport != &transport_websocket && what.jobs.n == 0 && !what.watches) {
        http_respond_error(req, 422,
                           "jobs or topics must be given, or a WebSocket be asked for");
        return;
    }
    http_set_header(req, "Vary", STR("Accept"));
    if (api_take_permit(req, &what.permit))
        mux_open(app_loop_of(req)->streams, req, &what);
}
