/* `spoolwire submit`: a job for an agent, and its frames if wanted. */
#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "terminal/term.h"
#include "config/options/amount.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_INPUT_BYTES = 16 * 1024 * 1024, READ_BYTES = 64 * 1024 };

struct submit {
    const struct args *args;
    struct remote remote;
    const char *input;  /* as given, or NULL */
    int64_t timeout_ms; /* of --wait; 0: none */
    struct term term, *view;
};

enum {
    OPT_INPUT = FLAG_OWN,
    OPT_JOB_ID,
    OPT_FOLLOW,
    OPT_DIALECT,
    OPT_WAIT,
    OPT_TIMEOUT,
    OPT_LINES,
    OPT_COLOR,
};

/* --- the input ---------------------------------------------------------------------------- */

static int read_stream(FILE *in, struct buf *out)
{
    while (buf_reserve(out, READ_BYTES)) {
        size_t n = fread(out->p + out->n, 1, READ_BYTES, in);

        out->n += n;
        if (n == 0)
            return ferror(in) ? ERR_IO : 0;
    }
    return out->error;
}

static int read_input(const struct submit *s, struct buf *out)
{
    const char *name = s->input;
    FILE *in = stdin;

    if (strcmp(name, "-") != 0 && name[0] != '@') {
        buf_str(out, str_of(name));
        return EXIT_OK;
    }
    if (name[0] == '@')
        in = fopen(++name, "re");
    if (in == NULL)
        return cli_trouble(s->args->path, "%s: %s", name, strerror(errno));
    int err = read_stream(in, out);
    if (in != stdin)
        (void)fclose(in); /* only read from */
    if (err != 0)
        return cli_trouble(s->args->path, "%s: %s", name, error_name(err));
    return EXIT_OK;
}

static void put_input(struct buf *b, struct str input)
{
    struct json_reader reader LOCAL_READER(MAX_INPUT_BYTES, 64);
    struct json json;

    if (json_read(&reader, input, &json, NULL) == 0 && yyjson_is_obj(json.root))
        json_put_value(b, json.root);
    else
        json_put_str(b, input);
}

/* Drop one line end at the end of a file: editors add it. */
static struct str trimmed(struct str s)
{
    if (s.n > 0 && s.p[s.n - 1] == '\n')
        s.n--;
    if (s.n > 0 && s.p[s.n - 1] == '\r')
        s.n--;
    return s;
}

static int put_request(const struct submit *s, struct buf *b)
{
    struct buf input LOCAL_BUF(MAX_INPUT_BYTES);
    int code = EXIT_OK;

    json_begin(b);
    json_add_str(b, "agent", args_word(s->args, 0));
    json_key(b, "input");
    if (s->input == NULL)
        buf_lit(b, "{}");
    else if ((code = read_input(s, &input)) == EXIT_OK)
        put_input(b, s->input[0] == '@' || strcmp(s->input, "-") == 0
                         ? trimmed(buf_text(&input))
                         : buf_text(&input));
    if (args_have(s->args, OPT_JOB_ID))
        json_add_str(b, "job_id", str_of(args_get(s->args, OPT_JOB_ID)));
    json_end(b);
    if (code == EXIT_OK && b->error != 0)
        code = cli_trouble(s->args->path, "the input: %s", error_name(b->error));
    return code;
}

/* --- the job --------------------------------------------------------------------------------
 */

static int follow(struct submit *s, struct str id)
{
    const char *dialect = args_get(s->args, OPT_DIALECT);
    struct remote_follow f = { .remote = &s->remote,
                               .job = id,
                               .dialect = dialect != NULL ? dialect : "agent",
                               .term = s->view };
    struct remote answers LOCAL_REMOTE;

    (void)fprintf(stderr, "job %.*s\n", STR_ARG(id));
    int code = remote_hear(s->args, &f, &answers);
    return code != EXIT_OK ? code : remote_follow(&f);
}

static int wait_for(struct submit *s, struct str id)
{
    struct remote_wait w = { .remote = &s->remote,
                             .job = id,
                             .timeout_ms = s->timeout_ms,
                             .json = args_have(s->args, FLAG_JSON) };

    (void)fprintf(stderr, "job %.*s\n", STR_ARG(id));
    return remote_wait(&w);
}

