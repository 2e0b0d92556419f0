/* `spoolwire agents`: what jobs can be submitted to. */
#include "cli/commands.h"
#include "terminal/grid.h"
#include "cli/remote.h"

enum { OPT_NAMES = FLAG_OWN };

static void put_lines(const struct args *args, yyjson_val *agents, struct buf *out)
{
    size_t i, n;
    yyjson_val *agent;

    yyjson_arr_foreach(agents, i, n, agent)
    {
        if (args_have(args, OPT_NAMES))
            buf_str(out, json_text(json_at(agent, "agent_type")));
        else
            json_put_value(out, agent);
        buf_char(out, '\n');
    }
}

static void put_grid(yyjson_val *agents, struct buf *out)
{
    static const char *const titles[] = { "AGENT", "DESCRIPTION", NULL };
    struct grid grid;
    struct term term;
    size_t i, n;
    yyjson_val *agent;

    (void)term_open(&term, NULL); /* cannot fail for NULL */
    grid_init(&grid, titles);
    yyjson_arr_foreach(agents, i, n, agent)
    {
        grid_cell(&grid, json_text(json_at(agent, "agent_type")), STYLE_PLAIN);
        grid_cell(&grid, json_text(json_at(agent, "description")), STYLE_PLAIN);
    }
    (void)grid_write(&grid, &term, out); /* an error is in out */
    grid_done(&grid);
}

static int put_agents(const struct args *args, yyjson_val *answer, struct buf *out)
{
    yyjson_val *agents = json_at(answer, "agents");

    if (args_have(args, FLAG_JSON) || args_have(args, OPT_NAMES))
        put_lines(args, agents, out);
    else
        put_grid(agents, out);
    return EXIT_OK;
}

static int run(const struct args *args)
{
    struct client_reply reply;
    struct remote r;

    int code = remote_open(args, &r);
    client_reply_init(&reply);
    if (code == EXIT_OK)
        code = remote_get(&r, "/v1/jobs/async/agents", &reply);
    if (code == EXIT_OK)
        code = remote_put(&r, args, &reply, put_agents);
    client_reply_done(&reply);
    remote_close(&r);
    return code;
}

static const struct flag flags[] = {
    { OPT_NAMES, "names", NULL, NULL, "Only their names, one a line." },
    { 0 },
};

const struct command command_agents = {
    .name = "agents",
    .about = "list the agents",
    .story = "Lists the agents that jobs can be submitted to.  With --json one a line.",
    .flags = flags,
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .run = run,
};
