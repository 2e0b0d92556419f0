/* A remote endpoint as the executor of a task: the job is the body of a POST, and the answer
 * streams its events (server-sent events or JSON lines).
 *
 *     start ──POST──▶ head of the answer ──▶ its lines … ──▶ its end
 *        │ connect, first    │ not 2xx: refused    │ idle, cut    └ it went well; the journal
 *        ▼                   ▼                     ▼                says what that means
 *       lost                failed                lost
 *
 * Stopping it closes the connection.  While the journal is behind, we stop reading:
 * backpressure for the endpoint.
 *
 * libcurl delivers the answer to on_bytes(), where no libcurl function may be called: to end
 * the transfer, on_bytes() returns a wrong length; to pause it, CURL_WRITEFUNC_PAUSE.
 *
 * No connection is reused: if the endpoint closed it meanwhile, libcurl would send the request
 * again, and one attempt must not start a job twice. */
#include "agents/http/body.h"
#include "agents/http/http_client.h"
#include "agents/exec.h"
#include "agents/executor.h"
#include "agents/host.h"
#include "agents/assignment.h"
#include "agents/outbox.h"
#include "agents/http/unframe.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/text_format.h"
#include "base/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    MAX_BODY = 1024 * 1024 * 1024,
    MAX_URL = 8 * 1024,
    MAX_HEADER = 72 * 1024,
    EXCERPT = 1024, /* bytes kept from the body of a refusal */
};

/* Why the request failed, where libcurl has no reason of its own. */
enum http_trouble {
    TROUBLE_NONE,
    TROUBLE_START,   /* out of memory, or an option that libcurl refused */
    TROUBLE_REFUSED, /* an HTTP status other than 2xx */
    TROUBLE_KIND,    /* 2xx, but not a content type that can be events */
    TROUBLE_LONG,    /* a line over the limit */
    TROUBLE_FIRST,   /* timeout: the answer did not begin */
    TROUBLE_IDLE,    /* timeout: no bytes in the middle of the answer */
};

struct http {
    struct executor executor; /* first */
    struct http_transfer call;
    struct curl_slist *headers; /* owned */
    struct buf url, body;
    struct unframe lines;
    struct buf excerpt;
    uv_timer_t watch; /* timeout for the next byte; or ends the transfer in the next turn */
    CURLcode code;
    long status;
    enum http_trouble trouble;
    char kind[80];                    /* of the answer, for TROUBLE_KIND */
    char curl_words[CURL_ERROR_SIZE]; /* libcurl's reason */
    bool has_head, has_bytes, has_lines;
    bool is_reading; /* inside of on_bytes */
    bool is_paused;
    bool is_started; /* libcurl has it */
    bool is_unwanted;
    bool is_over;
};

static struct http *http_of(struct executor *h)
{
    return (struct http *)(void *)h;
}

static const struct exec_http *settings_of(const struct http *h)
{
    return &h->executor.agent->http;
}

static void on_watch(uv_timer_t *timer);

static void wait_ms(struct http *h, int64_t ms)
{
    (void)uv_timer_start(&h->watch, on_watch, (uint64_t)ms, 0); /* it is open */
}

/* --- the end ----------------------------------------------------------------- */

static void finish(struct http *h)
{
    if (h->is_over)
        return;
    h->is_over = true;
    (void)uv_timer_stop(&h->watch); /* stopping cannot fail */
    if (h->is_started)
        http_client_remove(h->executor.host->client, &h->call);
    h->is_started = false;
    h->executor.events->over(h->executor.owner, true);
}

/* Ends the transfer in the next turn of the loop. */
static void give_up(struct executor *executor)
{
    struct http *h = http_of(executor);

    h->is_unwanted = true;
    wait_ms(h, 0);
}

static void on_watch(uv_timer_t *timer)
{
    struct http *h = timer->data;

    if (!h->is_unwanted && h->trouble == TROUBLE_NONE)
        h->trouble = h->has_head ? TROUBLE_IDLE : TROUBLE_FIRST;
    finish(h);
}

/* --- the answer -------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (; *text != '\0'; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return false;
}

/* Can this content type be events?  HTML or an image cannot. */
static bool is_stream(const char *kind)
{
    return kind == NULL || has_word(kind, "event-stream") || has_word(kind, "json") ||
           has_word(kind, "text/plain") || has_word(kind, "octet-stream");
}

