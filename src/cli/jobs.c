/* `spoolwire jobs`: the server's jobs, the newest first, until there are enough of them, or
 * none left, or they become too old. */
#include "base/calendar.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "config/options/amount.h"
#include "terminal/moment.h"
#include "terminal/question.h"

enum { OPT_STATE = FLAG_OWN, OPT_AGENT, OPT_SINCE, OPT_LIMIT, OPT_ALL, OPT_IDS, OPT_COLOR };
enum { USUAL_LIMIT = 50, MAX_OUT = 256 * 1024 * 1024 };

struct job_table {
    struct remote remote;
    int64_t since;                 /* ms; 0: any */
    struct client_reply questions; /* the open ones; read for the first job that waits */
    struct json_reader reader;
    struct json asked;
    bool has_asked;
};

static int64_t moment_at(yyjson_val *job, struct str key)
{
    int64_t ms;

    return calendar_parse(json_text(json_get(job, key)), &ms) ? ms : 0;
}

static enum term_style put_took(void *arg,
                                yyjson_val *job,
                                yyjson_val *finished,
                                struct buf *text)
{
    int64_t from = moment_at(job, STR("started_at")), to = clock_wall_ms();

    (void)arg;
    (void)calendar_parse(json_text(finished), &to); /* else until now */
    if (from > 0)
        moment_put_span(text, to - from);
    return STYLE_PLAIN;
}

/* The first of what is open; one request for all of the list. */
static yyjson_val *question_of(struct job_table *t, struct str job)
{
    if (!t->has_asked) {
        t->has_asked = true;
        if (client_get(t->remote.client, "/v1/interrupts?limit=1000", REMOTE_TIMEOUT_MS,
                       &t->questions) != 0 ||
            json_read(&t->reader, buf_text(&t->questions.body), &t->asked, NULL) != 0)
            t->asked.root = NULL;
    }
    json_each(q, json_at(t->asked.root, "interrupts"))
        if (str_eq(json_text(json_at(q, "job_id")), job))
            return q;
    return NULL;
}

/* The last column: why it failed, what it asks, or which worker has it. */
static enum term_style put_remark(void *arg,
                                  yyjson_val *job,
                                  yyjson_val *error,
                                  struct buf *text)
{
    bool waits = str_is(json_text(json_at(job, "state")), "waiting");
    yyjson_val *q = waits ? question_of(arg, json_text(json_at(job, "job_id"))) : NULL;

    if (q != NULL)
        question_put(text, q);
    else
        buf_str(text, json_text(json_text(error).n > 0 ? error : json_at(job, "worker")));
    return q != NULL ? STYLE_YELLOW : STYLE_DIM;
}

static bool is_new_enough(void *arg, yyjson_val *job)
{
    const struct job_table *t = arg;

    return moment_at(job, STR("created_at")) >= t->since;
}

static const struct column columns[] = {
    { "JOB", "job_id", .style = STYLE_PLAIN },  { "AGENT", "agent", .style = STYLE_PLAIN },
    { "STATE", "state", .put = column_state },  { "AGE", "created_at", .put = column_since },
    { "TOOK", "finished_at", .put = put_took }, { "EVENTS", "events", .style = STYLE_PLAIN },
    { "", "error", .put = put_remark },         { 0 },
};

static int read_options(const struct args *args, struct listing *l, struct job_table *t)
{
    const char *since = args_get(args, OPT_SINCE), *limit = args_get(args, OPT_LIMIT);
    int64_t span, now = clock_wall_ms();

    l->limit = args_have(args, OPT_ALL) ? 0 : USUAL_LIMIT;
    if (limit != NULL &&
        (!amount_parse(AMOUNT_COUNT, str_of(limit), &l->limit) || l->limit == 0))
        return cli_usage_error(args->path, "--limit must be a whole number from 1");
    if (since != NULL && !amount_parse(AMOUNT_MS, str_of(since), &span))
        return cli_usage_error(args->path, "--since must be a duration such as 90s, 10m, 2h "
                                           "or 7d");
    if (since != NULL)
        t->since = span < now ? now - span : 1;
    return EXIT_OK;
}

static int run(const struct args *args)
{
    static const struct page_filter filters[] = { { OPT_STATE, "&state=" },
                                                  { OPT_AGENT, "&agent=" } };
    struct job_table t = { .has_asked = false };
    struct listing l = { .columns = columns,
                         .pages = { "/v1/jobs", "jobs", filters, 2, "" },
                         .ids = OPT_IDS,
                         .color = args_get(args, OPT_COLOR),
                         .wants = is_new_enough,
                         .arg = &t };

    int code = read_options(args, &l, &t);
    if (code != EXIT_OK)
        return code;
    client_reply_init(&t.questions);
    json_reader_init(&t.reader, MAX_OUT, 256);
    code = listing_run(&l, args, &t.remote);
    json_reader_done(&t.reader);
    client_reply_done(&t.questions);
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

static int run_release(const struct args *args)
{
    return remote_each(args, "POST", "/v1/jobs/", "/release", remote_tell);
}

static const struct command command_release = {
    .name = "release",
    .arguments = "JOB…",
    .about = "free jobs that are set aside",
    .story =
        "A job over which the server has crashed twice is set aside: it can be read, and "
        "is not processed.  This command continues it.  A job that was running is requeued "
        "without using up an attempt.  If the server crashes over it again, it is set aside again.  "
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
