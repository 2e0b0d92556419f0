/* `spoolwire doctor`: finds out what proxies between us and the server do to streams.
 *
 * It watches two jobs of the demo agent through the address that clients use.  The first sends
 * many records, each with the time when it was made: if a hop buffers, records that were made
 * far apart arrive together.  The second is silent: if its stream is cut before it ends, a hop
 * has cut it.  Other changes by hops show in the response headers.  Both jobs are deleted
 * afterwards. */
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_format.h"
#include "base/visible.h"
#include "client/internal.h"
#include "cli/commands.h"
#include "cli/examine.h"
#include "cli/remote.h"
#include "config/options/amount.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { OPT_AGENT = FLAG_OWN, OPT_IDLE };
enum {
    LIVE_MS = 30000, /* for the job that sends */
    LATE_MS = 2000,  /* for the first byte */
    HELD_MS = 300, /* a hop buffers if half of the records are so much later than the fastest */
    DEFAULT_IDLE_MS = 20000,
    MAX_TEXT = 200,
};

#define ISSUE JSON_LIT("issue", "spoolwire doctor")

struct doctor {
    const struct args *args;
    struct remote remote;
    struct buf out;
    size_t n_bad;
    const char *agent;
    int64_t idle_ms;
};

/* What was seen of one stream. */
struct watch_stream {
    struct client *c;
    int64_t asked_ms, first_ms, last_ms; /* wall clock; 0: nothing came */
    int64_t limit_ms;                    /* how long to look */
    long status;
    bool is_events, has_length, no_transform, at_limit, ended;
    char encoding[40];
    long version;
    struct buf line;
    char hops[MAX_TEXT]; /* that name themselves */
    struct buf lags; /* int64_t of each record: how long it was on its way, by both clocks */
    struct json_reader reader;
};

/* --- telling --------------------------------------------------------------------------------
 */

static void tell(struct doctor *d,
                 bool ok,
                 const char *check,
                 const char *what,
                 const char *do_)
{
    d->n_bad += !ok;
    if (args_have(d->args, FLAG_JSON)) {
        json_format(json_next(&d->out), "{'check':%s,'ok':%b,'what':%s,'advice':%s}", check, ok,
                    what, ok ? NULL : do_);
        return;
    }
    buf_clear(&d->out);
    visible_put(&d->out, str_of(what));
    printf("%s %.*s\n", ok ? "ok  " : "BAD ", STR_ARG(buf_text(&d->out)));
    if (!ok && do_ != NULL)
        printf("     %s\n", do_);
    (void)fflush(stdout); /* the next one may take a while; write_out sees errors */
}

/* --- one stream -----------------------------------------------------------------------------
 */

static void take_record(struct watch_stream *w, struct str data)
{
    struct json json;
    int64_t now = clock_wall_ms(); /* as in the record */

    if (json_read(&w->reader, data, &json, NULL) != 0)
        return;
    int64_t made = json_int(json_at(json.root, "ts"), 0), lag = now - made;
    if (made != 0)
        buf_put(&w->lags, &lag, sizeof(lag));
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *arg)
{
    struct watch_stream *w = arg;
    struct str rest = str_make(bytes, size * n);

    w->last_ms = clock_steady_ms();
    if (w->first_ms == 0)
        w->first_ms = w->last_ms;
    while (rest.n > 0) {
        struct str part = str_head(rest, str_find(rest, '\n'));
        bool whole = part.n < rest.n;

        buf_str(&w->line, part);
        rest = str_skip(rest, part.n + 1);
        if (!whole)
            break;
        if (str_starts(buf_text(&w->line), STR("data: ")))
            take_record(w, str_skip(buf_text(&w->line), 6));
        buf_clear(&w->line);
    }
    return w->line.error == 0 ? size * n : 0;
}

static bool header_is(struct str line, struct str name, struct str *ret_value)
{
    if (line.n < name.n || strncasecmp(line.p, name.p, name.n) != 0)
        return false;
    *ret_value = str_skip(line, name.n);
    while (ret_value->n > 0 && ret_value->p[0] == ' ')
        *ret_value = str_skip(*ret_value, 1);
    while (ret_value->n > 0 && strchr("\r\n ", ret_value->p[ret_value->n - 1]) != NULL)
        ret_value->n--;
    return true;
}

static void add_hop(struct watch_stream *w, const char *header, struct str value)
{
    size_t n = strlen(w->hops);

    (void)snprintf(w->hops + n, sizeof(w->hops) - n, "%s%.*s (%s)", n > 0 ? ", " : "",
                   STR_ARG(value), header); /* may be truncated */
}

