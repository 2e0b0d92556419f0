/* LangChain's callback layer (BaseCallbackHandler), in the three ways people send it:
 *
 *     {"method":"on_chain_start","args":[serialized,inputs],"kwargs":{"run_id",…}}
 *     {"type":"on_chain_start","run_id","parent_run_id","serialized","inputs",…}
 *     {"type":"chain/start","run_id","parent_run_id","name","inputs",…}     a tracer's names
 *
 * All three give the same `struct call`: named members first, then positional arguments.  Only
 * starts carry name and metadata.  A chat model's end is on_llm_end as well: the type of the
 * start counts, and the fold knows it. */
#include "ingest/repr.h"
#include "ingest/sources.h"

struct callback {
    const yyjson_val *run_id;
    const yyjson_val *parent_run_id; /* NULL: not given; JSON null: a root run */
    const yyjson_val *name;
    const yyjson_val *tags;
    const yyjson_val *metadata;
    const yyjson_val *metadata_key;
    const yyjson_val *serialized;
    const yyjson_val *run_type;
    const yyjson_val *tool_call_id;
    const yyjson_val *error;
    const yyjson_val *token;
    const yyjson_val *chunk;
    const yyjson_val *data;
    const yyjson_val *input;
    const yyjson_val *output;
    int input_rank; /* of the member that `input` came from; the higher the better */
};

enum method {
    METHOD_UNKNOWN,
    METHOD_START,
    METHOD_END,
    METHOD_ERROR,
    METHOD_TOKEN,
    METHOD_CUSTOM,
    METHOD_RETRY,
    METHOD_IGNORED, /* on_text, on_agent_* */
    METHOD_V3
};

/* --- members ----------------------------------------------------------------- */

static const struct {
    struct str key;
    int rank;
} input_names[] = {
    { { "input_str", 9 }, 1 }, { { "query", 5 }, 2 },    { { "input", 5 }, 3 },
    { { "prompts", 7 }, 4 },   { { "messages", 8 }, 5 }, { { "inputs", 6 }, 6 },
};

static const struct str output_names[] = {
    { "outputs", 7 }, { "output", 6 }, { "response", 8 }, { "documents", 9 }, { "result", 6 },
};

static void take_value(struct str key, const yyjson_val *v, struct callback *call)
{
    if (json_is_null(v))
        return;
    for (size_t i = 0; i < sizeof(input_names) / sizeof(*input_names); i++) {
        if (str_eq(key, input_names[i].key) && input_names[i].rank > call->input_rank) {
            call->input = v;
            call->input_rank = input_names[i].rank;
        }
    }
    for (size_t i = 0; i < sizeof(output_names) / sizeof(*output_names); i++)
        if (str_eq(key, output_names[i]))
            call->output = v;
}

static void take(const yyjson_val *key, const yyjson_val *v, struct callback *call)
{
    struct str k = json_text(key);

    if (str_is(k, "run_id"))
        call->run_id = v;
    else if (str_is(k, "parent_run_id"))
        call->parent_run_id = v;
    else if (str_is(k, "name"))
        call->name = v;
    else if (str_is(k, "tags"))
        call->tags = v;
    else if (str_is(k, "serialized"))
        call->serialized = v;
    else if (str_is(k, "run_type"))
        call->run_type = v;
    else if (str_is(k, "tool_call_id"))
        call->tool_call_id = v;
    else if (str_is(k, "error"))
        call->error = v;
    else if (str_is(k, "token"))
        call->token = v;
    else if (str_is(k, "chunk"))
        call->chunk = v;
    else if (str_is(k, "data"))
        call->data = v;
    else if (str_is(k, "metadata")) {
        call->metadata = v;
        call->metadata_key = key;
    } else
        take_value(k, v, call);
}

static void take_all(const yyjson_val *object, struct callback *call)
{
    if (!yyjson_is_obj((yyjson_val *)object))
        return;
    json_each_member(key, v, object)
        take(key, v, call);
}

