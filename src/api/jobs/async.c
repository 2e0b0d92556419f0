/* /v1/jobs/async: the asynchronous job API, with its validation errors. */
#include "api/admit.h"
#include "api/jobs/jobs.h"

#include "base/error.h"
#include "base/json_format.h"
#include "dialect/render.h"

#include <stdlib.h>

void api_aiq_agents(struct http_request *req)
{
    const struct app_settings *now = app_settings(app_loop_of(req)->app);
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    json_begin_list(&out, "agents");
    for (size_t i = 0; i < now->n_agents; i++) {
        if (!now->agents[i].is_public)
            continue;
        json_format(json_next(&out), "{'agent_type':%s,'description':%s}", now->agents[i].name,
                    now->agents[i].description);
    }
    json_end_list(&out);
    api_json(req, 200, &out);
}

/* --- submit: every failing field is listed ---------------------------------------------- */

#define NOT_AN_INTEGER "Input should be a valid integer, unable to parse string as an integer"

static void complain(struct buf *list,
                     struct str type,
                     struct str field,
                     struct str text,
                     const yyjson_val *input,
                     struct str context)
{
    json_format(json_next(list), "{'type':%s,'loc':['body',%s],'msg':%s", type, field, text);
    json_add_value(list, "input", input);
    if (context.p != NULL)
        json_add_raw(list, "ctx", context);
    json_end(list);
}

/* A required text field; @root is what pydantic shows when it is missing. */
static struct str need_text(struct buf *list, const yyjson_val *root, struct str field)
{
    const yyjson_val *v = json_get(root, field);

    if (v == NULL)
        complain(list, STR("missing"), field, STR("Field required"), root, STR_NONE);
    else if (!yyjson_is_str((yyjson_val *)v))
        complain(list, STR("string_type"), field, STR("Input should be a valid string"), v,
                 STR_NONE);
    return json_text(v);
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r')
            return false;
    return true;
}

static void check_input(struct buf *list, const yyjson_val *root)
{
    struct str input = need_text(list, root, STR("input"));
    const yyjson_val *v = json_at(root, "input");

    if (input.p != NULL && input.n == 0)
        complain(list, STR("string_too_short"), STR("input"),
                 STR("String should have at least 1 character"), v,
                 STR("{" JSON_CONST("min_length", "1") "}"));
    else if (input.p != NULL && is_blank(input))
        complain(list, STR("value_error"), STR("input"),
                 STR("Value error, Input must not be blank"), v,
                 STR("{" JSON_CONST("error", "{}") "}"));
}

static struct str check_job_id(struct buf *list, const yyjson_val *root)
{
    const yyjson_val *v = json_at(root, "job_id");
    struct str id = json_text(v);

    if (json_is_null(v))
        return STR_NONE;
    if (id.p == NULL)
        complain(list, STR("string_type"), STR("job_id"), STR("Input should be a valid string"),
                 v, STR_NONE);
    else if (id.n > 64)
        complain(list, STR("string_too_long"), STR("job_id"),
                 STR("String should have at most 64 characters"), v,
                 STR("{" JSON_CONST("max_length", "64") "}"));
    else if (!job_id_valid(id))
        complain(list, STR("string_pattern_mismatch"), STR("job_id"),
                 STR("String should match pattern '^[a-zA-Z0-9_-]+$'"), v,
                 STR("{" JSON_LIT("pattern", "^[a-zA-Z0-9_-]+$") "}"));
    return id;
}

