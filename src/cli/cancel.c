/* `spoolwire cancel`: asks for jobs to be stopped. */
#include "cli/commands.h"
#include "cli/remote.h"

static int run(const struct args *args)
{
    struct client_reply reply;
    struct remote r;

    int code = remote_open(args, &r);
    client_reply_init(&reply);
    for (size_t i = 0; r.client != NULL && i < args->n_words; i++) {
        int one = remote_job(&r, "POST", "/v1/jobs/", args_word(args, i), "/cancel", &reply);

        if (one == EXIT_OK && args_have(args, FLAG_JSON))
            one = remote_write(&r, &reply);
        code = one > code ? one : code;
    }
    client_reply_done(&reply);
    remote_close(&r);
    return code;
}

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB…",
    .about = "stop jobs",
    .story = "Cancels jobs that have not ended, wherever they are.  Asking twice does no harm.",
    .exits = "0 they are cancelled or about to be",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = COMMAND_MANY,
    .run = run,
};
