#include "cli/project_server.h"

#include "base/error.h"
#include "base/text_format.h"
#include "config/text/strings.h"
#include "webhooks/headers.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SETTINGS = 65536 };

typedef void ignored_cb(void *arg, const char *sentence);

static int no_memory(struct error *err)
{
    return error_set(err, ERR_NOMEM, "out of memory");
}

/* A text, or absent. */
static int read_text(const yyjson_val *value, const char *name, char **ret, struct error *err)
{
    struct str text = json_text(value);

    if (json_is_null(value))
        return 0;
    if (str_empty(text))
        return error_set(err, ERR_TYPE, "'%s' is no text", name);
    *ret = string_copy(text);
    return *ret != NULL ? 0 : no_memory(err);
}

static int read_list(const yyjson_val *list, const char *name, char ***ret, struct error *err)
{
    if (json_is_null(list))
        return 0;
    if (!yyjson_is_arr((yyjson_val *)(uintptr_t)list))
        return error_set(err, ERR_TYPE, "'%s' is no list of texts", name);
    json_each(item, list) {
        if (str_empty(json_text(item)))
            return error_set(err, ERR_TYPE, "'%s' is no list of texts", name);
        if (strings_add(ret, json_text(item)) != 0)
            return no_memory(err);
    }
    return 0;
}

struct ignored_member {
    const char *name, *sentence;
};

static void note(const yyjson_val *object,
                 const struct ignored_member *members,
                 size_t n,
                 ignored_cb *ignored,
                 void *arg)
{
    for (size_t i = 0; i < n; i++)
        if (!json_is_null(json_get(object, str_of(members[i].name))))
            ignored(arg, members[i].sentence);
}

/* --- auth ------------------------------------------------------------------------------------
 */

static int read_auth(struct project_server *p,
                     const yyjson_val *auth,
                     ignored_cb *ignored,
                     void *arg,
                     struct error *err)
{
    static const struct ignored_member members[] = {
        { "openapi", "'auth.openapi' is ignored: /openapi.json names no security schemes" },
        { "allow_langsmith_api_keys",
          "'auth.allow_langsmith_api_keys' is ignored: keys of LangSmith are not known here" },
    };

    if (json_is_null(auth))
        return 0;
    if (!yyjson_is_obj((yyjson_val *)(uintptr_t)auth))
        return error_set(err, ERR_TYPE, "'auth' is no object");
    note(auth, members, sizeof(members) / sizeof(members[0]), ignored, arg);
    return read_text(json_at(auth, "path"), "auth.path", &p->auth, err);
}

/* What the companion needs to know, of both members. */
static int make_settings(struct project_server *p,
                         const yyjson_val *auth,
                         const yyjson_val *http,
                         struct error *err)
{
    struct buf b LOCAL_BUF(MAX_SETTINGS);

    json_begin(&b);
    json_add_bool(&b, "disable_studio_auth",
                  yyjson_is_true(json_at(auth, "disable_studio_auth")));
    json_add_bool(&b, "enable_custom_route_auth",
                  yyjson_is_true(json_at(http, "enable_custom_route_auth")));
    if (yyjson_is_obj(json_at(auth, "cache")))
        json_add_value(&b, "cache", json_at(auth, "cache"));
    json_end(&b);
    p->settings = b.error == 0 ? string_copy(buf_text(&b)) : NULL;
    return p->settings != NULL ? 0 : no_memory(err);
}

/* --- http ------------------------------------------------------------------------------------
 */

static int read_cors(struct project_server *p,
                     const yyjson_val *cors,
                     ignored_cb *ignored,
                     void *arg,
                     struct error *err)
{
    static const struct ignored_member members[] = {
        { "allow_methods",
          "'http.cors.allow_methods' is ignored: pages may use the methods of each route" },
        { "allow_headers", "'http.cors.allow_headers' is ignored: pages may send the headers "
                           "that the server reads" },
        { "allow_credentials", "'http.cors.allow_credentials' is ignored: pages of the origins "
                               "that are listed may send credentials" },
        { "allow_origin_regex",
          "'http.cors.allow_origin_regex' is ignored: list the origins in allow_origins" },
        { "expose_headers", "'http.cors.expose_headers' is ignored: pages may read the headers "
                            "that the server sends" },
        { "max_age", "'http.cors.max_age' is ignored: it is 10 minutes" },
    };

    if (json_is_null(cors))
        return 0;
    note(cors, members, sizeof(members) / sizeof(members[0]), ignored, arg);
    return read_list(json_at(cors, "allow_origins"), "http.cors.allow_origins", &p->origins,
                     err);
}

