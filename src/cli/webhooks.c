/* `spoolwire webhooks`: deliveries of webhooks, what became of them, and sending one again. */
#include "cli/commands.h"
#include "cli/listing.h"
#include "config/options/amount.h"

enum { OPT_STATE = FLAG_OWN, OPT_LIMIT, OPT_ALL, OPT_IDS, OPT_COLOR };
enum { USUAL_LIMIT = 50 };

static enum term_style put_state(void *arg,
                                 yyjson_val *item,
                                 yyjson_val *value,
                                 struct buf *text)
{
    struct str state = json_text(value);

    (void)arg;
    (void)item;
    buf_str(text, state);
    return str_is(state, "dead")   ? STYLE_RED
           : str_is(state, "sent") ? STYLE_GREEN
                                   : STYLE_YELLOW;
}

static const struct column columns[] = {
    { "RUN", "id", .style = STYLE_PLAIN },        { "STATE", "state", .put = put_state },
    { "ENDED", "ended_at", .put = column_since }, { "TRIES", "attempts", .style = STYLE_PLAIN },
    { "NEXT", "due_at", .put = column_until },    { "URL", "url", .style = STYLE_PLAIN },
    { "", "reason", .style = STYLE_DIM },         { 0 },
};

static int run_list(const struct args *args)
{
    static const struct page_filter filters[] = { { OPT_STATE, "&state=" } };
    const char *limit = args_get(args, OPT_LIMIT);
    struct remote remote = { 0 };
    struct listing l = { .columns = columns,
                         .pages = { "/v1/webhooks", "webhooks", filters, 1, "" },
                         .ids = OPT_IDS,
                         .color = args_get(args, OPT_COLOR),
                         .limit = args_have(args, OPT_ALL) ? 0 : USUAL_LIMIT };

    if (limit != NULL && (!amount_parse(AMOUNT_COUNT, str_of(limit), &l.limit) || l.limit == 0))
        return cli_usage_error(args->path, "--limit must be a whole number from 1");
    return listing_run(&l, args, &remote);
}

static int run_show(const struct args *args)
{
    struct client_reply reply LOCAL_REPLY;
    struct remote r LOCAL_REMOTE;

    int code = remote_open(args, &r);
    if (code == EXIT_OK)
        code = remote_job(&r, "GET", "/v1/webhooks/", args_word(args, 0), "", &reply);
    return code == EXIT_OK ? remote_write(&r, &reply) : code;
}

static int run_resend(const struct args *args)
{
    return remote_each(args, "POST", "/v1/webhooks/", "/resend", remote_tell);
}

static const struct flag flags[] = {
    { OPT_STATE, "state", "STATE", "pending sent dead",
      "Only those that are pending, sent or dead." },
    { OPT_LIMIT, "limit", "N", NULL, "At most N of them (50)." },
    { OPT_ALL, "all", NULL, NULL, "All of them." },
    { OPT_IDS, "ids", NULL, NULL, "Only the ids of their runs, one a line." },
    { OPT_COLOR, "color", "WHEN", TERM_COLOR_WORDS,
      "auto (default): on a terminal unless NO_COLOR is set; always; never." },
    { 0 },
};

static const struct command command_list = {
    .name = "list",
    .about = "list the webhooks",
    .story = "Lists webhooks of runs that have ended, the last one first.  With --json one a "
             "line.  Needs a token with the scope admin.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .run = run_list,
};

static const struct command command_show_one = {
    .name = "show",
    .arguments = "RUN",
    .about = "show a webhook and what it sends",
    .story = "Writes the webhook of a run as JSON, with the body that is sent.  Needs a token "
             "with the scope admin.",
    .takes = COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run_show,
};

static const struct command command_resend = {
    .name = "resend",
    .arguments = "RUN…",
    .about = "send webhooks again",
    .story = "Sends the webhooks of these runs again, now, with the same ids: those that are "
             "dead, and any other whose run has ended.  Needs a token with the scope admin.",
    .exits = "0 they are pending",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = COMMAND_MANY,
    .run = run_resend,
};

const struct command command_webhooks = {
    .name = "webhooks",
    .about = "list webhooks, and send them again",
    .story = "Webhooks tell a URL how a run ended.  What could not be sent for a day is dead.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .parts = (const struct command *const[]){ &command_list, &command_show_one, &command_resend,
                                              NULL },
    .run = run_list,
};
