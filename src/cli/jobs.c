/* `spoolwire jobs`: the server's jobs, the newest first, page by page.
 *
 * A page is read, and each of its jobs taken, until there are enough of them, or none left,
 * or they become too old.  Lines for programs are written as the pages come; rows for people
 * at the end, when it is known how wide they are. */
#include "base/calendar.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "terminal/grid.h"
#include "terminal/moment.h"
#include "cli/pages.h"
#include "terminal/question.h"
#include "config/options/amount.h"

#include <stdio.h>

enum { OPT_STATE = FLAG_OWN, OPT_AGENT, OPT_SINCE, OPT_LIMIT, OPT_ALL, OPT_IDS, OPT_COLOR };
enum { USUAL_LIMIT = 50, PAGE = 1000, MAX_OUT = 256 * 1024 * 1024 };

struct job_table {
    const struct args *args;
    struct remote remote;
    struct term term;
    struct grid grid;
    struct buf out;
    struct pages pages;
    int64_t now;                   /* ms */
    int64_t since;                 /* ms; 0: any */
    int64_t n, limit;              /* jobs */
    struct client_reply questions; /* that are open, once somebody waits */
    struct json_reader reader;
    struct json asked;
    bool has_asked;
    bool over; /* what follows is too old */
};

/* --- one job --------------------------------------------------------------------------------
 */

static void put_span(struct job_table *l, int64_t from, int64_t to)
{
    struct buf text;

    buf_init(&text, 40);
    if (from > 0)
        moment_put_span(&text, to - from);
    grid_cell(&l->grid, buf_text(&text), STYLE_PLAIN);
    buf_done(&text);
}

static int64_t moment_at(yyjson_val *job, struct str key)
{
    int64_t ms;

    return calendar_parse(json_text(json_get(job, key)), &ms) ? ms : 0;
}

/* The first of what is open; one request for all of the list. */
static yyjson_val *question_of(struct job_table *l, struct str job)
{
    size_t i, n;
    yyjson_val *q;

    if (!l->has_asked) {
        l->has_asked = true;
        if (client_get(l->remote.client, "/v1/interrupts?limit=1000", REMOTE_TIMEOUT_MS,
                       &l->questions) != 0 ||
            json_read(&l->reader, buf_text(&l->questions.body), &l->asked, NULL) != 0)
            l->asked.root = NULL;
    }
    yyjson_arr_foreach(json_at(l->asked.root, "interrupts"), i, n, q)
    {
        if (str_eq(json_text(json_at(q, "job_id")), job))
            return q;
    }
    return NULL;
}

/* The last column: why it failed, what it asks, or which worker has it. */
static void put_remark(struct job_table *l, yyjson_val *job)
{
    struct str error = json_text(json_at(job, "error"));
    bool waits = str_is(json_text(json_at(job, "state")), "waiting");
    yyjson_val *q = waits ? question_of(l, json_text(json_at(job, "job_id"))) : NULL;
    struct buf text;

    buf_init(&text, MAX_OUT);
    if (q != NULL)
        question_put(&text, q);
    else
        buf_str(&text, error.n > 0 ? error : json_text(json_at(job, "worker")));
    grid_cell(&l->grid, buf_text(&text), q != NULL ? STYLE_YELLOW : STYLE_DIM);
    buf_done(&text);
}

static void put_row(struct job_table *l, yyjson_val *job)
{
    struct str state = json_text(json_at(job, "state"));
    int64_t started = moment_at(job, STR("started_at"));
    int64_t finished = moment_at(job, STR("finished_at"));
    char events[24];

    grid_cell(&l->grid, json_text(json_at(job, "job_id")), STYLE_PLAIN);
    grid_cell(&l->grid, json_text(json_at(job, "agent")), STYLE_PLAIN);
    grid_cell(&l->grid, state, term_state_style(state));
    put_span(l, moment_at(job, STR("created_at")), l->now);
    put_span(l, started, finished > 0 ? finished : l->now);
    (void)snprintf(events, sizeof(events), "%lld",
                   (long long)json_int(json_at(job, "events"), 0));
    grid_cell(&l->grid, str_of(events), STYLE_PLAIN);
    put_remark(l, job);
}

static void take_job(void *arg, yyjson_val *job)
{
    struct job_table *l = arg;

    if (l->over)
        return;
    if (l->since > 0 && moment_at(job, STR("created_at")) < l->since) {
        l->over = true;
        return;
    }
    l->n++;
    if (args_have(l->args, OPT_IDS))
        buf_str(&l->out, json_text(json_at(job, "job_id")));
    else if (args_have(l->args, FLAG_JSON))
        json_put_value(&l->out, job);
    else
        put_row(l, job);
    if (args_have(l->args, OPT_IDS) || args_have(l->args, FLAG_JSON))
        buf_char(&l->out, '\n');
}

/* --- pages ----------------------------------------------------------------------------------
 */

