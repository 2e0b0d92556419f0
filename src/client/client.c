/* Requests by libcurl's easy interface.  One handle, so the connection is kept alive. */
#include "base/clock.h"
#include "client/internal.h"

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONNECT_MS = 10000 };

/* --- making one ------------------------------------------------------------------------- */

static char *copy_url(const char *url)
{
    size_t n = strlen(url);

    while (n > 0 && url[n - 1] == '/')
        n--;
    return strndup(url, n);
}

/* It goes into a header as it is. */
static bool is_token(const char *token)
{
    for (; *token != '\0'; token++)
        if (*token <= ' ' || *token > '~')
            return false;
    return true;
}

int client_new(const char *url, const char *token, struct client **ret, struct error *err)
{
    struct str s = str_of(url);

    if (!str_starts(s, STR("http://")) && !str_starts(s, STR("https://")))
        return error_set(err, ERR_REFUSED, "'%s' is not an http:// or https:// URL", url);
    if (token != NULL && !is_token(token))
        return error_set(err, ERR_REFUSED,
                         "the token has a character that no token has: blanks, line ends and "
                         "all beyond ASCII");
    struct client *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    c->url = copy_url(url);
    c->token = token != NULL && token[0] != '\0' ? strdup(token) : NULL;
    c->curl = curl_easy_init();
    if (c->url == NULL || c->curl == NULL || (token != NULL && token[0] != '\0' && !c->token)) {
        client_free(c);
        return error_set(err, ERR_NOMEM, "out of memory");
    }
    *ret = c;
    return 0;
}

void client_free(struct client *c)
{
    if (c == NULL)
        return;
    curl_easy_cleanup(c->curl);
    free(c->url);
    free(c->token);
    free(c);
}

const char *client_url(const struct client *c)
{
    return c->url;
}

const char *client_error(const struct client *c)
{
    return c->error.text;
}

void client_reply_init(struct client_reply *reply)
{
    *reply = (struct client_reply){ 0 };
    buf_init(&reply->body, CLIENT_MAX_REPLY);
}

void client_reply_done(struct client_reply *reply)
{
    buf_done(&reply->body);
}

/* --- requests ----------------------------------------------------------------------------- */

int client_add_header(struct curl_slist **headers, const char *format, ...)
{
    char line[1024];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(line))
        return ERR_TOO_LARGE;
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer == NULL)
        return ERR_NOMEM;
    *headers = longer;
    return 0;
}

static bool is_loopback(const char *url)
{
    const char *host = strstr(url, "://") + 3;

    return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost", 9) == 0 ||
           strncmp(host, "[::1]", 5) == 0;
}

int client_prepare(struct client *c, const char *path, struct curl_slist **headers)
{
    struct buf url LOCAL_BUF(64 * 1024);

    c->error = (struct error){ 0 };
    c->curl_error[0] = '\0';
    curl_easy_reset(c->curl); /* options only: connections stay */
    buf_str(&url, str_of(c->url));
    buf_put(&url, path, strlen(path) + 1);
    int err = url.error;
    if (err == 0 && curl_easy_setopt(c->curl, CURLOPT_URL, url.p) != CURLE_OK)
        err = ERR_NOMEM;
    if (err == 0 && c->token != NULL)
        err = client_add_header(headers, "Authorization: Bearer %s", c->token);
    if (err == 0)
        err = client_add_header(headers, "Expect:"); /* no waiting for 100 Continue */
    if (err != 0)
        return error_set(&c->error, err, "%s", error_name(err));
    /* These cannot fail: they store a number or borrow a pointer. */
    (void)curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->curl_error);
    (void)curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    (void)curl_easy_setopt(c->curl, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (is_loopback(c->url))
        (void)curl_easy_setopt(c->curl, CURLOPT_PROXY, ""); /* whatever http_proxy says */
    return 0;
}

int client_broken(struct client *c, CURLcode code)
{
    const char *why = c->curl_error[0] != '\0' ? c->curl_error : curl_easy_strerror(code);

    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        return error_set(&c->error, ERR_IO,
                         "cannot reach the server at %s: is `spoolwire serve` running?",
                         c->url);
    if (code == CURLE_OUT_OF_MEMORY)
        return error_set(&c->error, ERR_NOMEM, "out of memory");
    return error_set(&c->error, ERR_IO, "the connection to %s broke: %s", c->url, why);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct client_reply *reply = arg;

    buf_put(&reply->body, bytes, size * n);
    return reply->body.error == 0 ? size * n : 0; /* less than given: curl stops */
}

