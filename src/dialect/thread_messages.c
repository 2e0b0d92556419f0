/* Thread events of the channel `messages`: a message as content blocks.
 *
 *     message-start
 *     content-block-start, -delta …     for each block
 *     content-block-finish              with the whole block
 *     message-finish                    why it stopped, and the usage
 *
 * A block is told apart by its index and its type, as clients do: the text and the reasoning
 * are at index 0, tool calls behind them.  A piece of a tool call's arguments is sent as a
 * piece (`content`), which clients append; the whole arguments with each piece would grow with
 * the square of their length. */
#include "base/json.h"
#include "dialect/render.h"
#include "dialect/thread_render.h"

enum { MAX_DEPTH = 64 };

/* Starts `"data":{"event":NAME`. */
static struct buf *begin(const struct record *rec, struct str event, struct frames *out)
{
    struct buf *b = thread_begin(rec, STR("messages"), record_graph_ns(record_info(rec)), out);

    if (b == NULL)
        return NULL;
    buf_lit(b, "," JSON_KEY("data") "{" JSON_KEY("event") "\"");
    buf_str(b, event);
    buf_char(b, '"');
    return b;
}

static void end(const struct record *rec, struct frames *out)
{
    struct str run = record_info(rec)->run;

    if (!str_absent(run))
        json_add_str(&out->body, "run_id", run);
    json_end(&out->body);
    thread_end(out);
}

static void put_start(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(rec, STR("message-start"), out);

    if (b == NULL)
        return;
    json_add_str(b, "id", render_some(rec->message));
    json_add_lit(b, "role", "ai");
    end(rec, out);
}

/* --- text and reasoning ------------------------------------------------------------------- */

static void put_text_start(const struct record *rec, bool is_reasoning, struct frames *out)
{
    struct buf *b = begin(rec, STR("content-block-start"), out);

    if (b == NULL)
        return;
    json_add_const(b, "index", "0");
    json_key(b, "content");
    if (is_reasoning)
        buf_lit(b, "{" JSON_LIT("type", "reasoning") "," JSON_LIT("reasoning", "") "}");
    else
        buf_lit(b, "{" JSON_LIT("type", "text") "," JSON_LIT("text", "") "}");
    end(rec, out);
}

static void put_text_delta(const struct record *rec,
                           struct str text,
                           bool is_reasoning,
                           struct frames *out)
{
    struct buf *b = begin(rec, STR("content-block-delta"), out);

    if (b == NULL)
        return;
    if (is_reasoning)
        buf_lit(b, "," JSON_CONST("index", "0") "," JSON_KEY("delta") "{" JSON_LIT(
                       "type", "reasoning-delta") "," JSON_KEY("reasoning"));
    else
        buf_lit(b, "," JSON_CONST("index", "0") "," JSON_KEY("delta") "{" JSON_LIT(
                       "type", "text-delta") "," JSON_KEY("text"));
    json_put_str(b, text);
    json_end(b);
    end(rec, out);
}

static void put_text_finish(const struct record *rec,
                            struct str text,
                            bool is_reasoning,
                            struct frames *out)
{
    struct buf *b = begin(rec, STR("content-block-finish"), out);

    if (b == NULL)
        return;
    json_add_const(b, "index", "0");
    json_key(b, "content");
    json_begin(b);
    if (is_reasoning) {
        json_add_lit(b, "type", "reasoning");
        json_add_str(b, "reasoning", text);
    } else {
        json_add_lit(b, "type", "text");
        json_add_str(b, "text", text);
    }
    json_end(b);
    end(rec, out);
}

/* --- tool calls --------------------------------------------------------------------------- */

static int64_t index_of(const yyjson_val *call, int64_t otherwise)
{
    return json_int(json_at(call, "index"), otherwise) + 1; /* behind the text */
}

/* The first piece of a call has its id and name. */
static void put_call_piece(const struct record *rec,
                           const yyjson_val *call,
                           int64_t index,
                           struct frames *out)
{
    struct str id = json_text(json_at(call, "id")), name = json_text(json_at(call, "name"));
    bool is_first = !str_empty(id) || !str_empty(name);
    struct buf *b =
        begin(rec, is_first ? STR("content-block-start") : STR("content-block-delta"), out);

    if (b == NULL)
        return;
    json_add_int(b, "index", index);
    json_key(b, "content");
    json_begin(b);
    json_add_lit(b, "type", "tool_call_chunk");
    if (!str_empty(id))
        json_add_str(b, "id", id);
    if (!str_empty(name))
        json_add_str(b, "name", name);
    json_add_str(b, "args", render_some(json_text(json_at(call, "args"))));
    json_add_int(b, "index", index);
    json_end(b);
    end(rec, out);
}

static void put_call_finish(const struct record *rec,
                            const yyjson_val *call,
                            int64_t index,
                            struct frames *out)
{
    struct buf *b = begin(rec, STR("content-block-finish"), out);

    if (b == NULL)
        return;
    json_add_int(b, "index", index);
    json_key(b, "content");
    json_begin(b);
    json_add_lit(b, "type", "tool_call");
    json_add_str(b, "id", render_some(json_text(json_at(call, "id"))));
    json_add_str(b, "name", render_some(json_text(json_at(call, "name"))));
    json_key(b, "args");
    json_put_value(b, json_at(call, "args"));
    json_end(b);
    end(rec, out);
}

typedef void (*call_fn)(const struct record *rec,
                        const yyjson_val *call,
                        int64_t index,
                        struct frames *out);

