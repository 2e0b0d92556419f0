/* `spoolwire state`: the tools that a job has called, and what it has made. */
#include "cli/commands.h"
#include "base/text_format.h"
#include "cli/listing.h"

enum { SHOWN = 400 }; /* bytes of a value */

static enum term_style put_status(void *arg,
                                  yyjson_val *item,
                                  yyjson_val *value,
                                  struct buf *text)
{
    struct str status = json_text(value);

    (void)arg, (void)item;
    buf_str(text, status);
    if (str_is(status, "completed"))
        return STYLE_GREEN;
    return str_is(status, "running") ? STYLE_CYAN : STYLE_RED;
}

/* The beginning of a text, or of the JSON of anything else. */
static enum term_style put_value(void *arg,
                                 yyjson_val *item,
                                 yyjson_val *value,
                                 struct buf *text)
{
    (void)arg, (void)item;
    if (yyjson_is_str(value))
        buf_str(text, json_text(value));
    else if (!json_is_null(value))
        json_put_value(text, value);
    buf_cut(text, SHOWN);
    return STYLE_DIM;
}

static void put_rows(yyjson_val *list,
                     const struct column *columns,
                     const struct term *t,
                     struct buf *out)
{
    listing_put(list, columns, false, t, out);
    if (yyjson_arr_size(list) > 0)
        buf_char(out, '\n');
}

static void put_counts(yyjson_val *artifacts, struct buf *out)
{
    yyjson_val *sources = json_at(artifacts, "sources");

    text_format(out, "sources: %d found, %d cited; files: %d; todos: %d\n",
                json_int(json_at(sources, "found"), 0), json_int(json_at(sources, "cited"), 0),
                yyjson_arr_size(json_at(artifacts, "files")),
                yyjson_arr_size(json_at(artifacts, "todos")));
}

static const struct column tools[] = {
    { "TOOL", "name", .style = STYLE_PLAIN },     { "STATUS", "status", .put = put_status },
    { "NODE", "workflow", .style = STYLE_PLAIN }, { "INPUT", "input", .put = put_value },
    { "OUTPUT", "output", .put = put_value },     { 0 },
};
static const struct column outputs[] = {
    { "MADE", "type", .style = STYLE_PLAIN },
    { "NAME", "name", .style = STYLE_PLAIN },
    { "CONTENT", "content", .put = put_value },
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
