/* `spoolwire submit`: a job for an agent, and its frames if wanted. */
#include "base/error.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_INPUT_BYTES = 16 * 1024 * 1024, READ_BYTES = 64 * 1024 };

struct submit {
    const char *agent;
    const char *input; /* as given, or NULL */
    const char *job_id;
    const char *url;
    bool follow;
    struct remote_follow frames;
};

static int help(void)
{
    puts("Usage: spoolwire submit [OPTION…] AGENT\n"
         "\n"
         "Gives the agent a job and writes the job's id, or with --follow its frames.\n"
         "\n"
         "  --input TEXT          the job's input; @FILE: what the file holds; -: standard\n"
         "                        input.  A JSON object is sent as one, all else as text\n"
         "  --job-id ID           the id that the job shall have\n"
         "  --follow              write the frames until the job has ended, as tail does\n"
         "  --dialect NAME        with --follow: agent (default), envelope, messages, nodes,\n"
         "                        aiq, raw\n" REMOTE_HELP "\n"
         "Exit status: 0 all well; 1 with --follow: the job failed or was cancelled; 2 usage;\n"
         "3 trouble with the server or a file.");
    return EXIT_OK;
}

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
        return remote_trouble("submit", "%s: %s", name, strerror(errno));
    int err = read_stream(in, out);
    if (in != stdin)
        (void)fclose(in); /* only read from */
    if (err != 0)
        return remote_trouble("submit", "%s: %s", name, error_name(err));
    return EXIT_OK;
}

static void put_input(struct buf *b, struct str input)
{
    struct json_reader reader;
    struct json json;

    json_reader_init(&reader, MAX_INPUT_BYTES, 64);
    if (json_read(&reader, input, &json, NULL) == 0 && yyjson_is_obj(json.root))
        json_put_value(b, json.root);
    else
        json_put_str(b, input);
    json_reader_done(&reader);
}

/* One line end at the end of a file is the editor's, not the author's. */
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
    struct buf input;
    int code = EXIT_OK;

    buf_init(&input, MAX_INPUT_BYTES);
    buf_lit(b, "{\"agent\":");
    json_put_str(b, str_of(s->agent));
    buf_lit(b, ",\"input\":");
    if (s->input == NULL)
        buf_lit(b, "{}");
    else if ((code = read_input(s, &input)) == EXIT_OK)
        put_input(b, s->input[0] == '@' || strcmp(s->input, "-") == 0
                         ? trimmed(buf_text(&input))
                         : buf_text(&input));
    if (s->job_id != NULL) {
        buf_lit(b, ",\"job_id\":");
        json_put_str(b, str_of(s->job_id));
    }
    buf_char(b, '}');
    buf_done(&input);
    if (code == EXIT_OK && b->error != 0)
        code = remote_trouble("submit", "the input: %s", error_name(b->error));
    return code;
}

/* --- the job --------------------------------------------------------------------------------
 */

static int follow(struct submit *s, struct client *c, struct str id)
{
    (void)fprintf(stderr, "job %.*s\n", STR_ARG(id));
    s->frames.job = id;
    return remote_follow(c, &s->frames);
}

static int accepted(struct submit *s, struct client *c, const struct client_reply *reply)
{
    struct json_reader reader;
    struct json json;
    struct str id = STR_NONE;
    int code = EXIT_OK;

    json_reader_init(&reader, MAX_INPUT_BYTES, 64);
    if (json_read(&reader, buf_text(&reply->body), &json, NULL) == 0)
        id = json_text(json_at(json.root, "job_id"));
    if (id.n == 0)
        code = remote_trouble("submit", "the server's answer has no job_id");
    else if (s->follow)
        code = follow(s, c, id);
    else if (printf("%.*s\n", STR_ARG(id)) < 0 || fflush(stdout) != 0)
        code = remote_trouble("submit", "the output cannot be written");
    json_reader_done(&reader);
    return code;
}

static int send_request(struct submit *s, struct client *c, struct str body)
{
    struct client_reply reply;
    int code;

    client_reply_init(&reply);
    if (client_post(c, "/v1/jobs", "application/json", body, REMOTE_TIMEOUT_MS, &reply) != 0)
        code = remote_trouble("submit", "%s", client_error(c));
    else if (reply.status < 200 || reply.status > 299)
        code = remote_refused("submit", &reply);
    else
        code = accepted(s, c, &reply);
    client_reply_done(&reply);
    return code;
}

static int run(struct submit *s)
{
    struct client *c = NULL;
    struct buf body;

    int code = remote_open("submit", s->url, &c);
    buf_init(&body, 2 * MAX_INPUT_BYTES);
    if (code == EXIT_OK)
        code = put_request(s, &body);
    if (code == EXIT_OK)
        code = send_request(s, c, buf_text(&body));
    buf_done(&body);
    client_free(c);
    return code;
}

/* --- the command
 * ------------------------------------------------------------------------------ */

enum option_id { OPT_INPUT = 256, OPT_JOB_ID, OPT_FOLLOW, OPT_DIALECT, OPT_URL, OPT_HELP };

static const struct option options[] = {
    { "input", required_argument, NULL, OPT_INPUT },
    { "job-id", required_argument, NULL, OPT_JOB_ID },
    { "follow", no_argument, NULL, OPT_FOLLOW },
    { "dialect", required_argument, NULL, OPT_DIALECT },
    { "url", required_argument, NULL, OPT_URL },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

int cli_submit(int argc, char **argv)
{
    struct submit s = { .frames = { .command = "submit", .dialect = "agent" } };
    int id;

    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (id == OPT_HELP)
            return help();
        else if (id == OPT_INPUT)
            s.input = optarg;
        else if (id == OPT_JOB_ID)
            s.job_id = optarg;
        else if (id == OPT_FOLLOW)
            s.follow = true;
        else if (id == OPT_DIALECT)
            s.frames.dialect = optarg;
        else if (id == OPT_URL)
            s.url = optarg;
        else
            return remote_bad_option("submit", id, argv);
    }
    if (argc - optind != 1)
        return cli_usage_error("submit", "it takes one agent's name");
    s.agent = argv[optind];
    return run(&s);
}
