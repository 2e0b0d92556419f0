#include "companion/news.h"

#include "base/error.h"
#include "base/json.h"

#include <stdlib.h>

enum { MAX_TEXT = 1024 * 1024, MAX_DEPTH = 8 };

static int add_route(struct companion_news *n,
                     struct buf *texts,
                     struct str route,
                     bool is_websocket)
{
    bool is_whole = str_starts(route, STR("="));
    struct str prefix = str_skip(route, is_whole ? 1 : 0);

    if (!str_starts(prefix, STR("/")) || n->n_routes == NEWS_MAX_ROUTES)
        return ERR_TYPE;
    n->routes[n->n_routes++] =
        (struct companion_route){ { NULL, prefix.n }, is_whole, is_websocket };
    buf_str(texts, prefix);
    return 0;
}

static int read_routes(struct companion_news *n, const yyjson_val *app)
{
    yyjson_val *list = json_at(app, "routes"), *sockets = json_at(app, "websockets");
    struct buf texts;
    int code = 0;

    buf_init(&texts, MAX_TEXT);
    n->routes =
        calloc(yyjson_arr_size(list) + yyjson_arr_size(sockets) + 1, sizeof(*n->routes));
    if (n->routes == NULL)
        return ERR_NOMEM;
    json_each(route, list) {
        if (code == 0)
            code = add_route(n, &texts, json_text(route), false);
    }
    json_each(socket, sockets) {
        if (code == 0)
            code = add_route(n, &texts, json_text(socket), true);
    }
    if (code == 0)
        code = texts.error;
    n->text = texts.p;
    const char *at = n->text;
    for (size_t i = 0; code == 0 && i < n->n_routes; at += n->routes[i++].prefix.n)
        n->routes[i].prefix.p = at;
    return code;
}

int news_read(struct str text, struct companion_news **ret)
{
    struct json_reader reader LOCAL_READER(MAX_TEXT, MAX_DEPTH);
    struct companion_news *n = calloc(1, sizeof(*n));
    struct json json;

    int code = n != NULL ? json_read(&reader, text, &json, NULL) : ERR_NOMEM;
    if (code == 0) {
        yyjson_val *app = json_at(json.root, "app");

        n->has_auth = yyjson_is_true(json_at(json.root, "auth"));
        n->has_app = yyjson_is_obj(app);
        code = read_routes(n, app);
    }
    if (code == 0)
        *ret = n;
    else
        news_free(n);
    return code;
}

void news_free(struct companion_news *n)
{
    while (n != NULL) {
        struct companion_news *older = n->older;

        free(n->routes);
        free(n->text);
        free(n);
        n = older;
    }
}

bool news_has_route(const struct companion_news *n, struct str path, bool is_websocket)
{
    for (size_t i = 0; i < n->n_routes; i++) {
        const struct companion_route *r = &n->routes[i];

        if (r->is_websocket == is_websocket &&
            (r->is_whole ? str_eq(path, r->prefix) : str_starts(path, r->prefix)))
            return true;
    }
    return false;
}
