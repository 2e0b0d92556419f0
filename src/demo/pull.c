/* The demo agent as a pull worker: leases a job, plays the script into batches, finishes.
 *
 *     lease ─▶ events?seq=0, 1, 2, … ─▶ finish ─▶ lease …
 *
 * A request without an answer is repeated, for up to ten minutes: a lease with the same
 * request_id, so that the job is not leased twice; a batch with the same number, so that it is
 * stored once.  409 means that another worker has the job; its remaining events are dropped.
 * Any answer may say that the job was cancelled. */
#include "base/json.h"
#include "base/json_format.h"
#include "base/random.h"
#include "base/text_format.h"
#include "cli/command.h"
#include "client/client.h"
#include "demo/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LEASE_WAIT_S = 20,
    NO_JOB = 75, /* EX_TEMPFAIL, as exit status */
    REQUEST_MS = 30000,
    BATCH_US = 50000,         /* the oldest event of a batch waits no longer */
    BATCH_BYTES = 512 * 1024, /* nor does a batch grow beyond this by more than one event */
    RETRY_MS = 100,
    MAX_RETRY_MS = 5000,
    GIVE_UP_US = 600 * 1000000, /* without any answer */
    MAX_BODY = 1 << 30,
};

enum lease_fate {
    FATE_GOING,
    FATE_CANCELLED,
    FATE_FENCED,  /* not our job any more */
    FATE_REFUSED, /* the server does not take what we send */
    FATE_LOST     /* the server does not answer */
};

struct pull {
    struct demo_sink sink; /* first */
    const struct demo_pull_options *options;
    struct client *client;     /* owned */
    struct client_reply reply; /* to the last request */
    struct demo_job job;
    enum lease_fate fate;
    struct error why;
    struct buf path;
    /* The batch that is being filled. */
    struct buf batch;
    unsigned long n_events;
    int64_t oldest_us;
    uint64_t seq;
    int64_t due_us;  /* when the running pause ends */
    int64_t beat_us; /* when the server wants to hear from us */
    bool is_to_rest; /* it wants the job to stop at its next step */
};

/* --- requests ------------------------------------------------------------------------ */

static bool worth_retrying(const struct pull *p, int err)
{
    return err != 0 || p->reply.status >= 500 || p->reply.status == 429 ||
           p->reply.status == 408;
}

static void wait_before(const struct pull *p, int err, unsigned failures)
{
    int64_t ms = client_backoff_ms(failures, RETRY_MS, MAX_RETRY_MS);

    if (err == 0 && p->reply.retry_after_s > 0 && p->reply.retry_after_s <= 30)
        ms += p->reply.retry_after_s * 1000;
    clock_sleep_ms(ms);
}

/* Repeats the request until it is answered.  ERR_IO: gave up, and p->why has the reason. */
static int post(struct pull *p, const char *path, const char *type, struct str body)
{
    int64_t give_up = demo_now_us() + GIVE_UP_US;

    for (unsigned failures = 1;; failures++) {
        int err = client_post(p->client, path, type, body, REQUEST_MS, &p->reply);

        if (!worth_retrying(p, err))
            return 0;
        if (demo_now_us() > give_up) {
            if (err != 0)
                return error_set(&p->why, ERR_IO, "%s", client_error(p->client));
            client_reply_detail(&p->reply, &p->why);
            return ERR_IO;
        }
        if (failures == 1)
            (void)fprintf(stderr, "worker=%s retrying: %s\n", p->options->worker,
                          err != 0 ? client_error(p->client) : "the server is busy");
        wait_before(p, err, failures);
    }
}

static void job_path(struct pull *p, const char *what)
{
    buf_clear(&p->path);
    buf_lit(&p->path, "/v1/worker/jobs/");
    client_put_escaped(&p->path, p->job.id);
    text_format(&p->path, "/%s?lease=", what);
    client_put_escaped(&p->path, p->job.lease);
}

static const char *end_path(struct pull *p)
{
    buf_char(&p->path, '\0');
    return p->path.error == 0 ? p->path.p : "/";
}

static bool says_cancel(struct pull *p)
{
    struct json_reader reader LOCAL_READER(MAX_BODY, 64);
    struct json json;

    bool is_json = json_read(&reader, buf_text(&p->reply.body), &json, NULL) == 0;
    bool cancel = is_json && yyjson_is_true(json_at(json.root, "cancel"));
    p->is_to_rest = is_json && yyjson_is_true(json_at(json.root, "pause"));
    return cancel;
}

/* What the answer to a batch or a heartbeat means for the job. */
static int read_answer(struct pull *p, int err)
{
    p->beat_us = demo_now_us() + p->job.heartbeat_ms * 1000;
    if (err != 0) {
        p->fate = FATE_LOST;
    } else if (p->reply.status == 409 || p->reply.status == 404 || p->reply.status == 410) {
        p->fate = FATE_FENCED;
    } else if (p->reply.status > 299) {
        p->fate = FATE_REFUSED;
        client_reply_detail(&p->reply, &p->why);
    } else if (says_cancel(p)) {
        p->fate = FATE_CANCELLED;
    }
    return p->fate == FATE_GOING ? 0 : ERR_CLOSED;
}

