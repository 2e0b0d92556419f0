/* `spoolwire answer`: an answer to a job's question. */
#include "base/error.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "terminal/question.h"
#include "cli/remote.h"

#include <stdio.h>
#include <unistd.h>

enum { OPT_ID = FLAG_OWN, OPT_TEXT, MAX_ANSWER = 1024 * 1024, READ_BYTES = 4096 };

/* --- the question --------------------------------------------------------------------------
 */

static int show_questions(struct remote *r, struct str job)
{
    struct client_reply reply LOCAL_REPLY;
    struct json_reader reader ANSWER_READER;
    struct json json;
    struct buf text LOCAL_BUF(MAX_ANSWER);
    struct buf words LOCAL_BUF(MAX_ANSWER);

    int code = remote_job(r, "GET", "/v1/interrupts?job=", job, "", &reply);
    if (code == EXIT_OK)
        code = remote_json(r, &reply, &reader, &json);
    if (code != EXIT_OK)
        return code;
    json_each(q, json_at(json.root, "interrupts")) {
        question_put(&words, q);
        visible_put_lines(&text, buf_text(&words));
        buf_clear(&words);
        buf_char(&text, '\n');
    }
    (void)fprintf(stderr, "%.*s> ", STR_ARG(buf_text(&text)));
    return EXIT_OK;
}

/* --- the answer ------------------------------------------------------------------------------
 */

/* A line from a terminal, everything from a pipe. */
static int read_answer(const struct args *args, struct buf *out)
{
    bool is_person = isatty(STDIN_FILENO) == 1;

    while (buf_reserve(out, READ_BYTES)) {
        ssize_t n = read(STDIN_FILENO, out->p + out->n, READ_BYTES);

        if (n <= 0)
            break;
        out->n += (size_t)n;
        if (is_person && out->p[out->n - 1] == '\n')
            break;
    }
    while (out->n > 0 && (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == '\r'))
        out->n--;
    return out->error == 0 ? EXIT_OK
                           : cli_trouble(args->path, "the answer: %s", error_name(out->error));
}

static int send_answer(struct remote *r, const struct args *args, struct str value)
{
    const char *id = args_get(args, OPT_ID);
    struct client_reply reply LOCAL_REPLY;
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);
    struct buf body LOCAL_BUF(2 * MAX_ANSWER);

    remote_job_path(&path, "/v1/jobs/", args_word(args, 0), "/answer");
    question_put_body(&body, value, args_have(args, OPT_TEXT), str_of(id != NULL ? id : ""));
    if (path.error != 0 || body.error != 0)
        return cli_usage_error(args->path, "that is too long");
    int code = remote_post(r, path.p, "application/json", buf_text(&body), &reply);
    return code == EXIT_OK && args_have(args, FLAG_JSON) ? remote_write(r, &reply) : code;
}

static int run(const struct args *args)
{
    struct remote r LOCAL_REMOTE;
    struct buf value LOCAL_BUF(MAX_ANSWER);

    int code = remote_open(args, &r);
    if (code == EXIT_OK && args->n_words > 1)
        buf_str(&value, args_word(args, 1));
    else if (code == EXIT_OK && isatty(STDIN_FILENO) == 1)
        code = show_questions(&r, args_word(args, 0));
    if (code == EXIT_OK && args->n_words == 1)
        code = read_answer(args, &value);
    return code != EXIT_OK ? code : send_answer(&r, args, buf_text(&value));
}

static const struct flag flags[] = {
    { OPT_ID, "id", "ID", NULL, "Of the question, when the job has asked several." },
    { OPT_TEXT, "text", NULL, NULL, "Take VALUE for a text, also if it is JSON." },
    { 0 },
};

const struct command command_answer = {
    .name = "answer",
    .arguments = "JOB [VALUE]",
    .about = "answer a job's question",
    .story =
        "Answers the question that a job waits for.  VALUE is JSON, or else a text; without "
        "it the answer is read from standard input, after the question was shown on a "
        "terminal.  The first answer counts.",
    .exits = "0 the answer was taken",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
