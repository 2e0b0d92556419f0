/* human_input: a question that ends the root run, and the answer that starts the next one. */
#include "base/json.h"
#include "demo/graph.h"

static void interrupt_id(struct demo_graph *g, char out[33])
{
    char uuid[KEY_UUID_CHARS + 1];
    size_t n = 0;

    demo_fixed_id(&g->e, "question", uuid);
    for (size_t i = 0; uuid[i] != '\0'; i++)
        if (uuid[i] != '-')
            out[n++] = uuid[i];
    out[n] = '\0';
}

/* Starts the node, which raises the question instead of ending, and ends the root. */
static void ask(struct demo_graph *g)
{
    struct demo_node n = { .input = STR_NONE };
    char id[33];

    g->step++;
    demo_node_start(g, &n, "human_input", -1);
    if (demo_node_raises(g, "human_input") && !g->e.muted && demo_going(&g->e))
        g->e.outcome = DEMO_RAISED;
    interrupt_id(g, id);
    demo_send(&g->e, &g->root, DEMO_CHAIN_STREAM,
              "{'chunk':{'__interrupt__':[{'value':%j,'id':%s}]}}", DEMO_QUESTION, id);
    demo_root_end(g);
}

/* Command(resume=…) is the answer, or {interrupt id: answer}. */
static struct str resume_value(struct demo_graph *g)
{
    struct str resume = g->e.job->resume, value = resume;
    struct json_reader reader LOCAL_READER(SIZE_MAX / 4, 64);
    struct json json;
    struct buf b LOCAL_BUF(SIZE_MAX / 4);
    char id[33];

    interrupt_id(g, id);
    if (json_read(&reader, resume, &json, NULL) == 0 && yyjson_is_obj(json.root)) {
        yyjson_val *v = json_get(json.root, str_of(id));

        if (v != NULL) {
            json_put_value(&b, v);
            value = demo_keep(&g->e, buf_text(&b));
        }
    }
    return value;
}

/* What the report says of it: the text, or the JSON of anything else. */
static struct str answer_text(struct demo_graph *g)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 4, 64);
    struct json json;
    struct str text = g->answer;

    if (json_read(&reader, g->answer, &json, NULL) == 0 && yyjson_is_str(json.root))
        text = demo_keep(&g->e, json_text(json.root));
    return text;
}

/* The second root run: human_input again, with the same task, and now it ends. */
static void resume(struct demo_graph *g, struct str answer)
{
    struct demo_node n = { .input = demo_state(g) };

    g->answer = answer;
    g->texts.answer = answer_text(g);
    demo_root_start(g);
    demo_node_start(g, &n, "human_input", -1);
    if (demo_node_raises(g, "human_input") && demo_going(&g->e))
        g->e.outcome = DEMO_RAISED;
    demo_node_end(g, &n, demo_json(&g->e, "{'human_answer':%j}", answer));
}

/* No answer came: after a while the agent uses the default. */
static void wait_for_answer(struct demo_graph *g)
{
    double seconds = g->e.job->options.ask_seconds;
    struct demo_emit *e = &g->e;

    if (!demo_going(e))
        return;
    if (seconds < 0)
        e->outcome = DEMO_INTERRUPTED;
    else if (seconds > 0 && e->sink->pause(e->sink, (int64_t)(seconds * 1e6)) != 0)
        e->outcome = DEMO_STOPPED;
    else
        resume(g, STR("\"production\""));
}

void demo_human_input(struct demo_graph *g)
{
    ask(g);
    if (g->e.muted) {
        g->e.muted = false;
        resume(g, resume_value(g));
    } else {
        wait_for_answer(g);
    }
}
