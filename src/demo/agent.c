/* `spoolwire demo-agent`: an ordinary exec agent.
 *
 * One job as a JSON line on standard input, events as JSON lines on standard output.  Each
 * event is one write, so that a reader sees it at once; flat out they are written in large
 * pieces.  With --pool the same script works on many jobs in one process (pool.c), with --pull
 * for a server over HTTP (pull.c). */
#include "base/json_format.h"
#include "cli/commands.h"
#include "demo/demo.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    EXIT_RAISED = 1,
    MAX_JOB = 16 * 1024 * 1024,
    READ_BYTES = 64 * 1024,
    WRITE_BYTES = 64 * 1024, /* flat out: a write when that much has gathered */
};

/* --- options ------------------------------------------------------------------------------ */

enum demo_option {
    OPT_SEED = FLAG_OWN,
    OPT_SPEED,
    OPT_LENGTH,
    OPT_FAIL_AT,
    OPT_FAN_OUT,
    OPT_NO_QUESTION,
    OPT_ASK_TIMEOUT,
    OPT_POOL,
    OPT_PULL,
    OPT_AGENT,
    OPT_WORKER,
    OPT_JOBS,
    OPT_ONCE,
    OPT_BATCH,
};

static const struct flag flags[] = {
    { OPT_SEED, "seed", "N", NULL, "Another story (1)." },
    { OPT_SPEED, "speed", "X", NULL,
      "1 is a readable pace of 40 tokens a second; 0 flat out (1)." },
    { OPT_LENGTH, "length", "N", NULL, "About N tokens in all (as the script has them)." },
    { OPT_FAIL_AT, "fail-at", "NODE",
      "none supervisor investigator codebase_search web_search critic human_input writer",
      "Let this node raise: none (default), supervisor, investigator, codebase_search, "
      "web_search, critic, human_input or writer." },
    { OPT_FAN_OUT, "fan-out", "N", NULL, "N investigators at once, by Send (1)." },
    { OPT_NO_QUESTION, "no-question", NULL, NULL, "Do not ask the human." },
    { OPT_ASK_TIMEOUT, "ask-timeout", "S", NULL,
      "Go on with a default answer after S seconds (0); never: end with the question, a job "
      "with \"resume\":ANSWER goes on from it." },
    { OPT_POOL, "pool", NULL, NULL,
      "Work as a process of a pool: on the jobs of all lines of the input, side by side." },
    { OPT_PULL, "pull", "URL", NULL, "Work for the server at URL instead, until stopped." },
    { OPT_AGENT, "agent", "AGENT", NULL, "With --pull: take jobs of this agent (demo)." },
    { OPT_WORKER, "worker", "ID", NULL,
      "With --pull: this worker's name (demo- and the process id)." },
    { OPT_JOBS, "jobs", "N", NULL, "With --pull: stop after N jobs." },
    { OPT_ONCE, "once", NULL, NULL,
      "With --pull: do one job and exit; with 75 if none waits." },
    { OPT_BATCH, "batch", "N", NULL,
      "With --pull: events in one request (10; fewer after 50 ms)." },
    { 0 },
};

/* What the script understands, by its name in a job's input. */
static const char *const script_options[] = {
    [OPT_SEED - OPT_SEED] = "seed",
    [OPT_SPEED - OPT_SEED] = "speed",
    [OPT_LENGTH - OPT_SEED] = "length",
    [OPT_FAIL_AT - OPT_SEED] = "fail_at",
    [OPT_FAN_OUT - OPT_SEED] = "fan_out",
    [OPT_NO_QUESTION - OPT_SEED] = "question",
    [OPT_ASK_TIMEOUT - OPT_SEED] = "ask_timeout",
};

static int read_script_options(const struct args *args, struct demo_options *o)
{
    struct error err;

    for (int id = OPT_SEED; id <= OPT_ASK_TIMEOUT; id++) {
        const char *value = id == OPT_NO_QUESTION ? "false" : args_get(args, id);

        if (args_have(args, id) && demo_options_set(o, str_of(script_options[id - OPT_SEED]),
                                                    str_of(value), &err) != 0)
            return cli_usage_error("demo-agent", "%s", err.text);
    }
    return EXIT_OK;
}

