/* Reads server-sent events as the HTML standard says, and reconnects.
 *
 *     connect ─▶ frames … ─▶ clean end: done
 *        ▲          │ cut
 *        └── wait ◀─┘        Last-Event-ID: the last frame that was handed out
 *
 * Only the end that HTTP itself marks (the last chunk) is the end: a server that goes away
 * cuts the connection.  204 means that a finished stream has nothing left for us. */
#include "base/clock.h"
#include "client/internal.h"

#include "base/json.h"

#include <stdlib.h>

enum {
    MAX_FRAME = 256 * 1024 * 1024,
    FIRST_RETRY_MS = 250,
    MAX_RETRY_MS = 10000,
    SILENCE_S = 60, /* servers send a comment every 15 s */
    GIVE_UP_MS = 600 * 1000,
    MAX_ID = 512,
};

struct client_stream {
    struct client *c;
    const struct client_follow *f;
    struct buf line;
    struct buf event, data, id, detail;
    bool has_event, has_data, has_id;
    bool after_cr;        /* the next '\n' belongs to the '\r' before */
    char last_id[MAX_ID]; /* of the last frame handed out; "" for none */
    int64_t retry_ms;     /* as the server wishes */
    bool connected;       /* this connection has been accepted */
    bool noted;           /* the loss was told */
    bool got_frame;       /* on this connection */
    int stop;             /* what a callback returned */
};

/* --- frames
 * ----------------------------------------------------------------------------------- */

static void forget_frame(struct client_stream *st)
{
    buf_clear(&st->event);
    buf_clear(&st->data);
    buf_clear(&st->id);
    st->has_event = st->has_data = st->has_id = false;
}

static void keep_id(struct client_stream *st)
{
    if (!st->has_id || st->id.n >= MAX_ID)
        return;
    memcpy(st->last_id, buf_text(&st->id).p, st->id.n);
    st->last_id[st->id.n] = '\0';
}

static void dispatch(struct client_stream *st)
{
    struct client_frame frame = {
        .id = st->has_id ? buf_text(&st->id) : STR_NONE,
        .event = st->has_event ? buf_text(&st->event) : STR_NONE,
        .data = buf_text(&st->data),
    };

    if (st->has_data) {
        frame.data.n--; /* the line end behind the last line */
        st->got_frame = true;
        st->stop = st->f->frame(st->f->arg, &frame);
    }
    if (st->stop == 0)
        keep_id(st);
    forget_frame(st);
}

static void take_retry(struct client_stream *st, struct str value)
{
    int64_t ms = 0;

    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9' || ms > MAX_RETRY_MS)
            return;
        ms = ms * 10 + (value.p[i] - '0');
    }
    if (value.n > 0)
        st->retry_ms = ms < FIRST_RETRY_MS ? FIRST_RETRY_MS : ms;
}

static void take_field(struct client_stream *st, struct str name, struct str value)
{
    if (str_is(name, "data")) {
        buf_str(&st->data, value);
        buf_char(&st->data, '\n');
        st->has_data = true;
    } else if (str_is(name, "event")) {
        buf_clear(&st->event);
        buf_str(&st->event, value);
        st->has_event = true;
    } else if (str_is(name, "id") && str_find(value, '\0') == value.n) {
        buf_clear(&st->id);
        buf_str(&st->id, value);
        st->has_id = true;
    } else if (str_is(name, "retry")) {
        take_retry(st, value);
    }
}

static void take_line(struct client_stream *st, struct str line)
{
    size_t colon = str_find(line, ':');

    if (line.n == 0) {
        dispatch(st);
        return;
    }
    if (colon == 0)
        return; /* a comment */
    struct str value = str_skip(line, colon + 1);
    if (value.n > 0 && value.p[0] == ' ')
        value = str_skip(value, 1);
    take_field(st, str_head(line, colon), value);
}

/* One piece of bytes: lines end with \n, \r or both. */
static void take_bytes(struct client_stream *st, struct str bytes)
{
    while (bytes.n > 0 && st->stop == 0) {
        size_t lf = str_find(bytes, '\n'), end = str_find(str_head(bytes, lf), '\r');

        if (st->after_cr && lf == 0) {
            st->after_cr = false;
            bytes = str_skip(bytes, 1);
            continue;
        }
        st->after_cr = false;
        buf_str(&st->line, str_head(bytes, end));
        if (end == bytes.n)
            return;
        st->after_cr = bytes.p[end] == '\r';
        take_line(st, buf_text(&st->line));
        buf_clear(&st->line);
        bytes = str_skip(bytes, end + 1);
    }
}

/* --- one connection
 * ------------------------------------------------------------------------------ */

