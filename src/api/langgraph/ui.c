/* /ui: components of a project that pages of LangGraph's clients show ("generative UI").
 *
 * The option `ui` names a folder with a folder for each name in the `ui` of a langgraph.json,
 * which has a bundle: entrypoint.js, and perhaps styles.  A client asks for the HTML that loads
 * one; scripts and styles are fetched by the browser, which shows no token.
 *
 * Files are read on the pool's threads: the bundler may write new ones at any time. */
#include "api/admit.h"
#include "api/api.h"

#include "base/error.h"
#include "config/file/resolve.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_BUNDLE = 64 * 1024 * 1024, MAX_FILES = 64, MAX_NAME = 200, MAX_BODY_DEPTH = 4 };

struct ui_query {
    const char *folder; /* borrowed as long as the app */
    struct str graph;
    struct str file; /* absent: the HTML is asked for */
    struct str host;
    struct str component;
};

/* --- names ------------------------------------------------------------------------------- */

/* A name in a folder, not a way out of it. */
static bool is_name(struct str name)
{
    return name.n > 0 && name.n <= MAX_NAME && name.p[0] != '.' && !str_has(name, '/') &&
           !str_has(name, '\0');
}

/* The header of a request, which goes into HTML. */
static bool is_host(struct str host)
{
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == ':' || c == '-' || c == '[' || c == ']'))
            return false;
    }
    return host.n > 0;
}

static const char *type_of(struct str file)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        { ".js", "text/javascript; charset=utf-8" },
        { ".css", "text/css; charset=utf-8" },
        { ".map", "application/json" },
        { ".json", "application/json" },
        { ".svg", "image/svg+xml" },
        { ".png", "image/png" },
        { ".jpg", "image/jpeg" },
        { ".woff2", "font/woff2" },
        { ".woff", "font/woff" },
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (str_ends(file, str_of(types[i].end)))
            return types[i].type;
    return "application/octet-stream";
}

/* --- the HTML ---------------------------------------------------------------------------- */

static void put_url(struct buf *b, const struct ui_query *q, const char *file)
{
    bool is_local = str_is(q->host, "localhost") || str_is(q->host, "127.0.0.1") ||
                    str_starts(q->host, STR("localhost:")) ||
                    str_starts(q->host, STR("127.0.0.1:"));

    /* Others may be behind a proxy with TLS: the page's own protocol. */
    buf_str(b, is_local ? STR("http://") : STR("//"));
    buf_str(b, q->host);
    buf_lit(b, "/ui/");
    buf_str(b, q->graph);
    buf_char(b, '/');
    buf_str(b, str_of(file));
}

/* For an attribute in single quotes. */
static void put_attribute(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_lit(b, "&#39;");
        else if (text.p[i] == '&')
            buf_lit(b, "&amp;");
        else if (text.p[i] == '<')
            buf_lit(b, "&lt;");
        else
            buf_char(b, text.p[i]);
    }
}

static void put_script(struct buf *b, const struct ui_query *q, const char *file)
{
    struct buf name LOCAL_BUF(SIZE_MAX / 4);

    json_put_str(&name, q->component);
    buf_lit(b, "<script src=\"");
    put_url(b, q, file);
    buf_lit(b, "\" onload='__LGUI_");
    for (size_t i = 0; i < q->graph.n; i++) {
        char c = q->graph.p[i];
        bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        buf_char(b, stays ? c : '_');
    }
    buf_lit(b, ".render(");
    put_attribute(b, buf_text(&name));
    buf_lit(b, ", \"{{shadowRootId}}\")'></script>");
    if (name.error != 0)
        b->error = name.error;
}

/* Styles first, then the script. */
static void put_html(struct store_query *query, DIR *folder)
{
    const struct ui_query *q = query->data;
    struct buf *b = &query->out;
    const struct dirent *entry;
    bool has_script = false;

    for (size_t i = 0; i < MAX_FILES && (entry = readdir(folder)) != NULL; i++) {
        struct str name = str_of(entry->d_name);

        has_script |= str_is(name, "entrypoint.js");
        if (!is_name(name) || !str_ends(name, STR(".css")))
            continue;
        buf_lit(b, "<link rel=\"stylesheet\" href=\"");
        put_url(b, q, entry->d_name);
        buf_lit(b, "\" />\n");
    }
    if (has_script)
        put_script(b, q, "entrypoint.js");
    query->type = "text/html";
}

static void refuse(struct store_query *query, const char *text, struct str name)
{
    query->status = 404;
    buf_str(&query->out, str_of(text));
    json_put_str(&query->out, name);
}

static void run_html(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    const struct ui_query *q = query->data;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.*s", q->folder, STR_ARG(q->graph));
    DIR *folder = n > 0 && (size_t)n < sizeof(path) ? opendir(path) : NULL;

    (void)store;
    if (folder == NULL) {
        refuse(query, "UI not found for agent ", q->graph);
        return;
    }
    put_html(query, folder);
    (void)closedir(folder); /* only read */
}

static void run_file(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    const struct ui_query *q = query->data;
    struct buf file LOCAL_BUF(MAX_BUNDLE);
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.*s/%.*s", q->folder, STR_ARG(q->graph),
                     STR_ARG(q->file));

    (void)store;
    if (n <= 0 || (size_t)n >= sizeof(path) ||
        resolve_read_file(path, NULL, &file, NULL) != 0) {
        refuse(query, "File not found: ", q->file);
        return;
    }
    buf_str(&query->out, buf_text(&file));
    query->type = type_of(q->file);
}

/* --- the routes -------------------------------------------------------------------------- */

static struct store_query *query_new(struct http_request *req,
                                     void (*run)(struct thread_task *, struct store *))
{
    const char *folder = app_loop_of(req)->app->ui;
    struct str graph = http_param(req, "graph"), file = http_param(req, "file");

    if (folder == NULL || !is_name(graph) || (!str_absent(file) && !is_name(file))) {
        http_respond_error(req, 404, "UI not found for agent \"%.*s\"",
                           STR_ARG(str_head(graph, MAX_NAME)));
        return NULL;
    }
    struct store_query *query =
        store_query_new_with(req, STR(""), run, sizeof(struct ui_query));
    struct ui_query *q = query != NULL ? query->data : NULL;
    if (query == NULL)
        return NULL;
    q->folder = folder;
    if (arena_copy(&query->mem, graph, &q->graph) &&
        (str_absent(file) || arena_copy(&query->mem, file, &q->file)))
        return query;
    store_query_free(query);
    (void)api_no_memory(req);
    return NULL;
}

static bool read_component(struct store_query *query, const yyjson_val *body)
{
    struct ui_query *q = query->data;
    struct str name = json_text(json_at(body, "name")), host = http_header(query->req, "host");

    if (str_absent(name))
        return http_respond_error(query->req, 422, "\"name\" must be a text");
    if (!is_host(host))
        return http_respond_error(query->req, 400, "the header Host is no name of a host");
    return (arena_copy(&query->mem, name, &q->component) &&
            arena_copy(&query->mem, host, &q->host)) ||
           api_no_memory(query->req);
}

void api_ui(struct http_request *req)
{
    struct store_query *query = query_new(req, run_html);

    if (query != NULL)
        store_query_read(query, MAX_BODY_DEPTH, read_component);
}

void api_ui_file(struct http_request *req)
{
    struct store_query *query = query_new(req, run_file);

    if (query != NULL)
        store_query_post(query);
}
