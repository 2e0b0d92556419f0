/* A member that nobody reads is a setting that does nothing: whoever wrote it must hear of it.
 * So each one that is read, or ignored with a sentence of its own (project.c,
 * project_server.c), is in the table below; the others are told to the user. */
#include "cli/project_members.h"

#include "base/buf.h"

#include <string.h>

enum { MAX_PATH = 256 };

/* A "*" stands for names of the user's, and for everything below them. */
static const char *const known[] = {
    "$schema",
    "graphs.*",
    "env.*",
    "dependencies",
    "ui.*",
    "ui_config.*",
    "encryption.*",
    "priority.*",
    "auth.path",
    "auth.disable_studio_auth",
    "auth.allow_langsmith_api_keys",
    "auth.openapi.*",
    "auth.cache.cache_keys",
    "auth.cache.ttl_seconds",
    "auth.cache.max_size",
    "http.app",
    "http.mount_prefix",
    "http.enable_custom_route_auth",
    "http.middleware_order",
    "http.disable_assistants",
    "http.disable_threads",
    "http.disable_runs",
    "http.disable_store",
    "http.disable_meta",
    "http.disable_mcp",
    "http.disable_ui",
    "http.disable_event_streaming",
    "http.disable_a2a",
    "http.disable_webhooks",
    "http.cors.allow_origins",
    "http.cors.allow_methods",
    "http.cors.allow_headers",
    "http.cors.allow_credentials",
    "http.cors.allow_origin_regex",
    "http.cors.expose_headers",
    "http.cors.max_age",
    "http.configurable_headers.includes",
    "http.configurable_headers.excludes",
    "http.configurable_headers.include",
    "http.configurable_headers.exclude",
    "http.logging_headers.*",
    "store.path",
    "store.index.dims",
    "store.index.embed",
    "store.index.fields",
    "store.ttl.refresh_on_read",
    "store.ttl.default_ttl",
    "store.ttl.sweep_interval_minutes",
    "checkpointer.path",
    "checkpointer.backend",
    "checkpointer.serde.*",
    "checkpointer.ttl.strategy",
    "checkpointer.ttl.default_ttl",
    "checkpointer.ttl.sweep_interval_minutes",
    "checkpointer.ttl.sweep_limit",
    "webhooks.env_prefix",
    "webhooks.headers.*",
    "webhooks.allowed_fields",
    "webhooks.url.require_https",
    "webhooks.url.allowed_domains",
    "webhooks.url.allowed_ports",
    "webhooks.url.max_url_length",
    "webhooks.url.disable_loopback",
    "webhooks.url.disable_private_ips",
};

enum knowing { UNKNOWN, KNOWN, KNOWN_WITH_MEMBERS };

static enum knowing how_known(struct str path)
{
    enum knowing how = UNKNOWN;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && how != KNOWN; i++) {
        struct str entry = str_of(known[i]);

        if (!str_starts(entry, path))
            continue;
        struct str rest = str_skip(entry, path.n);
        if (rest.n == 0 || str_is(rest, ".*"))
            how = KNOWN;
        else if (rest.p[0] == '.')
            how = KNOWN_WITH_MEMBERS;
    }
    return how;
}

bool project_is_set(yyjson_val *value)
{
    return !json_is_null(value) && (!yyjson_is_ctn(value) || yyjson_get_len(value) > 0);
}

static void walk(yyjson_val *object,
                 struct buf *path,
                 void (*cb)(void *arg, struct str path),
                 void *arg)
{
    size_t n = path->n;

    json_each_member(key, value, object) {
        if (n > 0)
            buf_char(path, '.');
        buf_str(path, json_text(key));
        enum knowing how = path->error == 0 ? how_known(buf_text(path)) : UNKNOWN;
        if (how == KNOWN_WITH_MEMBERS && yyjson_is_obj(value))
            walk(value, path, cb, arg);
        else if (how == UNKNOWN && project_is_set(value))
            cb(arg, buf_text(path));
        path->n = n;
        path->error = 0; /* a name that is too long was told, cut off */
    }
}

void project_members_unknown(yyjson_val *root,
                             void (*cb)(void *arg, struct str path),
                             void *arg)
{
    struct buf path LOCAL_BUF(MAX_PATH);

    walk(root, &path, cb, arg);
}
