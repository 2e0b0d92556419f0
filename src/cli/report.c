/* `spoolwire report`: the text that a job has made. */
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "cli/term.h"

#include <unistd.h>

enum { MAX_OUT = 256 * 1024 * 1024 };

/* As it is into a file or pipe; a terminal gets nothing that it would obey. */
static void put_report(yyjson_val *report, struct buf *out)
{
    struct str text = json_text(report);

    if (text.p == NULL)
        json_put_value(out, report);
    else if (isatty(STDOUT_FILENO))
        visible_put_lines(out, text);
    else
        buf_str(out, text);
    if (!str_ends(buf_text(out), STR("\n")))
        buf_char(out, '\n');
}

static int write_report(const struct remote *r,
                        const struct client_reply *reply,
                        struct str job)
{
    struct json_reader reader;
    struct json json;
    struct buf out;

    buf_init(&out, MAX_OUT);
    int code = remote_json(r, reply, &reader, &json);
    if (code == EXIT_OK && !yyjson_is_true(json_at(json.root, "has_report"))) {
        (void)cli_trouble(r->path, "the job %.*s has no report", STR_ARG(job));
        code = EXIT_BAD_NEWS;
    } else if (code == EXIT_OK) {
        put_report(json_at(json.root, "report"), &out);
        code = cli_write(r->path, buf_text(&out));
    }
    json_reader_done(&reader);
    buf_done(&out);
    return code;
}

static int run(const struct args *args)
{
    struct client_reply reply;
    struct remote r;

    int code = remote_open(args, &r);
    client_reply_init(&reply);
    if (code == EXIT_OK)
        code =
            remote_job(&r, "GET", "/v1/jobs/async/job/", args_word(args, 0), "/report", &reply);
    if (code == EXIT_OK)
        code = args_have(args, FLAG_JSON) ? remote_write(&r, &reply)
                                          : write_report(&r, &reply, args_word(args, 0));
    client_reply_done(&reply);
    remote_close(&r);
    return code;
}

const struct command command_report = {
    .name = "report",
    .arguments = "JOB",
    .about = "write the report that a job has made",
    .story =
        "Writes a job's report: the artifact that is its final report, else its output when "
        "that is a text.",
    .exits = "0 here it is, or with --json whether there is one\n1 there is none, or not yet",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