static int next_page(struct job_table *l)
{
    int64_t left = l->limit - l->n;
    int code =
        pages_next(&l->pages, &l->remote, l->args, left < PAGE ? left : PAGE, take_job, l);

    if (code == EXIT_OK)
        code = cli_write(l->remote.path, buf_text(&l->out));
    buf_clear(&l->out);
    return code;
}

static int list(struct job_table *l)
{
    int code;

    do
        code = next_page(l);
    while (code == EXIT_OK && l->pages.next[0] != '\0' && !l->over && l->n < l->limit);
    if (code != EXIT_OK || args_have(l->args, OPT_IDS) || args_have(l->args, FLAG_JSON))
        return code;
    if (grid_write(&l->grid, &l->term, &l->out) != 0)
        return cli_trouble(l->remote.path, "out of memory");
    code = cli_write(l->remote.path, buf_text(&l->out));
    if (code == EXIT_OK && l->pages.next[0] != '\0' && !l->over)
        (void)fprintf(stderr, "(there are more: --all, or --limit N)\n");
    return code;
}

/* --- the command ----------------------------------------------------------------------------
 */

static int read_options(struct job_table *l)
{
    const char *since = args_get(l->args, OPT_SINCE), *limit = args_get(l->args, OPT_LIMIT);
    int64_t span;

    l->now = clock_wall_ms();
    l->limit = args_have(l->args, OPT_ALL) ? INT64_MAX : USUAL_LIMIT;
    if (limit != NULL &&
        (!amount_parse(AMOUNT_COUNT, str_of(limit), &l->limit) || l->limit == 0))
        return cli_usage_error(l->args->path, "--limit must be a whole number from 1");
    if (since != NULL && !amount_parse(AMOUNT_MS, str_of(since), &span))
        return cli_usage_error(l->args->path, "--since must be a duration such as 90s, 10m, 2h "
                                              "or 7d");
    if (since != NULL)
        l->since = span < l->now ? l->now - span : 1;
    if (!term_open(&l->term, args_get(l->args, OPT_COLOR)))
        return cli_usage_error(l->args->path, "--color must be auto, always or never");
    return EXIT_OK;
}

static int run(const struct args *args)
{
    static const char *const titles[] = { "JOB",  "AGENT",  "STATE", "AGE",
                                          "TOOK", "EVENTS", "",      NULL };
    static const struct page_filter filters[] = { { OPT_STATE, "&state=" },
                                                  { OPT_AGENT, "&agent=" } };
    struct job_table l = { .args = args, .pages = { "/v1/jobs", "jobs", filters, 2, "" } };

    int code = read_options(&l);
    if (code != EXIT_OK)
        return code;
    code = remote_open(args, &l.remote);
    grid_init(&l.grid, titles);
    buf_init(&l.out, MAX_OUT);
    client_reply_init(&l.questions);
    json_reader_init(&l.reader, MAX_OUT, 256);
    if (code == EXIT_OK)
        code = list(&l);
    json_reader_done(&l.reader);
    client_reply_done(&l.questions);
    buf_done(&l.out);
    grid_done(&l.grid);
    remote_close(&l.remote);
    return code;
}

static const struct flag flags[] = {
    { OPT_STATE, "state", "STATE", "queued running waiting succeeded failed cancelled",
      "Only those that are queued, running, waiting, succeeded, failed or cancelled." },
    { OPT_AGENT, "agent", "AGENT", NULL, "Only this agent's." },
    { OPT_SINCE, "since", "TIME", NULL,
      "Only those submitted within this time, such as 90s, 10m, 2h or 7d." },
    { OPT_LIMIT, "limit", "N", NULL, "At most N of them (50)." },
    { OPT_ALL, "all", NULL, NULL, "All of them." },
    { OPT_IDS, "ids", NULL, NULL, "Only their ids, one a line." },
    { OPT_COLOR, "color", "WHEN", TERM_COLOR_WORDS,
      "auto (default): on a terminal unless NO_COLOR is set; always; never." },
    { 0 },
};

static int tell_released(const struct remote *r, struct str job, struct client_reply *reply)
{
    (void)job;
    return remote_write(r, reply);
}

static int run_release(const struct args *args)
{
    return remote_each(args, "POST", "/release", tell_released);
}

static const struct command command_release = {
    .name = "release",
    .arguments = "JOB…",
    .about = "free jobs that are set aside",
    .story = "A job over which the server has crashed twice is set aside: it can be read, and "
             "nothing is done to it.  This makes it go on.  A job that was at work is queued "
             "again, at no cost.  If the server crashes over it again, it is set aside again.  "
             "Needs a token with the scope admin.",
    .exits = "0 they go on",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = COMMAND_MANY,
    .run = run_release,
};

const struct command command_jobs = {
    .name = "jobs",
    .about = "list the jobs",
    .story = "Lists the server's jobs, the newest first.  With --json one a line.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .parts = (const struct command *const[]){ &command_release, NULL },
    .run = run,
};