static int write_id(const struct submit *s, struct str id)
{
    if (printf("%.*s\n", STR_ARG(id)) < 0 || fflush(stdout) != 0)
        return cli_trouble(s->args->path, "the output cannot be written");
    return EXIT_OK;
}

static int accepted(struct submit *s, struct client_reply *reply)
{
    struct json_reader reader LOCAL_READER(MAX_INPUT_BYTES, 64);
    struct json json;
    struct str id = STR_NONE;

    if (json_read(&reader, buf_text(&reply->body), &json, NULL) == 0)
        id = json_text(json_at(json.root, "job_id"));
    if (id.n == 0)
        return cli_trouble(s->args->path, "the server's answer has no job_id");
    if (args_have(s->args, OPT_FOLLOW))
        return follow(s, id);
    if (args_have(s->args, OPT_WAIT))
        return wait_for(s, id);
    return args_have(s->args, FLAG_JSON) ? remote_write(&s->remote, reply) : write_id(s, id);
}

static int check_options(struct submit *s)
{
    const char *timeout = args_get(s->args, OPT_TIMEOUT);
    bool lines = args_have(s->args, OPT_DIALECT) || args_have(s->args, OPT_LINES) ||
                 args_have(s->args, FLAG_JSON);

    if (!remote_view(&s->term, args_get(s->args, OPT_COLOR), lines, &s->view))
        return cli_usage_error(s->args->path, "--color must be auto, always or never");
    if (args_have(s->args, OPT_WAIT) && args_have(s->args, OPT_FOLLOW))
        return cli_usage_error(s->args->path, "--wait and --follow are two ways to wait: one "
                                              "of them");
    if (timeout != NULL && !args_have(s->args, OPT_WAIT))
        return cli_usage_error(s->args->path, "--timeout belongs to --wait");
    if (timeout != NULL &&
        (!amount_parse(AMOUNT_MS, str_of(timeout), &s->timeout_ms) || s->timeout_ms == 0))
        return cli_usage_error(s->args->path,
                               "--timeout must be a duration such as 30s or 10m");
    return EXIT_OK;
}

static int run(const struct args *args)
{
    struct submit s = { .args = args, .input = args_get(args, OPT_INPUT) };
    struct client_reply reply LOCAL_REPLY;
    struct buf body LOCAL_BUF(2 * MAX_INPUT_BYTES);

    int code = check_options(&s);
    if (code != EXIT_OK)
        return code;
    code = remote_open(args, &s.remote);
    if (code == EXIT_OK)
        code = put_request(&s, &body);
    if (code == EXIT_OK)
        code = remote_post(&s.remote, "/v1/jobs", "application/json", buf_text(&body), &reply);
    if (code == EXIT_OK)
        code = accepted(&s, &reply);
    remote_close(&s.remote);
    return code;
}

/* --- the command ----------------------------------------------------------------------------
 */

static const struct flag flags[] = {
    { OPT_INPUT, "input", "TEXT", NULL,
      "The job's input; @FILE: what the file holds; -: standard input.  A JSON object is sent "
      "as one, all else as text." },
    { OPT_JOB_ID, "job-id", "ID", NULL, "The id that the job shall have." },
    { OPT_FOLLOW, "follow", NULL, NULL, "Show the job until it has ended, as tail does." },
    { OPT_DIALECT, "dialect", "DIALECT", NULL, "With --follow: the protocol (agent)." },
    { OPT_LINES, "lines", NULL, NULL,
      "With --follow: frames also on a terminal, each one's data on a line." },
    { OPT_WAIT, "wait", NULL, NULL,
      "Wait for the job to end, and write its report, else its output; with --json the job "
      "with both." },
    { OPT_TIMEOUT, "timeout", "TIME", NULL,
      "With --wait: no longer than this, such as 30s or 10m.  The job goes on." },
    { OPT_COLOR, "color", "WHEN", TERM_COLOR_WORDS, FOLLOW_COLOR_HELP },
    { 0 },
};

const struct command command_submit = {
    .name = "submit",
    .arguments = "AGENT",
    .about = "submit a job, and follow it",
    .story =
        "Submits a job to the agent and writes the job's id, with --follow its events, or with "
        "--wait what it has made.",
    .flags = flags,
    .exits =
        "0 all well\n1 with --follow or --wait: the job failed or was cancelled\n5 the time "
        "of --timeout is over",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
