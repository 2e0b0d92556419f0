/* `spoolwire tail`: a job's frames, as they come, until the job has ended. */
#include "cli/commands.h"
#include "cli/remote.h"

enum { OPT_DIALECT = FLAG_OWN, OPT_AFTER, OPT_RAW };

static const struct flag flags[] = {
    { OPT_DIALECT, "dialect", "DIALECT", NULL,
      "The protocol of the frames (agent); `spoolwire dialects` shows them." },
    { OPT_AFTER, "after", "ID", NULL, "Only the frames after this id, such as 57 or 57.1." },
    { OPT_RAW, "raw", NULL, NULL, "Whole frames, as server-sent events." },
    { 0 },
};

static int run(const struct args *args)
{
    const char *dialect = args_get(args, OPT_DIALECT);
    struct remote r;

    int code = remote_open(args, &r);
    struct remote_follow f = { .remote = &r,
                               .job = args_word(args, 0),
                               .dialect = dialect != NULL ? dialect : "agent",
                               .after = args_get(args, OPT_AFTER),
                               .raw = args_have(args, OPT_RAW) };
    if (code == EXIT_OK)
        code = remote_follow(&f);
    remote_close(&r);
    return code;
}

const struct command command_tail = {
    .name = "tail",
    .arguments = "JOB",
    .about = "follow a job's events",
    .story = "Writes the job's frames, each one's data on a line, from the beginning until the "
             "job has ended.  A lost connection is made again by itself, and goes on where it "
             "was.",
    .flags = flags,
    .exits = "0 the job succeeded\n1 it failed or was cancelled",
    .takes = COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
