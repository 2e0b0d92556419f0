#include "cli/defaults.h"

#include "base/error.h"
#include "base/json.h"
#include "config/text/quote.h"

#include <stdlib.h>

#define VARIABLE "LANGGRAPH_CONFIG"

enum { MAX_TEXT = 1024 * 1024, MAX_DEPTH = 32 };

static void put(const yyjson_val *said, struct buf *ret_config, struct buf *ret_context)
{
    yyjson_val *context = json_at(said, "context");
    yyjson_val *shared = json_is_null(context) ? json_at(said, "configurable") : context;

    json_begin(ret_config);
    json_each_member(key, value, said) {
        struct str name = json_text(key);

        if (str_is(name, "context") || str_is(name, "configurable"))
            continue;
        json_put_key(ret_config, name);
        json_put_value(ret_config, value);
    }
    if (!json_is_null(shared)) {
        json_key(ret_config, "configurable");
        json_put_value(ret_config, shared);
        json_put_value(ret_context, shared);
    }
    json_end(ret_config);
}

int defaults_of_graph(const char *graph,
                      struct buf *ret_config,
                      struct buf *ret_context,
                      struct error *err)
{
    const char *text = getenv(VARIABLE);
    struct json_reader reader LOCAL_READER(MAX_TEXT, MAX_DEPTH);
    struct error why = { 0 };
    struct json all;

    if (text == NULL || text[0] == '\0')
        return 0;
    if (json_read(&reader, str_of(text), &all, &why) != 0)
        return error_set(err, ERR_SYNTAX, VARIABLE ": %s", why.text);
    const yyjson_val *said = json_get(all.root, str_of(graph));
    if (!yyjson_is_obj(all.root) ||
        (!json_is_null(said) && !yyjson_is_obj((yyjson_val *)(uintptr_t)said)))
        return error_set(err, ERR_TYPE,
                         VARIABLE " must be an object, with an object for each graph, such as "
                                  "{\"%s\": {\"configurable\": {}}}",
                         quote(str_of(graph)).z);
    if (!json_is_null(said))
        put(said, ret_config, ret_context);
    return ret_config->error != 0 || ret_context->error != 0
               ? error_set(err, ERR_NOMEM, "out of memory")
               : 0;
}