static int perform(struct client *c, unsigned timeout_ms, struct client_reply *reply)
{
    long status = 0;
    curl_off_t retry_after = 0;

    buf_clear(&reply->body);
    (void)curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    (void)curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, reply);
    CURLcode code = curl_easy_perform(c->curl);
    if (code != CURLE_OK)
        return client_broken(c, code);
    (void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &retry_after);
    reply->status = (int)status;
    reply->retry_after_s = retry_after > 0 && retry_after < 3600 ? (int)retry_after : 0;
    return 0;
}

/* Without a body. */
static int request(struct client *c,
                   const char *method,
                   const char *path,
                   unsigned timeout_ms,
                   struct client_reply *reply)
{
    struct curl_slist *headers = NULL;

    int err = client_prepare(c, path, &headers);
    if (err == 0) {
        (void)curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
        err = perform(c, timeout_ms, reply);
    }
    curl_slist_free_all(headers);
    return err;
}

int client_get(struct client *c,
               const char *path,
               unsigned timeout_ms,
               struct client_reply *reply)
{
    return request(c, "GET", path, timeout_ms, reply);
}

int client_delete(struct client *c,
                  const char *path,
                  unsigned timeout_ms,
                  struct client_reply *reply)
{
    return request(c, "DELETE", path, timeout_ms, reply);
}

int client_post(struct client *c,
                const char *path,
                const char *type,
                struct str body,
                unsigned timeout_ms,
                struct client_reply *reply)
{
    struct curl_slist *headers = NULL;

    int err = client_prepare(c, path, &headers);
    if (err == 0)
        err = client_add_header(&headers, type != NULL ? "Content-Type: %s" : "Content-Type:%s",
                                type != NULL ? type : "");
    if (err == 0) {
        (void)curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
        (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body.p != NULL ? body.p : "");
        err = perform(c, timeout_ms, reply);
    }
    curl_slist_free_all(headers);
    return err;
}

void client_put_escaped(struct buf *b, struct str s)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);

        if (plain) {
            buf_char(b, (char)c);
            continue;
        }
        buf_char(b, '%');
        buf_char(b, hex[c >> 4]);
        buf_char(b, hex[c & 15]);
    }
}

/* --- answers and waiting -------------------------------------------------------------------
 */

/* RFC 9457 calls it title and detail, the job API detail, which may be a list of objects. */
static bool put_detail(const yyjson_val *root, struct error *err)
{
    yyjson_val *detail = json_at(root, "detail");
    struct str text = json_text(detail);

    if (text.p == NULL)
        text = json_text(json_at(yyjson_arr_get_first(detail), "msg"));
    if (text.p == NULL)
        text = json_text(json_at(root, "title"));
    if (text.n == 0)
        return false;
    (void)error_set(err, ERR_REFUSED, "%.*s", STR_ARG(str_head(text, 200)));
    return true;
}

void client_reply_detail(const struct client_reply *reply, struct error *err)
{
    struct json_reader reader LOCAL_READER(CLIENT_MAX_REPLY, 64);
    struct json json;

    bool said = json_read(&reader, buf_text(&reply->body), &json, NULL) == 0 &&
                put_detail(json.root, err);
    if (!said)
        (void)error_set(err, ERR_REFUSED, "the server answered with status %d", reply->status);
}

int64_t client_backoff_ms(unsigned n, int64_t first_ms, int64_t max_ms)
{
    int64_t ms = first_ms;

    for (unsigned i = 1; i < n && ms < max_ms; i++)
        ms *= 2;
    if (ms > max_ms)
        ms = max_ms;
    /* The clock's last digits are random enough to keep clients apart. */
    uint64_t chance = (clock_monotonic_us() ^ (uint64_t)getpid() << 20) * 0x9E3779B97F4A7C15u;
    return ms / 2 + (int64_t)((chance >> 32) % (uint64_t)(ms / 2 + 1));
}
