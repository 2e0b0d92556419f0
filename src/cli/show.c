/* `spoolwire show`: what the server knows of a job, a line for each thing. */
#include "base/utf8.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/remote.h"

enum { MAX_ANSWER = 64 * 1024 * 1024, SHOWN = 200 };

static void put_line(struct buf *b, struct str key, const yyjson_val *v)
{
    struct str text = json_text(v);
    size_t from = b->n;
    struct buf json;

    if (json_is_null(v))
        return;
    buf_init(&json, MAX_ANSWER);
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
    buf_done(&json);
}

static int show_lines(const struct remote *r, const struct client_reply *reply)
{
    struct json_reader reader;
    struct json json;
    struct buf out;
    size_t i, n;
    yyjson_val *key, *v;

    buf_init(&out, MAX_ANSWER);
    int code = remote_json(r, reply, &reader, &json);
    if (code == EXIT_OK) {
        yyjson_obj_foreach(json.root, i, n, key, v) put_line(&out, json_text(key), v);
        code = cli_write(r->path, buf_text(&out));
    }
    buf_done(&out);
    json_reader_done(&reader);
    return code;
}

static int run(const struct args *args)
{
    struct client_reply reply;
    struct remote r;

    int code = remote_open(args, &r);
    client_reply_init(&reply);
    if (code == EXIT_OK)
        code = remote_job(&r, "GET", "/v1/jobs/", args_word(args, 0), "", &reply);
    if (code == EXIT_OK)
        code = args_have(args, FLAG_JSON) ? remote_write(&r, &reply) : show_lines(&r, &reply);
    client_reply_done(&reply);
    remote_close(&r);
    return code;
}

const struct command command_show = {
    .name = "show",
    .arguments = "JOB",
    .about = "show a job",
    .story = "Writes a job's state and what else the server knows of it.",
    .exits = "0 the job is there, whatever its state",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