static int read_disabled(struct project_server *p, const yyjson_val *http, struct error *err)
{
    static const struct {
        const char *member, *part;
    } parts[] = {
        { "disable_assistants", "assistants" },
        { "disable_threads", "threads" },
        { "disable_runs", "runs" },
        { "disable_store", "store" },
        { "disable_meta", "meta" },
        { "disable_mcp", "mcp" },
        { "disable_ui", "ui" },
        { "disable_event_streaming", "event_streaming" },
        { "disable_a2a", "a2a" },
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (yyjson_is_true(json_get(http, str_of(parts[i].member))) &&
            strings_add(&p->disabled, str_of(parts[i].part)) != 0)
            return no_memory(err);
    return 0;
}

static int read_headers(struct project_server *p, const yyjson_val *given, struct error *err)
{
    yyjson_val *includes = json_at(given, "includes"), *excludes = json_at(given, "excludes");

    if (includes == NULL)
        includes = json_at(given, "include");
    if (excludes == NULL)
        excludes = json_at(given, "exclude");
    int code = read_list(includes, "http.configurable_headers.includes", &p->headers, err);
    if (code == 0)
        code = read_list(excludes, "http.configurable_headers.excludes", &p->no_headers, err);
    return code;
}

static int read_http(struct project_server *p,
                     const yyjson_val *http,
                     ignored_cb *ignored,
                     void *arg,
                     struct error *err)
{
    static const struct ignored_member members[] = {
        { "logging_headers", "'http.logging_headers' is ignored: headers are never logged" },
        { "middleware_order", "'http.middleware_order' is ignored: the app's middleware comes "
                              "before authentication" },
    };

    if (json_is_null(http))
        return 0;
    if (!yyjson_is_obj((yyjson_val *)(uintptr_t)http))
        return error_set(err, ERR_TYPE, "'http' is no object");
    note(http, members, sizeof(members) / sizeof(members[0]), ignored, arg);
    int code = read_text(json_at(http, "app"), "http.app", &p->app, err);
    if (code == 0)
        code = read_text(json_at(http, "mount_prefix"), "http.mount_prefix", &p->prefix, err);
    if (code == 0)
        code = read_cors(p, json_at(http, "cors"), ignored, arg, err);
    if (code == 0)
        code = read_disabled(p, http, err);
    return code == 0 ? read_headers(p, json_at(http, "configurable_headers"), err) : code;
}

/* --- webhooks --------------------------------------------------------------------------------
 */

/* [https://]DOMAIN[:PORT] */
static int add_place(struct project_server *p, struct str domain, int64_t port, bool https)
{
    struct buf b LOCAL_BUF(1024);

    if (https)
        buf_lit(&b, "https://");
    buf_str(&b, domain);
    if (port > 0) {
        buf_char(&b, ':');
        buf_i64(&b, port);
    }
    return b.error != 0 ? ERR_NOMEM : strings_add(&p->webhook_allow, buf_text(&b));
}

static int add_domain(struct project_server *p, struct str domain, const yyjson_val *policy)
{
    const yyjson_val *ports = json_at(policy, "allowed_ports");
    bool https = yyjson_is_true(json_at(policy, "require_https"));
    int code = 0;

    if (yyjson_arr_size((yyjson_val *)(uintptr_t)ports) == 0)
        return add_place(p, domain, 0, https);
    json_each(port, ports)
        code = code == 0 ? add_place(p, domain, json_int(port, 0), https) : code;
    return code;
}

/* Of the domains that are listed, those without a `*` may be private, as LangGraph has it. */
static int add_domains(struct project_server *p, const yyjson_val *policy)
{
    const yyjson_val *domains = json_at(policy, "allowed_domains");
    int code = 0;

    if (yyjson_arr_size((yyjson_val *)(uintptr_t)domains) == 0)
        return add_domain(p, STR("*"), policy);
    json_each(item, domains) {
        struct str domain = json_text(item);

        if (code == 0)
            code = add_domain(p, domain, policy);
        if (code == 0 && !str_starts(domain, STR("*")))
            code = strings_add(&p->webhook_private, domain);
    }
    return code;
}

/* Paths are those of the project's own app only, so they are allowed unless the project says
 * otherwise. */
static int add_local(struct project_server *p, const yyjson_val *disable_loopback)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "::1" };
    int code = 0;

    if (!yyjson_is_true((yyjson_val *)(uintptr_t)disable_loopback))
        code = strings_add(&p->webhook_allow, STR("/"));
    for (size_t i = 0; yyjson_is_false((yyjson_val *)(uintptr_t)disable_loopback) && i < 3; i++)
        code = code == 0 ? strings_add(&p->webhook_private, str_of(names[i])) : code;
    return code;
}

