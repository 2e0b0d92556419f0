/* `spoolwire tail`: a job's frames, as they come, until the job has ended. */
#include "cli/commands.h"
#include "cli/remote.h"
#include "terminal/term.h"

enum { OPT_DIALECT = FLAG_OWN, OPT_AFTER, OPT_RAW, OPT_LINES, OPT_COLOR };

static const struct flag flags[] = {
    { OPT_DIALECT, "dialect", "DIALECT", NULL,
      "The protocol of the frames (agent); `spoolwire dialects` shows them." },
    { OPT_AFTER, "after", "ID", NULL, "Only the frames after this id, such as 57 or 57.1." },
    { OPT_RAW, "raw", NULL, NULL, "Whole frames, as server-sent events." },
    { OPT_LINES, "lines", NULL, NULL,
      "Lines also on a terminal, as with any of the options above but --after." },
    { OPT_COLOR, "color", "WHEN", TERM_COLOR_WORDS, FOLLOW_COLOR_HELP },
    { 0 },
};

static int run(const struct args *args)
{
    const char *dialect = args_get(args, OPT_DIALECT);
    bool lines = dialect != NULL || args_have(args, OPT_RAW) || args_have(args, OPT_LINES) ||
                 args_have(args, FLAG_JSON);
    struct remote r LOCAL_REMOTE;
    struct remote answers LOCAL_REMOTE;
    struct term term;
    struct remote_follow f = { .remote = &r,
                               .job = args_word(args, 0),
                               .dialect = dialect != NULL ? dialect : "agent",
                               .after = args_get(args, OPT_AFTER),
                               .raw = args_have(args, OPT_RAW) };

    if (!remote_view(&term, args_get(args, OPT_COLOR), lines, &f.term))
        return cli_usage_error(args->path, "--color must be auto, always or never");
    int code = remote_open(args, &r);
    if (code == EXIT_OK)
        code = remote_hear(args, &f, &answers);
    return code != EXIT_OK ? code : remote_follow(&f);
}

const struct command command_tail = {
    .name = "tail",
    .arguments = "JOB",
    .about = "follow a job's events",
    .story =
        "Follows a job from its beginning until it has ended.  On a terminal it shows the "
        "agents at work, and takes the answers to their questions; into a pipe or file, or when a dialect is given, it writes frames, "
        "each one's data on a line.  After a lost connection it reconnects and resumes "
        "where it was.",
    .flags = flags,
    .exits = "0 the job succeeded\n1 it failed or was cancelled",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
