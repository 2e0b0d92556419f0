/* The demo agent as a process of a pool: jobs come as lines on standard input and run side by
 * side, a thread for each; every line that is written says which job it is about.
 *
 *     main thread: reads lines ──▶ a job: its thread; a cancel: a mark at the job
 *     a job's thread: plays, and writes whole lines under the lock
 *
 * The end of the input means: no more jobs.  Those that run are finished. */
#define _GNU_SOURCE /* getline */
#include "base/json.h"
#include "base/json_format.h"
#include "cli/commands.h"
#include "demo/demo.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SAID = 64 * 1024 * 1024, WRITE_BYTES = 64 * 1024 };

struct demo_pool {
    pthread_mutex_t lock; /* of standard output, the list and the marks */
    pthread_cond_t news;  /* a job was cancelled, or has ended */
    struct demo_pool_job *tasks;
    const struct demo_options *defaults;
};

/* One job. */
struct demo_pool_job {
    struct demo_sink sink; /* first */
    struct demo_pool_job *next;
    struct demo_pool *pool;
    struct demo_job job;
    struct error why;    /* why the job cannot be read */
    struct buf gathered; /* lines that are not written yet */
    size_t gather;       /* bytes that may wait */
    int64_t due_us, beat_us;
    bool is_cancelled, is_to_rest;
};

/* --- lines out -------------------------------------------------------------------------- */

static void begin_line(struct demo_pool_job *t, const char *word)
{
    json_format(&t->gathered, "{'job':%s,'attempt':%d,%s:", t->job.id, t->job.attempt, word);
}

static int write_all(struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        bytes = str_skip(bytes, (size_t)n);
    }
    return 0;
}

static int flush(struct demo_pool_job *t)
{
    (void)pthread_mutex_lock(&t->pool->lock);
    int err = t->gathered.error != 0 ? t->gathered.error : write_all(buf_text(&t->gathered));
    (void)pthread_mutex_unlock(&t->pool->lock);
    buf_clear(&t->gathered);
    return err;
}

static bool is_cancelled(struct demo_pool_job *t)
{
    (void)pthread_mutex_lock(&t->pool->lock);
    bool cancelled = t->is_cancelled;
    (void)pthread_mutex_unlock(&t->pool->lock);
    return cancelled;
}

static bool is_to_rest(struct demo_sink *sink)
{
    struct demo_pool_job *t = (struct demo_pool_job *)sink;

    (void)pthread_mutex_lock(&t->pool->lock);
    bool rests = t->is_to_rest;
    (void)pthread_mutex_unlock(&t->pool->lock);
    return rests;
}

/* --- the sink --------------------------------------------------------------------------- */

static int on_line(struct demo_sink *sink, struct str line)
{
    struct demo_pool_job *t = (struct demo_pool_job *)sink;

    begin_line(t, "event");
    buf_str(&t->gathered, str_head(line, str_find(line, '\n')));
    buf_lit(&t->gathered, "}\n");
    if (t->gathered.error == 0 && t->gathered.n <= t->gather)
        return 0;
    int err = flush(t);
    return err == 0 && is_cancelled(t) ? ERR_CLOSED : err;
}

/* Until then, or until it is cancelled. */
static void sleep_until(struct demo_pool_job *t, int64_t us)
{
    bool in_time = true;

    (void)pthread_mutex_lock(&t->pool->lock);
    while (!t->is_cancelled && in_time)
        in_time = clock_wait(&t->pool->news, &t->pool->lock, (uint64_t)us);
    (void)pthread_mutex_unlock(&t->pool->lock);
}

static void beat(struct demo_pool_job *t, int64_t now)
{
    t->beat_us = now + t->job.heartbeat_ms * 1000;
    begin_line(t, "heartbeat");
    buf_lit(&t->gathered, "true}\n");
}

static int on_pause(struct demo_sink *sink, int64_t us)
{
    struct demo_pool_job *t = (struct demo_pool_job *)sink;
    int64_t now = demo_now_us();
    int err = flush(t);

    if (t->due_us == 0 || t->due_us < now - 1000000)
        t->due_us = now;
    t->due_us += us;
    while (err == 0 && (now = demo_now_us()) < t->due_us) {
        if (now >= t->beat_us) {
            beat(t, now);
            err = flush(t);
        }
        sleep_until(t, t->beat_us < t->due_us ? t->beat_us : t->due_us);
        if (err == 0 && is_cancelled(t))
            err = ERR_CLOSED;
    }
    return err;
}

/* --- a job ------------------------------------------------------------------------------ */

static void task_free(struct demo_pool_job *t)
{
    buf_done(&t->gathered);
    demo_job_done(&t->job);
    free(t);
}