static size_t on_header(char *bytes, size_t size, size_t n, void *arg)
{
    struct watch_stream *w = arg;
    struct str line = str_make(bytes, size * n), value;
    char text[MAX_TEXT];

    if (header_is(line, STR("content-type:"), &value))
        w->is_events = str_starts(value, STR("text/event-stream"));
    else if (header_is(line, STR("content-length:"), &value))
        w->has_length = true;
    else if (header_is(line, STR("content-encoding:"), &value))
        (void)snprintf(w->encoding, sizeof(w->encoding), "%.*s", STR_ARG(value));
    else if (header_is(line, STR("server:"), &value))
        add_hop(w, "Server", value); /* our server sends no such header */
    else if (header_is(line, STR("via:"), &value))
        add_hop(w, "Via", value);
    else if (header_is(line, STR("cache-control:"), &value)) {
        (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(value));
        w->no_transform = strstr(text, "no-transform") != NULL;
    }
    return size * n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct watch_stream *w = arg;

    (void)a, (void)b, (void)c, (void)d;
    w->at_limit = clock_steady_ms() - w->asked_ms > w->limit_ms;
    return w->at_limit; /* anything but 0 ends it */
}

/* Reads it to its end, or for its time; false when that could not be begun. */
static bool read_stream(struct watch_stream *w, const char *path)
{
    struct curl_slist *headers = NULL;
    CURL *curl = w->c->curl;

    int err = client_prepare(w->c, path, &headers);
    if (err == 0)
        err = client_add_header(&headers, "Accept: text/event-stream");
    if (err == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, w);
        (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
        (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, w);
        (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, w);
        w->asked_ms = clock_steady_ms();
        w->ended = curl_easy_perform(curl) == CURLE_OK;
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &w->status);
        (void)curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &w->version);
    }
    curl_slist_free_all(headers);
    return err == 0 && w->status != 0;
}

static void stream_init(struct watch_stream *w, struct doctor *d, int64_t limit_ms)
{
    *w = (struct watch_stream){ .c = d->remote.client, .limit_ms = limit_ms };
    buf_init(&w->line, 64 * 1024 * 1024);
    buf_init(&w->lags, 64 * 1024 * 1024);
    json_reader_init(&w->reader, SIZE_MAX / 64, 256);
}

static void stream_done(struct watch_stream *w)
{
    buf_done(&w->line);
    buf_done(&w->lags);
    json_reader_done(&w->reader);
}

/* --- what it means --------------------------------------------------------------------------
 */