static int read_count(const struct args *args, int id, unsigned long *ret)
{
    const char *value = args_get(args, id);
    char *end;

    if (value == NULL)
        return EXIT_OK;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || n == 0)
        return cli_usage_error("demo-agent", "'%s' is not a number from 1", value);
    *ret = n;
    return EXIT_OK;
}

static int read_options(const struct args *args, struct demo_pull_options *o)
{
    o->url = args_get(args, OPT_PULL);
    o->worker = args_get(args, OPT_WORKER);
    o->agent = args_have(args, OPT_AGENT) ? args_get(args, OPT_AGENT) : "demo";
    o->is_once = args_have(args, OPT_ONCE);
    int code = read_script_options(args, &o->defaults);
    if (code == EXIT_OK)
        code = read_count(args, OPT_JOBS, &o->max_jobs);
    return code != EXIT_OK ? code : read_count(args, OPT_BATCH, &o->batch);
}

/* --- standard output -----------------------------------------------------------------------
 */

struct out {
    struct demo_sink sink; /* first */
    struct buf gathered;
    size_t gather; /* bytes that may wait */
    int64_t due_us;
    int error; /* errno */
};

static int flush(struct out *o)
{
    struct str bytes = buf_text(&o->gathered);

    while (bytes.n > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            o->error = errno;
            return ERR_IO;
        }
        bytes = str_skip(bytes, (size_t)n);
    }
    buf_clear(&o->gathered);
    return 0;
}

static int on_line(struct demo_sink *sink, struct str line)
{
    struct out *o = (struct out *)sink;

    buf_str(&o->gathered, line);
    if (o->gathered.error != 0) {
        o->error = ENOMEM;
        return ERR_NOMEM;
    }
    return o->gathered.n > o->gather ? flush(o) : 0;
}

static volatile sig_atomic_t wants_rest; /* global: set by a signal handler */

static void on_sigusr1(int number)
{
    (void)number;
    wants_rest = 1;
}

static bool is_to_rest(struct demo_sink *sink)
{
    (void)sink;
    return wants_rest != 0;
}

/* Deadlines are counted from the first pause, so that work between pauses does not slow the
 * run. */
static int on_pause(struct demo_sink *sink, int64_t us)
{
    struct out *o = (struct out *)sink;
    int64_t now = demo_now_us();

    int err = flush(o);
    if (err != 0)
        return err;
    if (o->due_us == 0 || o->due_us < now - 1000000)
        o->due_us = now;
    o->due_us += us;
    clock_sleep_until((uint64_t)o->due_us);
    return 0;
}

/* --- the job --------------------------------------------------------------------------------
 */

/* The first line of standard input; all of it when there is no line end.  Nothing is read from
 * a terminal. */
