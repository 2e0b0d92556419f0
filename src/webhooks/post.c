/* libcurl gets the addresses that were judged (CURLOPT_RESOLVE) and resolves nothing; should it
 * ever come to another address, on_open() refuses to make the socket.
 *
 *     start ──▶ lookup ──▶ transfer ──▶ report (a timer: never from inside of libcurl) ──▶ done
 *       └─ a path of the app, or nothing to resolve: at once ─▲
 *
 * A status of 2xx is the receiver's word that it has the webhook; what it sends after that is
 * not read. */
#define _GNU_SOURCE /* NI_MAXHOST */
#include "webhooks/post.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/text_format.h"
#include "webhooks/signature.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ADDRESSES = 4, MAX_LINE = 8192, MAX_ANSWER = 16 * 1024, MAX_HEAD = 64 * 1024 };

/* --- the end -------------------------------------------------------------------------------
 */

static void on_closed(uv_handle_t *handle)
{
    struct webhook_post *p = handle->data;

    curl_easy_cleanup(p->call.easy);
    curl_slist_free_all(p->headers);
    curl_slist_free_all(p->addresses);
    buf_done(&p->target);
    p->result.reason = p->reason;
    p->done(p, &p->result);
}

static void on_later(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, on_closed);
}

static void report(struct webhook_post *p)
{
    (void)uv_timer_start(&p->later, on_later, 0, 0); /* it is open */
}

static void end(struct webhook_post *p, enum webhook_outcome outcome, const char *reason)
{
    p->result.outcome = outcome;
    (void)snprintf(p->reason, sizeof(p->reason), "%s", reason); /* cut */
    report(p);
}

static void judge_status(struct webhook_post *p)
{
    char text[100];
    long status = p->result.status;

    if (status >= 200 && status <= 299) {
        end(p, WEBHOOK_TAKEN, "");
        return;
    }
    (void)snprintf(text, sizeof(text),
                   status >= 300 && status <= 399
                       ? "it was answered with %ld: redirects are not followed"
                       : "it was answered with %ld",
                   status);
    end(p, status == 410 ? WEBHOOK_NOT_EVER : WEBHOOK_NOT_NOW, text);
}

static void on_done(struct http_transfer *call, CURLcode code)
{
    struct webhook_post *p = container_of(call, struct webhook_post, call);

    p->is_sending = false;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &p->result.status);
    if (p->result.status >= 200)
        judge_status(p);
    else
        end(p, WEBHOOK_NOT_NOW,
            p->curl_words[0] != '\0' ? p->curl_words : curl_easy_strerror(code));
}

/* --- the transfer --------------------------------------------------------------------------
 */

static bool is_of_app(const struct webhook_post *p)
{
    return str_absent(p->url.scheme);
}

/* The last word about where it goes. */
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    const struct webhook_post *p = arg;

    (void)purpose;
    if (is_of_app(p) ? address->family != AF_UNIX
                     : !webhook_policy_may_reach(p->options.settings->policy, p->url.host,
                                                 &address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *arg)
{
    size_t *n_read = arg;

    (void)bytes;
    *n_read += size * n;
    return *n_read <= MAX_ANSWER ? size * n : 0; /* 0 ends the transfer */
}

static bool add_line(struct curl_slist **list, struct buf *line)
{
    buf_char(line, '\0');
    struct curl_slist *longer = line->error == 0 ? curl_slist_append(*list, line->p) : NULL;

    if (longer != NULL)
        *list = longer;
    buf_clear(line);
    return longer != NULL;
}

static bool add_headers(struct webhook_post *p)
{
    const struct webhook_post_options *o = &p->options;
    struct buf line LOCAL_BUF(MAX_LINE);
    int64_t seconds = o->now / 1000;

    buf_lit(&line, "Content-Type: application/json");
    bool ok = add_line(&p->headers, &line);
    buf_lit(&line, "User-Agent: spoolwire");
    ok = ok && add_line(&p->headers, &line);
    text_format(&line, "webhook-id: %s", o->id);
    ok = ok && add_line(&p->headers, &line);
    text_format(&line, "webhook-timestamp: %d", seconds);
    ok = ok && add_line(&p->headers, &line);
    buf_lit(&line, "Expect:"); /* no "100-continue", which would cost a round trip */
    ok = ok && add_line(&p->headers, &line);
    for (char *const *h = o->settings->headers; ok && h != NULL && *h != NULL; h++) {
        buf_str(&line, str_of(*h));
        ok = add_line(&p->headers, &line);
    }
    if (!ok || o->settings->secrets == NULL)
        return ok;
    buf_lit(&line, "webhook-signature: ");
    return signature_put(&line, o->settings->secrets, o->id, seconds, o->body) == 0 &&
           add_line(&p->headers, &line);
}

static bool set_up(struct webhook_post *p, int64_t left_ms)
{
    const struct webhook_settings *s = p->options.settings;
    struct str body = p->options.body;
    CURL *c = p->call.easy;

    return curl_easy_setopt(c, CURLOPT_URL, p->target.p) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOPROXY, "*") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)left_ms) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.p) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HTTPHEADER, p->headers) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_RESOLVE, p->addresses) == CURLE_OK &&
           (!is_of_app(p) ||
            curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, p->options.app_socket) == CURLE_OK) &&
           (s->ca == NULL || curl_easy_setopt(c, CURLOPT_CAINFO, s->ca) == CURLE_OK) &&
           curl_easy_setopt(c, CURLOPT_ERRORBUFFER, p->curl_words) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_open) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, p) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEDATA, &p->n_read) == CURLE_OK;
}