static long status_of(struct client_stream *st)
{
    long status = 0;

    (void)curl_easy_getinfo(st->c->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_event_stream(struct client_stream *st)
{
    char *type = NULL;

    (void)curl_easy_getinfo(st->c->curl, CURLINFO_CONTENT_TYPE, &type);
    return type != NULL && str_starts(str_of(type), STR("text/event-stream"));
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *arg)
{
    struct client_stream *st = arg;
    size_t all = size * n;

    if (status_of(st) != 200) {
        buf_put(&st->detail, bytes, all);
        return all;
    }
    if (!st->connected && st->noted && st->f->note != NULL)
        st->f->note(st->f->arg, NULL);
    st->noted = false;
    st->connected = true;
    take_bytes(st, str_make(bytes, all));
    if (st->stop == 0 && st->f->rest != NULL)
        st->stop = st->f->rest(st->f->arg);
    if (st->stop == 0)
        st->stop = st->line.error != 0 ? st->line.error : st->data.error;
    return st->stop == 0 ? all : 0;
}

static int prepare(struct client_stream *st, struct curl_slist **headers)
{
    bool again = st->last_id[0] != '\0';
    CURL *curl = st->c->curl;

    int err = client_prepare(st->c, again ? st->f->again : st->f->path, headers);
    if (err == 0)
        err = client_add_header(headers, "Accept: text/event-stream");
    if (err == 0 && again)
        err = client_add_header(headers, "Last-Event-ID: %s", st->last_id);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, st);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
    return err;
}

/* Forgets what a cut connection left unfinished. */
static void begin_connection(struct client_stream *st)
{
    forget_frame(st);
    buf_clear(&st->line);
    buf_clear(&st->detail);
    st->after_cr = st->connected = st->got_frame = false;
}

static int refused(struct client_stream *st, long status)
{
    struct client_reply reply = { .status = (int)status, .body = st->detail };

    client_reply_detail(&reply, &st->c->error);
    return status == 404 ? ERR_NOT_FOUND : ERR_REFUSED;
}

/* As curl_easy_perform, with ticks in between. */
static CURLcode perform(struct client_stream *st)
{
    CURLM *multi = st->f->tick != NULL ? curl_multi_init() : NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    int running = 1, left;

    if (st->f->tick == NULL)
        return curl_easy_perform(st->c->curl);
    if (multi == NULL || curl_multi_add_handle(multi, st->c->curl) != CURLM_OK)
        goto out;
    while (running > 0 && st->stop == 0) {
        if (curl_multi_perform(multi, &running) != CURLM_OK)
            goto out;
        if (st->stop == 0)
            st->stop = st->f->tick(st->f->arg);
        if (running > 0 && st->stop == 0)
            (void)curl_multi_poll(multi, NULL, 0, st->f->tick_ms, NULL); /* or we come early */
    }
    CURLMsg *message = curl_multi_info_read(multi, &left);
    code = message != NULL ? message->data.result : CURLE_ABORTED_BY_CALLBACK;

out:
    if (multi != NULL)
        (void)curl_multi_remove_handle(multi, st->c->curl); /* which may never have got there */
    curl_multi_cleanup(multi);
    return code;
}

/* 0: the clean end; ERR_IO: worth another try; anything else is final. */
static int read_connection(struct client_stream *st)
{
    struct curl_slist *headers = NULL;

    begin_connection(st);
    int err = prepare(st, &headers);
    if (err != 0) {
        curl_slist_free_all(headers);
        return err;
    }
    CURLcode code = perform(st);
    curl_slist_free_all(headers);
    long status = status_of(st);
    st->connected = st->connected || status == 200;
    if (st->stop != 0)
        return st->stop;
    if (status == 200 && !is_event_stream(st))
        return error_set(&st->c->error, ERR_REFUSED,
                         "%s%s is not a stream of events: is that a spoolwire server?",
                         st->c->url, st->f->again);
    if (code != CURLE_OK)
        return client_broken(st->c, code);
    if (status == 200 || status == 204)
        return 0;
    int why = refused(st, status);
    return status >= 500 || status == 429 || status == 408 ? ERR_IO : why;
}

/* --- all of them
 * ---------------------------------------------------------------------------------- */

static void tell_loss(struct client_stream *st)
{
    if (!st->noted && st->f->note != NULL)
        st->f->note(st->f->arg, client_error(st->c));
    st->noted = true;
}

/* Waits before the next connection, ticking. */
static int pause_for(struct client_stream *st, int64_t ms)
{
    while (ms > 0 && st->stop == 0 && st->f->tick != NULL) {
        int64_t step = ms < st->f->tick_ms ? ms : st->f->tick_ms;

        clock_sleep_ms(step);
        st->stop = st->f->tick(st->f->arg);
        ms -= step;
    }
    if (ms > 0)
        clock_sleep_ms(st->stop == 0 ? ms : 0);
    return st->stop;
}

static int follow(struct client_stream *st)
{
    int64_t last_good = clock_monotonic_ms();
    bool ever = false;

    for (unsigned failures = 1;; failures++) {
        int err = read_connection(st);

        if (err != ERR_IO)
            return err;
        ever = ever || st->connected;
        if (st->got_frame)
            failures = 1;
        if (st->connected)
            last_good = clock_monotonic_ms();
        if (!ever || clock_monotonic_ms() - last_good > GIVE_UP_MS)
            return err;
        tell_loss(st);
        if (pause_for(st, client_backoff_ms(failures, st->retry_ms, MAX_RETRY_MS)) != 0)
            return st->stop;
    }
}

int client_follow(struct client *c, const struct client_follow *f)
{
    struct client_stream *st = calloc(1, sizeof(*st));

    if (st == NULL)
        return error_set(&c->error, ERR_NOMEM, "out of memory");
    *st = (struct client_stream){ .c = c, .f = f, .retry_ms = FIRST_RETRY_MS };
    buf_init(&st->line, MAX_FRAME);
    buf_init(&st->event, MAX_FRAME);
    buf_init(&st->data, MAX_FRAME);
    buf_init(&st->id, MAX_FRAME);
    buf_init(&st->detail, 64 * 1024);
    int err = follow(st);
    if (err != 0 && c->error.text[0] == '\0')
        (void)error_set(&c->error, err, "%s", error_name(err));
    buf_done(&st->line);
    buf_done(&st->event);
    buf_done(&st->data);
    buf_done(&st->id);
    buf_done(&st->detail);
    free(st);
    return err;
}
