/* Names and schemas of MCP's tools, made of assistants.  Models read them, so that the forms of
 * LangChain's messages, pages of definitions, become one text: a graph takes a text as a
 * message of its user. */
#include "api/langgraph/mcp.h"

#include "base/json_format.h"

enum { MAX_NAME = 128 };

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
}

void mcp_put_name(struct buf *b, struct str name)
{
    size_t begin = b->n;

    while (name.n > 0 && is_space(name.p[0]))
        name = str_skip(name, 1);
    while (name.n > 0 && is_space(name.p[name.n - 1]))
        name.n--;
    for (size_t i = 0; i < name.n && b->n - begin < MAX_NAME; i++) {
        if (is_name_char(name.p[i]))
            buf_char(b, name.p[i]);
        else if (is_space(name.p[i]) && !is_space(name.p[i - 1]))
            buf_char(b, '_');
    }
}

static bool is_one_of(struct str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_of(names[i])))
            return true;
    return false;
}

static bool is_message(struct str name)
{
    static const char *const names[] = {
        "AIMessage",       "AIMessageChunk",       "HumanMessage",  "HumanMessageChunk",
        "ChatMessage",     "ChatMessageChunk",     "SystemMessage", "SystemMessageChunk",
        "FunctionMessage", "FunctionMessageChunk", "ToolMessage",   "ToolMessageChunk",
    };

    return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}

static bool is_part_of_message(struct str name)
{
    static const char *const names[] = { "ToolCall",          "ToolCallChunk",
                                         "InvalidToolCall",   "UsageMetadata",
                                         "InputTokenDetails", "OutputTokenDetails" };

    return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}

static bool names_message(const yyjson_val *list)
{
    struct str prefix = STR("#/$defs/");

    json_each(one, list) {
        struct str ref = json_text(json_at(one, "$ref"));

        if (!str_absent(ref) && str_starts(ref, prefix) && is_message(str_skip(ref, prefix.n)))
            return true;
    }
    return false;
}

static bool is_messages(const yyjson_val *property)
{
    yyjson_val *items = json_at(property, "items");

    return str_is(json_text(json_at(property, "type")), "array") &&
           (names_message(json_at(items, "oneOf")) || names_message(json_at(items, "anyOf")));
}

/* Definitions without those of messages; nothing when none is left. */
static void put_definitions(struct buf *b, const yyjson_val *definitions)
{
    struct buf left LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&left);
    json_each_member(key, value, definitions) {
        if (is_message(json_text(key)) || is_part_of_message(json_text(key)))
            continue;
        json_put_key(&left, json_text(key));
        json_put_value(&left, value);
    }
    json_end(&left);
    if (left.error != 0)
        b->error = left.error;
    else if (left.n > 2)
        json_add_raw(b, "$defs", buf_text(&left));
}

static void put_properties(struct buf *b, const yyjson_val *properties)
{
    json_key(b, "properties");
    json_begin(b);
    json_each_member(key, value, properties) {
        struct str title = json_text(json_at(value, "title"));

        json_put_key(b, json_text(key));
        if (is_messages(value))
            json_format(b,
                        "{'type':'string','title':%s,"
                        "'description':'The user message to send to the agent.'}",
                        str_absent(title) ? json_text(key) : title);
        else
            json_put_value(b, value);
    }
    json_end(b);
}

void mcp_put_schema(struct buf *b, const yyjson_val *schema)
{
    json_begin(b);
    json_each_member(key, value, schema) {
        if (str_is(json_text(key), "$defs")) {
            put_definitions(b, value);
        } else if (str_is(json_text(key), "properties")) {
            put_properties(b, value);
        } else {
            json_put_key(b, json_text(key));
            json_put_value(b, value);
        }
    }
    if (json_at(schema, "type") == NULL)
        json_add_lit(b, "type", "object");
    json_end(b);
}