static int send_batch(struct pull *p)
{
    if (p->n_events == 0)
        return 0;
    job_path(p, "events");
    text_format(&p->path, "&seq=%d", p->seq++);
    int err = post(p, end_path(p), "application/x-ndjson", buf_text(&p->batch));
    buf_clear(&p->batch);
    p->n_events = 0;
    return read_answer(p, err);
}

static int send_heartbeat(struct pull *p)
{
    job_path(p, "heartbeat");
    return read_answer(p, post(p, end_path(p), NULL, STR_NONE));
}

static bool is_to_rest(struct demo_sink *sink)
{
    return ((struct pull *)sink)->is_to_rest;
}

/* --- the sink ------------------------------------------------------------------------ */

static int on_line(struct demo_sink *sink, struct str line)
{
    struct pull *p = (struct pull *)sink;

    if (p->n_events == 0)
        p->oldest_us = demo_now_us();
    buf_str(&p->batch, line);
    if (p->batch.error != 0) {
        p->fate = FATE_REFUSED;
        return error_set(&p->why, ERR_NOMEM, "out of memory");
    }
    if (++p->n_events >= p->options->batch || p->batch.n >= BATCH_BYTES)
        return send_batch(p);
    return 0;
}

/* What has to be done before the pause ends, and when. */
static int64_t next_stop(const struct pull *p)
{
    int64_t at = p->due_us;

    if (p->n_events > 0 && p->oldest_us + BATCH_US < at)
        at = p->oldest_us + BATCH_US;
    return p->beat_us < at ? p->beat_us : at;
}

static int on_pause(struct demo_sink *sink, int64_t us)
{
    struct pull *p = (struct pull *)sink;
    int64_t now = demo_now_us();
    int err = 0;

    /* Deadlines add up, so that requests do not slow the run; time lost in an outage is not
     * caught up. */
    if (p->due_us == 0 || p->due_us < now - 1000000)
        p->due_us = now;
    p->due_us += us;
    while (err == 0 && (now = demo_now_us()) < p->due_us) {
        if (p->n_events > 0 && now >= p->oldest_us + BATCH_US)
            err = send_batch(p);
        else if (now >= p->beat_us)
            err = send_heartbeat(p);
        else
            clock_sleep_until((uint64_t)next_stop(p));
    }
    return err;
}

/* --- one job ------------------------------------------------------------------------- */

static void put_finish(struct pull *p, struct buf *b, enum demo_outcome outcome)
{
    if (p->fate == FATE_CANCELLED)
        demo_put_finish(b, &p->job, outcome, "cancelled", "CancelledError");
    else if (p->fate == FATE_REFUSED)
        demo_put_finish(b, &p->job, outcome, p->why.text, "ValueError");
    else
        demo_put_finish(b, &p->job, outcome, NULL, NULL);
}

static const char *fate_name(const struct pull *p, enum demo_outcome outcome)
{
    static const char *const outcomes[] = {
        [DEMO_SUCCEEDED] = "success", [DEMO_INTERRUPTED] = "interrupted",
        [DEMO_PAUSED] = "paused",     [DEMO_RAISED] = "failure",
        [DEMO_STOPPED] = "stopped",   [DEMO_NO_MEMORY] = "no memory",
    };
    static const char *const fates[] = { [FATE_CANCELLED] = "cancelled",
                                         [FATE_FENCED] = "fenced",
                                         [FATE_REFUSED] = "refused",
                                         [FATE_LOST] = "server lost" };

    return p->fate == FATE_GOING ? outcomes[outcome] : fates[p->fate];
}

/* Do not finish a job that another worker has. */
static void finish(struct pull *p, enum demo_outcome outcome)
{
    struct buf body LOCAL_BUF(MAX_BODY);

    if (p->fate != FATE_FENCED && p->fate != FATE_LOST) {
        put_finish(p, &body, outcome);
        job_path(p, "finish");
        if (post(p, end_path(p), "application/json", buf_text(&body)) != 0)
            p->fate = FATE_LOST;
    }
    (void)fprintf(stderr, "worker=%s job=%.*s attempt=%lld %s%s%s\n", p->options->worker,
                  STR_ARG(p->job.id), (long long)p->job.attempt, fate_name(p, outcome),
                  p->why.text[0] != '\0' ? ": " : "", p->why.text);
}

static void work(struct pull *p)
{
    enum demo_outcome outcome = DEMO_STOPPED;

    p->seq = 0;
    p->due_us = 0;
    p->n_events = 0;
    p->is_to_rest = false;
    buf_clear(&p->batch);
    p->job.paused_at = demo_paused_at(p->client, &p->job);
    p->beat_us = demo_now_us() + p->job.heartbeat_ms * 1000;
    if (p->fate == FATE_GOING)
        outcome = demo_play(&p->job, &p->sink);
    if (p->fate == FATE_GOING && outcome != DEMO_STOPPED)
        (void)send_batch(p); /* the result is in p->fate */
    finish(p, outcome);
}