static int read_webhook_headers(struct project_server *p,
                                const yyjson_val *webhooks,
                                struct error *err)
{
    const yyjson_val *headers = json_at(webhooks, "headers");
    struct str prefix = json_text(json_at(webhooks, "env_prefix"));
    struct buf line LOCAL_BUF(MAX_SETTINGS);

    if (json_is_null(headers))
        return 0;
    if (!yyjson_is_obj((yyjson_val *)(uintptr_t)headers))
        return error_set(err, ERR_TYPE, "'webhooks.headers' is no object");
    json_each_member(key, value, headers) {
        if (!yyjson_is_str(value))
            return error_set(err, ERR_TYPE, "'webhooks.headers' has a value that is no text");
        text_format(&line, "%s: ", json_text(key));
        int code = webhook_header_expand(&line, json_text(value),
                                         str_absent(prefix) ? STR("LG_WEBHOOK_") : prefix, err);
        if (code != 0)
            return code;
        if (line.error != 0 || strings_add(&p->webhook_headers, buf_text(&line)) != 0)
            return no_memory(err);
        buf_clear(&line);
    }
    return 0;
}

/* An empty list is as none, as with LangGraph's server; a name that no webhook has is refused.
 */
static int read_webhook_fields(struct project_server *p,
                               const yyjson_val *list,
                               struct error *err)
{
    static const char *const fields[] = {
        "run_id",         "thread_id",    "assistant_id",
        "created_at",     "updated_at",   "metadata",
        "kwargs",         "status",       "multitask_strategy",
        "run_started_at", "run_ended_at", "webhook_sent_at",
        "values",         "error"
    };
    int code = read_list(list, "webhooks.allowed_fields", &p->webhook_fields, err);

    for (char *const *name = p->webhook_fields; code == 0 && name != NULL && *name != NULL;
         name++) {
        bool is_known = false;

        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
            is_known = is_known || strcmp(*name, fields[i]) == 0;
        if (!is_known)
            code = error_set(err, ERR_REFUSED,
                             "'webhooks.allowed_fields': no webhook has the field '%.100s'",
                             *name);
    }
    return code;
}

static int read_webhooks(struct project_server *p,
                         const yyjson_val *root,
                         ignored_cb *ignored,
                         void *arg,
                         struct error *err)
{
    static const struct ignored_member members[] = {
        { "max_url_length", "'webhooks.url.max_url_length' is ignored: it is 4096" },
        { "disable_private_ips", "'webhooks.url.disable_private_ips' is ignored: private "
                                 "addresses are refused unless their host is listed in "
                                 "allowed_domains" },
    };
    const yyjson_val *webhooks = json_at(root, "webhooks"), *policy = json_at(webhooks, "url");

    if (!json_is_null(webhooks) && !yyjson_is_obj((yyjson_val *)(uintptr_t)webhooks))
        return error_set(err, ERR_TYPE, "'webhooks' is no object");
    note(policy, members, sizeof(members) / sizeof(members[0]), ignored, arg);
    p->no_webhooks = yyjson_is_true(json_at(json_at(root, "http"), "disable_webhooks"));
    int code = add_domains(p, policy);
    if (code == 0)
        code = add_local(p, json_at(policy, "disable_loopback"));
    if (code != 0)
        return no_memory(err);
    code = read_webhook_headers(p, webhooks, err);
    return code == 0 ? read_webhook_fields(p, json_at(webhooks, "allowed_fields"), err) : code;
}

/* --- both ------------------------------------------------------------------------------------
 */

int project_server_read(struct project_server *p,
                        const yyjson_val *root,
                        void (*ignored)(void *arg, const char *sentence),
                        void *arg,
                        struct error *err)
{
    yyjson_val *auth = json_at(root, "auth"), *http = json_at(root, "http");
    int code = read_auth(p, auth, ignored, arg, err);

    if (code == 0)
        code = read_http(p, http, ignored, arg, err);
    if (code == 0)
        code = read_webhooks(p, root, ignored, arg, err);
    return code == 0 ? make_settings(p, auth, http, err) : code;
}

void project_server_done(struct project_server *p)
{
    free(p->auth);
    free(p->app);
    free(p->settings);
    free(p->prefix);
    strings_free(p->origins);
    strings_free(p->disabled);
    strings_free(p->headers);
    strings_free(p->no_headers);
    strings_free(p->webhook_allow);
    strings_free(p->webhook_private);
    strings_free(p->webhook_headers);
    strings_free(p->webhook_fields);
    *p = (struct project_server){ 0 };
}
