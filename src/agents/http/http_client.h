/* A HTTP client: libcurl's transfers on a libuv loop.
 *
 * Loop thread only.  libcurl may not be called from inside its own callbacks, but for what its
 * manual allows there: what they find out is acted on later. */
#ifndef AGENTS_HTTP_HTTP_CLIENT_H
#define AGENTS_HTTP_HTTP_CLIENT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

struct http_client;

/* A transfer; its owner keeps it until it is done or was removed. */
struct http_transfer {
    CURL *easy; /* owned by the owner, set up but for its CURLOPT_PRIVATE */
    /* Once, unless it was removed; never from inside of http_client_add. */
    void (*done)(struct http_transfer *t, CURLcode code);
};

/* NULL: out of memory, or without libcurl. */
struct http_client *http_client_new(uv_loop_t *loop);
/* When no transfer is left.  Its memory goes when the loop has closed its handles. */
void http_client_close(struct http_client *client);

/* False: it cannot begin. */
bool http_client_add(struct http_client *client, struct http_transfer *t);
/* Closes its connection at once. */
void http_client_remove(struct http_client *client, struct http_transfer *t);

#endif