/* What the positions of a method's arguments mean. */
static void take_args(const yyjson_val *args, enum method method, struct callback *call)
{
    const yyjson_val *first = yyjson_arr_get((yyjson_val *)args, 0);
    const yyjson_val *second = yyjson_arr_get((yyjson_val *)args, 1);

    if (first == NULL)
        return;
    switch (method) {
    case METHOD_START:
        call->serialized = first;
        if (call->input_rank < 6) /* a tool's `inputs` are preferred to its input_str */
            call->input = second;
        break;
    case METHOD_END:
        call->output = first;
        break;
    case METHOD_ERROR:
        call->error = first;
        break;
    case METHOD_TOKEN:
        call->token = first;
        break;
    case METHOD_CUSTOM:
        call->name = first;
        call->data = second;
        break;
    case METHOD_RETRY:
        call->data = first;
        break;
    case METHOD_UNKNOWN:
    case METHOD_IGNORED:
    case METHOD_V3:
        break;
    }
}

/* --- names ------------------------------------------------------------------- */

static bool find_type(struct str *name, enum run_type *ret)
{
    static const struct {
        struct str prefix;
        enum run_type type;
    } types[] = {
        { { "chain", 5 }, RUN_CHAIN },   { { "llm", 3 }, RUN_LLM },
        { { "tool", 4 }, RUN_TOOL },     { { "chat_model", 10 }, RUN_CHAT },
        { { "prompt", 6 }, RUN_PROMPT }, { { "retriever", 9 }, RUN_RETRIEVER },
        { { "parser", 6 }, RUN_PARSER },
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        size_t n = types[i].prefix.n;

        if (str_starts(*name, types[i].prefix) && name->n > n &&
            (name->p[n] == '_' || name->p[n] == '/')) {
            *ret = types[i].type;
            *name = str_skip(*name, n + 1);
            return true;
        }
    }
    return false;
}

/* "on_llm_new_token", "llm/new_token", "llm/start", … */
static enum method find_method(struct str name, enum run_type *ret)
{
    if (str_starts(name, STR("on_")))
        name = str_skip(name, 3);
    if (find_type(&name, ret)) {
        if (str_is(name, "start"))
            return METHOD_START;
        if (str_is(name, "end"))
            return METHOD_END;
        if (str_is(name, "error"))
            return METHOD_ERROR;
        if (str_is(name, "new_token") || str_is(name, "token") || str_is(name, "stream"))
            return METHOD_TOKEN;
        return METHOD_UNKNOWN;
    }
    if (str_is(name, "custom_event"))
        return METHOD_CUSTOM;
    if (str_is(name, "retry"))
        return METHOD_RETRY;
    if (str_is(name, "stream_event"))
        return METHOD_V3;
    if (str_is(name, "text") || str_is(name, "agent_action") || str_is(name, "agent_finish") ||
        str_is(name, "agent/action") || str_is(name, "agent/finish"))
        return METHOD_IGNORED;
    return METHOD_UNKNOWN;
}

/* A run's name, as LangChain itself finds it. */
static struct str run_name(const struct callback *call)
{
    const yyjson_val *id = json_at(call->serialized, "id");
    struct str name = json_text(call->name);

    if (str_absent(name))
        name = json_text(json_at(call->serialized, "name"));
    if (str_absent(name) && yyjson_is_arr((yyjson_val *)id))
        name = json_text(yyjson_arr_get_last((yyjson_val *)id));
    return name;
}

/* --- what it becomes --------------------------------------------------------- */

static int read_run(const struct source_line *in, const struct callback *call, struct event *ev)
{
    const yyjson_val *meta = NULL;
    int err = ev->kind == EVENT_CUSTOM || ev->kind == EVENT_UPDATE
                  ? want_text(in, call->run_id, "run_id", &ev->run)
                  : need_text(in, call->run_id, "run_id", &ev->run);

    if (err == 0)
        err = want_text(in, call->parent_run_id, "parent_run_id", &ev->parent);
    if (err == 0)
        err = want_list(in, call->tags, "tags", &ev->tags);
    if (err == 0)
        err = want_object(in, call->metadata, "metadata", &meta);
    if (err != 0)
        return err;
    ev->parents_known = call->parent_run_id != NULL;
    ev->name = run_name(call);
    ev->call = json_text(call->tool_call_id);
    read_meta(meta, call->metadata_key, ev);
    return 0;
}

static void read_start(const struct callback *call, struct event *ev)
{
    struct str type = json_text(call->run_type);

    ev->input = call->input;
    if (ev->type == RUN_CHAIN && str_is(type, "prompt"))
        ev->type = RUN_PROMPT;
    else if (ev->type == RUN_CHAIN && str_is(type, "parser"))
        ev->type = RUN_PARSER;
}

