/* Reading a job: the line that an exec agent finds on its standard input; and saying how it
 * ended.
 *
 * The input is the issue's text, or an object with the text and options:
 *
 *     "API returns 500"      {"issue": "API returns 500", "seed": 7, "fan_out": 3}
 *
 * The asynchronous job API knows only text, so an object may also come as one. */
#include "base/json.h"
#include "base/json_format.h"
#include "demo/demo.h"

#include <stdio.h>

enum { MAX_LINE = 16 * 1024 * 1024, MAX_DEPTH = 64, HEARTBEAT_MS = 15000 };

void demo_job_init(struct demo_job *job, const struct demo_options *options)
{
    *job = (struct demo_job){ .id = STR("demo-1"),
                              .thread = STR("demo-1"),
                              .issue = STR("API returns 500 after deploy"),
                              .attempt = 1,
                              .heartbeat_ms = HEARTBEAT_MS,
                              .options = *options };
    arena_init(&job->mem);
}

void demo_job_done(struct demo_job *job)
{
    arena_done(&job->mem);
}

static int keep(struct demo_job *job, struct str text, struct str *ret)
{
    return arena_copy(&job->mem, text, ret) ? 0 : ERR_NOMEM;
}

/* A scalar as its text: what stands in the input is what stands on a command line. */
static struct str scalar(const yyjson_val *v)
{
    yyjson_val *value = (yyjson_val *)v;

    if (yyjson_is_raw(value))
        return str_make(yyjson_get_raw(value), yyjson_get_len(value));
    if (yyjson_is_bool(value))
        return yyjson_get_bool(value) ? STR("true") : STR("false");
    return json_text(value);
}

/* `question` is an option only when it is true or false. */
static bool is_issue(struct str key, yyjson_val *v)
{
    return yyjson_is_str(v) && (str_is(key, "issue") || str_is(key, "query") ||
                                str_is(key, "text") || str_is(key, "question"));
}

/* Ignore unknown members. */
static int read_member(struct demo_job *job, struct str key, yyjson_val *v, struct error *err)
{
    if (yyjson_is_null(v))
        return 0;
    if (is_issue(key, v))
        return keep(job, json_text(v), &job->issue);
    int code = demo_options_set(&job->options, key, scalar(v), err);
    return code == ERR_NOT_FOUND ? 0 : code;
}

static int read_object(struct demo_job *job, yyjson_val *input, struct error *err)
{
    json_each_member(key, v, input) {
        int code = read_member(job, json_text(key), v, err);

        if (code != 0)
            return code;
    }
    return 0;
}

static int read_text(struct demo_job *job, struct str text, struct error *err)
{
    struct json_reader reader LOCAL_READER(MAX_LINE, MAX_DEPTH);
    struct json json;
    int code;

    if (text.n > 0 && text.p[0] == '{' && json_read(&reader, text, &json, NULL) == 0)
        code = read_object(job, json.root, err);
    else
        code = text.n > 0 ? keep(job, text, &job->issue) : 0;
    return code;
}

static int keep_resume(struct demo_job *job, const yyjson_val *resume)
{
    struct buf b LOCAL_BUF(MAX_LINE);

    if (json_is_null(resume))
        return 0;
    json_put_value(&b, resume);
    return b.error != 0 ? b.error : keep(job, buf_text(&b), &job->resume);
}

static int read_root(struct demo_job *job, const struct json *json, struct error *err)
{
    struct str id = json_text(json_at(json->root, "job"));
    struct str thread = json_text(json_at(json->root, "thread"));
    yyjson_val *input = json_at(json->root, "input");
    double beat = 0;
    int code = 0;

    job->attempt = json_int(json_at(json->root, "attempt"), 1);
    (void)json_number(json_at(json->root, "heartbeat_seconds"), &beat); /* else it stays 0 */
    job->heartbeat_ms = beat > 0 && beat < 3600 ? (int64_t)(beat * 1000) : HEARTBEAT_MS;
    if (id.n > 0)
        code = keep(job, id, &job->id);
    if (code == 0)
        code = keep(job, json_text(json_at(json->root, "lease")), &job->lease);
    if (code == 0)
        code = keep(job, thread.n > 0 ? thread : job->id, &job->thread);
    if (code == 0)
        code = keep_resume(job, json_at(json->root, "resume"));
    if (code == 0 && yyjson_is_obj(input))
        code = read_object(job, input, err);
    else if (code == 0)
        code = read_text(job, json_text(input), err);
    return code;
}

static void put_failure(struct buf *b, const char *error, const char *type)
{
    json_format(b, "{'status':'failure','error':%s,'error_type':%s}", error, type);
}

void demo_put_finish(struct buf *b,
                     const struct demo_job *job,
                     enum demo_outcome outcome,
                     const char *error,
                     const char *type)
{
    char text[240];

    if (error != NULL) {
        put_failure(b, error, type);
    } else if (outcome == DEMO_RAISED) {
        (void)snprintf(text, sizeof(text), DEMO_ERROR_TEXT, job->options.fail_at); /* fits */
        put_failure(b, text, DEMO_ERROR_TYPE);
    } else if (outcome == DEMO_NO_MEMORY) {
        put_failure(b, "out of memory", "MemoryError");
    } else {
        json_format(b, "{'status':%s}",
                    outcome == DEMO_INTERRUPTED || outcome == DEMO_PAUSED ? "interrupted"
                                                                          : "success");
    }
}

int demo_job_read(struct demo_job *job, struct str line, struct error *err)
{
    struct json_reader reader LOCAL_READER(MAX_LINE, MAX_DEPTH);
    struct json json;

    *err = (struct error){ 0 };
    int code = json_read(&reader, line, &json, err);
    if (code == 0 && !yyjson_is_obj(json.root))
        code = error_set(err, ERR_TYPE, "a job is a JSON object");
    if (code == 0)
        code = read_root(job, &json, err);
    if (code != 0 && err->code == 0)
        (void)error_set(err, code, "%s", error_name(code));
    return code;
}
