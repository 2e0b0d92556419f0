#include "demo/message.h"

#include "base/json.h"

static void put_finish(struct buf *b, const char *finish)
{
    buf_lit(b, "\"finish_reason\":");
    json_put_str(b, str_of(finish));
    buf_lit(b, ",\"model_name\":\"gpt-demo-2026\",\"system_fingerprint\":\"fp_demo\"");
}

static void put_usage(struct buf *b, const struct demo_usage *usage)
{
    if (usage == NULL) {
        buf_lit(b, "null");
        return;
    }
    buf_lit(b, "{\"input_tokens\":");
    buf_u64(b, usage->input);
    buf_lit(b, ",\"output_tokens\":");
    buf_u64(b, usage->output);
    buf_lit(b, ",\"total_tokens\":");
    buf_u64(b, usage->input + usage->output);
    buf_lit(b, ",\"input_token_details\":{\"cache_read\":0},"
               "\"output_token_details\":{\"reasoning\":0}}");
}

static void put_plain(struct buf *b, struct str type, struct str text, struct str id)
{
    buf_lit(b, "{\"content\":");
    json_put_str(b, text);
    buf_lit(b, ",\"additional_kwargs\":{},\"response_metadata\":{},\"type\":");
    json_put_str(b, type);
    buf_lit(b, ",\"name\":null,\"id\":");
    json_put_str_or_null(b, id);
    buf_char(b, '}');
}

void demo_put_human(struct buf *b, struct str text, struct str id)
{
    put_plain(b, STR("human"), text, id);
}

void demo_put_system(struct buf *b, struct str text)
{
    put_plain(b, STR("system"), text, STR_NONE);
}

/* "tool_calls": with all that is known of the call, as a whole message has it. */
static void put_calls(struct buf *b, const struct demo_call *call, struct str args)
{
    buf_lit(b, ",\"tool_calls\":[");
    if (call != NULL) {
        buf_lit(b, "{\"name\":");
        json_put_str(b, call->tool);
        buf_lit(b, ",\"args\":");
        buf_str(b, args);
        buf_lit(b, ",\"id\":");
        json_put_str(b, call->id);
        buf_lit(b, ",\"type\":\"tool_call\"}");
    }
    buf_char(b, ']');
}

void demo_put_ai(struct buf *b,
                 struct str text,
                 struct str id,
                 const struct demo_call *call,
                 const struct demo_usage *usage)
{
    buf_lit(b, "{\"content\":");
    json_put_str(b, text);
    buf_lit(b, ",\"additional_kwargs\":{},\"response_metadata\":{");
    if (usage != NULL) {
        buf_lit(b, "\"model_provider\":\"openai\",");
        put_finish(b, call != NULL ? "tool_calls" : "stop");
    }
    buf_lit(b, "},\"type\":\"ai\",\"name\":null,\"id\":");
    json_put_str_or_null(b, id);
    put_calls(b, call, call != NULL ? call->args : STR_NONE);
    buf_lit(b, ",\"invalid_tool_calls\":[],\"usage_metadata\":");
    put_usage(b, usage);
    buf_char(b, '}');
}

void demo_put_tool(struct buf *b, struct str text, struct str id, const struct demo_call *call)
{
    buf_lit(b, "{\"content\":");
    json_put_str(b, text);
    buf_lit(b,
            ",\"additional_kwargs\":{},\"response_metadata\":{},\"type\":\"tool\",\"name\":");
    json_put_str(b, call->tool);
    buf_lit(b, ",\"id\":");
    json_put_str(b, id);
    buf_lit(b, ",\"tool_call_id\":");
    json_put_str(b, call->id);
    buf_lit(b, ",\"artifact\":null,\"status\":\"success\"}");
}

/* LangChain guesses at half a call: a piece that begins the arguments parses as a call
 * without a name, any other is an invalid one. */
static void put_guesses(struct buf *b, const struct demo_chunk *chunk)
{
    bool opens = chunk->args.n > 0 && chunk->args.p[0] == '{';

    if (chunk->args.p != NULL && opens)
        buf_lit(b, ",\"tool_calls\":[{\"name\":\"\",\"args\":{},\"id\":null,"
                   "\"type\":\"tool_call\"}]");
    else
        put_calls(b, chunk->call, STR("{}"));
    buf_lit(b, ",\"invalid_tool_calls\":[");
    if (chunk->args.p != NULL && !opens) {
        buf_lit(b, "{\"name\":null,\"args\":");
        json_put_str(b, chunk->args);
        buf_lit(b, ",\"id\":null,\"error\":null,\"type\":\"invalid_tool_call\"}");
    }
    buf_char(b, ']');
}

static void put_call_chunk(struct buf *b, const struct demo_chunk *chunk)
{
    buf_lit(b, ",\"tool_call_chunks\":[");
    if (chunk->call != NULL || chunk->args.p != NULL) {
        buf_lit(b, "{\"name\":");
        json_put_str_or_null(b, chunk->call != NULL ? chunk->call->tool : STR_NONE);
        buf_lit(b, ",\"args\":");
        json_put_str(b, chunk->args.p != NULL ? chunk->args : STR(""));
        buf_lit(b, ",\"id\":");
        json_put_str_or_null(b, chunk->call != NULL ? chunk->call->id : STR_NONE);
        buf_lit(b, ",\"index\":0,\"type\":\"tool_call_chunk\"}");
    }
    buf_char(b, ']');
}

void demo_put_chunk(struct buf *b, const struct demo_chunk *chunk)
{
    buf_lit(b, "{\"content\":");
    json_put_str(b, chunk->text);
    buf_lit(b, ",\"additional_kwargs\":{},\"response_metadata\":{");
    if (chunk->finish != NULL) {
        put_finish(b, chunk->finish);
        buf_char(b, ',');
    }
    buf_lit(b,
            "\"model_provider\":\"openai\"},\"type\":\"AIMessageChunk\",\"name\":null,\"id\":");
    json_put_str(b, chunk->id);
    put_guesses(b, chunk);
    buf_lit(b, ",\"usage_metadata\":");
    put_usage(b, chunk->usage);
    put_call_chunk(b, chunk);
    if (chunk->usage != NULL)
        buf_lit(b, ",\"chunk_position\":\"last\"}");
    else
        buf_lit(b, ",\"chunk_position\":null}");
}
