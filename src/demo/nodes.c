/* What the supervisor sends the work to, until it is time to write. */
#include "base/json.h"
#include "demo/graph.h"
#include "demo/model.h"

#include <stdio.h>
#include <stdlib.h>

/* --- supervisor -----------------------------------------------------------------------------
 */

/* The call of web_search's tool is the supervisor's, so that the node finds it in the state. */
static struct demo_call web_call(struct demo_graph *g)
{
    struct buf args;

    buf_init(&args, SIZE_MAX / 4);
    buf_lit(&args, "{\"query\":");
    json_put_str(&args, str_of(g->texts.story->query));
    buf_lit(&args, ",\"max_results\":3}");
    return (struct demo_call){ .tool = STR("tavily_search"),
                               .args = demo_keep_buf(&g->e, &args),
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

/* The function of the conditional edge: it sees the state as it will be. */
static void route(struct demo_graph *g, const struct demo_node *n, bool sends)
{
    struct demo_run run;

    demo_run_init(&g->e, &run, DEMO_NODE, &n->run, &n->task, "route_supervisor", "seq:step:3");
    struct buf *b = demo_event(&g->e, &run, DEMO_CHAIN_START);
    buf_lit(b, "{\"input\":");
    demo_put_state(b, g);
    buf_char(b, '}');
    demo_event_send(&g->e);
    b = demo_event(&g->e, &run, DEMO_CHAIN_END);
    buf_lit(b, "{\"output\":");
    if (sends) {
        /* A Send has no JSON form: the server writes null. */
        for (unsigned i = 0; i < g->e.job->options.fan_out; i++) {
            buf_char(b, i == 0 ? '[' : ',');
            buf_lit(b, "null");
        }
        buf_char(b, ']');
    } else {
        json_put_str(b, str_of(g->next));
    }
    buf_lit(b, ",\"input\":");
    demo_put_state(b, g);
    buf_char(b, '}');
    demo_event_send(&g->e);
}

static void decide(struct demo_graph *g, const struct demo_node *n, const char *next)
{
    struct demo_model m;
    char prompt[64], text[64];

    (void)snprintf(prompt, sizeof(prompt), "Who goes next? Step %u.", g->step_no);
    (void)snprintf(text, sizeof(text), "{\"next\": \"%s\"}", next);
    demo_model_init(&g->e, &m, &n->run, "seq:step:1", demo_keep(&g->e, str_of(prompt)),
                    demo_keep(&g->e, str_of(text)));
    m.raises = demo_node_raises(g, "supervisor");
    demo_model_play(&g->e, &m);
}

/* The update is written before the edge is asked, the state changes after both. */
void demo_supervisor(struct demo_graph *g, const char *next, bool sends)
{
    struct str message = strcmp(next, "web_search") == 0 ? web_call_message(g) : STR_NONE;
    bool asks = strcmp(next, "human_input") == 0;
    struct demo_node n = { .input = STR_NONE };
    struct buf before;

    g->step++;
    demo_node_start(g, &n, "supervisor", -1);
    decide(g, &n, next);
    buf_init(&before, SIZE_MAX / 4);
    demo_put_state(&before, g);
    n.input = demo_keep_buf(&g->e, &before);
    g->next = next;
    g->step_no++;
    g->asked = g->asked || asks;
    if (message.p != NULL)
        demo_add_message(g, message);
    route(g, &n, sends);
    buf_clear(&g->update);
    buf_lit(&g->update, "{\"next\":");
    json_put_str(&g->update, str_of(next));
    buf_lit(&g->update, ",\"step_no\":1");
    if (message.p != NULL) {
        buf_lit(&g->update, ",\"messages\":[");
        buf_str(&g->update, message);
        buf_char(&g->update, ']');
    }
    if (asks)
        buf_lit(&g->update, ",\"pending_exchange\":" DEMO_QUESTION);
    buf_char(&g->update, '}');
    demo_node_end(g, &n);
}

/* --- investigator ---------------------------------------------------------------------------
 */

static void send_progress(struct demo_graph *g, const struct demo_node *n, unsigned percent)
{
    struct demo_run run;

    /* A custom event carries the id of the run that dispatched it. */
    demo_run_init(&g->e, &run, DEMO_INNER, &g->root, &n->task, "progress", "seq:step:1");
    memcpy(run.id, n->run.id, sizeof(run.id));
    struct buf *b = demo_event(&g->e, &run, DEMO_CUSTOM);
    buf_lit(b, "{\"percent\":");
    buf_u64(b, percent);
    buf_lit(b, ",\"message\":\"reading logs\"}");
    demo_event_send(&g->e);
}

static void init_look(struct demo_graph *g,
                      struct demo_chain *chain,
                      const struct demo_node *n,
                      enum demo_text text,
                      unsigned visit)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "{\"issue\":");
    json_put_str(&b, g->e.job->issue);
    buf_lit(&b, ",\"visit\":");
    buf_u64(&b, visit);
    buf_char(&b, '}');
    struct str input = demo_keep_buf(&g->e, &b);
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
    demo_put_finding(g, chain.model.text);
    demo_node_end(g, &n);
    demo_add_finding(g, chain.model.text);
}

