/* One attempt to send a webhook:
 *
 *     the host is resolved, once ──▶ its addresses are judged ──▶ POST to one of these
 *
 * No redirect is followed, no proxy asked, and nothing is read of the answer but its status.
 * The whole attempt ends within the time that the settings give it.
 *
 * Loop thread only. */
#ifndef WEBHOOKS_POST_H
#define WEBHOOKS_POST_H

#include "agents/http/http_client.h"
#include "base/buf.h"
#include "base/must_check.h"
#include "webhooks/policy.h"

/* All borrowed; never changes. */
struct webhook_settings {
    struct webhook_policy *policy;
    char *const *secrets; /* NULL: not signed */
    char *const *headers; /* NULL: none more; each "Name: value" */
    char *const *fields;  /* NULL: all; members of the body that are sent */
    const char *ca;       /* NULL: the system's */
    size_t per_host;      /* deliveries at a time to one host */
    int64_t timeout_ms, retry_ms, max_age_ms, keep_ms;
};

enum webhook_outcome {
    WEBHOOK_TAKEN,    /* it was answered with 2xx */
    WEBHOOK_NOT_NOW,  /* worth another attempt */
    WEBHOOK_NOT_EVER, /* the settings forbid it, or the receiver says that it is gone */
    WEBHOOK_CANCELLED
};

struct webhook_result {
    enum webhook_outcome outcome;
    long status; /* of the answer; 0: none */
    const char *reason;
};

/* What is sent, and where; texts are borrowed until the end. */
struct webhook_post_options {
    const struct webhook_settings *settings;
    const char *app_socket; /* for paths: of the project's app; NULL: there is none now */
    struct str url, id, body;
    int64_t now; /* the time of the signature, in milliseconds since 1970 */
};

struct webhook_post {
    struct webhook_post_options options;
    struct webhook_url url;
    /* Once, and never from inside of webhook_post_start(); frees the post. */
    void (*done)(struct webhook_post *p, const struct webhook_result *result);
    /* The rest is this file's own. */
    struct http_client *client;
    struct http_transfer call;
    struct curl_slist *headers, *addresses;
    struct buf target; /* the URL, NUL-terminated */
    uv_getaddrinfo_t lookup;
    uv_timer_t later; /* reports a post that could not begin */
    int64_t began;
    size_t n_read; /* of the answer */
    bool is_looking, is_sending, is_cancelled;
    struct webhook_result result;
    char reason[400];
    char curl_words[CURL_ERROR_SIZE];
};

/* Fills the post, whose `done` is set.  Reports everything by `done`. */
void webhook_post_start(struct webhook_post *p,
                        uv_loop_t *loop,
                        struct http_client *client,
                        const struct webhook_post_options *options);
/* Ends it soon: `done` gets WEBHOOK_CANCELLED, unless it is on its way with another result. */
void webhook_post_cancel(struct webhook_post *p);

#endif