static void forget(struct demo_pool_job *t)
{
    struct demo_pool *p = t->pool;

    (void)pthread_mutex_lock(&p->lock);
    struct demo_pool_job **at = &p->tasks;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    (void)pthread_cond_broadcast(&p->news);
    (void)pthread_mutex_unlock(&p->lock);
}

static void say_end(struct demo_pool_job *t, enum demo_outcome outcome)
{
    begin_line(t, "finish");
    if (t->why.code != 0)
        demo_put_finish(&t->gathered, &t->job, outcome, t->why.text, "ValueError");
    else if (is_cancelled(t))
        json_format_plain(&t->gathered, "{'status':'cancelled'}");
    else
        demo_put_finish(&t->gathered, &t->job, outcome, NULL, NULL);
    buf_lit(&t->gathered, "}\n");
    (void)flush(t); /* fails only when the server is gone */
}

static void *run(void *arg)
{
    struct demo_pool_job *t = arg;
    enum demo_outcome outcome = DEMO_STOPPED;

    t->job.paused_at = demo_paused_at(NULL, &t->job);
    if (t->why.code == 0)
        outcome = demo_play(&t->job, &t->sink);
    say_end(t, outcome);
    forget(t);
    task_free(t);
    return NULL;
}

static void begin(struct demo_pool *p, struct demo_pool_job *t)
{
    pthread_t thread;

    (void)pthread_mutex_lock(&p->lock);
    t->next = p->tasks;
    p->tasks = t;
    (void)pthread_mutex_unlock(&p->lock);
    if (pthread_create(&thread, NULL, run, t) == 0) {
        (void)pthread_detach(thread); /* the list tells when it has ended */
        return;
    }
    t->why = (struct error){ ERR_NOMEM, "cannot start a thread" };
    (void)run(t);
}

static int take_job(struct demo_pool *p, struct str line)
{
    struct demo_pool_job *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return ERR_NOMEM;
    t->sink = (struct demo_sink){ on_line, on_pause, is_to_rest };
    t->pool = p;
    buf_init(&t->gathered, MAX_SAID);
    demo_job_init(&t->job, p->defaults);
    (void)demo_job_read(&t->job, line, &t->why); /* say_end() reports the error */
    t->gather = t->job.options.speed > 0 ? 0 : WRITE_BYTES;
    t->beat_us = demo_now_us() + t->job.heartbeat_ms * 1000;
    begin(p, t);
    return 0;
}

/* --- lines in ----------------------------------------------------------------------------- */

static void tell(struct demo_pool *p, const yyjson_val *line, bool cancel, bool rest)
{
    struct str job = json_text(json_at(line, "job"));
    int64_t attempt = json_int(json_at(line, "attempt"), 1);

    (void)pthread_mutex_lock(&p->lock);
    for (struct demo_pool_job *t = p->tasks; t != NULL; t = t->next) {
        bool is_meant = t->job.attempt == attempt && str_eq(t->job.id, job);

        t->is_cancelled |= is_meant && cancel;
        t->is_to_rest |= is_meant && rest;
    }
    (void)pthread_cond_broadcast(&p->news);
    (void)pthread_mutex_unlock(&p->lock);
}

static int take_line(struct demo_pool *p, struct json_reader *reader, struct str line)
{
    struct json json;

    bool is_json = json_read(reader, line, &json, NULL) == 0;
    bool cancel = is_json && yyjson_is_true(json_at(json.root, "cancel"));
    bool rest = is_json && yyjson_is_true(json_at(json.root, "pause"));

    if (!cancel && !rest)
        return take_job(p, line);
    tell(p, json.root, cancel, rest);
    return 0;
}

static int take_all(struct demo_pool *p)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int err = write_all(STR("{" JSON_CONST("ready", "true") "}\n"));

    while (err == 0 && (n = getline(&line, &cap, stdin)) > 0)
        err = take_line(p, &reader, str_make(line, (size_t)n));
    free(line);
    return err;
}

static void wait_for_all(struct demo_pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->tasks != NULL)
        (void)pthread_cond_wait(&p->news, &p->lock);
    (void)pthread_mutex_unlock(&p->lock);
}

int demo_pool(const struct demo_options *defaults)
{
    struct demo_pool p = { .defaults = defaults };

    (void)pthread_mutex_init(&p.lock, NULL); /* cannot fail on Linux */
    clock_cond_init(&p.news);
    int err = take_all(&p);
    wait_for_all(&p);
    (void)pthread_cond_destroy(&p.news);
    (void)pthread_mutex_destroy(&p.lock);
    return err == 0 ? EXIT_OK : cli_trouble("demo-agent", "%s", error_name(err));
}