static void each_call(const struct record *rec, call_fn put, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json list;
    int64_t i = 0;

    if (str_empty(rec->calls) || json_read(&reader, rec->calls, &list, NULL) != 0)
        return;
    json_each(call, list.root) {
        put(rec, call, index_of(call, i), out);
        i++;
    }
}

/* --- records ------------------------------------------------------------------------------ */

void thread_on_delta(const struct record *rec, struct frames *out)
{
    if (rec->mirror)
        return;
    if (rec->first)
        put_start(rec, out);
    if (!str_empty(rec->reasoning)) {
        if (rec->first)
            put_text_start(rec, true, out);
        put_text_delta(rec, rec->reasoning, true, out);
    }
    if (!str_empty(rec->text)) {
        if (rec->first)
            put_text_start(rec, false, out);
        put_text_delta(rec, rec->text, false, out);
    }
    each_call(rec, put_call_piece, out);
}

static void put_message_finish(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(rec, STR("message-finish"), out);

    if (b == NULL)
        return;
    json_add_str(b, "reason", str_empty(rec->title) ? STR("stop") : rec->title);
    if (!str_absent(rec->usage))
        json_add_raw(b, "usage", rec->usage);
    end(rec, out);
}

static void put_error(const struct record *rec, struct frames *out)
{
    struct buf *b = begin(rec, STR("error"), out);

    if (b == NULL)
        return;
    json_add_str(b, "message", render_some(render_error(rec)));
    end(rec, out);
}

void thread_on_llm_end(const struct record *rec, struct frames *out)
{
    if (str_empty(rec->message))
        return; /* nothing was streamed */
    if (!render_is_ok(rec)) {
        put_error(rec, out);
        return;
    }
    if (!str_empty(rec->reasoning))
        put_text_finish(rec, rec->reasoning, true, out);
    if (!str_empty(rec->text))
        put_text_finish(rec, rec->text, false, out);
    each_call(rec, put_call_finish, out);
    put_message_finish(rec, out);
}

/* --- whole messages ----------------------------------------------------------------------- */

static void put_whole_text(const struct record *rec,
                           struct str text,
                           bool is_reasoning,
                           struct frames *out)
{
    if (str_empty(text))
        return;
    put_text_start(rec, is_reasoning, out);
    put_text_delta(rec, text, is_reasoning, out);
    put_text_finish(rec, text, is_reasoning, out);
}

/* A block that is neither text nor a call, such as an image. */
static void put_other_block(const struct record *rec,
                            const yyjson_val *block,
                            int64_t index,
                            struct frames *out)
{
    static const char *const events[] = { "content-block-start", "content-block-finish" };

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct buf *b = begin(rec, str_of(events[i]), out);

        if (b == NULL)
            return;
        json_add_int(b, "index", index);
        json_key(b, "content");
        json_put_value(b, block);
        end(rec, out);
    }
}

/* The texts of all blocks of a type, one after another: they share an index. */
static void put_joined(const struct record *rec,
                       const yyjson_val *blocks,
                       bool is_reasoning,
                       struct frames *out)
{
    struct buf text LOCAL_BUF(SIZE_MAX / 4);

    json_each(block, blocks) {
        struct str type = json_text(json_at(block, "type"));

        if (!is_reasoning && str_is(type, "text"))
            buf_str(&text, json_text(json_at(block, "text")));
        else if (!is_reasoning && !str_absent(json_text(block)))
            buf_str(&text, json_text(block));
        else if (is_reasoning && str_is(type, "reasoning"))
            buf_str(&text, json_text(json_at(block, "reasoning")));
        else if (is_reasoning && str_is(type, "thinking"))
            buf_str(&text, json_text(json_at(block, "thinking")));
    }
    if (text.error == 0)
        put_whole_text(rec, buf_text(&text), is_reasoning, out);
}

/* Calls are in `tool_calls`, whatever their provider calls their blocks. */
static bool is_other(const yyjson_val *block)
{
    static const char *const known[] = { "text",          "reasoning",       "thinking",
                                         "tool_call",     "tool_use",        "tool_call_chunk",
                                         "function_call", "input_json_delta" };
    struct str type = json_text(json_at(block, "type"));

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(type, str_of(known[i])))
            return false;
    return !str_absent(type);
}

static void put_whole(const struct record *rec, const yyjson_val *message, struct frames *out)
{
    const yyjson_val *content = json_at(message, "content");
    int64_t i = 0;

    put_start(rec, out);
    put_whole_text(rec, json_text(content), false, out);
    put_joined(rec, content, true, out);
    put_joined(rec, content, false, out);
    json_each(call, json_at(message, "tool_calls")) {
        put_call_finish(rec, call, index_of(call, i), out);
        i++;
    }
    json_each(block, content)
        if (is_other(block))
            put_other_block(rec, block, ++i, out);
    put_message_finish(rec, out);
}

/* Python's LangGraph tells messages of models here; what else a node returns is in the state.
 */
static bool is_of_model(const struct record *rec)
{
    struct str meta = render_some(record_info(rec)->meta);

    for (size_t at = 0; at < meta.n; at++)
        if (str_starts(str_skip(meta, at), STR(JSON_KEY("ls_model_type"))))
            return true;
    return false;
}

/* Only answers: the others are part of the state, and clients do not expect them here. */
void thread_on_message(const struct record *rec, struct frames *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct json message;

    if (rec->header == NULL)
        thread_put_opened(rec, out);
    if (str_empty(rec->data) || json_read(&reader, rec->data, &message, NULL) != 0 ||
        (record_info(rec)->outer && !is_of_model(rec)))
        return;
    if (str_is(json_text(json_at(message.root, "type")), "ai"))
        put_whole(rec, message.root, out);
}