static void judge_head(struct doctor *d, const struct watch_stream *w)
{
    char text[MAX_TEXT];

    (void)snprintf(text, sizeof(text), "hops that name themselves: %.*s", MAX_TEXT - 40,
                   w->hops[0] != '\0' ? w->hops : "none");
    tell(d, true, "hops", text, NULL);
    tell(d, w->is_events, "type",
         w->is_events ? "the answer is a stream of events"
                      : "the answer is no stream of events: something else answers there",
         "Does the path of the proxy lead to spoolwire?");
    (void)snprintf(text, sizeof(text), "the answer is compressed (%s)", w->encoding);
    tell(d, w->encoding[0] == '\0', "encoding",
         w->encoding[0] == '\0' ? "nothing compresses the stream" : text,
         "A compressor waits for more to compress.  nginx: no text/event-stream in gzip_types; "
         "others: no compression for this path.");
    tell(d, w->version != CURL_HTTP_VERSION_1_0, "version",
         w->version != CURL_HTTP_VERSION_1_0
             ? "the answer is HTTP/1.1 or later"
             : "the answer is HTTP/1.0: a cut looks like an end",
         "A hop speaks HTTP/1.0 to its clients.  nginx: proxy_http_version 1.1; others: an "
         "update.");
    tell(d, w->no_transform, "no-transform",
         w->no_transform ? "Cache-Control: no-transform arrives"
                         : "Cache-Control: no-transform does not arrive",
         "A hop removes or replaces the header; hops behind it may change the stream.");
    tell(d, !w->has_length, "length",
         w->has_length ? "the answer has a Content-Length: a hop has waited for its end"
                       : "the answer has no length",
         "Switch buffering off for this path.");
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Judges by the median: a slow moment of either machine delays some records, a hop that buffers
 * delays most. */
static void judge_lags(struct doctor *d, struct watch_stream *w)
{
    int64_t *lag = (int64_t *)(void *)w->lags.p;
    size_t n = w->lags.n / sizeof(*lag);
    char text[MAX_TEXT];

    if (n < 2) {
        tell(d, false, "buffering", "no events came",
             "Is the agent at work?  See spoolwire jobs.");
        return;
    }
    qsort(lag, n, sizeof(*lag), by_size);
    bool ok = lag[n / 2] - lag[0] < HELD_MS;
    (void)snprintf(text, sizeof(text), "%s: half of them within %lld ms, all within %lld ms",
                   ok ? "events come when they are made" : "events are held back",
                   (long long)(lag[n / 2] - lag[0]), (long long)(lag[n - 1] - lag[0]));
    tell(d, ok, "buffering", text,
         "A hop gathers them.  nginx: proxy_buffering off, and no proxy_ignore_headers "
         "X-Accel-Buffering; others: no response buffering for this path.");
}

static void judge_flow(struct doctor *d, struct watch_stream *w)
{
    int64_t first = w->first_ms - w->asked_ms;
    char text[MAX_TEXT];

    (void)snprintf(text, sizeof(text), "the first byte came after %lld ms",
                   (long long)(w->first_ms > 0 ? first : w->limit_ms));
    tell(d, w->first_ms > 0 && first < LATE_MS, "first byte", text,
         "The server sends one at once: a hop waits for more.  nginx: proxy_buffering off.");
    judge_lags(d, w);
}

static void judge_end(struct doctor *d, const struct watch_stream *w)
{
    tell(d, w->ended, "end",
         w->ended      ? "the stream of a job that ended ends cleanly"
         : w->at_limit ? "the stream of a job that ended goes on"
                       : "the stream was cut before the job's end",
         "A hop has a limit for how long an answer may take.");
}

static void judge_silence(struct doctor *d, const struct watch_stream *w)
{
    double silent =
        (double)(clock_steady_ms() - (w->last_ms > 0 ? w->last_ms : w->asked_ms)) / 1000;
    double all = (double)(clock_steady_ms() - w->asked_ms) / 1000;
    char text[MAX_TEXT];

    if (w->at_limit) {
        (void)snprintf(text, sizeof(text), "a silent stream stays open (watched for %.0f s)",
                       all);
        tell(d, true, "silence", text, NULL);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "a silent stream is %s after %.1f s, the last %.1f s of them without a byte",
                   w->ended ? "ended as if the job had" : "cut", all, silent);
    tell(d, false, "silence", text,
         "A hop has a limit for silence.  Raise it above the server's keep_alive (nginx: "
         "proxy_read_timeout 1h), or lower keep_alive.");
}

/* --- jobs -----------------------------------------------------------------------------------
 */

static int submit(struct doctor *d, const char *input, char id[128])
{
    struct client_reply reply LOCAL_REPLY;
    struct json_reader reader ANSWER_READER;
    struct json json;
    struct buf body LOCAL_BUF(4096);

    json_begin(&body);
    json_add_str(&body, "agent", str_of(d->agent));
    json_add_raw(&body, "input", str_of(input));
    json_end(&body);
    int code = remote_post(&d->remote, "/v1/jobs", "application/json", buf_text(&body), &reply);
    if (code == EXIT_OK)
        code = remote_json(&d->remote, &reply, &reader, &json);
    if (code == EXIT_OK)
        (void)snprintf(id, 128, "%.*s", STR_ARG(json_text(json_at(json.root, "job_id"))));
    return code;
}

static void remove_job(struct doctor *d, const char *id)
{
    struct client_reply reply LOCAL_REPLY;

    /* It reports its own failure. */
    (void)remote_job(&d->remote, "DELETE", "/v1/jobs/", str_of(id), "", &reply);
}

/* Watches one job's stream. */
static int watch(struct doctor *d,
                 const char *input,
                 const char *dialect,
                 struct watch_stream *w)
{
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);
    char id[128] = "", rest[60];

    int code = submit(d, input, id);
    if (code != EXIT_OK)
        return code;
    (void)snprintf(rest, sizeof(rest), "/events?dialect=%s", dialect);
    remote_job_path(&path, "/v1/jobs/", str_of(id), rest);
    if (path.error != 0 || !read_stream(w, path.p))
        code = cli_trouble(d->args->path, "the stream cannot be opened: %s",
                           w->c->curl_error[0] != '\0' ? w->c->curl_error : "out of memory");
    else if (w->status != 200) {
        code = cli_trouble(d->args->path, "the stream is answered with status %ld", w->status);
    }
    remove_job(d, id);
    return code;
}

