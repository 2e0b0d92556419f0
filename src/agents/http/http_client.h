/* A HTTP client: libcurl's transfers on a libuv loop.
 *
 * Loop thread only.  libcurl may not be called from inside its own callbacks, except for what
 * its manual allows, so callbacks defer such calls. */
#ifndef AGENTS_HTTP_HTTP_CLIENT_H
#define AGENTS_HTTP_HTTP_CLIENT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

struct http_client;

/* A transfer; its owner keeps the memory until it is done or removed. */
struct http_transfer {
    CURL *easy; /* owned by the owner, set up except for CURLOPT_PRIVATE */
    /* Once, unless it was removed; never from inside of http_client_add. */
    void (*done)(struct http_transfer *t, CURLcode code);
};

/* NULL: out of memory, or libcurl is not installed. */
struct http_client *http_client_new(uv_loop_t *loop);
/* Only when no transfer is left.  Its memory is freed when the loop has closed its handles. */
void http_client_close(struct http_client *client);

/* Starts the transfer.  False: it cannot start. */
bool http_client_add(struct http_client *client, struct http_transfer *t);
/* Cancels the transfer and closes its connection at once. */
void http_client_remove(struct http_client *client, struct http_transfer *t);

#endif