static void look_at_head(struct http *h)
{
    char *kind = NULL;

    if (h->has_bytes)
        return;
    h->has_bytes = true;
    (void)curl_easy_getinfo(h->call.easy, CURLINFO_RESPONSE_CODE, &h->status);
    (void)curl_easy_getinfo(h->call.easy, CURLINFO_CONTENT_TYPE, &kind);
    (void)snprintf(h->kind, sizeof(h->kind), "%s", kind != NULL ? kind : "some text"); /* cut */
    if (h->status < 200 || h->status > 299)
        h->trouble = TROUBLE_REFUSED;
    else if (!is_stream(kind))
        h->trouble = TROUBLE_KIND;
}

static void on_line(void *arg, struct str line)
{
    struct http *h = arg;

    h->has_lines = true;
    if (!h->is_unwanted)
        h->executor.events->output(h->executor.owner, line, true);
}

static void take(struct http *h, struct str bytes)
{
    int err = unframe_put(&h->lines, bytes);

    if (err != 0)
        h->trouble = err == ERR_TOO_LARGE ? TROUBLE_LONG : TROUBLE_START;
    h->executor.events->output(h->executor.owner, STR(""), false);
}

/* Returning any number but size * n ends the transfer. */
static size_t on_bytes(char *p, size_t size, size_t n, void *arg)
{
    struct http *h = arg;
    struct str bytes = str_make(p, size * n);

    if (h->is_unwanted)
        return 0;
    if (h->is_paused)
        return CURL_WRITEFUNC_PAUSE;
    look_at_head(h);
    h->is_reading = true;
    if (h->trouble == TROUBLE_NONE)
        take(h, bytes);
    else
        buf_str(&h->excerpt, str_head(bytes, EXCERPT - h->excerpt.n));
    h->is_reading = false;
    bool is_enough = h->trouble != TROUBLE_NONE &&
                     (h->trouble != TROUBLE_REFUSED || h->excerpt.n == EXCERPT);
    if (h->is_unwanted || is_enough)
        return 0;
    if (!h->is_paused)
        wait_ms(h, settings_of(h)->idle_ms);
    return bytes.n;
}

static size_t on_head(char *p, size_t size, size_t n, void *arg)
{
    struct http *h = arg;

    (void)p;
    h->has_head = true;
    if (!h->is_unwanted)
        wait_ms(h, settings_of(h)->idle_ms);
    return size * n;
}

/* Reports lines that are neither JSON nor server-sent events; if there were no others, the
 * answer was not a stream. */
static void tell_bad(struct http *h)
{
    char text[100];

    (void)snprintf(text, sizeof(text),
                   "spoolwire: lines of the answer that are no events: %llu",
                   (unsigned long long)h->lines.n_bad); /* fits */
    host_log(h->executor.host, h->executor.job, h->executor.agent->name, str_of(text));
    if (!h->has_lines)
        h->trouble = TROUBLE_KIND;
}

static void on_done(struct http_transfer *call, CURLcode code)
{
    struct http *h = container_of(call, struct http, call);

    h->is_started = false;
    h->code = code;
    if (h->has_head)
        look_at_head(h); /* no body followed, so on_bytes() did not do it */
    if (code == CURLE_OK && h->trouble == TROUBLE_NONE && unframe_end(&h->lines) != 0)
        h->trouble = TROUBLE_LONG;
    if (h->lines.n_bad > 0 && h->trouble == TROUBLE_NONE)
        tell_bad(h);
    h->executor.events->output(h->executor.owner, STR(""), false);
    finish(h);
}

/* --- operations of the executor ---------------------------------------------- */

static void pause_reading(struct executor *executor)
{
    struct http *h = http_of(executor);

    h->is_paused = true;
    if (!h->is_unwanted)
        (void)uv_timer_stop(&h->watch); /* we stopped reading: the endpoint is not idle */
}

static void resume_reading(struct executor *executor)
{
    struct http *h = http_of(executor);

    if (!h->is_paused || h->is_over)
        return;
    h->is_paused = false;
    if (!h->is_unwanted)
        wait_ms(h, settings_of(h)->idle_ms);
    if (h->is_started && !h->is_reading)
        (void)curl_easy_pause(h->call.easy, CURLPAUSE_CONT); /* a failure ends the transfer */
}

static bool has_ended(const struct executor *executor)
{
    return ((const struct http *)(const void *)executor)->is_over;
}

/* --- the request ------------------------------------------------------------- */

static bool add_header(struct http *h, struct buf *line)
{
    buf_char(line, '\0');
    struct curl_slist *longer =
        line->error == 0 ? curl_slist_append(h->headers, line->p) : NULL;

    if (longer != NULL)
        h->headers = longer;
    buf_clear(line);
    return longer != NULL;
}