/* 3600, 3600.0 and "3600" are all 3600. */
static bool whole_number(const yyjson_val *v, int64_t *ret, bool *ret_fraction)
{
    struct str text = json_text(v);
    int64_t value = 0;
    size_t i = 0;

    *ret_fraction = false;
    if (unsafe_yyjson_is_raw((yyjson_val *)v))
        text = str_make(unsafe_yyjson_get_raw((yyjson_val *)v),
                        unsafe_yyjson_get_len((yyjson_val *)v));
    bool negative = text.n > 0 && text.p[0] == '-';

    text = str_skip(text, negative);
    for (; i < text.n && i < 18 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        value = value * 10 + (text.p[i] - '0');
    if (i == 0)
        return false;
    *ret = negative ? -value : value;
    if (i < text.n && text.p[i] == '.') {
        for (i++; i < text.n && text.p[i] == '0'; i++)
            ;
        *ret_fraction = i < text.n;
    }
    return i == text.n || *ret_fraction;
}

static int64_t check_expiry(struct buf *list, const yyjson_val *root)
{
    const yyjson_val *v = json_at(root, "expiry_seconds");
    struct str field = STR("expiry_seconds");
    int64_t value = 0;
    bool fraction;

    if (json_is_null(v))
        return 0;
    if (!whole_number(v, &value, &fraction))
        complain(list, STR("int_parsing"), field, STR(NOT_AN_INTEGER), v, STR_NONE);
    else if (fraction)
        complain(list, STR("int_from_float"), field,
                 STR("Input should be a valid integer, got a number with a fractional part"), v,
                 STR_NONE);
    else if (value < 600)
        complain(list, STR("greater_than_equal"), field,
                 STR("Input should be greater than or equal to 600"), v,
                 STR("{" JSON_CONST("ge", "600") "}"));
    else if (value > 604800)
        complain(list, STR("less_than_equal"), field,
                 STR("Input should be less than or equal to 604800"), v,
                 STR("{" JSON_CONST("le", "604800") "}"));
    return value;
}

/* The JSON reader's message ends with the offset. */
static uint64_t offset_in(const struct error *err)
{
    const char *at = strrchr(err->text, ' ');

    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

/* @list: the validation errors, separated by commas. */
static void refuse(struct http_request *req, const struct buf *list)
{
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    out.error = list->error;
    json_begin_list(&out, "detail");
    buf_str(&out, buf_text(list));
    json_end_list(&out);
    api_json(req, 422, &out);
}

static void refuse_json(struct http_request *req, const struct error *err)
{
    struct buf b LOCAL_BUF(4096);

    json_format(&b,
                "{'type':'json_invalid','loc':['body',%d],'msg':'JSON decode error',"
                "'input':{},'ctx':{'error':%s}}",
                offset_in(err), err->text);
    refuse(req, &b);
}

static bool unknown_agent(struct journal_call *call, struct str agent)
{
    const struct app_settings *now = app_settings(call->loop->app);
    struct buf list LOCAL_BUF(4096);
    bool known = false;

    for (size_t i = 0; i < now->n_agents; i++) {
        known |= str_eq(now->agents[i].name, agent);
        if (!now->agents[i].is_public)
            continue;
        if (list.n > 0)
            buf_lit(&list, ", ");
        buf_str(&list, now->agents[i].name);
    }
    if (!known)
        http_respond_error(call->req, 400, "Unknown agent type: '%.*s'. Available: %.*s",
                           STR_ARG(str_head(agent, 100)), STR_ARG(buf_text(&list)));
    return !known;
}

static bool read_submit(struct journal_call *call, struct json_reader *reader)
{
    struct buf list LOCAL_BUF(1024 * 1024);
    struct error err;
    struct json j;

    int code = json_read(reader, buf_text(&call->body), &j, &err);
    if (code == ERR_NOMEM)
        return api_no_memory(call->req);
    if (code != 0) {
        refuse_json(call->req, &err);
        return false;
    }
    if (!yyjson_is_obj(j.root))
        return http_respond_error(call->req, 422, "the body must be a JSON object");
    struct str agent = need_text(&list, j.root, STR("agent_type"));
    check_input(&list, j.root);
    struct str id = check_job_id(&list, j.root);
    int64_t expiry = check_expiry(&list, j.root);
    bool is_good = list.n == 0 && list.error == 0;
    if (!is_good)
        refuse(call->req, &list);
    return is_good && !unknown_agent(call, agent) &&
           jobs_fill_submit(call, agent, json_at(j.root, "input"), id, expiry);
}

void api_aiq_submit(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_SUBMIT, jobs_answer_submit);

    if (call == NULL)
        return;
    call->aiq = true;
    journal_call_read(call, 64, read_submit);
}

/* --- the stream ------------------------------------------------------------------------- */

/* The id in the path is an integer in Python's syntax, as in that API's own server: -1, +5, 5.0
 * and 1_000 are valid. */
static bool read_path_id(struct str text, int64_t *ret)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    int64_t value = 0;
    size_t i = text.n > 0 && (negative || text.p[0] == '+'), digits = 0;

    for (; i < text.n && text.p[i] != '.'; i++) {
        if (text.p[i] == '_' && digits > 0)
            continue;
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        if (digits++ < 18) /* more digits: not an id of ours */
            value = value * 10 + (text.p[i] - '0');
        else
            value = INT64_MAX;
    }
    for (i += i < text.n; i < text.n; i++)
        if (text.p[i] != '0')
            return false;
    *ret = negative ? -value : value;
    return digits > 0 && text.p[text.n - 1] != '_';
}

static void refuse_path_id(struct http_request *req, struct str id)
{
    struct buf b LOCAL_BUF(4096);

    json_format(&b, "{'type':'int_parsing','loc':['path','last_event_id'],'msg':%s,'input':%s}",
                NOT_AN_INTEGER, str_head(id, 100));
    refuse(req, &b);
}

void api_aiq_stream(struct http_request *req)
{
    struct str path_id = http_param(req, "last");
    struct job_request what = { .job = http_param(req, "id"), .transport = &transport_sse };
    int64_t id = 0;

    if (path_id.p != NULL && !read_path_id(path_id, &id)) {
        refuse_path_id(req, path_id);
        return;
    }
    what.format.dialect = &dialect_aiq;
    what.format.variant.aiq_compat = app_loop_of(req)->app->aiq_compat;
    (void)jobs_read_place(req, STR_NONE, &what); /* the header may be absent */
    if (!what.by_header && id > 0) {
        what.after = (struct cursor){ .seq = (uint64_t)id };
        what.resumed = what.by_path = true;
    }
    if (api_take_permit(req, &what.permit))
        job_stream_open(app_loop_of(req)->streams, req, &what);
}
