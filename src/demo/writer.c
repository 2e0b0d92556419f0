/* The writer: a to-do list, three sections at once, a file. */
#include "base/json.h"
#include "demo/graph.h"
#include "demo/model.h"

static const char *const section_tags[DEMO_SECTIONS] = { "map:key:report",
                                                         "map:key:comment_draft",
                                                         "map:key:ticket_draft" };

static struct str todos(struct demo_graph *g, const char *first, const char *second)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "{\"todos\":[{\"content\":\"Write report, comment and ticket\",\"status\":");
    json_put_str(&b, str_of(first));
    buf_lit(&b, "},{\"content\":\"Save the report\",\"status\":");
    json_put_str(&b, str_of(second));
    buf_lit(&b, "}]}");
    return demo_keep_buf(&g->e, &b);
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
    struct demo_call call = { .tool = STR("write_file"), .id = STR("call_wf1") };
    char id[KEY_UUID_CHARS + 1];
    struct buf args;

    buf_init(&args, SIZE_MAX / 4);
    buf_lit(&args, "{\"file_path\":\"/report.md\",\"content\":");
    json_put_str(&args, report);
    buf_char(&args, '}');
    call.args = demo_keep_buf(&g->e, &args);
    demo_new_id(&g->e, id);
    demo_tool_play(&g->e, &n->run, &call, STR("Updated file /report.md"), str_of(id), false);
}

static void put_sections(struct buf *b, const struct demo_chain *chains)
{
    for (size_t i = 0; i < DEMO_SECTIONS; i++) {
        buf_char(b, i == 0 ? '{' : ',');
        json_put_str(b, str_of(demo_section_names[i]));
        buf_char(b, ':');
        json_put_str(b, chains[i].model.text);
    }
}

/* RunnableParallel: three chains at once. */
static void write_sections(struct demo_graph *g,
                           const struct demo_node *n,
                           struct demo_chain *chains)
{
    struct demo_run run;
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_lit(&b, "{\"issue\":");
    json_put_str(&b, g->e.job->issue);
    buf_char(&b, '}');
    struct str input = demo_keep_buf(&g->e, &b);
    demo_run_init(&g->e, &run, DEMO_INNER, &n->run, &n->task,
                  "RunnableParallel<report,comment_draft,ticket_draft>", "seq:step:1");
    struct buf *event = demo_event(&g->e, &run, DEMO_CHAIN_START);
    buf_lit(event, "{\"input\":");
    buf_str(event, input);
    buf_char(event, '}');
    demo_event_send(&g->e);
    for (size_t i = 0; i < DEMO_SECTIONS; i++)
        demo_chain_init(&g->e, &chains[i], &run, section_tags[i], input, STR("You write."),
                        str_of(demo_section_names[i]),
                        demo_text_make(&g->texts, (enum demo_text)(TEXT_REPORT + i)));
    chains[0].model.raises = demo_node_raises(g, "writer");
    demo_chains_play(&g->e, chains, DEMO_SECTIONS, NULL, NULL);
    event = demo_event(&g->e, &run, DEMO_CHAIN_END);
    buf_lit(event, "{\"output\":");
    put_sections(event, chains);
    buf_lit(event, "},\"input\":");
    buf_str(event, input);
    buf_char(event, '}');
    demo_event_send(&g->e);
}

void demo_writer(struct demo_graph *g)
{
    struct demo_node n = { .input = STR_NONE };
    struct demo_chain chains[DEMO_SECTIONS];
    struct buf message;

    g->step++;
    demo_node_start(g, &n, "writer", -1);
    use_tool(g, &n, STR("write_todos"), todos(g, "in_progress", "pending"),
             STR("Updated todo list"));
    write_sections(g, &n, chains);
    save_report(g, &n, chains[0].model.text);
    use_tool(g, &n, STR("write_todos"), todos(g, "completed", "completed"),
             STR("Updated todo list"));
    buf_init(&message, SIZE_MAX / 4);
    demo_model_put_message(&message, &chains[0].model);
    buf_clear(&g->update);
    put_sections(&g->update, chains);
    buf_lit(&g->update, ",\"final_report\":");
    json_put_str(&g->update, chains[0].model.text);
    buf_lit(&g->update, ",\"messages\":[");
    buf_str(&g->update, buf_text(&message));
    buf_lit(&g->update, "]}");
    demo_node_end(g, &n);
    for (size_t i = 0; i < DEMO_SECTIONS; i++)
        g->section[i] = chains[i].model.text;
    demo_add_message(g, buf_text(&message));
    buf_done(&message);
}
