/* `spoolwire report`: the text that a job has made. */
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "terminal/term.h"

#include <unistd.h>

/* Unchanged into a file or pipe; without control characters on a terminal. */
static int put_report(const struct args *args, yyjson_val *answer, struct buf *out)
{
    yyjson_val *report = json_at(answer, "report");
    struct str text = json_text(report);

    if (!yyjson_is_true(json_at(answer, "has_report"))) {
        (void)cli_trouble(args->path, "the job %.*s has no report",
                          STR_ARG(args_word(args, 0)));
        return EXIT_BAD_NEWS;
    }
    if (text.p == NULL)
        json_put_value(out, report);
    else if (isatty(STDOUT_FILENO))
        visible_put_lines(out, text);
    else
        buf_str(out, text);
    if (!str_ends(buf_text(out), STR("\n")))
        buf_char(out, '\n');
    return EXIT_OK;
}

static int run(const struct args *args)
{
    return remote_show(args, "/v1/jobs/async/job/", "/report", put_report);
}

const struct command command_report = {
    .name = "report",
    .arguments = "JOB",
    .about = "write the report that a job has made",
    .story =
        "Writes a job's report: the artifact that is its final report, else its output when "
        "that is a text.",
    .exits = "0 the job has a report, or with --json in any case\n1 it has none, or not yet",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
