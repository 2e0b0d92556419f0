#include "demo/graph.h"

#include "base/json.h"

#include <stdio.h>

const char *const demo_section_names[DEMO_SECTIONS] = { "report", "comment_draft",
                                                        "ticket_draft" };

/* --- the state ---------------------------------------------------------------------------- */

struct str demo_state(struct demo_graph *g)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    json_format(&b, "{'messages':[%j],'issue':%s", buf_text(&g->messages), g->e.job->issue);
    if (g->next != NULL)
        json_format(&b, ",'next':%s", g->next);
    json_format(&b, ",'step_no':%d,'findings':[%j]", g->step_no, buf_text(&g->findings));
    if (g->asked)
        json_format(&b, ",'pending_exchange':%j", DEMO_QUESTION);
    if (g->answer.p != NULL)
        json_format(&b, ",'human_answer':%j", g->answer);
    for (size_t i = 0; i < DEMO_SECTIONS && g->section[i].p != NULL; i++)
        json_format(&b, ",%s:%s", demo_section_names[i], g->section[i]);
    if (g->section[0].p != NULL)
        json_format(&b, ",'final_report':%s", g->section[0]);
    json_end(&b);
    return demo_keep_buf(&g->e, &b);
}

void demo_add_message(struct demo_graph *g, struct str json)
{
    buf_str(json_next(&g->messages), json);
}

void demo_add_finding(struct demo_graph *g, struct str text)
{
    json_put_str(json_next(&g->findings), text);
}

/* --- runs of the root and of nodes ---------------------------------------------------------
 */

static struct str root_input(struct demo_graph *g)
{
    struct demo_emit *e = &g->e;

    if (e->job->paused_at > 0 && !e->muted)
        return STR("null"); /* it goes on from its checkpoint */
    if (g->answer.p != NULL)
        return demo_json(e, "{'graph':null,'update':null,'resume':%j,'goto':[]}", g->answer);
    return demo_json(e, "{'issue':%s,'messages':[%j]}", e->job->issue, buf_text(&g->messages));
}

void demo_root_start(struct demo_graph *g)
{
    demo_run_init(&g->e, &g->root, DEMO_ROOT, NULL, NULL, "LangGraph", NULL);
    demo_send(&g->e, &g->root, DEMO_CHAIN_START, "{'input':%j}", root_input(g));
}

void demo_root_end(struct demo_graph *g)
{
    demo_send(&g->e, &g->root, DEMO_CHAIN_END, "{'output':%j}", demo_state(g));
}

void demo_node_start(struct demo_graph *g, struct demo_node *n, const char *name, int push)
{
    char tag[32];

    demo_task_init(&g->e, &n->task, name, g->step, push);
    (void)snprintf(tag, sizeof(tag), "graph:step:%u", g->step);
    demo_run_init(&g->e, &n->run, DEMO_NODE, &g->root, &n->task, name, tag);
    if (n->input.p == NULL)
        n->input = demo_state(g);
    demo_send(&g->e, &n->run, DEMO_CHAIN_START, "{'input':%j}", n->input);
}

void demo_node_end(struct demo_graph *g, const struct demo_node *n, struct str update)
{
    demo_send(&g->e, &n->run, DEMO_CHAIN_STREAM, "{'chunk':%j}", update);
    demo_send(&g->e, &n->run, DEMO_CHAIN_END, "{'output':%j,'input':%j}", update, n->input);
    demo_send(&g->e, &g->root, DEMO_CHAIN_STREAM, "{'chunk':{%s:%j}}", n->task.node, update);
}

void demo_node_found(struct demo_graph *g, const struct demo_node *n, struct str text)
{
    demo_node_end(g, n, demo_json(&g->e, "{'findings':[%s]}", text));
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
}

void demo_graph_done(struct demo_graph *g)
{
    buf_done(&g->messages);
    buf_done(&g->findings);
    demo_emit_done(&g->e);
}

enum demo_outcome demo_graph_outcome(const struct demo_graph *g)
{
    if (demo_going(&g->e) && (g->messages.error != 0 || g->findings.error != 0))
        return DEMO_NO_MEMORY;
    return g->e.outcome;
}
