/* Pages: the console (/), the OpenAPI description (/openapi.json), and a page that renders it
 * (/docs).
 *
 * They load nothing from other servers, run only their own scripts, and never insert text as
 * HTML; the Content-Security-Policy header enforces that. */
#include "api/api.h"

#include "console/asset.h"
#include "http/header.h"

#define POLICY                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
    "require-trusted-types-for 'script'; trusted-types 'none'"

static void answer(struct http_request *req, const struct asset *a)
{
    struct str known = http_header(req, "If-None-Match");

    http_set_header(req, "ETag", str_of(a->etag));
    http_set_header(req, "Cache-Control", STR("no-cache")); /* a newer server has newer pages */
    http_set_header(req, "Content-Security-Policy", STR(POLICY));
    http_set_header(req, "Referrer-Policy", STR("no-referrer"));
    if (str_eq(known, str_of(a->etag)))
        http_respond(req, 304, NULL, STR_NONE);
    else
        http_respond(req, 200, a->type, a->bytes);
}

void api_openapi(struct http_request *req)
{
    answer(req, asset_find(STR("openapi.json")));
}

void api_docs(struct http_request *req)
{
    answer(req, asset_find(STR("api.html")));
}

void api_page_file(struct http_request *req)
{
    const struct asset *a = asset_find(http_param(req, "file"));

    if (a != NULL)
        answer(req, a);
    else
        http_respond_error(req, 404, "Not Found");
}

static void put_words(struct buf *out)
{
    const struct dialect *d;

    buf_lit(out, "spoolwire is running.  Open this address in a browser to see it, or try:\n\n"
                 "  GET  /v1/jobs/async/agents          the agents\n"
                 "  POST /v1/jobs                       {\"agent\":\"demo\",\"input\":{}}\n"
                 "  GET  /v1/jobs/{id}/events           its events; ?dialect=");
    for (size_t i = 0; (d = dialect_at(i)) != NULL; i++) {
        buf_str(out, i > 0 ? STR(", ") : STR(""));
        buf_str(out, str_of(d->name));
    }
    buf_lit(out, "\n"
                 "  GET  /v1/jobs                       all jobs\n"
                 "  GET  /readyz                        health\n"
                 "  GET  /docs                          all routes, to read and to try\n");
}

/* Browsers get the console; clients without a preference in Accept, such as curl, get plain
 * text. */
void api_index(struct http_request *req)
{
    struct buf words LOCAL_BUF(4096);

    http_set_header(req, "Vary", STR("Accept"));
    if (header_lists(http_header(req, "Accept"), STR("text/html"))) {
        answer(req, asset_find(STR("index.html")));
        return;
    }
    put_words(&words);
    if (words.error == 0)
        http_respond(req, 200, "text/plain; charset=utf-8", buf_text(&words));
    else
        (void)api_no_memory(req);
}