static int examine(struct doctor *d)
{
    struct watch_stream w;

    stream_init(&w, d, LIVE_MS);
    int code = watch(
        d, "{" ISSUE "," JSON_CONST("length", "60") "," JSON_CONST("question", "false") "}",
        "raw", &w);
    if (code == EXIT_OK) {
        judge_head(d, &w);
        judge_flow(d, &w);
        judge_end(d, &w);
    }
    stream_done(&w);
    if (code != EXIT_OK || d->idle_ms == 0)
        return code;
    stream_init(&w, d, d->idle_ms);
    code = watch(d, "{" ISSUE "," JSON_CONST("speed", "0.0001") "}", "agent", &w);
    if (code == EXIT_OK)
        judge_silence(d, &w);
    stream_done(&w);
    return code;
}

/* --- the command ----------------------------------------------------------------------------
 */

static int reach(struct doctor *d)
{
    struct client_reply reply LOCAL_REPLY;
    char text[MAX_TEXT];
    int64_t began = clock_steady_ms();

    int code = remote_get(&d->remote, "/livez", &reply);
    bool ours =
        code == EXIT_OK && str_is(buf_text(&reply.body), "{" JSON_LIT("status", "alive") "}");
    if (code == EXIT_OK && !ours)
        code = cli_trouble(d->args->path, "%s answers, but is no spoolwire server",
                           client_url(d->remote.client));
    if (code != EXIT_OK)
        return code;
    (void)snprintf(text, sizeof(text), "a server answers after %lld ms",
                   (long long)(clock_steady_ms() - began));
    tell(d, true, "server", text, NULL);
    return EXIT_OK;
}

static int write_out(struct doctor *d)
{
    struct buf all LOCAL_BUF(1024 * 1024);

    if (!args_have(d->args, FLAG_JSON))
        return ferror(stdout) ? cli_trouble(d->args->path, "the output cannot be written")
                              : EXIT_OK;
    json_format(&all, "{'ok':%b,'checks':[%j]}\n", d->n_bad == 0, buf_text(&d->out));
    return cli_write(d->args->path, buf_text(&all));
}

static int run(const struct args *args)
{
    const char *agent = args_get(args, OPT_AGENT), *idle = args_get(args, OPT_IDLE);
    struct doctor d = { .args = args,
                        .agent = agent != NULL ? agent : "demo",
                        .idle_ms = DEFAULT_IDLE_MS };

    if (args_have(args, FLAG_STORE) || args_have(args, FLAG_DATA))
        return examine_print(args);
    if (idle != NULL && !amount_parse(AMOUNT_MS, str_of(idle), &d.idle_ms))
        return cli_usage_error(args->path, "--idle must be a duration such as 20s or 2m, or 0");
    int code = remote_open_at(args, args->n_words > 0 ? args->words[0] : NULL, &d.remote);
    buf_init(&d.out, 1024 * 1024);
    if (code == EXIT_OK)
        code = reach(&d);
    if (code == EXIT_OK)
        code = examine(&d);
    if (d.out.n > 0) {
        int written = write_out(&d);

        code = code != EXIT_OK ? code : written;
    }
    buf_done(&d.out);
    remote_close(&d.remote);
    return code == EXIT_OK && d.n_bad > 0 ? EXIT_BAD_NEWS : code;
}

static const struct flag flags[] = {
    { OPT_IDLE, "idle", "TIME", NULL,
      "How long to watch a silent stream (20s); 0: not at all.  Limits of a minute or more show "
      "only when it is longer than those, and keep_alive too." },
    { OPT_AGENT, "agent", "AGENT", NULL,
      "The agent to watch, with what the built-in one understands as its input (demo)." },
    { 0 },
};

const struct command command_doctor = {
    .name = "doctor",
    .arguments = "[URL]",
    .about = "find out what proxies do to streams",
    .story =
        "Opens streams through the address that clients use, and names what on the way "
        "buffers, compresses, changes or cuts them, and what to do about it.  It submits two "
        "jobs to the demo agent, and deletes them.\n"
        "With --store or --data it looks at the database instead, before a server uses it: is it "
        "there, of a version that works, ours, with the rights that are needed?",
    .flags = flags,
    .exits =
        "0 streams come through, or the database can be used, as it should be\n1 it is not so",
    .takes = COMMAND_JSON | COMMAND_REMOTE | COMMAND_DATA,
    .max_words = 1,
    .run = run,
};