struct fan_out {
    struct demo_graph *g;
    struct demo_node *nodes;
    struct demo_chain *chains;
};

/* Each investigator ends by itself; the state is theirs together at the end of the step. */
static void on_look_ended(void *arg, size_t i)
{
    struct fan_out *f = arg;

    demo_put_finding(f->g, f->chains[i].model.text);
    demo_node_end(f->g, &f->nodes[i]);
}

static void start_sent(struct fan_out *f, size_t i)
{
    struct demo_graph *g = f->g;
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "{\"topic\":");
    json_put_str(&b, str_of(demo_topic(i)));
    buf_char(&b, '}');
    f->nodes[i].input = demo_keep_buf(&g->e, &b);
    demo_node_start(g, &f->nodes[i], "investigator", (int)i);
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

static struct str grep_result(struct demo_graph *g)
{
    const struct demo_story *story = g->texts.story;
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "[{\"file\": ");
    json_put_str(&b, str_of(story->file));
    buf_lit(&b, ", \"line\": ");
    buf_str(&b, str_of(story->line));
    buf_lit(&b, ", \"text\": ");
    json_put_str(&b, str_of(story->code));
    buf_lit(&b, "}]");
    return demo_keep_buf(&g->e, &b);
}

void demo_codebase_search(struct demo_graph *g)
{
    struct str result = grep_result(g);
    struct demo_node n = { .input = STR_NONE };
    struct demo_model m;
    struct buf args;
    char id[KEY_UUID_CHARS + 1];

    g->step++;
    demo_node_start(g, &n, "codebase_search", -1);
    buf_init(&args, SIZE_MAX / 4);
    buf_lit(&args, "{\"pattern\":");
    json_put_str(&args, str_of(g->texts.story->pattern));
    buf_lit(&args, ",\"path\":\".\"}");
    demo_model_init_call(&g->e, &m, &n.run, STR("Where in the code is it?"), STR("grep_repo"),
                         demo_keep_buf(&g->e, &args));
    demo_model_play(&g->e, &m);
    demo_new_id(&g->e, id);
    demo_tool_play(&g->e, &n.run, &m.call, result, str_of(id),
                   demo_node_raises(g, "codebase_search"));
    demo_put_finding(g, result);
    demo_node_end(g, &n);
    demo_add_finding(g, result);
}

/* As Python's json.dumps writes it, which is the text of the tool's message. */
static struct str web_result(struct demo_graph *g)
{
    const struct demo_story *story = g->texts.story;
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "{\"query\": ");
    json_put_str(&b, str_of(story->query));
    buf_lit(&b, ", \"results\": [");
    for (size_t i = 0; i < DEMO_SOURCES; i++) {
        if (i > 0)
            buf_lit(&b, ", ");
        buf_lit(&b, "{\"url\": ");
        json_put_str(&b, str_of(story->source[i].url));
        buf_lit(&b, ", \"title\": ");
        json_put_str(&b, str_of(story->source[i].title));
        buf_lit(&b, ", \"content\": ");
        json_put_str(&b, str_of(story->source[i].content));
        buf_char(&b, '}');
    }
    buf_lit(&b, "]}");
    return demo_keep_buf(&g->e, &b);
}

void demo_web_search(struct demo_graph *g)
{
    struct demo_call call = web_call(g);
    struct str result = web_result(g);
    struct demo_node n = { .input = STR_NONE };
    char id[KEY_UUID_CHARS + 1];
    struct buf message;

    g->step++;
    demo_node_start(g, &n, "web_search", -1);
    demo_fixed_id(&g->e, "web result", id);
    demo_tool_play(&g->e, &n.run, &call, result, str_of(id), demo_node_raises(g, "web_search"));
    buf_init(&message, SIZE_MAX / 4);
    demo_put_tool(&message, result, str_of(id), &call);
    buf_clear(&g->update);
    buf_lit(&g->update, "{\"messages\":[");
    buf_str(&g->update, buf_text(&message));
    buf_lit(&g->update, "]}");
    demo_node_end(g, &n);
    demo_add_message(g, buf_text(&message));
    buf_done(&message);
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
    demo_put_finding(g, m.text);
    demo_node_end(g, &n);
    demo_add_finding(g, m.text);
}
