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

static int put_lines(const struct args *args, yyjson_val *job, struct buf *out)
{
    size_t i, n;
    yyjson_val *key, *v;

    (void)args;
    yyjson_obj_foreach(job, i, n, key, v) put_line(out, json_text(key), v);
    return EXIT_OK;
}

static int run(const struct args *args)
{
    return remote_show(args, "/v1/jobs/", "", put_lines);
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
