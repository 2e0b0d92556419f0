/* Internal to client/: what client.c and stream.c share. */
#ifndef CLIENT_INTERNAL_H
#define CLIENT_INTERNAL_H

#include "base/error.h"
#include "client/client.h"

#include <curl/curl.h>

struct client {
    CURL *curl;  /* owned */
    char *url;   /* owned; without a slash at its end */
    char *token; /* owned, or NULL */
    char curl_error[CURL_ERROR_SIZE];
    struct error error;
};

/* Resets the handle and sets what all requests have in common.  @headers gets the token's
 * header; whoever performs the request frees the list. */
int client_prepare(struct client *c, const char *path, struct curl_slist **headers);
/* Adds one header. */
int client_add_header(struct curl_slist **headers, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The sentence for @code, which is not CURLE_OK; returns ERR_IO. */
int client_broken(struct client *c, CURLcode code);

#endif
