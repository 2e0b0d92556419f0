/* A model call as a stream shows it:
 *
 *     start, "" (the role), token, token, …, "" with finish_reason, "" with usage, end
 *
 * A tool call streams its arguments instead of text. */
#include "demo/model.h"

#include "base/json.h"
#include "demo/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOKEN_US = 25000, FIRST_TOKEN_US = 300000, TOOL_US = 500000 };

/* --- the model ------------------------------------------------------------------------- */

enum model_phase {
    MODEL_START,
    MODEL_ROLE,
    MODEL_TOKENS,
    MODEL_FINISH,
    MODEL_USAGE,
    MODEL_END
};

static struct str model_id(const struct demo_model *m)
{
    return str_of(m->message_id);
}

void demo_model_init(struct demo_emit *e,
                     struct demo_model *m,
                     const struct demo_run *parent,
                     const char *tag,
                     struct str prompt,
                     struct str text)
{
    char id[KEY_UUID_CHARS + 1];
    struct buf b;

    *m = (struct demo_model){ .text = text, .rest = text };
    demo_run_init(e, &m->run, DEMO_MODEL, parent, parent->task, "ChatOpenAI", tag);
    demo_new_id(e, id);
    (void)snprintf(m->message_id, sizeof(m->message_id), "chatcmpl-%s", id);
    m->n_tokens = demo_count_tokens(text);
    m->usage = (struct demo_usage){ 8 + demo_count_tokens(prompt), m->n_tokens };
    buf_init(&b, SIZE_MAX / 4);
    demo_put_human(&b, prompt, STR_NONE);
    m->input = demo_keep_buf(e, &b);
}

void demo_model_init_call(struct demo_emit *e,
                          struct demo_model *m,
                          const struct demo_run *parent,
                          struct str prompt,
                          struct str tool,
                          struct str args)
{
    char id[KEY_UUID_CHARS + 1], call[32];

    demo_model_init(e, m, parent, "seq:step:1", prompt, args);
    m->calls = true;
    demo_new_id(e, id);
    (void)snprintf(call, sizeof(call), "call_%s", id + 24); /* the last twelve digits */
    m->call =
        (struct demo_call){ .tool = tool, .args = args, .id = demo_keep(e, str_of(call)) };
}

struct str demo_model_message(struct demo_emit *e, const struct demo_model *m)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    demo_put_ai(&b, m->calls ? STR("") : m->text, model_id(m), m->calls ? &m->call : NULL,
                &m->usage);
    return demo_keep_buf(e, &b);
}

#define MODEL_INPUT "'input':{'messages':[[%j]]}}"

static void start_model(struct demo_emit *e, const struct demo_model *m)
{
    demo_send(e, &m->run, DEMO_MODEL_START, "{" MODEL_INPUT, m->input);
    demo_pause(e, FIRST_TOKEN_US);
}

static void send_chunk(struct demo_emit *e, struct demo_model *m, struct demo_chunk chunk)
{
    struct buf *b = &e->chunk;

    chunk.id = model_id(m);
    buf_clear(b);
    demo_put_chunk(b, &chunk);
    if (b->error != 0)
        e->outcome = DEMO_NO_MEMORY;
    demo_send(e, &m->run, DEMO_MODEL_STREAM, "{'chunk':%j}", buf_text(b));
}

/* False after the last one. */
static bool send_token(struct demo_emit *e, struct demo_model *m)
{
    if (m->raises && m->n_said * 2 >= m->n_tokens && !e->muted && demo_going(e)) {
        e->outcome = DEMO_RAISED;
        return false;
    }
    if (m->rest.n == 0)
        return false;
    struct str token = demo_token(m->rest);
    m->rest = str_skip(m->rest, token.n);
    m->n_said++;
    if (m->calls)
        send_chunk(e, m, (struct demo_chunk){ .text = STR(""), .args = token });
    else
        send_chunk(e, m, (struct demo_chunk){ .text = token });
    demo_pause(e, TOKEN_US);
    return true;
}

/* One more event; false when it is over. */
static bool step(struct demo_emit *e, struct demo_model *m)
{
    struct demo_chunk empty = { .text = STR("") };

    switch ((enum model_phase)m->phase) {
    case MODEL_START:
        start_model(e, m);
        break;
    case MODEL_ROLE:
        empty.call = m->calls ? &m->call : NULL;
        send_chunk(e, m, empty);
        break;
    case MODEL_TOKENS:
        if (send_token(e, m))
            return true;
        m->phase = MODEL_FINISH;
        return step(e, m);
    case MODEL_FINISH:
        empty.finish = m->calls ? "tool_calls" : "stop";
        send_chunk(e, m, empty);
        break;
    case MODEL_USAGE:
        empty.usage = &m->usage;
        send_chunk(e, m, empty);
        break;
    case MODEL_END:
        demo_send(e, &m->run, DEMO_MODEL_END, "{'output':%j," MODEL_INPUT,
                  demo_model_message(e, m), m->input);
        return false;
    }
    m->phase++;
    return demo_going(e);
}

void demo_model_play(struct demo_emit *e, struct demo_model *m)
{
    while (step(e, m))
        ;
}

/* --- the chain --------------------------------------------------------------------------- */