static int read_line(struct buf *line)
{
    size_t searched = 0;

    if (isatty(STDIN_FILENO))
        return 0;
    for (;;) {
        if (!buf_reserve(line, READ_BYTES))
            return line->error;
        ssize_t n = read(STDIN_FILENO, line->p + line->n, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? 0 : ERR_IO;
        line->n += (size_t)n;
        size_t end = searched + str_find(buf_since(line, searched), '\n');
        if (end < line->n) {
            buf_cut(line, end);
            return 0;
        }
        searched = line->n;
    }
}

static int read_job(struct demo_job *job)
{
    struct buf line LOCAL_BUF(MAX_JOB);
    struct error err = { 0 };

    int code = read_line(&line);
    if (code != 0)
        (void)error_set(&err, code, "%s", error_name(code));
    else if (line.n > 0)
        code = demo_job_read(job, buf_text(&line), &err);
    return code == 0 ? EXIT_OK
                     : cli_trouble("demo-agent", "the job cannot be read: %s", err.text);
}

static int raised(const struct demo_job *job)
{
    (void)fprintf(stderr,
                  "Traceback (most recent call last):\n"
                  "  File \"demo_agent.py\", line 42, in %s\n" DEMO_ERROR_TYPE
                  ": " DEMO_ERROR_TEXT "\n",
                  job->options.fail_at, job->options.fail_at);
    return EXIT_RAISED;
}

static int play(const struct demo_job *job)
{
    struct out o = { .sink = { on_line, on_pause, is_to_rest } };

    buf_init(&o.gathered, SIZE_MAX / 4);
    o.gather = job->options.speed > 0 ? 0 : WRITE_BYTES;
    enum demo_outcome outcome = demo_play(job, &o.sink);
    if (outcome == DEMO_PAUSED)
        json_format_plain(&o.gathered, "{'type':'graph.paused'}\n");
    if (outcome != DEMO_STOPPED && flush(&o) != 0)
        outcome = DEMO_STOPPED;
    buf_done(&o.gathered);
    switch (outcome) {
    case DEMO_SUCCEEDED:
    case DEMO_INTERRUPTED:
    case DEMO_PAUSED:
        return EXIT_OK;
    case DEMO_RAISED:
        return raised(job);
    case DEMO_STOPPED:
        return cli_trouble("demo-agent", "%s", strerror(o.error));
    case DEMO_NO_MEMORY:
        break;
    }
    return cli_trouble("demo-agent", "out of memory");
}

static int run_exec(const struct demo_options *defaults)
{
    struct demo_job job;

    demo_job_init(&job, defaults);
    int code = read_job(&job);
    job.paused_at = code == EXIT_OK ? demo_paused_at(NULL, &job) : 0;
    if (code == EXIT_OK)
        code = play(&job);
    demo_job_done(&job);
    return code;
}

/* --- the command
 * ------------------------------------------------------------------------------ */

/* There is nothing to clean up: exit at once. */
static void on_sigterm(int number)
{
    _exit(128 + number);
}

static int begin(struct demo_pull_options *o, bool is_pool)
{
    struct sigaction action = { .sa_handler = on_sigterm }, rest = { .sa_handler = on_sigusr1 };
    char worker[32];

    (void)sigaction(SIGTERM, &action, NULL); /* fails only for signals that do not exist */
    (void)sigaction(SIGUSR1, &rest, NULL);
    if (o->url == NULL)
        return is_pool ? demo_pool(&o->defaults) : run_exec(&o->defaults);
    (void)snprintf(worker, sizeof(worker), "demo-%ld", (long)getpid());
    if (o->worker == NULL)
        o->worker = worker;
    return demo_pull(o);
}

static int run(const struct args *args)
{
    struct demo_pull_options o = { .batch = 10 };

    demo_options_init(&o.defaults);
    if (args_have(args, OPT_POOL) && args_have(args, OPT_PULL))
        return cli_usage_error("demo-agent", "--pool or --pull: jobs come in one way");
    int code = read_options(args, &o);
    return code == EXIT_OK ? begin(&o, args_have(args, OPT_POOL)) : code;
}

const struct command command_demo_agent = {
    .name = "demo-agent",
    .arguments = "< JOB",
    .about = "the built-in agent that plays a triage run",
    .story =
        "Plays a scripted triage run (supervisor, investigators, tools, a question, a "
        "writer with three parallel sections) as the astream_events lines of a LangGraph "
        "graph.  The same job and options always give the same lines.\n"
        "\n"
        "JOB is one line such as {\"job\":\"j1\",\"attempt\":1,\"input\":\"API returns "
        "500\"}; the input may be an object with the text and options: "
        "{\"issue\":\"…\",\"seed\":7,\"speed\":0}, of seed, speed, length, fail_at, fan_out, "
        "question (true, false) and ask_timeout.\n"
        "\n"
        "SPOOLWIRE_TOKEN is sent to the server of --pull when it is set.",
    .flags = flags,
    .exits =
        "0 the run went well, or waits for its answer\n1 a node raised\n75 with --once: no job waits\n143 stopped by "
        "SIGTERM",
    .run = run,
};
