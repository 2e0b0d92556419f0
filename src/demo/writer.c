/* The writer: a to-do list, three sections at once, a file. */
#include "demo/graph.h"
#include "demo/model.h"

static const char *const section_tags[DEMO_SECTIONS] = { "map:key:report",
                                                         "map:key:comment_draft",
                                                         "map:key:ticket_draft" };

static struct str todos(struct demo_graph *g, const char *first, const char *second)
{
    return demo_json(&g->e,
                     "{'todos':[{'content':'Write report, comment and ticket','status':%s},"
                     "{'content':'Save the report','status':%s}]}",
                     first, second);
}

/* A model that calls @tool, and the tool. */
static void use_tool(struct demo_graph *g,
                     const struct demo_node *n,
                     struct str tool,
                     struct str args,
                     struct str result)
{
    struct demo_model m;
    char id[KEY_UUID_CHARS + 1];

    demo_model_init_call(&g->e, &m, &n->run, STR("What is left to do?"), tool, args);
    demo_model_play(&g->e, &m);
    demo_new_id(&g->e, id);
    demo_tool_play(&g->e, &n->run, &m.call, result, str_of(id), false);
}

/* Called by the node itself: a model would have to say the whole report again. */
static void save_report(struct demo_graph *g, const struct demo_node *n, struct str report)
{
    struct demo_call call = {
        .tool = STR("write_file"),
        .id = STR("call_wf1"),
        .args = demo_json(&g->e, "{'file_path':'/report.md','content':%s}", report),
    };
    char id[KEY_UUID_CHARS + 1];

    demo_new_id(&g->e, id);
    demo_tool_play(&g->e, &n->run, &call, STR("Updated file /report.md"), str_of(id), false);
}

/* The members of an object, without its brackets. */
static struct str sections(struct demo_graph *g, const struct demo_chain *chains)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    for (size_t i = 0; i < DEMO_SECTIONS; i++)
        json_format(&b, "%j%s:%s", i > 0 ? "," : "", demo_section_names[i],
                    chains[i].model.text);
    return demo_keep_buf(&g->e, &b);
}

/* RunnableParallel: three chains at once. */
static void write_sections(struct demo_graph *g,
                           const struct demo_node *n,
                           struct demo_chain *chains)
{
    struct str input = demo_json(&g->e, "{'issue':%s}", g->e.job->issue);
    struct demo_run run;

    demo_run_init(&g->e, &run, DEMO_INNER, &n->run, &n->task,
                  "RunnableParallel<report,comment_draft,ticket_draft>", "seq:step:1");
    demo_send(&g->e, &run, DEMO_CHAIN_START, "{'input':%j}", input);
    for (size_t i = 0; i < DEMO_SECTIONS; i++)
        demo_chain_init(&g->e, &chains[i], &run, section_tags[i], input, STR("You write."),
                        str_of(demo_section_names[i]),
                        demo_text_make(&g->texts, (enum demo_text)(TEXT_REPORT + i)));
    chains[0].model.raises = demo_node_raises(g, "writer");
    demo_chains_play(&g->e, chains, DEMO_SECTIONS, NULL, NULL);
    demo_send(&g->e, &run, DEMO_CHAIN_END, "{'output':{%j},'input':%j}", sections(g, chains),
              input);
}

void demo_writer(struct demo_graph *g)
{
    struct demo_node n = { .input = STR_NONE };
    struct demo_chain chains[DEMO_SECTIONS];

    g->step++;
    demo_node_start(g, &n, "writer", -1);
    use_tool(g, &n, STR("write_todos"), todos(g, "in_progress", "pending"),
             STR("Updated todo list"));
    write_sections(g, &n, chains);
    save_report(g, &n, chains[0].model.text);
    use_tool(g, &n, STR("write_todos"), todos(g, "completed", "completed"),
             STR("Updated todo list"));
    struct str message = demo_model_message(&g->e, &chains[0].model);
    demo_node_end(g, &n,
                  demo_json(&g->e, "{%j,'final_report':%s,'messages':[%j]}",
                            sections(g, chains), chains[0].model.text, message));
    for (size_t i = 0; i < DEMO_SECTIONS; i++)
        g->section[i] = chains[i].model.text;
    demo_add_message(g, message);
}
