#include "demo/graph.h"

#include "base/json.h"

#include <stdio.h>

const char *const demo_section_names[DEMO_SECTIONS] = { "report", "comment_draft",
                                                        "ticket_draft" };

/* --- the state ---------------------------------------------------------------------------- */

void demo_put_state(struct buf *b, const struct demo_graph *g)
{
    buf_lit(b, "{\"messages\":[");
    buf_str(b, buf_text(&g->messages));
    buf_lit(b, "],\"issue\":");
    json_put_str(b, g->e.job->issue);
    if (g->next != NULL) {
        buf_lit(b, ",\"next\":");
        json_put_str(b, str_of(g->next));
    }
    buf_lit(b, ",\"step_no\":");
    buf_u64(b, g->step_no);
    buf_lit(b, ",\"findings\":[");
    buf_str(b, buf_text(&g->findings));
    buf_char(b, ']');
    if (g->asked)
        buf_lit(b, ",\"pending_exchange\":" DEMO_QUESTION);
    if (g->answer.p != NULL) {
        buf_lit(b, ",\"human_answer\":");
        buf_str(b, g->answer);
    }
    for (size_t i = 0; i < DEMO_SECTIONS && g->section[i].p != NULL; i++) {
        buf_lit(b, ",\"");
        buf_str(b, str_of(demo_section_names[i]));
        buf_lit(b, "\":");
        json_put_str(b, g->section[i]);
    }
    if (g->section[0].p != NULL) {
        buf_lit(b, ",\"final_report\":");
        json_put_str(b, g->section[0]);
    }
    buf_char(b, '}');
}

void demo_add_message(struct demo_graph *g, struct str json)
{
    if (g->messages.n > 0)
        buf_char(&g->messages, ',');
    buf_str(&g->messages, json);
}

void demo_add_finding(struct demo_graph *g, struct str text)
{
    if (g->findings.n > 0)
        buf_char(&g->findings, ',');
    json_put_str(&g->findings, text);
}

void demo_put_finding(struct demo_graph *g, struct str text)
{
    buf_clear(&g->update);
    buf_lit(&g->update, "{\"findings\":[");
    json_put_str(&g->update, text);
    buf_lit(&g->update, "]}");
}

/* --- runs of the root and of nodes ---------------------------------------------------------
 */

void demo_root_start(struct demo_graph *g)
{
    struct demo_emit *e = &g->e;

    demo_run_init(e, &g->root, DEMO_ROOT, NULL, NULL, "LangGraph", NULL);
    struct buf *b = demo_event(e, &g->root, DEMO_CHAIN_START);
    if (e->job->paused_at > 0 && !e->muted) {
        buf_lit(b, "{\"input\":null}"); /* it goes on from its checkpoint */
        demo_event_send(e);
        return;
    }
    buf_lit(b, "{\"input\":{");
    if (g->answer.p != NULL) {
        buf_lit(b, "\"graph\":null,\"update\":null,\"resume\":");
        buf_str(b, g->answer);
        buf_lit(b, ",\"goto\":[]}}");
    } else {
        buf_lit(b, "\"issue\":");
        json_put_str(b, e->job->issue);
        buf_lit(b, ",\"messages\":[");
        buf_str(b, buf_text(&g->messages));
        buf_lit(b, "]}}");
    }
    demo_event_send(e);
}

void demo_root_end(struct demo_graph *g)
{
    struct buf *b = demo_event(&g->e, &g->root, DEMO_CHAIN_END);

    buf_lit(b, "{\"output\":");
    demo_put_state(b, g);
    buf_char(b, '}');
    demo_event_send(&g->e);
}

static void put_input(struct buf *b, const struct demo_graph *g, const struct demo_node *n)
{
    buf_lit(b, "\"input\":");
    if (n->input.p != NULL)
        buf_str(b, n->input);
    else
        demo_put_state(b, g);
    buf_char(b, '}');
}

void demo_node_start(struct demo_graph *g, struct demo_node *n, const char *name, int push)
{
    char tag[32];

    demo_task_init(&g->e, &n->task, name, g->step, push);
    (void)snprintf(tag, sizeof(tag), "graph:step:%u", g->step);
    demo_run_init(&g->e, &n->run, DEMO_NODE, &g->root, &n->task, name, tag);
    struct buf *b = demo_event(&g->e, &n->run, DEMO_CHAIN_START);
    buf_char(b, '{');
    put_input(b, g, n);
    demo_event_send(&g->e);
}

/* Ends it with what is in g->update; the caller then makes that part of the state. */
void demo_node_end(struct demo_graph *g, const struct demo_node *n)
{
    struct str update = buf_text(&g->update);
    struct buf *b = demo_event(&g->e, &n->run, DEMO_CHAIN_STREAM);

    buf_lit(b, "{\"chunk\":");
    buf_str(b, update);
    buf_char(b, '}');
    demo_event_send(&g->e);
    b = demo_event(&g->e, &n->run, DEMO_CHAIN_END);
    buf_lit(b, "{\"output\":");
    buf_str(b, update);
    buf_char(b, ',');
    put_input(b, g, n);
    demo_event_send(&g->e);
    b = demo_event(&g->e, &g->root, DEMO_CHAIN_STREAM);
    buf_lit(b, "{\"chunk\":{");
    json_put_str(b, str_of(n->task.node));
    buf_char(b, ':');
    buf_str(b, update);
    buf_lit(b, "}}");
    demo_event_send(&g->e);
}

bool demo_node_raises(const struct demo_graph *g, const char *node)
{
    const char *fail_at = g->e.job->options.fail_at;

    return fail_at != NULL && strcmp(fail_at, node) == 0;
}

/* --- the graph --------------------------------------------------------------------------- */

void demo_graph_init(struct demo_graph *g, const struct demo_job *job, struct demo_sink *sink)
{
    *g = (struct demo_graph){ .answer = STR_NONE };
    demo_emit_init(&g->e, job, sink);
    demo_texts_init(&g->texts, &g->e);
    buf_init(&g->messages, SIZE_MAX / 4);
    buf_init(&g->findings, SIZE_MAX / 4);
    buf_init(&g->update, SIZE_MAX / 4);
}

void demo_graph_done(struct demo_graph *g)
{
    buf_done(&g->messages);
    buf_done(&g->findings);
    buf_done(&g->update);
    demo_emit_done(&g->e);
}

enum demo_outcome demo_graph_outcome(const struct demo_graph *g)
{
    if (demo_going(&g->e) &&
        (g->messages.error != 0 || g->findings.error != 0 || g->update.error != 0))
        return DEMO_NO_MEMORY;
    return g->e.outcome;
}
