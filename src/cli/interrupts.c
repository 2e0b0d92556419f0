/* `spoolwire interrupts`: the questions that wait for an answer, once or as they come and go.
 */
#include "base/json_format.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/inbox.h"
#include "cli/listing.h"
#include "terminal/question.h"

enum { OPT_JOB = FLAG_OWN, OPT_AGENT, OPT_FOLLOW, MAX_OUT = 64 * 1024 * 1024 };

static enum term_style put_words(void *arg, yyjson_val *q, yyjson_val *value, struct buf *text)
{
    (void)arg, (void)value;
    question_put(text, q);
    return STYLE_PLAIN;
}

static const struct column columns[] = {
    { "JOB", "job_id", .style = STYLE_PLAIN },
    { "INTERRUPT", "interrupt_id", .style = STYLE_PLAIN },
    { "WAITS", "asked_at", .put = column_since },
    { "LEFT", "expires_at", .put = column_until },
    { "QUESTION", NULL, .put = put_words },
    { 0 },
};

/* --- as they come and go ----------------------------------------------------------------- */

struct news {
    const struct args *args;
    struct buf out;
};

/* "open      j1  q-1  Which one?" */
static void put_news(struct news *l, struct str how, struct str job, struct str id)
{
    buf_str(&l->out, how);
    for (size_t n = how.n; n < 8; n++)
        buf_char(&l->out, ' ');
    buf_lit(&l->out, "  ");
    visible_put(&l->out, job);
    buf_lit(&l->out, "  ");
    visible_put(&l->out, id);
}

/* The question's members behind its state. */
static void put_members(struct buf *b, struct str state, yyjson_val *q)
{
    json_begin(b);
    json_add_str(b, "state", state);
    json_each_member(key, value, q) {
        json_put_key(b, json_text(key));
        json_put_value(b, value);
    }
    buf_lit(b, "}\n");
}

static void on_opened(void *arg, yyjson_val *q)
{
    struct news *l = arg;
    struct buf text LOCAL_BUF(MAX_OUT);

    if (args_have(l->args, FLAG_JSON)) {
        put_members(&l->out, STR("open"), q);
        return;
    }
    question_put(&text, q);
    put_news(l, STR("open"), json_text(json_at(q, "job_id")),
             json_text(json_at(q, "interrupt_id")));
    buf_lit(&l->out, "  ");
    visible_put(&l->out, buf_text(&text));
    buf_char(&l->out, '\n');
}

static void on_left(void *arg, struct str job, struct str id, struct str how)
{
    struct news *l = arg;

    if (!args_have(l->args, FLAG_JSON)) {
        put_news(l, how, job, id);
    } else {
        json_format(&l->out, "{'state':%s,'interrupt_id':%s,'job_id':%s}", how, id, job);
    }
    buf_char(&l->out, '\n');
}

static int on_rest(void *arg)
{
    struct news *l = arg;
    int code = cli_write_buf(l->args->path, &l->out);

    buf_clear(&l->out);
    return code;
}

static int follow(const struct args *args, const struct pages *pages)
{
    struct news l = { .args = args };
    struct inbox_events events = {
        .opened = on_opened, .left = on_left, .rest = on_rest, .arg = &l
    };

    buf_init(&l.out, MAX_OUT);
    int code = inbox_follow(args, pages, &events);
    buf_done(&l.out);
    return code;
}

/* --- the command ------------------------------------------------------------------------- */

static int run(const struct args *args)
{
    static const struct page_filter filters[] = { { OPT_JOB, "&job=" },
                                                  { OPT_AGENT, "&agent=" } };
    struct listing l = { .columns = columns,
                         .pages = { "/v1/interrupts", "interrupts", filters, 2, "" } };
    struct remote remote;

    return args_have(args, OPT_FOLLOW) ? follow(args, &l.pages)
                                       : listing_run(&l, args, &remote);
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
    .story = "Lists the open questions of jobs, the oldest "
             "job's first.  With --json one a line.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .run = run,
};
