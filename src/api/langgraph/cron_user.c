#include "api/langgraph/cron_user.h"

#include "api/authorization.h"
#include "api/langgraph/langgraph.h"
#include "base/error.h"

void cron_user_put(struct buf *b, const struct authorization *a)
{
    if (a == NULL)
        return;
    json_key(b, CRON_USER);
    json_begin(b);
    json_add_raw(b, "user", a->user);
    json_add_raw(b, "permissions", a->permissions);
    json_end(b);
}

/* A quick look, which spares most payloads the parsing. */
static bool may_have(struct str payload)
{
    return langgraph_has(payload, STR("\"" CRON_USER "\""));
}

void cron_user_hide(struct str payload, struct buf *ret_payload, struct buf *ret_id)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    struct json json;

    if (!may_have(payload) || json_read(&reader, payload, &json, NULL) != 0) {
        buf_str(ret_payload, payload);
        return;
    }
    json_begin(ret_payload);
    json_each_member(name, value, json.root) {
        if (str_is(json_text(name), CRON_USER)) {
            buf_str(ret_id, json_text(json_at(json_at(value, "user"), "identity")));
            continue;
        }
        json_put_key(ret_payload, json_text(name));
        json_put_value(ret_payload, value);
    }
    json_end(ret_payload);
}

int cron_user_read(struct str payload, struct authorization **ret)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, LANGGRAPH_MAX_DEPTH);
    struct json json;
    int code = may_have(payload) ? json_read(&reader, payload, &json, NULL) : ERR_TYPE;

    *ret = NULL;
    if (code != 0)
        return code == ERR_NOMEM ? code : 0;
    const yyjson_val *said = json_at(json.root, CRON_USER);
    const yyjson_val *user = json_at(said, "user");
    if (json_is_null(user))
        return 0;
    struct authorization *a = authorization_new();
    if (a == NULL)
        return ERR_NOMEM;
    if (!langgraph_keep_json(&a->mem, user, &a->user) ||
        !langgraph_keep_json(&a->mem, json_at(said, "permissions"), &a->permissions) ||
        !arena_copy(&a->mem, json_text(json_at(user, "identity")), &a->identity)) {
        authorization_free(a);
        return ERR_NOMEM;
    }
    *ret = a;
    return 0;
}
