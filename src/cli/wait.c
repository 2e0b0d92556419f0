/* Waits for a job's end by long polls; polls again after a lost connection or a restart of the
 * server. */
#include "base/clock.h"
#include "base/error.h"
#include "base/visible.h"
#include "cli/remote.h"
#include "terminal/term.h"

#include <stdio.h>
#include <unistd.h>

enum {
    POLL_MS = 15000, /* proxies cut what is silent for long, and people want to hear of
                        questions */
    EXTRA_MS = 10000,
    PAUSE_MS = 1000,
    GIVE_UP_MS = 600 * 1000, /* without any answer */
    MAX_OUT = 256 * 1024 * 1024,
};

struct job_wait {
    const struct remote_wait *w;
    struct client_reply reply;
    struct buf path;
    int64_t deadline; /* on the monotonic clock; 0: none */
    int64_t last_good;
    unsigned failures; /* in a row */
    bool asked;        /* the question was printed */
};

/* --- the end --------------------------------------------------------------------------------
 */

static void put_result(const yyjson_val *job, struct buf *out)
{
    const yyjson_val *report = json_at(job, "report"), *output = json_at(job, "output");
    struct str text = json_text(report);

    if (text.p != NULL && isatty(STDOUT_FILENO))
        visible_put_lines(out, text);
    else if (text.p != NULL)
        buf_str(out, text);
    else if (!json_is_null(output))
        json_put_value(out, output);
    if (out->n > 0 && !str_ends(buf_text(out), STR("\n")))
        buf_char(out, '\n');
}

static void tell_failure(const struct remote_wait *w, const yyjson_val *job)
{
    struct str error = json_text(json_at(job, "error"));
    struct buf line LOCAL_BUF(64 * 1024);

    visible_put(&line, json_text(json_at(job, "state")));
    if (error.n > 0)
        buf_lit(&line, ": ");
    visible_put(&line, str_head(error, 2000));
    (void)cli_trouble(w->remote->path, "the job %.*s", STR_ARG(buf_text(&line)));
}

static int ended(struct job_wait *s)
{
    const struct remote_wait *w = s->w;
    struct json_reader reader ANSWER_READER;
    struct json json;
    struct buf out LOCAL_BUF(MAX_OUT);

    int code = remote_json(w->remote, &s->reply, &reader, &json);
    if (code == EXIT_OK) {
        code = remote_ending(json.root);
        if (code != EXIT_OK)
            tell_failure(w, json.root);
        else if (!w->json)
            put_result(json.root, &out);
        int written = w->json ? remote_write(w->remote, &s->reply)
                              : cli_write(w->remote->path, buf_text(&out));
        code = written != EXIT_OK ? written : code;
    }
    return code;
}

/* --- until then -----------------------------------------------------------------------------
 */

static void still_going(struct job_wait *s)
{
    struct json_reader reader ANSWER_READER;
    struct json json;

    if (remote_json(s->w->remote, &s->reply, &reader, &json) == EXIT_OK && !s->asked &&
        str_is(json_text(json_at(json.root, "state")), "waiting")) {
        s->asked = true;
        (void)fprintf(stderr, "the job waits for an answer\n");
    }
}

static int ask(struct job_wait *s, int64_t wait_ms)
{
    buf_clear(&s->path);
    remote_job_path(&s->path, "/v1/jobs/", s->w->job, "?wait=");
    buf_cut(&s->path, s->path.n > 0 ? s->path.n - 1 : 0);
    buf_i64(&s->path, (wait_ms + 999) / 1000);
    buf_char(&s->path, '\0');
    if (s->path.error != 0)
        return s->path.error;
    return client_get(s->w->remote->client, s->path.p, (unsigned)(wait_ms + EXTRA_MS),
                      &s->reply);
}

/* After no answer, or one that asks to try again: sleeps, or gives up. */
static int try_later(struct job_wait *s, int err)
{
    const struct remote *r = s->w->remote;

    if (clock_monotonic_ms() - s->last_good > GIVE_UP_MS)
        return err != 0 ? remote_failed(r, err) : remote_refused(r, &s->reply);
    if (s->failures++ == 0)
        (void)cli_trouble(r->path, "%s; trying again",
                          err != 0 ? client_error(r->client) : "the server is busy");
    clock_sleep_ms(client_backoff_ms(s->failures, 200, 5000));
    return EXIT_OK;
}

static int wait_for(struct job_wait *s)
{
    s->last_good = clock_monotonic_ms();
    for (;;) {
        int64_t began = clock_monotonic_ms(),
                left = s->deadline > 0 ? s->deadline - began : POLL_MS;

        if (left <= 0) {
            (void)cli_trouble(s->w->remote->path,
                              "the job has not ended in time; it continues");
            return EXIT_TIME_OVER;
        }
        int err = ask(s, left < POLL_MS ? left : POLL_MS);
        if (err == 0 && s->reply.status == 200)
            return ended(s);
        if (err != 0 || s->reply.status >= 500 || s->reply.status == 429) {
            int code = try_later(s, err);

            if (code != EXIT_OK)
                return code;
            continue;
        }
        if (s->reply.status != 202)
            return remote_refused(s->w->remote, &s->reply);
        s->failures = 0;
        s->last_good = clock_monotonic_ms();
        still_going(s);
        if (s->last_good - began < PAUSE_MS && left > PAUSE_MS)
            clock_sleep_ms(PAUSE_MS); /* do not poll in a tight loop when the server does not
                                         wait */
    }
}

int remote_wait(const struct remote_wait *w)
{
    struct job_wait s = { .w = w };

    if (w->timeout_ms > 0)
        s.deadline = clock_monotonic_ms() + w->timeout_ms;
    client_reply_init(&s.reply);
    buf_init(&s.path, REMOTE_MAX_PATH);
    int code = wait_for(&s);
    buf_done(&s.path);
    client_reply_done(&s.reply);
    return code;
}
