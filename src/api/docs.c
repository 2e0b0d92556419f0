/* The description of the API (/openapi.json), and a page that shows it (/docs).
 *
 * The page loads nothing from elsewhere and runs no script but its own; the policy in its
 * headers holds it to that. */
#include "api/api.h"

#include "console/asset.h"

#define POLICY                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void answer(struct http_request *req, const struct asset *a)
{
    struct str known = http_header(req, "If-None-Match");

    http_set_header(req, "ETag", str_of(a->etag));
    http_set_header(req, "Cache-Control", STR("no-cache")); /* a newer server has newer ones */
    http_set_header(req, "Content-Security-Policy", STR(POLICY));
    http_set_header(req, "Referrer-Policy", STR("no-referrer"));
    if (str_eq(known, str_of(a->etag)))
        http_respond(req, 304, NULL, STR_NONE);
    else
        http_respond(req, 200, a->type, a->bytes);
}

void api_openapi(struct http_request *req, void *arg)
{
    (void)arg;
    answer(req, asset_find(STR("openapi.json")));
}

void api_docs(struct http_request *req, void *arg)
{
    (void)arg;
    answer(req, asset_find(STR("api.html")));
}

void api_docs_file(struct http_request *req, void *arg)
{
    const struct asset *a = asset_find(http_param(req, "file"));

    (void)arg;
    if (a != NULL)
        answer(req, a);
    else
        http_respond_error(req, 404, "Not Found");
}
