#include "script.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void put(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct buf *b, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        abort();
    buf_put(b, text, (size_t)n);
}

void script_init(struct script *sc,
                 struct chance *chance,
                 const char *job,
                 int64_t attempt,
                 bool big)
{
    *sc = (struct script){ .chance = chance, .big = big };
    (void)snprintf(sc->prefix, sizeof(sc->prefix), "%s-a%" PRId64, job, attempt);
    sc->n_left = (int)chance_between(chance, 0, big ? 400 : chance_of(chance, 150) ? 200 : 60);
    sc->says_end = chance_of(chance, 250);
}

/* --- one line ----------------------------------------------------------------- */

static struct script_run *top(struct script *sc)
{
    return &sc->open[sc->n_open - 1];
}

static void put_id(const struct script *sc, struct buf *out, const struct script_run *run)
{
    put(out, "\"%s-r%u\"", sc->prefix, run->number);
}

/* Everything but `data`, which follows, and the closing brace. */
static void put_named_event(struct script *sc,
                            struct buf *out,
                            const char *event,
                            const char *name,
                            const struct script_run *run)
{
    put(out, "{\"event\":\"%s\",\"name\":\"%s\",\"run_id\":", event, name);
    put_id(sc, out, run);
    buf_lit(out, ",\"parent_ids\":[");
    for (const struct script_run *r = sc->open; r < run; r++) {
        if (r > sc->open)
            buf_char(out, ',');
        put_id(sc, out, r);
    }
    buf_lit(out, "],\"tags\":[");
    if (run->type == SCRIPT_NODE)
        put(out, "\"graph:step:%u\"", run->step);
    buf_lit(out, "],\"metadata\":{\"thread_id\":\"t-1\",\"ls_integration\":\"langgraph\"");
    if (run->ns[0] != '\0') {
        const char *node = strrchr(run->ns, '|');
        node = node != NULL ? node + 1 : run->ns;
        put(out,
            ",\"langgraph_step\":%u,\"langgraph_node\":\"%.*s\","
            "\"langgraph_checkpoint_ns\":\"%s\"",
            run->step, (int)strcspn(node, ":"), node, run->ns);
    }
    buf_lit(out, "},\"data\":");
}

static void put_event(struct script *sc,
                      struct buf *out,
                      const char *event,
                      const struct script_run *run)
{
    put_named_event(sc, out, event, run->name, run);
}

static void end_event(struct buf *out)
{
    buf_lit(out, "}\n");
}

/* --- starts ------------------------------------------------------------------- */

static struct script_run *push(struct script *sc, enum script_run_type type, const char *name)
{
    struct script_run *run = &sc->open[sc->n_open];

    *run = (struct script_run){ .type = type, .number = sc->n_runs++, .name = name };
    if (sc->n_open > 0) {
        run->step = run[-1].step;
        memcpy(run->ns, run[-1].ns, sizeof(run->ns));
    }
    sc->n_open++;
    return run;
}

static void start_graph(struct script *sc, struct buf *out)
{
    struct script_run *run = push(sc, SCRIPT_GRAPH, "LangGraph");

    sc->begun = true;
    put_event(sc, out, "on_chain_start", run);
    put(out,
        "{\"input\":{\"messages\":[{\"type\":\"human\",\"content\":\"why %s?\",\"id\":\"h1\"}]}}",
        sc->prefix);
    end_event(out);
}

static void start_node(struct script *sc, struct buf *out)
{
    static const char *const names[] = { "supervisor", "investigator", "writer", "critic",
                                         "web_search" };
    struct script_run *run = push(sc, SCRIPT_NODE, names[chance_below(sc->chance, 5)]);
    size_t n = strlen(run->ns);

    run->step = ++sc->n_steps;
    (void)snprintf(run->ns + n, sizeof(run->ns) - n, "%s%s:%s-%u", n > 0 ? "|" : "", run->name,
                   sc->prefix, run->number);
    put_event(sc, out, "on_chain_start", run);
    put(out, "{\"input\":{\"visit\":%u}}", run->step);
    end_event(out);
}

static void start_model(struct script *sc, struct buf *out)
{
    struct script_run *run = push(sc, SCRIPT_MODEL, "ScriptedChat");

    put_event(sc, out, "on_chat_model_start", run);
    buf_lit(out, "{\"input\":{\"messages\":[[{\"type\":\"human\",\"content\":\"go\"}]]}}");
    end_event(out);
}

