/* `spoolwire record`: a job's records as a file, for `spoolwire replay`. */
#include "base/error.h"
#include "cli/commands.h"
#include "cli/remote.h"

#include <stdio.h>

struct recording {
    struct remote remote;
    bool ended; /* the last record has come */
};

static int on_frame(void *arg, const struct client_frame *frame)
{
    struct recording *r = arg;

    if (frame->id.p == NULL)
        return 0; /* a heartbeat is not part of the run */
    (void)fwrite(frame->data.p, 1, frame->data.n, stdout); /* on_rest() checks for errors */
    (void)putchar('\n');
    r->ended = frame->event.p != NULL && str_is(frame->event, "job.end");
    return 0;
}

static int on_rest(void *arg)
{
    (void)arg;
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : ERR_CLOSED;
}

static void on_note(void *arg, const char *why)
{
    const struct recording *r = arg;

    if (why != NULL)
        (void)cli_trouble(r->remote.path, "%s; trying again", why);
}

static int record(struct recording *r, struct str job)
{
    struct client_follow how = {
        .frame = on_frame, .rest = on_rest, .note = on_note, .arg = r
    };
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);

    remote_job_path(&path, "/v1/jobs/", job, "/events?dialect=raw");
    how.path = how.again = path.p;
    int err = path.error != 0 ? path.error : client_follow(r->remote.client, &how);
    if (err == ERR_CLOSED)
        return cli_trouble(r->remote.path, "the output cannot be written");
    return err == 0 ? EXIT_OK : remote_failed(&r->remote, err);
}

static int run(const struct args *args)
{
    struct recording r = { .ended = false };

    int code = remote_open(args, &r.remote);
    if (code == EXIT_OK)
        code = record(&r, args_word(args, 0));
    if (code == EXIT_OK && !r.ended)
        code = cli_trouble(args->path, "the job's records end without its end");
    remote_close(&r.remote);
    return code;
}

const struct command command_record = {
    .name = "record",
    .arguments = "JOB",
    .about = "write a job's run, for replay",
    .story = "Writes the records of a job, one a line, until it has ended:\n"
             "\n"
             "  spoolwire record JOB >run.ndjson\n"
             "\n"
             "The file is what spoolwire replay serves again.",
    .exits = "0 all of it is written",
    .takes = COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
