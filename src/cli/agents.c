/* `spoolwire agents`: what jobs can be submitted to, how much waits, and what is wrong. */
#include "cli/commands.h"
#include "cli/listing.h"

enum { OPT_NAMES = FLAG_OWN };

/* "3 workers, import error: …" */
static enum term_style put_error(void *arg,
                                 yyjson_val *item,
                                 yyjson_val *value,
                                 struct buf *text)
{
    int64_t n = json_int(json_at(item, "broken_workers"), 0);

    (void)arg;
    if (!yyjson_is_str(value)) {
        buf_char(text, '-');
        return STYLE_DIM;
    }
    buf_i64(text, n);
    buf_str(text, n == 1 ? STR(" worker, ") : STR(" workers, "));
    buf_str(text, json_text(value));
    return STYLE_RED;
}

static const struct column columns[] = {
    { "AGENT", "agent", .style = STYLE_PLAIN },
    { "KIND", "kind", .style = STYLE_DIM },
    { "QUEUED", "queued", .style = STYLE_PLAIN },
    { "LEASED", "leased", .style = STYLE_PLAIN },
    { "ERROR", "error", .put = put_error },
    { "DESCRIPTION", "description", .style = STYLE_PLAIN },
    { 0 },
};

static int put_agents(const struct args *args, yyjson_val *answer, struct buf *out)
{
    yyjson_val *agents = json_at(answer, "agents");
    struct term term;

    if (args_have(args, FLAG_JSON) || args_have(args, OPT_NAMES)) {
        json_each(agent, agents)
            listing_put_line(agent, columns, args_have(args, OPT_NAMES), out);
        return EXIT_OK;
    }
    (void)term_open(&term, NULL); /* cannot fail for NULL */
    listing_put(agents, columns, true, &term, out);
    return EXIT_OK;
}

static int run(const struct args *args)
{
    struct client_reply reply LOCAL_REPLY;
    struct remote r LOCAL_REMOTE;

    int code = remote_open(args, &r);
    if (code == EXIT_OK)
        code = remote_get(&r, "/v1/agents", &reply);
    return code != EXIT_OK ? code : remote_put(&r, args, &reply, put_agents);
}

static const struct flag flags[] = {
    { OPT_NAMES, "names", NULL, NULL, "Only their names, one a line." },
    { 0 },
};

const struct command command_agents = {
    .name = "agents",
    .about = "list the agents",
    .story =
        "Lists the agents that jobs can be submitted to: how many jobs of each wait "
        "and run, and whether workers have said that they cannot work for it.  With --json one "
        "a line.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .run = run,
};
