/* `spoolwire show`: what the server knows of a job, a line for each thing. */
#include "base/utf8.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "terminal/question.h"
#include "cli/remote.h"

enum { MAX_ANSWER = 64 * 1024 * 1024, SHOWN = 200 };

static void put_line(struct buf *b, struct str key, const yyjson_val *v)
{
    struct str text = json_text(v);
    size_t from = b->n;
    struct buf json LOCAL_BUF(MAX_ANSWER);

    if (json_is_null(v))
        return;
    if (text.p == NULL) {
        json_put_value(&json, v);
        text = buf_text(&json);
    }
    struct str shown = utf8_head(text, SHOWN);
    visible_put(b, key);
    do
        buf_char(b, ' ');
    while (b->n - from < 16 && b->error == 0);
    visible_put(b, shown);
    if (shown.n < text.n)
        buf_lit(b, "…");
    buf_char(b, '\n');
}

/* What it waits for. */
static int put_questions(const struct args *args, struct buf *out)
{
    struct client_reply reply LOCAL_REPLY;
    struct json_reader reader ANSWER_READER;
    struct json json;
    struct remote r LOCAL_REMOTE;

    int code = remote_open(args, &r);
    if (code == EXIT_OK)
        code = remote_job(&r, "GET", "/v1/interrupts?job=", args_word(args, 0), "", &reply);
    if (code == EXIT_OK)
        code = remote_json(&r, &reply, &reader, &json);
    if (code != EXIT_OK)
        return code;
    json_each(q, json_at(json.root, "interrupts")) {
        put_line(out, STR("asks"), question_words(q));
        put_line(out, STR("  interrupt_id"), json_at(q, "interrupt_id"));
        put_line(out, STR("  expires_at"), json_at(q, "expires_at"));
    }
    return EXIT_OK;
}

/* What is known of a failure, a line for each thing; what its process wrote follows whole. */
static void put_details(struct buf *out, yyjson_val *details)
{
    struct str stderr_text = json_text(json_at(details, "stderr"));
    size_t i, n;
    yyjson_val *key, *v;

    if (!yyjson_is_obj(details))
        return;
    yyjson_obj_foreach(details, i, n, key, v)
    {
        if (!str_is(json_text(key), "stderr") || !yyjson_is_str(v))
            put_line(out, json_text(key), v);
    }
    if (stderr_text.n == 0)
        return;
    buf_lit(out, "stderr\n");
    visible_put_lines(out, stderr_text);
    if (stderr_text.p[stderr_text.n - 1] != '\n')
        buf_char(out, '\n');
}

static int put_lines(const struct args *args, yyjson_val *job, struct buf *out)
{
    json_each_member(key, v, job)
        if (!str_is(json_text(key), "details"))
            put_line(out, json_text(key), v);
    put_details(out, json_at(job, "details"));
    return str_is(json_text(json_at(job, "state")), "waiting") ? put_questions(args, out)
                                                               : EXIT_OK;
}

static int run(const struct args *args)
{
    return remote_show(args, "/v1/jobs/", "", put_lines);
}

const struct command command_show = {
    .name = "show",
    .arguments = "JOB",
    .about = "show a job",
    .story =
        "Writes a job's state and what else the server knows of it; of one that waits also "
        "the questions that it has asked, of one whose process failed what that wrote last.",
    .exits = "0 the job is there, whatever its state",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