enum chain_phase {
    CHAIN_START,
    CHAIN_PROMPT_START,
    CHAIN_PROMPT_END,
    CHAIN_MODEL,
    CHAIN_PARSER_START,
    CHAIN_PARSER_END,
    CHAIN_END
};

void demo_chain_init(struct demo_emit *e,
                     struct demo_chain *c,
                     const struct demo_run *parent,
                     const char *tag,
                     struct str input,
                     struct str system,
                     struct str prompt,
                     struct str text)
{
    struct buf b;

    *c = (struct demo_chain){ .input = input, .system = system };
    demo_run_init(e, &c->run, DEMO_INNER, parent, parent->task, "RunnableSequence", tag);
    demo_run_init(e, &c->prompt_run, DEMO_INNER, &c->run, parent->task, "ChatPromptTemplate",
                  "seq:step:1");
    demo_model_init(e, &c->model, &c->run, "seq:step:2", prompt, text);
    demo_run_init(e, &c->parser_run, DEMO_INNER, &c->run, parent->task, "StrOutputParser",
                  "seq:step:3");
    buf_init(&b, SIZE_MAX / 4);
    demo_put_system(&b, system);
    buf_char(&b, ',');
    demo_put_human(&b, prompt, STR_NONE);
    c->model.input = demo_keep_buf(e, &b);
}

/* One more event; false when it is over. */
static bool step_chain(struct demo_emit *e, struct demo_chain *c)
{
    const struct demo_model *m = &c->model;

    switch ((enum chain_phase)c->phase) {
    case CHAIN_START:
        demo_send(e, &c->run, DEMO_CHAIN_START, "{'input':%j}", c->input);
        break;
    case CHAIN_PROMPT_START:
        demo_send(e, &c->prompt_run, DEMO_PROMPT_START, "{'input':%j}", c->input);
        break;
    case CHAIN_PROMPT_END:
        demo_send(e, &c->prompt_run, DEMO_PROMPT_END, "{'output':{'messages':[%j]},'input':%j}",
                  m->input, c->input);
        break;
    case CHAIN_MODEL:
        if (step(e, &c->model))
            return true;
        break;
    case CHAIN_PARSER_START:
        demo_send(e, &c->parser_run, DEMO_PARSER_START, "{'input':%j}",
                  demo_model_message(e, m));
        break;
    case CHAIN_PARSER_END:
        demo_send(e, &c->parser_run, DEMO_PARSER_END, "{'output':%s,'input':%j}", m->text,
                  demo_model_message(e, m));
        break;
    case CHAIN_END:
        demo_send(e, &c->run, DEMO_CHAIN_END, "{'output':%s,'input':%j}", m->text, c->input);
        return false;
    }
    c->phase++;
    return demo_going(e);
}

void demo_chains_play(struct demo_emit *e,
                      struct demo_chain *chains,
                      size_t n,
                      void (*ended)(void *arg, size_t i),
                      void *arg)
{
    size_t *open = calloc(n, sizeof(*open)), n_open = n;

    if (open == NULL)
        e->outcome = DEMO_NO_MEMORY;
    for (size_t i = 0; open != NULL && i < n; i++)
        open[i] = i;
    while (n_open > 0 && demo_going(e)) {
        size_t at = demo_chance(e, n_open);

        e->lanes = (unsigned)n_open;
        if (step_chain(e, &chains[open[at]]))
            continue;
        if (ended != NULL && demo_going(e))
            ended(arg, open[at]);
        open[at] = open[--n_open];
    }
    e->lanes = 1;
    free(open);
}

/* --- tools -----------------------------------------------------------------------------------
 */

static void end_tool(struct demo_emit *e,
                     const struct demo_run *run,
                     const struct demo_call *call,
                     struct str text,
                     struct str message_id)
{
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    if (call->id.n > 0)
        demo_put_tool(&b, text, message_id, call);
    else
        json_put_str(&b, text);
    demo_send(e, run, DEMO_TOOL_END, "{'output':%j,'input':%j}", demo_keep_buf(e, &b),
              call->args);
}

static void fail_tool(struct demo_emit *e,
                      const struct demo_run *run,
                      const struct demo_call *call)
{
    char text[120];

    (void)snprintf(text, sizeof(text), DEMO_ERROR_TEXT, run->parent->name);
    demo_send(e, run, DEMO_TOOL_ERROR,
              "{'error':{'error':'" DEMO_ERROR_TYPE "','message':%s},'input':%j%j}", text,
              call->args,
              call->id.n > 0 ? demo_json(e, ",'tool_call_id':%s", call->id) : STR(""));
    if (!e->muted && demo_going(e))
        e->outcome = DEMO_RAISED;
}

void demo_tool_play(struct demo_emit *e,
                    const struct demo_run *parent,
                    const struct demo_call *call,
                    struct str text,
                    struct str message_id,
                    bool raises)
{
    struct demo_run run;
    char name[40];

    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(call->tool));
    demo_run_init(e, &run, DEMO_INNER, parent, parent->task, name, "seq:step:1");
    demo_send(e, &run, DEMO_TOOL_START, "{'input':%j}", call->args);
    demo_pause(e, TOOL_US);
    if (raises)
        fail_tool(e, &run, call);
    else
        end_tool(e, &run, call, text, message_id);
}
