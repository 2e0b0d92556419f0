/* The nodes that the supervisor calls before the writer. */
#include "demo/graph.h"
#include "demo/model.h"

#include <stdio.h>
#include <stdlib.h>

/* --- supervisor -----------------------------------------------------------------------------
 */

/* The call of web_search's tool is the supervisor's, so that the node finds it in the state. */
static struct demo_call web_call(struct demo_graph *g)
{
    return (struct demo_call){ .tool = STR("tavily_search"),
                               .args = demo_json(&g->e, "{'query':%s,'max_results':3}",
                                                 g->texts.story->query),
                               .id = STR("call_ws1") };
}

static struct str web_call_message(struct demo_graph *g)
{
    struct demo_call call = web_call(g);
    char id[KEY_UUID_CHARS + 1];
    struct buf b;

    demo_fixed_id(&g->e, "web call", id);
    buf_init(&b, SIZE_MAX / 4);
    demo_put_ai(&b, STR(""), str_of(id), &call, NULL);
    return demo_keep_buf(&g->e, &b);
}

/* A Send has no JSON form: the server writes null. */
static struct str sent(struct demo_graph *g)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    for (unsigned i = 0; i < g->e.job->options.fan_out; i++)
        buf_put(&b, i == 0 ? "[null" : ",null", 5);
    json_end_array(&b);
    return demo_keep_buf(&g->e, &b);
}

/* The function of the conditional edge: it sees the state as it will be. */
static void route(struct demo_graph *g, const struct demo_node *n, bool sends)
{
    struct demo_run run;
    struct str state = demo_state(g);
    struct str output = sends ? sent(g) : demo_json(&g->e, "%s", g->next);

    demo_run_init(&g->e, &run, DEMO_NODE, &n->run, &n->task, "route_supervisor", "seq:step:3");
    demo_send(&g->e, &run, DEMO_CHAIN_START, "{'input':%j}", state);
    demo_send(&g->e, &run, DEMO_CHAIN_END, "{'output':%j,'input':%j}", output, state);
}

static void decide(struct demo_graph *g, const struct demo_node *n, const char *next)
{
    struct demo_model m;
    char prompt[64];

    (void)snprintf(prompt, sizeof(prompt), "Who goes next? Step %u.", g->step_no);
    demo_model_init(&g->e, &m, &n->run, "seq:step:1", demo_keep(&g->e, str_of(prompt)),
                    demo_json(&g->e, "{'next': %s}", next));
    m.raises = demo_node_raises(g, "supervisor");
    demo_model_play(&g->e, &m);
}

/* The state changes between the node's start and its edge, so that the edge sees it. */
void demo_supervisor(struct demo_graph *g, const char *next, bool sends)
{
    struct str message = strcmp(next, "web_search") == 0 ? web_call_message(g) : STR_NONE;
    bool asks = strcmp(next, "human_input") == 0;
    struct demo_node n = { .input = STR_NONE };

    g->step++;
    demo_node_start(g, &n, "supervisor", -1);
    decide(g, &n, next);
    g->next = next;
    g->step_no++;
    g->asked = g->asked || asks;
    if (message.p != NULL)
        demo_add_message(g, message);
    route(g, &n, sends);
    demo_node_end(
        g, &n,
        demo_json(&g->e, "{'next':%s,'step_no':1%j%j}", next,
                  message.p != NULL ? demo_json(&g->e, ",'messages':[%j]", message) : STR(""),
                  asks ? demo_json(&g->e, ",'pending_exchange':%j", DEMO_QUESTION) : STR("")));
}

/* --- investigator ---------------------------------------------------------------------------
 */

static void send_progress(struct demo_graph *g, const struct demo_node *n, unsigned percent)
{
    struct demo_run run;

    /* A custom event carries the id of the run that dispatched it. */
    demo_run_init(&g->e, &run, DEMO_INNER, &g->root, &n->task, "progress", "seq:step:1");
    memcpy(run.id, n->run.id, sizeof(run.id));
    demo_send(&g->e, &run, DEMO_CUSTOM, "{'percent':%d,'message':'reading logs'}", percent);
}

static void init_look(struct demo_graph *g,
                      struct demo_chain *chain,
                      const struct demo_node *n,
                      enum demo_text text,
                      unsigned visit)
{
    struct str input = demo_json(&g->e, "{'issue':%s,'visit':%d}", g->e.job->issue, visit);

    demo_chain_init(&g->e, chain, &n->run, "seq:step:1", input, STR("You investigate."),
                    g->e.job->issue, demo_text_make(&g->texts, text));
    chain->model.raises = demo_node_raises(g, "investigator");
}

void demo_investigator(struct demo_graph *g, enum demo_text text, unsigned visit)
{
    struct demo_node n = { .input = STR_NONE };
    struct demo_chain chain;

    g->step++;
    demo_node_start(g, &n, "investigator", -1);
    send_progress(g, &n, visit == 0 ? 10 : 60);
    init_look(g, &chain, &n, text, visit);
    demo_chains_play(&g->e, &chain, 1, NULL, NULL);
    demo_node_found(g, &n, chain.model.text);
    demo_add_finding(g, chain.model.text);
}

