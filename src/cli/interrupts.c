/* `spoolwire interrupts`: the questions that wait for an answer, once or as they come and go.
 */
#include "base/calendar.h"
#include "base/clock.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "terminal/grid.h"
#include "cli/inbox.h"
#include "terminal/moment.h"
#include "cli/pages.h"
#include "terminal/question.h"

enum { OPT_JOB = FLAG_OWN, OPT_AGENT, OPT_FOLLOW, PAGE = 1000, MAX_OUT = 64 * 1024 * 1024 };

struct interrupt_listing {
    const struct args *args;
    struct remote remote;
    struct grid grid;
    struct buf out;
    int64_t now;
};

static void put_span(struct interrupt_listing *l, struct str from, struct str to)
{
    int64_t a = l->now, b = l->now;
    struct buf text;

    buf_init(&text, 40);
    if ((from.p == NULL || calendar_parse(from, &a)) &&
        (to.p == NULL || calendar_parse(to, &b)) && (from.p != NULL || to.p != NULL))
        moment_put_span(&text, b > a ? b - a : 0);
    grid_cell(&l->grid, buf_text(&text), STYLE_PLAIN);
    buf_done(&text);
}

static void put_words(struct interrupt_listing *l, yyjson_val *q)
{
    struct buf text;

    buf_init(&text, MAX_OUT);
    question_put(&text, q);
    grid_cell(&l->grid, buf_text(&text), STYLE_PLAIN);
    buf_done(&text);
}

static void take_question(void *arg, yyjson_val *q)
{
    struct interrupt_listing *l = arg;

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

/* --- as they come and go ----------------------------------------------------------------- */

/* "open      j1  q-1  Which one?" */
static void put_news(struct interrupt_listing *l, struct str how, struct str job, struct str id)
{
    buf_str(&l->out, how);
    for (size_t n = how.n; n < 8; n++)
        buf_char(&l->out, ' ');
    buf_lit(&l->out, "  ");
    visible_put(&l->out, job);
    buf_lit(&l->out, "  ");
    visible_put(&l->out, id);
}

static void on_opened(void *arg, yyjson_val *q)
{
    struct interrupt_listing *l = arg;
    struct buf text;

    if (args_have(l->args, FLAG_JSON)) {
        buf_lit(&l->out, "{\"state\":\"open\",");
        size_t from = l->out.n;
        json_put_value(&l->out, q);
        if (l->out.error == 0)
            memmove(l->out.p + from, l->out.p + from + 1, --l->out.n - from); /* its '{' */
        buf_char(&l->out, '\n');
        return;
    }
    buf_init(&text, MAX_OUT);
    question_put(&text, q);
    put_news(l, STR("open"), json_text(json_at(q, "job_id")),
             json_text(json_at(q, "interrupt_id")));
    buf_lit(&l->out, "  ");
    visible_put(&l->out, buf_text(&text));
    buf_char(&l->out, '\n');
    buf_done(&text);
}

static void on_left(void *arg, struct str job, struct str id, struct str how)
{
    struct interrupt_listing *l = arg;

    if (!args_have(l->args, FLAG_JSON)) {
        put_news(l, how, job, id);
    } else {
        buf_lit(&l->out, "{\"state\":");
        json_put_str(&l->out, how);
        buf_lit(&l->out, ",\"interrupt_id\":");
        json_put_str(&l->out, id);
        buf_lit(&l->out, ",\"job_id\":");
        json_put_str(&l->out, job);
        buf_char(&l->out, '}');
    }
    buf_char(&l->out, '\n');
}

static int on_rest(void *arg)
{
    struct interrupt_listing *l = arg;
    int code = l->out.error != 0 ? cli_trouble(l->args->path, "out of memory")
                                 : cli_write(l->args->path, buf_text(&l->out));

    buf_clear(&l->out);
    return code;
}

static int follow(const struct args *args, const struct pages *pages)
{
    struct interrupt_listing l = { .args = args };
    struct inbox_events events = {
        .opened = on_opened, .left = on_left, .rest = on_rest, .arg = &l
    };

    buf_init(&l.out, MAX_OUT);
    int code = inbox_follow(args, pages, &events);
    buf_done(&l.out);
    return code;
}

/* --- the command ------------------------------------------------------------------------- */

static int list(const struct args *args, struct pages pages)
{
    static const char *const titles[] = {
        "JOB", "INTERRUPT", "WAITS", "LEFT", "QUESTION", NULL
    };
    struct interrupt_listing l = { .args = args, .now = clock_wall_ms() };
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

static int run(const struct args *args)
{
    static const struct page_filter filters[] = { { OPT_JOB, "&job=" },
                                                  { OPT_AGENT, "&agent=" } };
    struct pages pages = { "/v1/interrupts", "interrupts", filters, 2, "" };

    return args_have(args, OPT_FOLLOW) ? follow(args, &pages) : list(args, pages);
}

static const struct flag flags[] = {
    { OPT_FOLLOW, "follow", NULL, NULL,
      "Go on: each question that is asked, and what became of it, on a line." },
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