static bool is_given(const struct http *h, const char *name)
{
    size_t n = strlen(name);

    for (char *const *p = settings_of(h)->headers; p != NULL && *p != NULL; p++)
        if (strncasecmp(*p, name, n) == 0 && (*p)[n] == '=')
            return true;
    return false;
}

/* Adds a header, unless the agent sets it itself. */
static bool add_ours(struct http *h, struct buf *line, const char *name, struct str value)
{
    if (is_given(h, name))
        return true;
    text_format(line, "%s: %s", name, value);
    return add_header(h, line);
}

static bool add_given(struct http *h, struct buf *line)
{
    bool ok = true;

    for (char *const *p = settings_of(h)->headers; ok && p != NULL && *p != NULL; p++) {
        struct str text = str_of(*p);
        size_t equals = str_find(text, '=');

        text_format(line, "%s: %s", str_head(text, equals), str_skip(text, equals + 1));
        ok = add_header(h, line);
    }
    return ok;
}

static bool add_headers(struct http *h, const struct assignment *assignment)
{
    char attempt[24];
    struct buf line LOCAL_BUF(MAX_HEADER);

    (void)snprintf(attempt, sizeof(attempt), "%lld", (long long)assignment->attempt); /* fits */
    bool ok = add_given(h, &line) &&
              add_ours(h, &line, "Content-Type", STR("application/json")) &&
              add_ours(h, &line, "Accept",
                       STR("text/event-stream, application/x-ndjson, application/json")) &&
              add_ours(h, &line, "Spoolwire-Job", assignment->job) &&
              add_ours(h, &line, "Spoolwire-Attempt", str_of(attempt));
    /* Disables "Expect: 100-continue", which would cost a round trip. */
    buf_lit(&line, "Expect:");
    return ok && add_header(h, &line);
}

/* A job's id needs no escaping in a URL. */
static void put_url(struct http *h, const struct assignment *assignment)
{
    struct str url = str_of(settings_of(h)->url);

    while (url.n > 0) {
        bool is_job = str_starts(url, STR("{job}"));

        buf_str(&h->url, is_job ? assignment->job : str_head(url, 1));
        url = str_skip(url, is_job ? 5 : 1);
    }
    buf_char(&h->url, '\0');
}

static bool set_up(struct http *h)
{
    const struct exec_http *s = settings_of(h);
    CURL *c = h->call.easy;

    return curl_easy_setopt(c, CURLOPT_URL, h->url.p) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDS, h->body.p) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)h->body.n) ==
               CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HTTPHEADER, h->headers) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)s->connect_ms) == CURLE_OK &&
           (s->ca == NULL || curl_easy_setopt(c, CURLOPT_CAINFO, s->ca) == CURLE_OK) &&
           curl_easy_setopt(c, CURLOPT_ERRORBUFFER, h->curl_words) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HEADERDATA, h) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEDATA, h) == CURLE_OK;
}

static bool start_transfer(struct http *h, const struct assignment *assignment)
{
    body_put(&h->body, settings_of(h), assignment);
    put_url(h, assignment);
    h->call.easy = curl_easy_init();
    return h->call.easy != NULL && h->body.error == 0 && h->url.error == 0 &&
           add_headers(h, assignment) && set_up(h) &&
           http_client_add(h->executor.host->client, &h->call);
}

static bool start(struct executor *executor, const struct assignment *assignment)
{
    struct http *h = http_of(executor);

    (void)uv_timer_init(executor->host->loop, &h->watch); /* cannot fail */
    h->watch.data = h;
    h->call.done = on_done;
    buf_init(&h->url, MAX_URL);
    buf_init(&h->body, MAX_BODY);
    buf_init(&h->excerpt, EXCERPT);
    unframe_init(&h->lines, OUTBOX_MAX_LINE, on_line, h);
    h->is_started = start_transfer(h, assignment);
    h->is_over = !h->is_started;
    if (h->is_over)
        h->trouble = TROUBLE_START;
    else
        wait_ms(h, settings_of(h)->first_ms);
    return h->is_started;
}

/* --- the outcome ------------------------------------------------------------- */

/* The URL without its query, which may contain secrets. */
static void put_place(const struct http *h, struct buf *b)
{
    struct str url = str_of(h->url.p != NULL ? h->url.p : "");

    visible_put(b, str_head(url, str_find(url, '?')));
}

static void put_seconds(struct buf *b, int64_t ms)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%g s", (double)ms / 1000); /* fits */
    buf_str(b, str_of(text));
}