/* --- leases ------------------------------------------------------------------------ */

static void put_lease(struct pull *p, struct buf *b)
{
    char uuid[KEY_UUID_CHARS]; /* unique for each lease, among all workers */

    if (!random_uuid(uuid)) /* the kernel has no random numbers */
        key_uuid((struct key){ (uint64_t)demo_now_us(), (uint64_t)getpid() }, uuid);
    json_format(b, "{'agents':[%s],'worker':%s,'request_id':%s,'calls':%b,'wait':%d}",
                p->options->agent, p->options->worker, str_make(uuid, sizeof(uuid)),
                !p->options->is_once, p->options->is_once ? 0 : LEASE_WAIT_S);
}

/* 0: p->reply holds a job; ERR_BUSY: there was none. */
static int lease(struct pull *p)
{
    struct buf body LOCAL_BUF(MAX_BODY);

    put_lease(p, &body);
    int64_t asked = demo_now_us();
    int err = post(p, "/v1/worker/lease", "application/json", buf_text(&body));
    if (err == 0 && p->reply.status == 204) {
        if (demo_now_us() - asked < 200000)
            clock_sleep_ms(200); /* do not poll in a tight loop when the server does not wait */
        return ERR_BUSY;
    }
    if (err == 0 && p->reply.status != 200) {
        client_reply_detail(&p->reply, &p->why);
        return ERR_REFUSED;
    }
    return err;
}

/* --- calls ------------------------------------------------------------------------- */

static void put_describe(const struct demo_options *o, struct buf *b)
{
    char speed[32], timeout[32] = "\"never\"";

    (void)snprintf(speed, sizeof(speed), "%g", o->speed); /* fits */
    if (o->ask_seconds >= 0)
        (void)snprintf(timeout, sizeof(timeout), "%g", o->ask_seconds); /* fits */
    json_format(b,
                "{'answer':{'seed':%d,'speed':%j,'length':%d,'fan_out':%d,'fail_at':%s,"
                "'question':%b,'ask_timeout':%j}}",
                o->seed, speed, o->length, o->fan_out, o->fail_at, o->question, timeout);
}

/* True when the answer to the lease is a call, which is answered here. */
static bool take_call(struct pull *p)
{
    struct json_reader reader LOCAL_READER(MAX_BODY, 64);
    struct json json;
    struct buf body LOCAL_BUF(MAX_BODY);

    bool is_call = json_read(&reader, buf_text(&p->reply.body), &json, NULL) == 0 &&
                   json_at(json.root, "call") != NULL;
    if (is_call) {
        const yyjson_val *call = json_at(json.root, "call");

        buf_clear(&p->path);
        buf_lit(&p->path, "/v1/worker/calls/");
        client_put_escaped(&p->path, json_text(json_at(call, "id")));
        if (str_is(json_text(json_at(call, "name")), "describe"))
            put_describe(&p->options->defaults, &body);
        else
            json_format_plain(&body, "{'error':'the demo agent answers describe alone'}");
        /* The caller may have gone: ignore the result. */
        (void)post(p, end_path(p), "application/json", buf_text(&body));
    }
    return is_call;
}

/* A job that we cannot read fails, unless not even its id can be read. */
static int take_job(struct pull *p)
{
    struct str unknown = p->job.id;

    p->fate = FATE_GOING;
    p->why = (struct error){ 0 };
    if (demo_job_read(&p->job, buf_text(&p->reply.body), &p->why) != 0) {
        if (p->job.id.p == unknown.p)
            return ERR_SYNTAX;
        p->fate = FATE_REFUSED;
    }
    return 0;
}

static int one_job(struct pull *p)
{
    demo_job_init(&p->job, &p->options->defaults);
    int err = lease(p);
    if (err == 0 && take_call(p))
        err = ERR_BUSY;
    if (err == 0)
        err = take_job(p);
    if (err == 0)
        work(p);
    demo_job_done(&p->job);
    return err;
}

static int work_on(struct pull *p)
{
    unsigned long n_done = 0;

    while (p->options->max_jobs == 0 || n_done < p->options->max_jobs) {
        int err = one_job(p);

        if (err != 0 && err != ERR_BUSY)
            return cli_trouble("demo-agent", "%s", p->why.text);
        n_done += err == 0;
        if (p->options->is_once)
            return err == 0 ? EXIT_OK : NO_JOB;
    }
    return EXIT_OK;
}

int demo_pull(const struct demo_pull_options *options)
{
    struct pull p = { .sink = { on_line, on_pause, is_to_rest }, .options = options };
    struct error err;

    if (client_new(options->url, getenv("SPOOLWIRE_TOKEN"), &p.client, &err) != 0)
        return cli_usage_error("demo-agent", "%s", err.text);
    client_reply_init(&p.reply);
    buf_init(&p.batch, MAX_BODY);
    buf_init(&p.path, 64 * 1024);
    int code = work_on(&p);
    buf_done(&p.path);
    buf_done(&p.batch);
    client_reply_done(&p.reply);
    client_free(p.client);
    return code;
}