struct fan_out {
    struct demo_graph *g;
    struct demo_node *nodes;
    struct demo_chain *chains;
};

/* Each investigator ends on its own; their updates join the state at the end of the step. */
static void on_look_ended(void *arg, size_t i)
{
    struct fan_out *f = arg;

    demo_node_found(f->g, &f->nodes[i], f->chains[i].model.text);
}

static void start_sent(struct fan_out *f, size_t i)
{
    f->nodes[i].input = demo_json(&f->g->e, "{'topic':%s}", demo_topic(i));
    demo_node_start(f->g, &f->nodes[i], "investigator", (int)i);
}

void demo_investigators(struct demo_graph *g)
{
    size_t n = g->e.job->options.fan_out;
    struct fan_out f = { .g = g };

    g->step++;
    f.nodes = calloc(n, sizeof(*f.nodes));
    f.chains = calloc(n, sizeof(*f.chains));
    if (f.nodes == NULL || f.chains == NULL)
        g->e.outcome = DEMO_NO_MEMORY;
    for (size_t i = 0; i < n && demo_going(&g->e); i++)
        start_sent(&f, i);
    for (size_t i = 0; i < n && demo_going(&g->e); i++) {
        g->texts.topic = str_of(demo_topic(i));
        init_look(g, &f.chains[i], &f.nodes[i], TEXT_FIRST_LOOK, 0);
    }
    g->texts.topic = STR_NONE;
    if (demo_going(&g->e))
        demo_chains_play(&g->e, f.chains, n, on_look_ended, &f);
    for (size_t i = 0; i < n && demo_going(&g->e); i++)
        demo_add_finding(g, f.chains[i].model.text);
    free(f.nodes);
    free(f.chains);
}

/* --- codebase_search, web_search, critic -----------------------------------------------------
 */

void demo_codebase_search(struct demo_graph *g)
{
    const struct demo_story *story = g->texts.story;
    struct str result = demo_json(&g->e, "[{'file': %s, 'line': %j, 'text': %s}]", story->file,
                                  story->line, story->code);
    struct demo_node n = { .input = STR_NONE };
    struct demo_model m;
    char id[KEY_UUID_CHARS + 1];

    g->step++;
    demo_node_start(g, &n, "codebase_search", -1);
    demo_model_init_call(&g->e, &m, &n.run, STR("Where in the code is it?"), STR("grep_repo"),
                         demo_json(&g->e, "{'pattern':%s,'path':'.'}", story->pattern));
    demo_model_play(&g->e, &m);
    demo_new_id(&g->e, id);
    demo_tool_play(&g->e, &n.run, &m.call, result, str_of(id),
                   demo_node_raises(g, "codebase_search"));
    demo_node_found(g, &n, result);
    demo_add_finding(g, result);
}

/* As Python's json.dumps writes it, which is the text of the tool's message. */
static struct str web_result(struct demo_graph *g)
{
    const struct demo_story *story = g->texts.story;
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    json_format(&b, "{'query': %s, 'results': [", story->query);
    for (size_t i = 0; i < DEMO_SOURCES; i++)
        json_format(&b, "%j{'url': %s, 'title': %s, 'content': %s}", i > 0 ? ", " : "",
                    story->source[i].url, story->source[i].title, story->source[i].content);
    buf_lit(&b, "]}");
    return demo_keep_buf(&g->e, &b);
}

void demo_web_search(struct demo_graph *g)
{
    struct demo_call call = web_call(g);
    struct str result = web_result(g);
    struct demo_node n = { .input = STR_NONE };
    char id[KEY_UUID_CHARS + 1];
    struct buf b;

    g->step++;
    demo_node_start(g, &n, "web_search", -1);
    demo_fixed_id(&g->e, "web result", id);
    demo_tool_play(&g->e, &n.run, &call, result, str_of(id), demo_node_raises(g, "web_search"));
    buf_init(&b, SIZE_MAX / 4);
    demo_put_tool(&b, result, str_of(id), &call);
    struct str message = demo_keep_buf(&g->e, &b);
    demo_node_end(g, &n, demo_json(&g->e, "{'messages':[%j]}", message));
    demo_add_message(g, message);
}

void demo_critic(struct demo_graph *g)
{
    struct demo_node n = { .input = STR_NONE };
    struct demo_model m;

    g->step++;
    demo_node_start(g, &n, "critic", -1);
    demo_model_init(&g->e, &m, &n.run, "seq:step:1", STR("Criticise the findings."),
                    demo_text_make(&g->texts, TEXT_CRITIC));
    m.raises = demo_node_raises(g, "critic");
    demo_model_play(&g->e, &m);
    demo_node_found(g, &n, m.text);
    demo_add_finding(g, m.text);
}
