/* GET /v1/jobs/{id}/events: in which way, from which place, over which transport. */
#include "api/admit.h"
#include "api/jobs.h"

#include "http/header.h"
#include "transport/websocket.h"

enum { DEFAULT_LIMIT = 500, MAX_LIMIT = 5000 };

/* --- where -------------------------------------------------------------------------- */

/* "", "0", "-1" and "-" mean the beginning. */
static bool read_cursor(struct str text, struct cursor *ret)
{
    *ret = (struct cursor){ 0 };
    if (text.n == 0 || str_is(text, "0") || str_is(text, "-1") || str_is(text, "-"))
        return true;
    if (cursor_parse(text, ret) == 0)
        return true;
    /* A number that is too long to be an id of ours is foreign, and no mistake in writing. */
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    ret->seq = INT64_MAX;
    return text.n > 19 && text.p[0] != '0';
}

bool jobs_read_place(struct http_request *req, struct str given, struct job_request *ret)
{
    struct str header = http_header(req, "Last-Event-ID");
    struct str text = header.n > 0 ? header : given;

    ret->by_header = header.n > 0;
    if (!read_cursor(text, &ret->after)) {
        if (!ret->by_header)
            return false;
        ret->after = (struct cursor){ 0 }; /* some other server's id: from the beginning */
        ret->by_header = false;
    }
    ret->resumed = ret->after.seq > 0;
    return true;
}

/* --- in which way ------------------------------------------------------------------- */

static uint32_t read_modes(struct str list)
{
    uint32_t all = 0;

    while (list.n > 0) {
        struct str name = str_head(list, str_find(list, ','));

        all |= mode_find(name);
        list = str_skip(list, name.n + 1);
    }
    return all != 0 ? all : MODE_DEFAULT;
}

static bool read_flag(struct http_request *req, const char *name, bool otherwise)
{
    struct str value = http_query(req, name);

    return str_absent(value) ? otherwise : str_is(value, "true") || str_is(value, "1");
}

static bool read_way(struct http_request *req, struct way *ret)
{
    struct str dialect = http_query(req, "dialect");

    ret->dialect = dialect_find(dialect.n > 0 ? dialect : STR("agent"));
    ret->variant.modes = read_modes(http_query(req, "modes"));
    ret->variant.subgraphs = read_flag(req, "subgraphs", false);
    ret->variant.aiq_compat = app_loop_of(req)->app->aiq_compat;
    if (ret->dialect == NULL)
        http_respond_error(req, 422, "there is no dialect '%.*s': see /v1/dialects",
                           STR_ARG(str_head(dialect, 40)));
    return ret->dialect != NULL;
}

/* --- over which transport ----------------------------------------------------------- */

static bool accepts_lines(struct str accept)
{
    return (header_lists(accept, STR("application/x-ndjson")) ||
            header_lists(accept, STR("application/ndjson")) ||
            header_lists(accept, STR("application/jsonl"))) &&
           !header_lists(accept, STR("text/event-stream"));
}

/* NULL: none of ours. */
static const struct carrier *choose_carrier(struct http_request *req, struct str format)
{
    if (str_absent(format))
        return accepts_lines(http_header(req, "Accept")) ? &carrier_ndjson : &carrier_sse;
    return str_is(format, "sse")      ? &carrier_sse
           : str_is(format, "ndjson") ? &carrier_ndjson
                                      : NULL;
}

static void open_socket(struct http_request *req, struct job_request *what)
{
    what->carrier = &carrier_websocket;
    what->way.wrap = read_flag(req, "envelope", false);
    if (websocket_check(req) && api_take_permit(req, &what->permit))
        job_stream_open(app_loop_of(req)->streams, req, what);
}

static void open_stream(struct http_request *req, struct job_request *what)
{
    what->carrier = choose_carrier(req, http_query(req, "format"));
    if (what->carrier == NULL) {
        http_respond_error(req, 422, "format must be sse, ndjson or json");
        return;
    }
    http_set_header(req, "Vary", STR("Accept"));
    /* A line without its id would be one that nobody can come back to. */
    what->way.wrap = read_flag(req, "envelope", what->carrier == &carrier_ndjson);
    if (api_take_permit(req, &what->permit))
        job_stream_open(app_loop_of(req)->streams, req, what);
}

/* ?wait=S or ?format=json: one page. */
static bool asks_page(const struct http_request *req)
{
    return !str_absent(http_query(req, "wait")) || str_is(http_query(req, "format"), "json");
}

static void open_page(struct http_request *req, const struct job_request *what)
{
    int64_t limit = jobs_number_or(http_query(req, "limit"), DEFAULT_LIMIT);
    struct poll_request poll = { .job = what->job,
                                 .way = what->way,
                                 .after = what->after,
                                 .limit = (size_t)limit,
                                 .wait_ms = jobs_wait_ms(req) };

    if (limit < 1 || limit > MAX_LIMIT)
        http_respond_error(req, 422, "limit must be from 1 to %d", MAX_LIMIT);
    else if (api_take_permit(req, &poll.permit))
        poll_open(app_loop_of(req)->streams, req, &poll);
}

void api_events(struct http_request *req, void *arg)
{
    struct job_request what = { .job = http_param(req, "id") };

    (void)arg;
    if (!read_way(req, &what.way))
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
