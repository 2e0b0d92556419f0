/* `spoolwire delete`: removes jobs, with their events. */
#include "base/json_format.h"
#include "cli/commands.h"
#include "cli/remote.h"

static int tell(const struct remote *r, struct str job, struct client_reply *reply)
{
    struct buf out LOCAL_BUF(REMOTE_MAX_PATH);

    (void)reply; /* empty */
    json_format(&out, "{'job_id':%s,'deleted':true}\n", job);
    return cli_write(r->path, buf_text(&out));
}

static int run(const struct args *args)
{
    return remote_each(args, "DELETE", "/v1/jobs/", "", tell);
}

const struct command command_delete = {
    .name = "delete",
    .arguments = "JOB…",
    .about = "remove jobs and their events",
    .story = "Removes jobs and their events for good.  One that has not ended is cancelled.",
    .exits = "0 they are gone",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = COMMAND_MANY,
    .run = run,
};
