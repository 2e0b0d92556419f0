/* Agent cards of A2A (Agent2Agent): what an assistant is called, takes and gives.
 *
 *     GET …/agent-card.json ──▶ the assistant (pool) ──▶ a worker of its graph says its schema
 * ──▶ answered
 *
 * The card names the address of the assistant, which takes no messages of A2A yet: it says so
 * in the words of JSON-RPC, and the card promises no streaming. */
#include "api/langgraph/ask.h"
#include "api/langgraph/assistants.h"
#include "api/langgraph/mcp.h"

#include "base/error.h"
#include "base/json_format.h"

#include <stdlib.h>

enum { UNSUPPORTED = -32004, MAX_PROPERTIES = 1000, MAX_METADATA_DEPTH = 256 };

/* What the card has of the assistant; in the memory of the call. */
struct agent_card {
    struct str id, name, description;
    struct str input_modes, output_modes; /* JSON */
};

/* As LangGraph's server refuses it. */
static bool refuse(struct http_request *req, int status, const char *text)
{
    struct buf out LOCAL_BUF(4096);

    json_format(&out, "{'error':{'code':%d,'message':%s}}", MCP_BAD_PARAMS, text);
    api_json(req, status, &out);
    return false;
}

/* --- what it takes and gives -------------------------------------------------------------- */

static bool are_texts(const yyjson_val *list)
{
    json_each(one, list)
        if (str_empty(json_text(one)))
            return false;
    return yyjson_arr_size((yyjson_val *)(uintptr_t)list) > 0;
}

static bool keep_modes(struct arena *mem, const yyjson_val *given, struct str *ret)
{
    static const struct str usual = { "[\"application/json\",\"text/plain\"]", 33 };

    if (json_is_null(given)) {
        *ret = usual;
        return true;
    }
    return langgraph_keep_json(mem, given, ret);
}

/* False when it was answered. */
static bool read_modes(struct http_request *req,
                       struct arena *mem,
                       const struct assistant_row *row,
                       struct agent_card *card)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_METADATA_DEPTH);
    struct json json = { 0 };

    if (json_read(&reader, row->metadata, &json, NULL) == ERR_NOMEM)
        return api_no_memory(req);
    yyjson_val *a2a = json_at(json.root, "a2a");
    yyjson_val *in = json_at(a2a, "input_modes"), *out = json_at(a2a, "output_modes");
    if (!json_is_null(a2a) && !yyjson_is_obj(a2a))
        return refuse(req, 400, "Assistant metadata.a2a must be an object.");
    if (!json_is_null(in) && !are_texts(in))
        return refuse(req, 400,
                      "Assistant metadata.a2a.input_modes must be a non-empty array of "
                      "strings.");
    if (!json_is_null(out) && !are_texts(out))
        return refuse(req, 400,
                      "Assistant metadata.a2a.output_modes must be a non-empty array of "
                      "strings.");
    return (keep_modes(mem, in, &card->input_modes) &&
            keep_modes(mem, out, &card->output_modes)) ||
           api_no_memory(req);
}

/* --- the card ----------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const struct str *one = a, *other = b;
    size_t n = one->n < other->n ? one->n : other->n;
    int order = n > 0 ? memcmp(one->p, other->p, n) : 0;

    return order != 0 ? order : (one->n > other->n) - (one->n < other->n);
}

/* The names of a schema's properties, sorted, as LangGraph's server has them. */
static void put_properties(struct buf *b, const yyjson_val *properties)
{
    struct str names[MAX_PROPERTIES];
    size_t n = 0;

    json_each_member(key, value, properties) {
        (void)value;
        if (n < MAX_PROPERTIES)
            names[n++] = json_text(key);
    }
    qsort(names, n, sizeof(names[0]), by_text);
    json_add_array(b, "properties");
    for (size_t i = 0; i < n; i++)
        json_put_str(json_next(b), names[i]);
    json_end_array(b);
}

static void put_skill(struct buf *b, const struct agent_card *card, const yyjson_val *schemas)
{
    yyjson_val *input = json_at(schemas, "input_schema");
    if (json_is_null(input))
        input = json_at(schemas, "state_schema");
    yyjson_val *properties = json_at(input, "properties"),
               *required = json_at(input, "required");

    json_begin(b);
    json_add_parts(b, "id");
    json_put_escaped(b, card->id);
    buf_lit(b, "-main");
    json_end_parts(b);
    json_add_parts(b, "name");
    json_put_escaped(b, card->name);
    buf_lit(b, " Capabilities");
    json_end_parts(b);
    json_add_str(b, "description", card->description);
    json_format_plain(b, ",'tags':['assistant','langgraph'],'examples':[]");
    json_add_raw(b, "inputModes", card->input_modes);
    json_add_raw(b, "outputModes", card->output_modes);
    json_key(b, "metadata");
    json_begin(b);
    json_key(b, "inputSchema");
    json_begin(b);
    json_key(b, "required");
    if (json_is_null(required))
        buf_lit(b, "[]");
    else
        json_put_value(b, required);
    put_properties(b, properties);
    json_add_bool(b, "supportsA2A", json_at(properties, "messages") != NULL);
    json_end(b);
    json_end(b);
    json_end(b);
}

