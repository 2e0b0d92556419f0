/* `spoolwire cancel`: asks for a job to be stopped. */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/remote.h"

#include <stdio.h>

static int help(void)
{
    puts(
        "Usage: spoolwire cancel [OPTION…] JOB\n"
        "\n"
        "Cancels a job that has not ended, wherever it is.  Asking twice does no harm.\n"
        "\n" REMOTE_HELP "\n"
        "Exit status: 0 it is cancelled or about to be; 2 usage; 3 trouble: no such job, it has\n"
        "ended already, or the server is not there.");
    return EXIT_OK;
}

static int cancel(struct client *c, struct str job)
{
    struct client_reply reply;
    struct buf path;
    int code;

    client_reply_init(&reply);
    buf_init(&path, 16 * 1024);
    remote_job_path(&path, "/v1/jobs/", job, "/cancel");
    if (path.error != 0)
        code = remote_trouble("cancel", "the job's id is too long");
    else if (client_post(c, path.p, NULL, STR_NONE, REMOTE_TIMEOUT_MS, &reply) != 0)
        code = remote_trouble("cancel", "%s", client_error(c));
    else if (reply.status < 200 || reply.status > 299)
        code = remote_refused("cancel", &reply);
    else
        code = EXIT_OK;
    buf_done(&path);
    client_reply_done(&reply);
    return code;
}

enum option_id { OPT_URL = 256, OPT_HELP };

static const struct option options[] = {
    { "url", required_argument, NULL, OPT_URL },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

int cli_cancel(int argc, char **argv)
{
    struct client *c = NULL;
    const char *url = NULL;
    int id;

    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (id == OPT_HELP)
            return help();
        if (id != OPT_URL)
            return remote_bad_option("cancel", id, argv);
        url = optarg;
    }
    if (argc - optind != 1)
        return cli_usage_error("cancel", "it takes one job's id");
    int code = remote_open("cancel", url, &c);
    if (code == EXIT_OK)
        code = cancel(c, str_of(argv[optind]));
    client_free(c);
    return code;
}