static void read_end(const struct source_line *in,
                     const struct callback *call,
                     struct event *ev)
{
    ev->input = call->input;
    ev->output = call->output;
    if (ev->type == RUN_LLM || ev->type == RUN_CHAT)
        read_model_message(ev->output, in->scratch, ev);
    else if (ev->type == RUN_TOOL)
        read_tool_message(ev->output, in->scratch, ev);
}

/* LangGraph leaves a node by raising, also when nothing has failed: to ask a human
 * (GraphInterrupt), or to go on in the parent graph (ParentCommand). */
static void read_raised(const struct source_line *in,
                        const struct callback *call,
                        struct event *ev)
{
    read_error(call->error, in->scratch, ev);
    if (str_is(ev->error_type, "ParentCommand")) {
        ev->kind = EVENT_RUN_END;
        ev->error = STR_NONE;
        ev->error_type = STR_NONE;
        return;
    }
    ev->interrupted = str_is(ev->error_type, "GraphInterrupt") ||
                      str_is(ev->error_type, "NodeInterrupt") ||
                      str_starts(ev->error, STR("(Interrupt(")) ||
                      str_starts(ev->error, STR("GraphInterrupt("));
    if (ev->interrupted && repr_interrupt(ev->error, &ev->id, &ev->text))
        ev->lossy = true;
}

/* The chunk has the message; a bare token (text, or a list of blocks) is used otherwise. */
static void read_token(const struct source_line *in,
                       const struct callback *call,
                       struct event *ev)
{
    ev->chunk = either(call->chunk, call->token);
    if (ev->type != RUN_LLM && ev->type != RUN_CHAT)
        return;
    read_model_message(call->chunk, in->scratch, ev);
    if (!ev->has_message) {
        message_read_content(call->token, in->scratch, &ev->message);
        ev->has_message = true;
    }
}

static const enum event_kind kinds[] = {
    [METHOD_UNKNOWN] = EVENT_NOTHING,  [METHOD_START] = EVENT_RUN_START,
    [METHOD_END] = EVENT_RUN_END,      [METHOD_ERROR] = EVENT_RUN_ERROR,
    [METHOD_TOKEN] = EVENT_RUN_STREAM, [METHOD_CUSTOM] = EVENT_CUSTOM,
    [METHOD_RETRY] = EVENT_UPDATE,     [METHOD_IGNORED] = EVENT_NOTHING,
    [METHOD_V3] = EVENT_NOTHING,
};

static void read_values(const struct source_line *in,
                        const struct callback *call,
                        enum method method,
                        struct event *ev)
{
    switch (method) {
    case METHOD_START:
        read_start(call, ev);
        break;
    case METHOD_END:
        read_end(in, call, ev);
        break;
    case METHOD_ERROR:
        read_raised(in, call, ev);
        break;
    case METHOD_TOKEN:
        read_token(in, call, ev);
        break;
    case METHOD_CUSTOM:
        ev->data = call->data;
        break;
    case METHOD_RETRY:
        ev->name = STR("retry");
        ev->text = text_of(call->data, in->scratch);
        break;
    case METHOD_UNKNOWN:
    case METHOD_IGNORED:
    case METHOD_V3:
        break;
    }
}

int callbacks_read(const struct source_line *in, struct event *ev)
{
    const struct members *m = &in->top;
    struct callback call = { 0 };
    struct str name;
    char word[QUOTED_BYTES];

    int err = need_text(in, either(m->method, either(m->event, m->type)), "method", &name);
    if (err != 0)
        return err;
    enum method method = find_method(name, &ev->type);
    if (method == METHOD_UNKNOWN)
        return error_set(in->err, ERR_TYPE, "unknown callback \"%s\"", quoted(name, word));
    if (method == METHOD_V3)
        return refuse_v3(in);
    if (method == METHOD_IGNORED)
        return 0;
    take_all(in->json->root, &call);
    take_all(json_at(in->json->root, "kwargs"), &call);
    take_args(json_at(in->json->root, "args"), method, &call);
    ev->kind = kinds[method];
    err = read_run(in, &call, ev);
    if (err == 0)
        read_values(in, &call, method, ev);
    return err;
}