/* The address of this server as the caller has named it, and of the assistant behind it. */
static void put_url(struct buf *b, struct http_request *req, const struct agent_card *card)
{
    bool is_secure = http_is_tls(req) || str_is(http_header(req, "x-forwarded-proto"), "https");

    buf_char(b, '"');
    buf_str(b, is_secure ? STR("https://") : STR("http://"));
    json_put_escaped(b, http_header(req, "host"));
    buf_lit(b, "/a2a/");
    json_put_escaped(b, card->id);
    buf_char(b, '"');
}

static void put_card(struct buf *b,
                     struct http_request *req,
                     const struct agent_card *card,
                     const yyjson_val *schemas)
{
    struct buf url LOCAL_BUF(SIZE_MAX / 4);

    put_url(&url, req, card);
    json_begin(b);
    json_add_str(b, "name", card->name);
    json_add_str(b, "description", card->description);
    json_add_raw(b, "url", buf_text(&url));
    json_format(b,
                ",'supportedInterfaces':[{'url':%j,'protocolBinding':'JSONRPC',"
                "'protocolVersion':'1.0'}]",
                buf_text(&url));
    json_format_plain(b, ",'capabilities':{'streaming':false,'pushNotifications':false,"
                         "'stateTransitionHistory':false,'extensions':[]}");
    json_add_raw(b, "defaultInputModes", card->input_modes);
    json_add_raw(b, "defaultOutputModes", card->output_modes);
    json_add_array(b, "skills");
    put_skill(json_next(b), card, schemas);
    json_end_array(b);
    json_add_str(b, "version", str_of(app_loop_of(req)->app->version));
    json_end(b);
    if (url.error != 0)
        b->error = url.error;
}

static void on_schemas(struct journal_call *call)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_METADATA_DEPTH);
    struct buf out LOCAL_BUF(SIZE_MAX / 4);
    struct json json = { 0 };
    struct str why;
    int status = ask_failed(call, &why);

    if (status != 0) {
        (void)http_respond_error(call->req, status, "%.*s", STR_ARG(why));
        return;
    }
    if (json_read(&reader, call->journal.call.output, &json, NULL) != 0)
        json.root = NULL; /* no schemas are known */
    put_card(&out, call->req, call->data, json.root);
    api_json(call->req, 200, &out);
}

static bool keep_assistant(struct arena *mem,
                           const struct assistant_row *row,
                           struct agent_card *card)
{
    struct buf text LOCAL_BUF(SIZE_MAX / 4);

    if (str_empty(row->description)) {
        buf_str(&text, row->name);
        buf_lit(&text, " assistant");
    } else {
        buf_str(&text, row->description);
    }
    return text.error == 0 && arena_copy(mem, buf_text(&text), &card->description) &&
           arena_copy(mem, row->id, &card->id) && arena_copy(mem, row->name, &card->name);
}

/* Nobody can be asked for the schemas of its graph. */
static void answer_alone(struct http_request *req, const struct assistant_row *row)
{
    struct buf out LOCAL_BUF(SIZE_MAX / 4);
    struct arena mem;
    struct agent_card card;

    arena_init(&mem);
    if (!keep_assistant(&mem, row, &card)) {
        (void)api_no_memory(req);
    } else if (read_modes(req, &mem, row, &card)) {
        put_card(&out, req, &card, NULL);
        api_json(req, 200, &out);
    }
    arena_done(&mem);
}

static void ask_schemas(struct http_request *req, const struct assistant_row *row)
{
    if (!ask_is_possible(req, row->graph)) {
        answer_alone(req, row);
        return;
    }
    struct journal_call *call = ask_new(req, row->graph, "schemas", on_schemas);
    struct buf params LOCAL_BUF(SIZE_MAX / 4);

    if (call == NULL)
        return;
    struct arena *mem = &call->journal.mem;
    struct agent_card *card = arena_alloc(mem, sizeof(*card));
    call->data = card;
    call->journal.call.keeps = true;
    json_format(&params, "{'graph_id':%s,'config':%j}", row->graph, row->config);
    if (card == NULL || params.error != 0 || !keep_assistant(mem, row, card) ||
        !arena_copy(mem, buf_text(&params), &call->journal.call.params)) {
        (void)api_no_memory(req);
        journal_call_free(call);
    } else if (!read_modes(req, mem, row, card)) {
        journal_call_free(call);
    } else {
        journal_call_post(call);
    }
}

void api_a2a_card(struct http_request *req)
{
    struct str id = http_param(req, "assistant");

    if (str_absent(id))
        id = http_query(req, "assistant_id");
    const char *usual = getenv("DEFAULT_A2A_ASSISTANT_ID"); /* as with LangGraph's server */
    if (str_empty(id) && usual != NULL)
        id = str_of(usual);
    if (str_empty(id))
        (void)refuse(req, 400, "Missing required query parameter: assistant_id");
    else
        langgraph_with_assistant(req, id, ask_schemas);
}

void api_a2a(struct http_request *req)
{
    mcp_refuse(
        req, UNSUPPORTED,
        "messages of A2A are not implemented: use the routes of LangGraph's API, or MCP");
}
