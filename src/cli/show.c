/* `spoolwire show`: what the server knows of a job, a line for each thing. */
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/remote.h"

#include <stdio.h>

enum { MAX_ANSWER = 64 * 1024 * 1024, SHOWN = 200 };

static int help(void)
{
    puts(
        "Usage: spoolwire show [OPTION…] JOB\n"
        "\n"
        "Writes a job's status and what else the server knows of it.\n"
        "\n"
        "  --json                the server's answer as it is\n" REMOTE_HELP "\n"
        "Exit status: 0 the job is there, whatever its status; 2 usage; 3 trouble: no such job,\n"
        "or the server is not there.");
    return EXIT_OK;
}

/* Control characters become blanks: the text is an agent's, the terminal is ours. */
static void put_visible(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool c1 = c == 0xC2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xA0;

        buf_char(b, c < 0x20 || c == 0x7F || c1 ? ' ' : (char)c);
        i += c1;
    }
}

static void put_line(struct buf *b, struct str key, const yyjson_val *v)
{
    struct str text = json_text(v);
    size_t from = b->n;
    struct buf json;

    if (json_is_null(v))
        return;
    buf_init(&json, MAX_ANSWER);
    if (text.p == NULL) {
        json_put_value(&json, v);
        text = buf_text(&json);
    }
    struct str shown = utf8_head(text, SHOWN);
    put_visible(b, key);
    do
        buf_char(b, ' ');
    while (b->n - from < 16 && b->error == 0);
    put_visible(b, shown);
    if (shown.n < text.n)
        buf_lit(b, "…");
    buf_char(b, '\n');
    buf_done(&json);
}

static int write_out(struct str text)
{
    if (fwrite(text.p, 1, text.n, stdout) != text.n || fflush(stdout) != 0)
        return remote_trouble("show", "the output cannot be written");
    return EXIT_OK;
}

static int show_lines(struct str body)
{
    struct json_reader reader;
    struct json json;
    struct buf out;
    size_t i, n;
    yyjson_val *key, *v;
    int code = EXIT_TROUBLE;

    json_reader_init(&reader, MAX_ANSWER, 64);
    buf_init(&out, MAX_ANSWER);
    if (json_read(&reader, body, &json, NULL) == 0 && yyjson_is_obj(json.root)) {
        yyjson_obj_foreach(json.root, i, n, key, v) put_line(&out, json_text(key), v);
        code = write_out(buf_text(&out));
    } else {
        (void)remote_trouble("show", "the server's answer is not a JSON object");
    }
    buf_done(&out);
    json_reader_done(&reader);
    return code;
}

static int show_json(struct client_reply *reply)
{
    buf_char(&reply->body, '\n');
    return write_out(buf_text(&reply->body));
}

static int show(struct client *c, struct str job, bool as_json)
{
    struct client_reply reply;
    struct buf path;
    int code;

    client_reply_init(&reply);
    buf_init(&path, 16 * 1024);
    remote_job_path(&path, "/v1/jobs/", job, "");
    if (path.error != 0)
        code = remote_trouble("show", "the job's id is too long");
    else if (client_get(c, path.p, REMOTE_TIMEOUT_MS, &reply) != 0)
        code = remote_trouble("show", "%s", client_error(c));
    else if (reply.status != 200)
        code = remote_refused("show", &reply);
    else
        code = as_json ? show_json(&reply) : show_lines(buf_text(&reply.body));
    buf_done(&path);
    client_reply_done(&reply);
    return code;
}

enum option_id { OPT_JSON = 256, OPT_URL, OPT_HELP };

static const struct option options[] = {
    { "json", no_argument, NULL, OPT_JSON },
    { "url", required_argument, NULL, OPT_URL },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

int cli_show(int argc, char **argv)
{
    struct client *c = NULL;
    const char *url = NULL;
    bool as_json = false;
    int id;

    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (id == OPT_HELP)
            return help();
        else if (id == OPT_JSON)
            as_json = true;
        else if (id == OPT_URL)
            url = optarg;
        else
            return remote_bad_option("show", id, argv);
    }
    if (argc - optind != 1)
        return cli_usage_error("show", "it takes one job's id");
    int code = remote_open("show", url, &c);
    if (code == EXIT_OK)
        code = show(c, str_of(argv[optind]), as_json);
    client_free(c);
    return code;
}