static void start_tool(struct script *sc, struct buf *out)
{
    struct script_run *run =
        push(sc, SCRIPT_TOOL, chance_of(sc->chance, 500) ? "tavily_search" : "read_file");

    put_event(sc, out, "on_tool_start", run);
    put(out, "{\"input\":{\"query\":\"pool %u\"}}", run->number);
    end_event(out);
}

/* --- in between --------------------------------------------------------------- */

static void put_token(struct script *sc, struct buf *out)
{
    struct script_run *run = top(sc);

    put_event(sc, out, "on_chat_model_stream", run);
    put(out,
        "{\"chunk\":{\"content\":\"w%u \\n\\u2028\",\"additional_kwargs\":{},\"response_metadata\":{},"
        "\"type\":\"AIMessageChunk\",\"name\":null,\"id\":\"%s-m%u\",\"tool_calls\":[],"
        "\"tool_call_chunks\":[],\"usage_metadata\":null}}",
        sc->n_tokens++, sc->prefix, run->number);
    end_event(out);
}

static void put_progress(struct script *sc, struct buf *out)
{
    put_named_event(sc, out, "on_custom_event", "progress", top(sc));
    put(out, "{\"percent\":%zu,\"message\":\"step %u\"}", chance_below(sc->chance, 101),
        sc->n_tokens++);
    end_event(out);
}

/* Some of them make a page. */
static void put_blob(struct script *sc, struct buf *out)
{
    size_t n = (size_t)chance_between(sc->chance, 20000, 60000);

    put_named_event(sc, out, "on_custom_event", "blob", top(sc));
    buf_lit(out, "{\"blob\":\"");
    if (buf_reserve(out, n)) {
        memset(out->p + out->n, 'a' + (int)(n % 26), n);
        out->n += n;
    }
    buf_lit(out, "\"}");
    end_event(out);
}

static void put_update(struct script *sc, struct buf *out)
{
    put_event(sc, out, "on_chain_stream", &sc->open[0]);
    put(out, "{\"chunk\":{\"supervisor\":{\"step_no\":%u}}}", sc->n_steps);
    end_event(out);
}

/* Also falsy ones, and such that expire with an answer of their own. */
static const char *some_value(struct script *sc)
{
    static const char *const values[] = {
        "{\"question\":\"Which one?\"}",
        "0",
        "\"\"",
        "null",
        "{\"expires_in\":3,\"on_expiry\":\"default\",\"default\":{\"silence\":true}}",
        "{\"expires_in\":20,\"on_expiry\":\"cancel\"}",
        "{\"expires_in\":0,\"on_expiry\":\"default\"}",
    };

    return values[chance_below(sc->chance, sizeof(values) / sizeof(values[0]))];
}

/* What a run says of its questions. */
static void put_interrupts(struct script *sc,
                           struct buf *out,
                           const struct script_run *run,
                           const char *const values[2])
{
    static const char names[] = { 'q', 'p' };

    put_event(sc, out, "on_chain_stream", run);
    buf_lit(out, "{\"chunk\":{\"__interrupt__\":[");
    for (size_t i = 0; i < 2 && values[i] != NULL; i++)
        put(out, "%s{\"value\":%s,\"id\":\"%s-%c\"}", i > 0 ? "," : "", values[i], sc->prefix,
            names[i]);
    buf_lit(out, "]}}");
    end_event(out);
}

/* One question, two at the same time, or none: a breakpoint.  Inside of another graph that one
 * tells of it first. */
static void put_question(struct script *sc, struct buf *out)
{
    const char *values[2] = { NULL, NULL };

    if (chance_of(sc->chance, 850))
        values[0] = some_value(sc);
    if (values[0] != NULL && chance_of(sc->chance, 400))
        values[1] = some_value(sc);
    sc->asked = true;
    if (sc->curious) {
        sc->says_end = false;
        sc->n_left = 0;
    }
    if (sc->n_open > 2)
        put_interrupts(sc, out, &sc->open[sc->n_open - 2], values);
    put_interrupts(sc, out, &sc->open[0], values);
}

/* --- ends --------------------------------------------------------------------- */

