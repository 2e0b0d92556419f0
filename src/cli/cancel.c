/* `spoolwire cancel`: asks for jobs to be stopped. */
#include "cli/commands.h"
#include "cli/remote.h"

static int run(const struct args *args)
{
    return remote_each(args, "POST", "/v1/jobs/", "/cancel", remote_tell);
}

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB…",
    .about = "stop jobs",
    .story = "Cancels jobs that have not ended.  Cancelling twice does no harm.",
    .exits = "0 they are cancelled or about to be",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = COMMAND_MANY,
    .run = run,
};