static enum outcome judge_refusal(const struct http *h, struct buf *b, struct str *ret_type)
{
    text_format(b, "HTTP %d from ", h->status);
    put_place(h, b);
    if (h->status >= 300 && h->status <= 399)
        buf_lit(b, " (redirects are not followed)");
    if (h->excerpt.n > 0) {
        buf_lit(b, ": ");
        visible_put(b, buf_text(&h->excerpt));
    }
    *ret_type = STR("RemoteRefused");
    return h->status == 429 || (h->status >= 502 && h->status <= 504) ? OUTCOME_LOST
                                                                      : OUTCOME_FAILED;
}

static enum outcome judge_trouble(const struct http *h, struct buf *b, struct str *ret_type)
{
    const struct exec_http *s = settings_of(h);

    *ret_type = STR("RemoteSlow");
    put_place(h, b);
    switch (h->trouble) {
    case TROUBLE_FIRST:
        buf_lit(b, " did not answer within ");
        put_seconds(b, s->first_ms);
        return OUTCOME_LOST;
    case TROUBLE_IDLE:
        buf_lit(b, " sent nothing for ");
        put_seconds(b, s->idle_ms);
        return OUTCOME_LOST;
    case TROUBLE_KIND:
        buf_lit(b, " answered with ");
        visible_put(b, str_of(h->kind));
        buf_lit(b, ", which is no stream of events");
        *ret_type = STR("RemoteRefused");
        return OUTCOME_FAILED;
    case TROUBLE_LONG:
        buf_lit(b, " sent a line of more than 16 MiB");
        *ret_type = STR("LineTooLong");
        return OUTCOME_FAILED;
    case TROUBLE_START:
    case TROUBLE_REFUSED:
    case TROUBLE_NONE:
        break;
    }
    buf_lit(b, ": cannot begin: out of memory, or libcurl is not installed");
    *ret_type = STR("RemoteUnreachable");
    return OUTCOME_FAILED;
}

/* Temporary failures: another attempt may succeed. */
static bool is_passing(CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return true;
    default:
        return false;
    }
}

static enum outcome judge_code(const struct http *h, struct buf *b, struct str *ret_type)
{
    const char *words = h->curl_words[0] != '\0' ? h->curl_words : curl_easy_strerror(h->code);

    buf_str(b, h->has_head ? STR("cut: ") : STR("no answer: "));
    put_place(h, b);
    buf_lit(b, ": ");
    visible_put(b, str_of(words));
    *ret_type = h->has_head ? STR("RemoteCut") : STR("RemoteUnreachable");
    return is_passing(h->code) ? OUTCOME_LOST : OUTCOME_FAILED;
}

static enum outcome judge(const struct executor *executor,
                          struct buf *error,
                          struct str *ret_type)
{
    const struct http *h = (const struct http *)(const void *)executor;

    if (h->trouble == TROUBLE_REFUSED)
        return judge_refusal(h, error, ret_type);
    if (h->trouble != TROUBLE_NONE)
        return judge_trouble(h, error, ret_type);
    return h->code != CURLE_OK ? judge_code(h, error, ret_type) : OUTCOME_WELL;
}

/* --- making and closing ------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    struct http *h = handle->data;

    curl_easy_cleanup(h->call.easy);
    curl_slist_free_all(h->headers);
    buf_done(&h->url);
    buf_done(&h->body);
    buf_done(&h->excerpt);
    unframe_done(&h->lines);
    h->executor.events->closed(h->executor.owner); /* h is gone */
}

static void close_watch(struct executor *executor)
{
    uv_close((uv_handle_t *)&http_of(executor)->watch, on_closed);
}

static const struct executor_ops ops = { .source = "the answer of the endpoint",
                                         .start = start,
                                         .pause = pause_reading,
                                         .resume = resume_reading,
                                         .stop = give_up,
                                         .kill = give_up,
                                         .abandon = give_up,
                                         .has_ended = has_ended,
                                         .judge = judge,
                                         .close = close_watch };

static struct executor *make(const struct executor *common)
{
    struct http *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return NULL;
    h->executor = *common;
    h->executor.ops = &ops;
    return &h->executor;
}

static int open_client(struct host *host, const struct exec_options *options, struct error *err)
{
    (void)options;
    host->client = http_client_new(host->loop);
    return host->client != NULL
               ? 0
               : error_set(err, ERR_NOMEM, "agents with a url need libcurl.so.4");
}

static void close_client(struct host *host)
{
    if (host->client != NULL)
        http_client_close(host->client);
}

const struct executor_kind executor_http = { .make = make,
                                             .open = open_client,
                                             .close = close_client };
