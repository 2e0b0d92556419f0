/* `spoolwire state`: the tools that a job has called, and what it has made. */
#include "cli/commands.h"
#include "terminal/grid.h"
#include "cli/remote.h"

enum { MAX_OUT = 256 * 1024 * 1024, SHOWN = 400 };

/* A cell with a text as it is, and anything else as JSON. */
static void put_value(struct grid *g, yyjson_val *v, enum term_style style)
{
    struct str text = json_text(v);
    struct buf json;

    buf_init(&json, MAX_OUT);
    if (text.p == NULL && !json_is_null(v)) {
        json_put_value(&json, v);
        text = buf_text(&json);
    }
    grid_cell(g, str_head(text, SHOWN), style);
    buf_done(&json);
}

static enum term_style status_style(struct str status)
{
    if (str_is(status, "completed"))
        return STYLE_GREEN;
    return str_is(status, "running") ? STYLE_CYAN : STYLE_RED;
}

struct column {
    const char *title, *key;
    enum term_style style;
};

static void put_row(struct grid *g, const struct column *columns, yyjson_val *v)
{
    for (; columns->title != NULL; columns++) {
        yyjson_val *member = json_get(v, str_of(columns->key));
        bool status = strcmp(columns->key, "status") == 0;

        put_value(g, member, status ? status_style(json_text(member)) : columns->style);
    }
}

static void put_rows(yyjson_val *list,
                     const struct column *columns,
                     const struct term *t,
                     struct buf *out)
{
    const char *titles[GRID_MAX_COLUMNS + 1] = { NULL };
    struct grid g;
    size_t i, n;
    yyjson_val *v;

    if (yyjson_arr_size(list) == 0)
        return;
    for (i = 0; columns[i].title != NULL; i++)
        titles[i] = columns[i].title;
    grid_init(&g, titles);
    yyjson_arr_foreach(list, i, n, v) put_row(&g, columns, v);
    (void)grid_write(&g, t, out); /* an error is in out */
    grid_done(&g);
    buf_char(out, '\n');
}

static void put_counts(yyjson_val *artifacts, struct buf *out)
{
    yyjson_val *sources = json_at(artifacts, "sources");

    buf_lit(out, "sources: ");
    buf_i64(out, json_int(json_at(sources, "found"), 0));
    buf_lit(out, " found, ");
    buf_i64(out, json_int(json_at(sources, "cited"), 0));
    buf_lit(out, " cited; files: ");
    buf_u64(out, yyjson_arr_size(json_at(artifacts, "files")));
    buf_lit(out, "; todos: ");
    buf_u64(out, yyjson_arr_size(json_at(artifacts, "todos")));
    buf_char(out, '\n');
}

static const struct column tools[] = {
    { "TOOL", "name", STYLE_PLAIN },     { "STATUS", "status", STYLE_PLAIN },
    { "NODE", "workflow", STYLE_PLAIN }, { "INPUT", "input", STYLE_DIM },
    { "OUTPUT", "output", STYLE_DIM },   { 0 },
};
static const struct column outputs[] = {
    { "MADE", "type", STYLE_PLAIN },
    { "NAME", "name", STYLE_PLAIN },
    { "CONTENT", "content", STYLE_DIM },
    { 0 },
};

static int put_state(const struct args *args, yyjson_val *state, struct buf *out)
{
    yyjson_val *artifacts = json_at(state, "artifacts");
    struct term term;

    (void)args;
    (void)term_open(&term, NULL); /* cannot fail for NULL */
    put_rows(json_at(artifacts, "tools"), tools, &term, out);
    put_rows(json_at(artifacts, "outputs"), outputs, &term, out);
    put_counts(artifacts, out);
    return EXIT_OK;
}

static int run(const struct args *args)
{
    return remote_show(args, "/v1/jobs/async/job/", "/state", put_state);
}

const struct command command_state = {
    .name = "state",
    .arguments = "JOB",
    .about = "show the tools that a job has called, and what it has made",
    .story =
        "Writes a job's tool calls and artifacts so far.  With --json all of them in full.",
    .takes = COMMAND_JSON | COMMAND_REMOTE,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
