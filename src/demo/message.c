#include "demo/message.h"

#include "base/json.h"
#include "base/json_format.h"

#define FINISH "'finish_reason':%s,'model_name':'gpt-demo-2026','system_fingerprint':'fp_demo'"

static void put_usage(struct buf *b, const struct demo_usage *usage)
{
    if (usage == NULL) {
        buf_lit(b, "null");
        return;
    }
    json_format(b,
                "{'input_tokens':%d,'output_tokens':%d,'total_tokens':%d,"
                "'input_token_details':{'cache_read':0},"
                "'output_token_details':{'reasoning':0}}",
                usage->input, usage->output, usage->input + usage->output);
}

static void put_plain(struct buf *b, struct str type, struct str text, struct str id)
{
    json_format(b,
                "{'content':%s,'additional_kwargs':{},'response_metadata':{},'type':%s,"
                "'name':null,'id':%s}",
                text, type, id);
}

void demo_put_human(struct buf *b, struct str text, struct str id)
{
    put_plain(b, STR("human"), text, id);
}

void demo_put_system(struct buf *b, struct str text)
{
    put_plain(b, STR("system"), text, STR_NONE);
}

/* All that is known of the call, as a whole message has it. */
static void put_call(struct buf *b, const struct demo_call *call, struct str args)
{
    if (call != NULL)
        json_format(b, "{'name':%s,'args':%j,'id':%s,'type':'tool_call'}", call->tool, args,
                    call->id);
}

void demo_put_ai(struct buf *b,
                 struct str text,
                 struct str id,
                 const struct demo_call *call,
                 const struct demo_usage *usage)
{
    json_format(b, "{'content':%s,'additional_kwargs':{},'response_metadata':{", text);
    if (usage != NULL)
        json_format(b, "'model_provider':'openai'," FINISH,
                    call != NULL ? "tool_calls" : "stop");
    json_format(b, "},'type':'ai','name':null,'id':%s,'tool_calls':[", id);
    put_call(b, call, call != NULL ? call->args : STR_NONE);
    json_end_array(b);
    json_add_const(b, "invalid_tool_calls", "[]");
    json_key(b, "usage_metadata");
    put_usage(b, usage);
    json_end(b);
}

void demo_put_tool(struct buf *b, struct str text, struct str id, const struct demo_call *call)
{
    json_format(b,
                "{'content':%s,'additional_kwargs':{},'response_metadata':{},'type':'tool',"
                "'name':%s,'id':%s,'tool_call_id':%s,'artifact':null,'status':'success'}",
                text, call->tool, id, call->id);
}

/* LangChain parses partial calls: a piece that begins the arguments becomes a call without a
 * name, any other an invalid call. */
static void put_guesses(struct buf *b, const struct demo_chunk *chunk)
{
    const struct demo_call nameless = { .tool = STR("") };
    bool opens = chunk->args.n > 0 && chunk->args.p[0] == '{';

    json_add_array(b, "tool_calls");
    put_call(b, opens ? &nameless : chunk->call, STR("{}"));
    json_end_array(b);
    json_add_array(b, "invalid_tool_calls");
    if (chunk->args.p != NULL && !opens)
        json_format(b,
                    "{'name':null,'args':%s,'id':null,'error':null,'type':'invalid_tool_call'}",
                    chunk->args);
    json_end_array(b);
}

static void put_call_chunk(struct buf *b, const struct demo_chunk *chunk)
{
    struct demo_call call =
        chunk->call != NULL ? *chunk->call : (struct demo_call){ .tool = STR_NONE };

    json_add_array(b, "tool_call_chunks");
    if (chunk->call != NULL || chunk->args.p != NULL)
        json_format(b, "{'name':%s,'args':%s,'id':%s,'index':0,'type':'tool_call_chunk'}",
                    call.tool, chunk->args.p != NULL ? chunk->args : STR(""), call.id);
    json_end_array(b);
}

void demo_put_chunk(struct buf *b, const struct demo_chunk *chunk)
{
    json_format(b, "{'content':%s,'additional_kwargs':{},'response_metadata':{", chunk->text);
    if (chunk->finish != NULL)
        json_format(b, FINISH ",", chunk->finish);
    json_format(b, "'model_provider':'openai'},'type':'AIMessageChunk','name':null,'id':%s",
                chunk->id);
    put_guesses(b, chunk);
    json_key(b, "usage_metadata");
    put_usage(b, chunk->usage);
    put_call_chunk(b, chunk);
    json_format(b, ",'chunk_position':%s}", chunk->usage != NULL ? "last" : NULL);
}