static void send_it(struct webhook_post *p)
{
    int64_t left_ms = p->options.settings->timeout_ms - (clock_monotonic_ms() - p->began);

    if (left_ms <= 0) {
        end(p, WEBHOOK_NOT_NOW, "its host could not be resolved in time");
        return;
    }
    webhook_url_put(&p->target, &p->url);
    buf_char(&p->target, '\0');
    p->call.easy = curl_easy_init();
    p->call.done = on_done;
    p->is_sending = p->call.easy != NULL && p->target.error == 0 && add_headers(p) &&
                    set_up(p, left_ms) && http_client_add(p->client, &p->call);
    if (!p->is_sending)
        end(p, WEBHOOK_NOT_NOW, "out of memory, or libcurl is not installed");
}

/* --- addresses -----------------------------------------------------------------------------
 */

/* HOST:PORT:ADDRESS,ADDRESS,… of those that may be reached. */
static size_t put_addresses(struct webhook_post *p, struct buf *b, const struct addrinfo *found)
{
    size_t n = 0;

    text_format(b, "%s:%d:", p->url.host, p->url.port);
    for (; found != NULL && n < MAX_ADDRESSES; found = found->ai_next) {
        char text[NI_MAXHOST];

        if (!webhook_policy_may_reach(p->options.settings->policy, p->url.host,
                                      found->ai_addr) ||
            getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        if (n++ > 0)
            buf_char(b, ',');
        if (found->ai_family == AF_INET6)
            text_format(b, "[%s]", str_of(text));
        else
            buf_str(b, str_of(text));
    }
    return n;
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct webhook_post *p = lookup->data;
    struct buf line LOCAL_BUF(MAX_LINE);
    char why[300];

    p->is_looking = false;
    size_t n = status == 0 && !p->is_cancelled ? put_addresses(p, &line, found) : 0;
    uv_freeaddrinfo(found);
    if (p->is_cancelled) {
        end(p, WEBHOOK_CANCELLED, "");
    } else if (status != 0) {
        (void)snprintf(why, sizeof(why), "its host cannot be resolved: %s",
                       uv_strerror(status)); /* fits */
        end(p, WEBHOOK_NOT_NOW, why);
    } else if (n == 0) {
        (void)snprintf(why, sizeof(why),
                       "'%.*s' has private addresses only: the setting webhook_private has to "
                       "list it",
                       STR_ARG(str_head(p->url.host, 120))); /* fits */
        end(p, WEBHOOK_NOT_EVER, why);
    } else if (!p->url.is_ipv6 && !add_line(&p->addresses, &line)) {
        end(p, WEBHOOK_NOT_NOW, "out of memory");
    } else {
        send_it(p);
    }
}

static void look_up(struct webhook_post *p, uv_loop_t *loop)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    char host[256];

    (void)snprintf(host, sizeof(host), "%.*s", STR_ARG(p->url.host)); /* it is shorter */
    p->lookup.data = p;
    int status = uv_getaddrinfo(loop, &p->lookup, on_found, host, NULL, &hints);
    p->is_looking = status == 0;
    if (status != 0)
        end(p, WEBHOOK_NOT_NOW, uv_strerror(status));
}

/* --- beginning -----------------------------------------------------------------------------
 */

void webhook_post_start(struct webhook_post *p,
                        uv_loop_t *loop,
                        struct http_client *client,
                        const struct webhook_post_options *options)
{
    struct error why;

    p->options = *options;
    p->client = client;
    p->began = clock_monotonic_ms();
    buf_init(&p->target, MAX_HEAD);
    (void)uv_timer_init(loop, &p->later); /* cannot fail */
    p->later.data = p;
    /* Again: the settings may have changed since the run was made. */
    if (webhook_policy_check(options->settings->policy, options->url, &p->url, &why) != 0)
        end(p, WEBHOOK_NOT_EVER, why.text);
    else if (is_of_app(p) && options->app_socket == NULL)
        end(p, WEBHOOK_NOT_NOW, "the project's HTTP app is not running");
    else if (is_of_app(p))
        send_it(p);
    else
        look_up(p, loop);
}

void webhook_post_cancel(struct webhook_post *p)
{
    if (p->is_cancelled)
        return;
    p->is_cancelled = true;
    if (p->is_looking)
        (void)uv_cancel((uv_req_t *)&p->lookup); /* if it has begun, on_found() ends it */
    if (!p->is_sending)
        return;
    http_client_remove(p->client, &p->call);
    p->is_sending = false;
    end(p, WEBHOOK_CANCELLED, "");
}
