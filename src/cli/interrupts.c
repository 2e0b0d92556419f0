/* `spoolwire interrupts`: the questions that wait for an answer. */
#include "cli/commands.h"
#include "cli/grid.h"
#include "cli/moment.h"
#include "cli/pages.h"

enum { OPT_JOB = FLAG_OWN, OPT_AGENT, PAGE = 1000, MAX_OUT = 64 * 1024 * 1024 };

struct listing {
    const struct args *args;
    struct remote remote;
    struct grid grid;
    struct buf out;
    int64_t now;
};

static void put_span(struct listing *l, struct str from, struct str to)
{
    int64_t a = l->now, b = l->now;
    struct buf text;

    buf_init(&text, 40);
    if ((from.p == NULL || moment_parse(from, &a)) && (to.p == NULL || moment_parse(to, &b)) &&
        (from.p != NULL || to.p != NULL))
        moment_put_span(&text, b > a ? b - a : 0);
    grid_cell(&l->grid, buf_text(&text), STYLE_PLAIN);
    buf_done(&text);
}

/* What people read: the question, or the whole value. */
static void put_words(struct listing *l, yyjson_val *q)
{
    yyjson_val *question = json_at(q, "question");
    struct buf text;

    if (yyjson_is_str(question)) {
        grid_cell(&l->grid, json_text(question), STYLE_PLAIN);
        return;
    }
    buf_init(&text, MAX_OUT);
    json_put_value(&text, json_is_null(question) ? json_at(q, "value") : question);
    grid_cell(&l->grid, buf_text(&text), STYLE_PLAIN);
    buf_done(&text);
}

static void take_question(void *arg, yyjson_val *q)
{
    struct listing *l = arg;

    if (args_have(l->args, FLAG_JSON)) {
        json_put_value(&l->out, q);
        buf_char(&l->out, '\n');
        return;
    }
    grid_cell(&l->grid, json_text(json_at(q, "job_id")), STYLE_PLAIN);
    grid_cell(&l->grid, json_text(json_at(q, "interrupt_id")), STYLE_PLAIN);
    put_span(l, json_text(json_at(q, "asked_at")), STR_NONE);
    put_span(l, STR_NONE, json_text(json_at(q, "expires_at")));
    put_words(l, q);
}

static int run(const struct args *args)
{
    static const char *const titles[] = {
        "JOB", "INTERRUPT", "WAITS", "LEFT", "QUESTION", NULL
    };
    struct listing l = { .args = args, .now = moment_now() };
    static const struct page_filter filters[] = { { OPT_JOB, "&job=" },
                                                  { OPT_AGENT, "&agent=" } };
    struct pages pages = { "/v1/interrupts", "interrupts", filters, 2, "" };
    struct term term;

    (void)term_open(&term, NULL); /* cannot fail for NULL */
    grid_init(&l.grid, titles);
    buf_init(&l.out, MAX_OUT);
    int code = remote_open(args, &l.remote);
    if (code == EXIT_OK)
        do
            code = pages_next(&pages, &l.remote, args, PAGE, take_question, &l);
        while (code == EXIT_OK && pages.next[0] != '\0');
    if (code == EXIT_OK && !args_have(args, FLAG_JSON))
        (void)grid_write(&l.grid, &term, &l.out); /* an error is in out */
    if (code == EXIT_OK)
        code = l.out.error != 0 ? cli_trouble(args->path, "out of memory")
                                : cli_write(args->path, buf_text(&l.out));
    buf_done(&l.out);
    grid_done(&l.grid);
    remote_close(&l.remote);
    return code;
}

static const struct flag flags[] = {
    { OPT_JOB, "job", "JOB", NULL, "Only this job's." },
    { OPT_AGENT, "agent", "AGENT", NULL, "Only those of this agent's jobs." },
    { 0 },
};

const struct command command_interrupts = {
    .name = "interrupts",
    .about = "list the questions that wait for an answer",
    .story = "Lists the questions that jobs have asked and nobody has answered yet, the oldest "
             "job's first.  With --json one a line.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .run = run,
};
