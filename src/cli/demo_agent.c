/* `spoolwire demo-agent`: an ordinary exec agent.
 *
 * One job as a JSON line on standard input, events as JSON lines on standard output.  Each
 * event is one write, so that a reader sees it at once; flat out they are written in large
 * pieces.  With --pull the same script works for a server over HTTP (demo_pull.c). */
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/demo.h"

#include <errno.h>
#include <getopt.h>
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

static int help(void)
{
    puts(
        "Usage: spoolwire demo-agent [OPTION…] < JOB\n"
        "       spoolwire demo-agent --pull URL [--agent NAME] [--worker ID] [OPTION…]\n"
        "\n"
        "Plays a scripted triage run (supervisor, investigators, tools, a question, a writer\n"
        "with three parallel sections) as the astream_events lines of a LangGraph graph.\n"
        "JOB is one line such as {\"job\":\"j1\",\"attempt\":1,\"input\":\"API returns 500\"}; the\n"
        "input may be an object with the text and options: {\"issue\":\"…\",\"seed\":7,\"speed\":0}.\n"
        "The same job and options always give the same lines.\n"
        "\n"
        "  --seed N              another story (1)\n"
        "  --speed X             1 is a readable pace of 40 tokens a second; 0 flat out (1)\n"
        "  --length N            about N tokens in all (as the script has them)\n"
        "  --fail-at NODE        let this node raise; none (default), supervisor, investigator,\n"
        "                        codebase_search, web_search, critic, human_input, writer\n"
        "  --fan-out N           N investigators at once, by Send (1)\n"
        "  --no-question         do not ask the human\n"
        "  --ask-timeout S       go on with a default answer after S seconds (0); never: end\n"
        "                        with the question, a job with \"resume\":ANSWER goes on from it\n"
        "\n"
        "In a job's input: seed, speed, length, fail_at, fan_out, question (true, false),\n"
        "ask_timeout.\n"
        "\n"
        "  --pull URL            work for the server at URL instead, until stopped\n"
        "  --agent NAME          take jobs of this agent (demo)\n"
        "  --worker ID           this worker's name (demo- and the process id)\n"
        "  --jobs N              stop after N jobs\n"
        "  --batch N             events in one request (10; fewer after 50 ms)\n"
        "\n"
        "SPOOLWIRE_TOKEN is sent to the server when it is set.\n"
        "\n"
        "Exit status: 0 the run went well, or waits for its answer; 1 a node raised; 2 usage;\n"
        "3 trouble with the job, the output, the server or memory; 143 stopped by SIGTERM.");
    return EXIT_OK;
}

/* --- options ------------------------------------------------------------------------------ */

enum option_id {
    OPT_SEED = 256,
    OPT_SPEED,
    OPT_LENGTH,
    OPT_FAIL_AT,
    OPT_FAN_OUT,
    OPT_NO_QUESTION,
    OPT_ASK_TIMEOUT,
    OPT_PULL,
    OPT_AGENT,
    OPT_WORKER,
    OPT_JOBS,
    OPT_BATCH,
    OPT_HELP,
};

static const struct option options[] = {
    { "seed", required_argument, NULL, OPT_SEED },
    { "speed", required_argument, NULL, OPT_SPEED },
    { "length", required_argument, NULL, OPT_LENGTH },
    { "fail-at", required_argument, NULL, OPT_FAIL_AT },
    { "fan-out", required_argument, NULL, OPT_FAN_OUT },
    { "no-question", no_argument, NULL, OPT_NO_QUESTION },
    { "ask-timeout", required_argument, NULL, OPT_ASK_TIMEOUT },
    { "pull", required_argument, NULL, OPT_PULL },
    { "agent", required_argument, NULL, OPT_AGENT },
    { "worker", required_argument, NULL, OPT_WORKER },
    { "jobs", required_argument, NULL, OPT_JOBS },
    { "batch", required_argument, NULL, OPT_BATCH },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
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

static int set_script_option(struct demo_options *o, int id, const char *value)
{
    struct error err;

    if (demo_options_set(o, str_of(script_options[id - OPT_SEED]), str_of(value), &err) != 0)
        return cli_usage_error("demo-agent", "%s", err.text);
    return EXIT_OK;
}

static int set_count(unsigned long *place, const char *value)
{
    char *end;

    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || n == 0)
        return cli_usage_error("demo-agent", "'%s' is not a number from 1", value);
    *place = n;
    return EXIT_OK;
}