static void put_end(struct script *sc, struct buf *out)
{
    struct script_run *run = top(sc);
    bool fails = run->type == SCRIPT_TOOL && chance_of(sc->chance, 200);

    switch (run->type) {
    case SCRIPT_GRAPH:
    case SCRIPT_NODE:
        put_event(sc, out, "on_chain_end", run);
        put(out, "{\"output\":{\"step_no\":%u}}", sc->n_steps);
        break;
    case SCRIPT_MODEL:
        put_event(sc, out, "on_chat_model_end", run);
        put(out,
            "{\"output\":{\"content\":\"all of it %u\",\"type\":\"AIMessageChunk\","
            "\"id\":\"%s-m%u\",\"tool_calls\":[],\"response_metadata\":{\"finish_reason\":"
            "\"stop\"}}}",
            sc->n_tokens, sc->prefix, run->number);
        break;
    case SCRIPT_TOOL:
        put_event(sc, out, fails ? "on_tool_error" : "on_tool_end", run);
        if (fails)
            buf_lit(out, "{\"error\":\"ValueError('no such pool')\"}");
        else
            put(out,
                "{\"output\":{\"content\":\"found https://example.org/%u\",\"type\":\"tool\","
                "\"tool_call_id\":\"%s-c%u\"}}",
                run->number, sc->prefix, run->number);
        break;
    }
    end_event(out);
    sc->n_open--;
    sc->over = sc->n_open == 0;
}

void script_end_word(struct script *sc, struct buf *out)
{
    static const char *const words[] = {
        "{\"type\":\"job.done\",\"output\":{\"report\":\"done\"}}\n",
        "{\"type\":\"job.failed\",\"error\":\"the model is away\"}\n",
        "{\"type\":\"job.done\"}\n{\"type\":\"job.done\"}\n",
        "{\"type\":\"job.cancelled\"}\n",
    };

    buf_str(out, str_of(words[chance_below(sc->chance, sizeof(words) / sizeof(*words))]));
}

/* --- what comes next ---------------------------------------------------------- */

static void go_on_in_node(struct script *sc, struct buf *out)
{
    size_t what = chance_below(sc->chance, 100);
    bool deep = sc->n_open >= SCRIPT_DEPTH - 1;

    if (sc->big && chance_of(sc->chance, 600))
        put_blob(sc, out);
    else if (what < 35)
        start_model(sc, out);
    else if (what < 55)
        start_tool(sc, out);
    else if (what < 65 && !deep)
        start_node(sc, out); /* a graph inside of it */
    else if (what < 75)
        put_progress(sc, out);
    else if (what < 76)
        put_question(sc, out);
    else
        put_end(sc, out);
}

static void go_on(struct script *sc, struct buf *out)
{
    size_t what = chance_below(sc->chance, 100);

    if (sc->curious && !sc->asked && chance_of(sc->chance, 250)) {
        put_question(sc, out);
        return;
    }
    switch (top(sc)->type) {
    case SCRIPT_GRAPH:
        if (what < 75)
            start_node(sc, out);
        else if (what < 97)
            put_update(sc, out);
        else
            put_question(sc, out);
        return;
    case SCRIPT_NODE:
        go_on_in_node(sc, out);
        return;
    case SCRIPT_MODEL:
        if (what < 85)
            put_token(sc, out);
        else
            put_end(sc, out);
        return;
    case SCRIPT_TOOL:
        if (what < 20 && sc->n_open < SCRIPT_DEPTH)
            start_model(sc, out);
        else if (what < 40)
            put_progress(sc, out);
        else
            put_end(sc, out);
        return;
    }
}

bool script_line(struct script *sc, struct buf *out)
{
    if (sc->over)
        return false;
    sc->n_left--;
    if (chance_of(sc->chance, 15)) {
        buf_lit(out, "{\"event\":\"on_chain_start\",\"run_id\":\n"); /* a bad one harms nobody
                                                                      */
        return true;
    }
    if (!sc->begun)
        start_graph(sc, out);
    else if (sc->n_left <= 0)
        put_end(sc, out);
    else
        go_on(sc, out);
    return true;
}

/* --- markers ------------------------------------------------------------------ */

void script_marker(struct buf *out, uint64_t batch, bool end)
{
    put(out,
        "{\"event\":\"on_custom_event\",\"name\":\"marker\",\"run_id\":\"\",\"tags\":[],"
        "\"metadata\":{},\"data\":{\"marker\":%" PRIu64 ",\"end\":%d}}\n",
        batch, end);
}

bool script_read_marker(struct str data, uint64_t *ret_batch, bool *ret_end)
{
    char text[80];
    int end;

    if (data.n >= sizeof(text) || !str_starts(data, STR("{\"marker\":")))
        return false;
    memcpy(text, data.p, data.n);
    text[data.n] = '\0';
    if (sscanf(text, "{\"marker\":%" SCNu64 ",\"end\":%d}", ret_batch, &end) != 2)
        return false;
    *ret_end = end != 0;
    return true;
}
