/* LangChain's astream_events, v1 and v2.
 *
 *     {"event":"on_<type>_<phase>","name","run_id","parent_ids","tags","metadata","data"}
 *
 * v1 differs in `data` only: a model's end holds its generations, a retriever's end its
 * {"documents"}, and parent_ids is always empty.  v3 is another protocol and is refused.
 *
 * One event in a hundred is not a token, so on_chat_model_stream goes first everywhere. */
#include "ingest/sources.h"

static bool find_type(struct str *name, enum run_type *ret)
{
    static const struct {
        struct str prefix;
        enum run_type type;
    } others[] = {
        { { "chain_", 6 }, RUN_CHAIN },   { { "tool_", 5 }, RUN_TOOL },
        { { "llm_", 4 }, RUN_LLM },       { { "retriever_", 10 }, RUN_RETRIEVER },
        { { "prompt_", 7 }, RUN_PROMPT }, { { "parser_", 7 }, RUN_PARSER },
    };

    if (str_starts(*name, STR("chat_model_"))) {
        *ret = RUN_CHAT;
        *name = str_skip(*name, sizeof("chat_model_") - 1);
        return true;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (str_starts(*name, others[i].prefix)) {
            *ret = others[i].type;
            *name = str_skip(*name, others[i].prefix.n);
            return true;
        }
    }
    return false;
}

static int read_name(const struct source_line *in, struct event *ev)
{
    char word[QUOTED_BYTES];
    struct str event, rest;

    int err = need_text(in, in->top.event, "event", &event);
    if (err != 0)
        return err;
    rest = str_skip(event, 3);
    if (str_starts(event, STR("on_")) && find_type(&rest, &ev->type)) {
        if (str_is(rest, "stream"))
            ev->kind = EVENT_RUN_STREAM;
        else if (str_is(rest, "start"))
            ev->kind = EVENT_RUN_START;
        else if (str_is(rest, "end"))
            ev->kind = EVENT_RUN_END;
        else if (str_is(rest, "error"))
            ev->kind = EVENT_RUN_ERROR;
    } else if (str_is(event, "on_custom_event")) {
        ev->kind = EVENT_CUSTOM;
    }
    return ev->kind != EVENT_NOTHING
               ? 0
               : error_set(in->err, ERR_TYPE, "unknown event \"%s\"", quoted(event, word));
}

/* LangGraph tags its internal runs (`__start__`, ChannelWrite<…>) as hidden. */
static bool is_hidden(const yyjson_val *tags)
{
    json_each(tag, tags)
        if (str_is(json_text(tag), "langsmith:hidden"))
            return true;
    return false;
}

/* Everything but `data`. */
static int read_run(const struct source_line *in, struct event *ev)
{
    const yyjson_val *meta, *parents;
    int err;

    err = ev->kind == EVENT_CUSTOM ? want_text(in, in->top.run_id, "run_id", &ev->run)
                                   : need_text(in, in->top.run_id, "run_id", &ev->run);
    if (err == 0)
        err = want_text(in, in->top.name, "name", &ev->name);
    if (err == 0)
        err = want_list(in, in->top.tags, "tags", &ev->tags);
    if (err == 0)
        err = want_object(in, in->top.metadata, "metadata", &meta);
    if (err == 0)
        err = want_list(in, in->top.parent_ids, "parent_ids", &parents);
    if (err != 0)
        return err;
    if (meta != NULL)
        read_meta(meta, in->top.metadata_key, ev);
    ev->parents_known = ev->outer = parents != NULL; /* Python: LangGraph.js has none */
    if (parents != NULL && unsafe_yyjson_get_len((yyjson_val *)parents) > 0) {
        ev->parents = parents;
        ev->parent = json_text(yyjson_arr_get_last((yyjson_val *)parents));
    }
    return 0;
}

static int read_stream(const struct source_line *in, struct event *ev)
{
    if (ev->type != RUN_CHAT && ev->type != RUN_LLM)
        return 0;
    read_model_message(ev->chunk, in->scratch, ev);
    if (ev->has_message || json_is_null(ev->chunk))
        return 0;
    return error_set(
        in->err, ERR_TYPE,
        "\"data.chunk\" is no message: write events with langchain_core.load.dumps, "
        "or messages with model_dump()");
}

static void read_end(const struct source_line *in, struct event *ev)
{
    const yyjson_val *documents;

    if (ev->type == RUN_CHAT || ev->type == RUN_LLM)
        read_model_message(ev->output, in->scratch, ev);
    else if (ev->type == RUN_TOOL)
        read_tool_message(ev->output, in->scratch, ev);
    else if (ev->type == RUN_RETRIEVER &&
             (documents = json_at(ev->output, "documents")) != NULL)
        ev->output = documents;
}

/* @error is data.error. */
static int read_values(const struct source_line *in, const yyjson_val *error, struct event *ev)
{
    if (ev->kind == EVENT_RUN_STREAM)
        return read_stream(in, ev);
    if (ev->kind == EVENT_RUN_END)
        read_end(in, ev);
    else if (ev->kind == EVENT_RUN_ERROR)
        read_error(error, in->scratch, ev);
    return 0;
}

static int read_data(const struct source_line *in, struct event *ev)
{
    const yyjson_val *data, *error = NULL;

    int err = want_object(in, in->top.data, "data", &data);
    if (err != 0 || data == NULL)
        return err != 0 ? err : read_values(in, NULL, ev);
    const yyjson_val *end = next_value(data);
    for (const yyjson_val *key = data + 1; key < end; key = next_value(key + 1)) {
        const char *name = unsafe_yyjson_get_str((yyjson_val *)key);
        const yyjson_val *v = key + 1;

        switch (unsafe_yyjson_get_len((yyjson_val *)key)) {
        case 5:
            if (key_is(name, "chunk"))
                ev->chunk = v;
            else if (key_is(name, "input"))
                ev->input = v;
            else if (key_is(name, "error"))
                error = v;
            break;
        case 6:
            if (key_is(name, "output"))
                ev->output = v;
            break;
        case 12:
            if (key_is(name, "tool_call_id"))
                ev->call = json_text(v);
            break;
        default:
            break;
        }
    }
    return read_values(in, error, ev);
}

int events_read(const struct source_line *in, struct event *ev)
{
    if (in->top.event == NULL && is_v3(in))
        return refuse_v3(in);
    int err = read_name(in, ev);
    if (err == 0)
        err = read_run(in, ev);
    if (err != 0)
        return err;
    if (is_hidden(ev->tags)) {
        ev->kind = EVENT_NOTHING;
        return 0;
    }
    if (ev->kind == EVENT_CUSTOM) {
        ev->data = in->top.data;
        return 0;
    }
    return read_data(in, ev);
}
