/* MCP (Model Context Protocol) over streamable HTTP: every assistant is a tool.
 *
 * Messages are JSON-RPC 2.0.  There are no sessions, and an answer is one JSON object. */
#ifndef API_LANGGRAPH_MCP_H
#define API_LANGGRAPH_MCP_H

#include "api/langgraph/langgraph.h"

enum { MCP_NO_METHOD = -32601, MCP_BAD_PARAMS = -32602 };

/* A message, read again whenever it is needed: it lives as long as its request. */
struct mcp_message {
    struct json_reader reader;
    struct json json;
    yyjson_val *id; /* NULL: it wants no answer */
    struct str method;
    yyjson_val *params; /* NULL: none */
};

/* Reads @body; its members stay empty when it is no JSON.  To be done with in any case. */
int mcp_message_init(struct mcp_message *m, struct str body);
void mcp_message_done(struct mcp_message *m);
#define LOCAL_MCP_MESSAGE __attribute__((cleanup(mcp_message_done))) = { .id = NULL }

/* Answers the request with a result, which is JSON. */
void mcp_answer(struct http_request *req, struct str result);
/* Answers with an error of JSON-RPC; it is no error of HTTP. */
void mcp_refuse(struct http_request *req, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- tools -------------------------------------------------------------------------------- */

void mcp_tools_list(struct http_request *req);
void mcp_tools_call(struct http_request *req);

/* An assistant's name as a tool's: letters, digits, '_', '-' and '.', at most 128. */
void mcp_put_name(struct buf *b, struct str name);
/* The schema of a graph's input as that of a tool's arguments: LangChain's messages become one
 * text.  Absent or null: any object. */
void mcp_put_schema(struct buf *b, const yyjson_val *schema);

#endif