static int set_option(struct demo_pull_options *o, int id, char *const *argv)
{
    switch (id) {
    case OPT_PULL:
        o->url = optarg;
        return EXIT_OK;
    case OPT_AGENT:
        o->agent = optarg;
        return EXIT_OK;
    case OPT_WORKER:
        o->worker = optarg;
        return EXIT_OK;
    case OPT_JOBS:
        return set_count(&o->max_jobs, optarg);
    case OPT_BATCH:
        return set_count(&o->batch, optarg);
    case ':':
        return cli_usage_error("demo-agent", "%s needs a value", argv[optind - 1]);
    case '?':
        return cli_usage_error("demo-agent", "there is no option %s", argv[optind - 1]);
    default:
        return set_script_option(&o->defaults, id, id == OPT_NO_QUESTION ? "false" : optarg);
    }
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

/* Times add up from the first pause on, so that work between them does not slow the run. */
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
    demo_sleep_until(o->due_us);
    return 0;
}

/* --- the job --------------------------------------------------------------------------------
 */

/* The first line of standard input; all of it when it has no end.  A person at a terminal
 * is not asked. */
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

static int trouble(const char *what)
{
    (void)fprintf(stderr, "spoolwire demo-agent: %s\n", what);
    return EXIT_TROUBLE;
}

static int read_job(struct demo_job *job)
{
    struct buf line;
    struct error err = { 0 };

    buf_init(&line, MAX_JOB);
    int code = read_line(&line);
    if (code != 0)
        (void)error_set(&err, code, "%s", error_name(code));
    else if (line.n > 0)
        code = demo_job_read(job, buf_text(&line), &err);
    buf_done(&line);
    if (code == 0)
        return EXIT_OK;
    (void)fprintf(stderr, "spoolwire demo-agent: the job cannot be read: %s\n", err.text);
    return EXIT_TROUBLE;
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
    struct out o = { .sink = { on_line, on_pause } };

    buf_init(&o.gathered, SIZE_MAX / 4);
    o.gather = job->options.speed > 0 ? 0 : WRITE_BYTES;
    enum demo_outcome outcome = demo_play(job, &o.sink);
    if (outcome != DEMO_STOPPED && flush(&o) != 0)
        outcome = DEMO_STOPPED;
    buf_done(&o.gathered);
    switch (outcome) {
    case DEMO_SUCCEEDED:
    case DEMO_INTERRUPTED:
        return EXIT_OK;
    case DEMO_RAISED:
        return raised(job);
    case DEMO_STOPPED:
        return trouble(strerror(o.error));
    case DEMO_NO_MEMORY:
        break;
    }
    return trouble("out of memory");
}

static int run_exec(const struct demo_options *defaults)
{
    struct demo_job job;

    demo_job_init(&job, defaults);
    int code = read_job(&job);
    if (code == EXIT_OK)
        code = play(&job);
    demo_job_done(&job);
    return code;
}

/* --- the command
 * ------------------------------------------------------------------------------ */

/* Nothing needs tidying up, and nothing may hold it up. */
static void on_sigterm(int number)
{
    _exit(128 + number);
}

static int run(struct demo_pull_options *o)
{
    struct sigaction action = { .sa_handler = on_sigterm };
    char worker[32];

    (void)sigaction(SIGTERM, &action, NULL); /* fails only for signals that do not exist */
    if (o->url == NULL)
        return run_exec(&o->defaults);
    (void)snprintf(worker, sizeof(worker), "demo-%ld", (long)getpid());
    if (o->worker == NULL)
        o->worker = worker;
    return demo_pull(o);
}

int cli_demo_agent(int argc, char **argv)
{
    struct demo_pull_options o = { .agent = "demo", .batch = 10 };
    int id, code = EXIT_OK;

    demo_options_init(&o.defaults);
    opterr = 0;
    optind = 1;
    while (code == EXIT_OK && (id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (id == OPT_HELP)
            return help();
        code = set_option(&o, id, argv);
    }
    if (code != EXIT_OK)
        return code;
    if (optind < argc)
        return cli_usage_error("demo-agent", "it takes no argument '%s'", argv[optind]);
    return run(&o);
}
