/* `spoolwire tail`: a job's frames, as they come, until the job has ended.
 *
 * The stream's clean end says only that it is over; how the job ended is then asked of the
 * server, so that it does not depend on the dialect. */
#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/remote.h"

#include <stdio.h>
#include <unistd.h>

enum { MAX_PATH = 16 * 1024, STATE_TRIES = 6 };

static int help(void)
{
    puts(
        "Usage: spoolwire tail [OPTION…] JOB\n"
        "\n"
        "Writes the job's frames, each one's data on a line, from the beginning until the job\n"
        "has ended.  A lost connection is made again by itself, and goes on where it was.\n"
        "\n"
        "  --dialect NAME        agent (default), envelope, messages, nodes, aiq, raw\n"
        "  --after ID            only the frames after this id, such as 57 or 57.1\n"
        "  --raw                 whole frames, as server-sent events\n" REMOTE_HELP "\n"
        "Exit status: 0 the job succeeded; 1 it failed or was cancelled; 2 usage; 3 trouble\n"
        "with the server or the output.");
    return EXIT_OK;
}

/* --- what the client calls ---------------------------------------------------------------- */

static void write_field(const char *name, struct str value)
{
    if (value.p != NULL)
        (void)printf("%s: %.*s\n", name, STR_ARG(value)); /* on_rest sees errors */
}

static void write_lines(struct str data, const char *before)
{
    for (;;) {
        struct str line = str_head(data, str_find(data, '\n'));

        (void)printf("%s", before);
        (void)fwrite(line.p, 1, line.n, stdout);
        (void)putchar('\n');
        if (line.n == data.n)
            return;
        data = str_skip(data, line.n + 1);
    }
}

static int on_frame(void *arg, const struct client_frame *frame)
{
    const struct remote_follow *f = arg;

    if (!f->raw) {
        write_lines(frame->data, "");
        return 0;
    }
    write_field("id", frame->id);
    write_field("event", frame->event);
    write_lines(frame->data, "data: ");
    (void)putchar('\n');
    return 0;
}

static int on_rest(void *arg)
{
    (void)arg;
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : ERR_CLOSED;
}

static void on_note(void *arg, const char *why)
{
    const struct remote_follow *f = arg;

    if (why != NULL)
        (void)fprintf(stderr, "spoolwire %s: %s; trying again\n", f->command, why);
    else
        (void)fprintf(stderr, "spoolwire %s: connected again\n", f->command);
}

/* --- how it ended --------------------------------------------------------------------------
 */

static bool ended_badly(struct str state)
{
    return str_is(state, "failed") || str_is(state, "cancelled");
}

static int code_of(const struct client_reply *reply)
{
    struct json_reader reader;
    struct json json;
    int code = EXIT_OK;

    json_reader_init(&reader, 1024 * 1024 * 1024, 64);
    if (json_read(&reader, buf_text(&reply->body), &json, NULL) == 0 &&
        ended_badly(json_text(json_at(json.root, "state"))))
        code = EXIT_JOB_FAILED;
    json_reader_done(&reader);
    return code;
}

/* The server may just be restarting. */
static int ask_ending(struct client *c, const struct remote_follow *f)
{
    struct client_reply reply;
    struct buf path;
    int err = ERR_IO;

    client_reply_init(&reply);
    buf_init(&path, MAX_PATH);
    remote_job_path(&path, "/v1/jobs/", f->job, "");
    for (unsigned i = 1; path.error == 0 && i <= STATE_TRIES; i++) {
        err = client_get(c, path.p, REMOTE_TIMEOUT_MS, &reply);
        if (err == 0 && reply.status < 500)
            break;
        client_sleep_ms(client_backoff_ms(i, 200, 5000));
    }
    int code = err != 0              ? remote_trouble(f->command, "%s", client_error(c))
               : reply.status != 200 ? remote_refused(f->command, &reply)
                                     : code_of(&reply);
    buf_done(&path);
    client_reply_done(&reply);
    return code;
}

/* --- following ------------------------------------------------------------------------------
 */

static void put_paths(const struct remote_follow *f, struct buf *again, struct buf *first)
{
    remote_job_path(again, "/v1/jobs/", f->job, "/events?dialect=");
    buf_cut(again, again->n - 1);
    client_put_escaped(again, str_of(f->dialect));
    buf_str(first, buf_text(again));
    if (f->after != NULL) {
        buf_lit(first, "&after=");
        client_put_escaped(first, str_of(f->after));
    }
    buf_char(again, '\0');
    buf_char(first, '\0');
}

static int stopped(struct client *c, const struct remote_follow *f, int err)
{
    if (err == ERR_CLOSED)
        return remote_trouble(f->command, "the output cannot be written");
    return remote_trouble(f->command, "%s", client_error(c));
}

int remote_follow(struct client *c, const struct remote_follow *f)
{
    struct buf again, first;

    buf_init(&again, MAX_PATH);
    buf_init(&first, MAX_PATH);
    put_paths(f, &again, &first);
    struct client_follow follow = { .path = first.p,
                                    .again = again.p,
                                    .frame = on_frame,
                                    .rest = on_rest,
                                    .note = on_note,
                                    .arg = (void *)f };
    int code = again.error != 0 || first.error != 0
                   ? remote_trouble(f->command, "the job's id is too long")
                   : EXIT_OK;
    if (code == EXIT_OK) {
        int err = client_follow(c, &follow);

        code = err == 0 ? ask_ending(c, f) : stopped(c, f, err);
    }
    buf_done(&again);
    buf_done(&first);
    return code;
}

/* --- the command
 * ------------------------------------------------------------------------------ */

enum option_id { OPT_DIALECT = 256, OPT_AFTER, OPT_RAW, OPT_URL, OPT_HELP };

static const struct option options[] = {
    { "dialect", required_argument, NULL, OPT_DIALECT },
    { "after", required_argument, NULL, OPT_AFTER },
    { "raw", no_argument, NULL, OPT_RAW },
    { "url", required_argument, NULL, OPT_URL },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

static int run(const struct remote_follow *f, const char *url)
{
    struct client *c = NULL;

    int code = remote_open("tail", url, &c);
    if (code == EXIT_OK)
        code = remote_follow(c, f);
    client_free(c);
    return code;
}

int cli_tail(int argc, char **argv)
{
    struct remote_follow f = { .command = "tail", .dialect = "agent" };
    const char *url = NULL;
    int id;

    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (id == OPT_HELP)
            return help();
        else if (id == OPT_DIALECT)
            f.dialect = optarg;
        else if (id == OPT_AFTER)
            f.after = optarg;
        else if (id == OPT_RAW)
            f.raw = true;
        else if (id == OPT_URL)
            url = optarg;
        else
            return remote_bad_option("tail", id, argv);
    }
    if (argc - optind != 1)
        return cli_usage_error("tail", "it takes one job's id");
    f.job = str_of(argv[optind]);
    return run(&f, url);
}
