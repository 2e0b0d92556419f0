/* POST /mcp: finds the method of a message, and answers in JSON-RPC.
 *
 *     {"jsonrpc":"2.0","id":1,"method":"tools/list"} ──▶ {"jsonrpc":"2.0","id":1,"result":{…}}
 *
 * Notifications and answers of the client are taken and need nothing: without a session the
 * server never asks a client. */
#include "api/langgraph/mcp.h"

#include "base/error.h"
#include "base/json_format.h"

#include <stdarg.h>
#include <stdio.h>

/* --- a message ---------------------------------------------------------------------------- */

int mcp_message_init(struct mcp_message *m, struct str body)
{
    *m = (struct mcp_message){ 0 };
    json_reader_init(&m->reader, SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    int code = json_read(&m->reader, body, &m->json, NULL);
    if (code != 0)
        return code;
    m->id = json_at(m->json.root, "id");
    if (json_is_null(m->id))
        m->id = NULL;
    m->method = json_text(json_at(m->json.root, "method"));
    m->params = json_at(m->json.root, "params");
    return 0;
}

void mcp_message_done(struct mcp_message *m)
{
    json_reader_done(&m->reader);
}

void mcp_answer(struct http_request *req, struct str result)
{
    struct mcp_message m LOCAL_MCP_MESSAGE;
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    (void)mcp_message_init(&m, http_body(req)); /* it was read before */
    json_begin(&out);
    json_add_lit(&out, "jsonrpc", "2.0");
    json_add_value(&out, "id", m.id);
    json_add_raw(&out, "result", result);
    json_end(&out);
    api_json(req, 200, &out);
}

void mcp_refuse(struct http_request *req, int code, const char *format, ...)
{
    struct mcp_message m LOCAL_MCP_MESSAGE;
    struct buf out LOCAL_BUF(SIZE_MAX / 4);
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* may be truncated */
    va_end(args);
    (void)mcp_message_init(&m, http_body(req)); /* it was read before */
    json_begin(&out);
    json_add_lit(&out, "jsonrpc", "2.0");
    json_add_value(&out, "id", m.id);
    json_key(&out, "error");
    json_format(&out, "{'code':%d,'message':%s}", code, text);
    json_end(&out);
    api_json(req, 200, &out);
}

/* --- methods ------------------------------------------------------------------------------ */

static void initialize(struct http_request *req)
{
    static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26",
                                            "2024-11-05" };
    struct mcp_message m LOCAL_MCP_MESSAGE;
    struct buf out LOCAL_BUF(4096);
    struct str version = str_of(versions[0]);

    (void)mcp_message_init(&m, http_body(req)); /* it was read before */
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (str_eq(json_text(json_at(m.params, "protocolVersion")), str_of(versions[i])))
            version = str_of(versions[i]);
    json_format(&out,
                "{'protocolVersion':%s,'capabilities':{'tools':{'listChanged':false}},"
                "'serverInfo':{'name':'spoolwire','version':%s}}",
                version, app_loop_of(req)->app->version);
    mcp_answer(req, buf_text(&out));
}

static void ping(struct http_request *req)
{
    mcp_answer(req, STR("{}"));
}

static const struct mcp_method {
    const char *name;
    http_handler *run;
} methods[] = {
    { "initialize", initialize },
    { "ping", ping },
    { "tools/list", mcp_tools_list },
    { "tools/call", mcp_tools_call },
};

static void run_method(struct http_request *req, struct str method)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (str_eq(method, str_of(methods[i].name))) {
            methods[i].run(req);
            return;
        }
    mcp_refuse(req, MCP_NO_METHOD, "Method not found: %.*s", STR_ARG(str_head(method, 80)));
}

/* --- the route ---------------------------------------------------------------------------- */

static void refuse_message(struct http_request *req, const char *why)
{
    struct buf out LOCAL_BUF(4096);

    json_format(&out, "{'error':%s}", why);
    api_json(req, 400, &out);
}

static bool takes_json(struct http_request *req)
{
    struct str accept = http_header(req, "Accept");

    return str_absent(accept) || langgraph_has(accept, STR("application/json")) ||
           langgraph_has(accept, STR("text/event-stream")) || langgraph_has(accept, STR("*/*"));
}

void api_mcp(struct http_request *req)
{
    struct mcp_message m LOCAL_MCP_MESSAGE;
    int code = mcp_message_init(&m, http_body(req));
    bool has_id = yyjson_is_str(m.id) || yyjson_is_num(m.id) || yyjson_is_raw(m.id);

    if (code == ERR_NOMEM)
        (void)api_no_memory(req);
    else if (code != 0)
        refuse_message(req, "Invalid JSON");
    else if (!takes_json(req))
        refuse_message(req, "Accept header must include application/json or text/event-stream");
    else if (!yyjson_is_obj(m.json.root))
        refuse_message(req, "Invalid message format.");
    else if (!str_is(json_text(json_at(m.json.root, "jsonrpc")), "2.0"))
        refuse_message(req, "Invalid JSON-RPC message. Missing or invalid jsonrpc version.");
    else if ((m.id != NULL && !has_id) || (m.id == NULL && str_empty(m.method)))
        refuse_message(req, "Invalid message format. A message is a JSON-RPC request, response "
                            "or notification.");
    else if (m.id != NULL && !str_empty(m.method))
        run_method(req, m.method);
    else
        http_respond(req, 202, NULL, STR_NONE);
}
