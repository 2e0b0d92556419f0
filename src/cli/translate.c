/* `spoolwire translate`: the library as a Unix filter.
 *
 * Each FILE is one job; without FILE, standard input is.  What was read is translated and
 * written at once, so a slow worker is followed token by token and a fast file is
 * written in large pieces. */
#include "base/clock.h"
#include "base/table.h"
#include "cli/commands.h"
#include "config/file/agent_file.h"
#include "dialect/dialect.h"
#include "filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024, FOLLOW_MS = 100, MAX_JOB_ID = 100, MAX_SIZE = 1 << 30 };

/* `--clock fixed`: the first moment of 2026. */
#define FIXED_CLOCK_MS 1767225600000

struct translate {
    struct filter_options filter;
    struct agent *agent; /* owned */
    const char *agent_name;
    const char *agent_config;
    const char *job;
    bool fixed_clock;
    bool follow;
    bool stats;
    const char *file; /* being read */
    bool reader_left; /* the reader of our output has gone */
    int write_errno;
    uint64_t n_bad_shown;
};

/* --- options ----------------------------------------------------------------- */

enum translate_option {
    OPT_FROM = FLAG_OWN,
    OPT_TO,
    OPT_FRAMING,
    OPT_AFTER,
    OPT_MODES,
    OPT_SUBGRAPHS,
    OPT_AGENT,
    OPT_AGENT_CONFIG,
    OPT_JOB,
    OPT_CLOCK,
    OPT_STATS,
    OPT_STRICT,
    OPT_FOLLOW,
    OPT_ENVELOPE,
    OPT_STORED,
    OPT_COMPAT,
    OPT_MAX_LINE,
    OPT_MAX_DEPTH,
    OPT_MAX_FIELD,
};

static const struct flag flags[] = {
    { OPT_FROM, "from", "FORMAT", "auto events callbacks envelope modes native",
      "auto (per line), events, callbacks, envelope, modes or native." },
    { OPT_TO, "to", "DIALECT", NULL,
      "The protocol of the frames (agent); `spoolwire dialects` shows them." },
    { OPT_FRAMING, "framing", "FRAMING", "sse ndjson", "sse (default) or ndjson." },
    { OPT_AFTER, "after", "ID", NULL, "Only the frames after this id, such as 57 or 57.1." },
    { OPT_MODES, "modes", "LIST", NULL,
      "messages: values,updates,messages,custom (default), events, tasks, checkpoints, debug, "
      "tools, or all." },
    { OPT_SUBGRAPHS, "subgraphs", NULL, NULL,
      "messages: also the state of subgraphs, and their namespaces in event names." },
    { OPT_AGENT, "agent", "NAME", NULL,
      "The agent whose settings apply; triage and demo are built in (agent)." },
    { OPT_AGENT_CONFIG, "agent-config", "FILE", NULL, "Settings of agents, in YAML." },
    { OPT_JOB, "job", "ID", NULL,
      "The job's id, of up to 100 bytes; from the second FILE on, a number is added.  By "
      "default it is made of the file's name, so it is the same each time." },
    { OPT_CLOCK, "clock", "CLOCK", "fixed real",
      "real (default), or fixed: a clock that stands still, for tests." },
    { OPT_ENVELOPE, "envelope", NULL, NULL,
      "ndjson: each line as {\"id\",\"event\",\"data\"}; always so, and with \"job\", when "
      "there are several FILEs, and for the dialect messages." },
    { OPT_STORED, "stored", NULL, NULL,
      "raw: records as they are stored, with the number of their head instead of the constant "
      "part of their run." },
    { OPT_COMPAT, "aiq-compat", NULL, NULL, "aiq: statuses in lower case." },
    { OPT_FOLLOW, "follow", NULL, NULL,
      "Wait for a growing FILE until its job has ended, which only the worker's own job.done, "
      "job.failed or the like says." },
    { OPT_STRICT, "strict", NULL, NULL, "Stop at the first line that cannot be understood." },
    { OPT_STATS, "stats", NULL, NULL, "Counts on standard error at the end." },
    { OPT_MAX_LINE, "max-line", "BYTES", NULL,
      "The longest line, or SSE message (16M, at most 1G)." },
    { OPT_MAX_DEPTH, "max-depth", "N", NULL,
      "The deepest nesting of a line (64, at most 256)." },
    { OPT_MAX_FIELD, "max-field", "BYTES", NULL,
      "The largest field of a record (64K); what is larger is replaced by a marker with its "
      "size and its beginning.  States, artifacts, whole messages and the final output are "
      "exempt." },
    { 0 },
};

/* 16M, 64K, 1000 */
static bool parse_size(const char *text, size_t max, size_t *ret)
{
    char *end;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == text || text[0] == '-' || errno != 0 || end[shift != 0] != '\0' ||
        value > max >> shift)
        return false;
    *ret = (size_t)value << shift;
    return *ret > 0;
}

/* A limit stays as it is when its flag is not given. */
static int read_limit(const struct args *args, int id, size_t max, size_t *ret)
{
    const char *text = args_get(args, id);

    if (text != NULL && !parse_size(text, max, ret))
        return cli_usage_error("translate", "'%s' is not a size from 1 to %zu", text, max);
    return EXIT_OK;
}

static int read_limits(const struct args *args, struct filter_options *f)
{
    int code = read_limit(args, OPT_MAX_LINE, MAX_SIZE, &f->intake.max_line);

    if (code == EXIT_OK)
        code = read_limit(args, OPT_MAX_DEPTH, 256, &f->intake.max_depth);
    return code != EXIT_OK ? code : read_limit(args, OPT_MAX_FIELD, MAX_SIZE, &f->field_limit);
}

/* Flags whose value is one of a list. */
static int read_choices(const struct args *args, struct translate *t)
{
    const char *from = args_get(args, OPT_FROM), *to = args_get(args, OPT_TO);
    const char *framing = args_get(args, OPT_FRAMING), *after = args_get(args, OPT_AFTER);
    const char *modes = args_get(args, OPT_MODES), *clock = args_get(args, OPT_CLOCK);
    struct filter_options *f = &t->filter;
    struct error err;

    if (from != NULL && !event_source_find(str_of(from), &f->intake.from))
        return cli_usage_error("translate", "there is no source format '%s'", from);
    if (to != NULL && (f->dialect = dialect_find(str_of(to))) == NULL)
        return cli_usage_error("translate",
                               "there is no dialect '%s'; see 'spoolwire dialects'", to);
    if (framing != NULL && (f->framing = framing_find(str_of(framing))) == NULL)
        return cli_usage_error("translate", "there is no framing '%s'", framing);
    if (after != NULL && cursor_parse(str_of(after), &f->after) != 0)
        return cli_usage_error("translate", "'%s' is not an id such as 57 or 57.1", after);
    if (modes != NULL && mode_list(str_of(modes), &f->variant.modes, &err) != 0)
        return cli_usage_error("translate", "%s", err.text);
    if (t->job != NULL && (t->job[0] == '\0' || strlen(t->job) > MAX_JOB_ID))
        return cli_usage_error("translate", "a job's id has 1 to %d bytes", MAX_JOB_ID);
    t->fixed_clock = clock != NULL && strcmp(clock, "fixed") == 0;
    if (clock != NULL && !t->fixed_clock && strcmp(clock, "real") != 0)
        return cli_usage_error("translate", "there is no clock '%s': fixed or real", clock);
    return EXIT_OK;
}

static int read_options(const struct args *args, struct translate *t)
{
    struct filter_options *f = &t->filter;

    t->agent_name = args_have(args, OPT_AGENT) ? args_get(args, OPT_AGENT) : "agent";
    t->agent_config = args_get(args, OPT_AGENT_CONFIG);
    t->job = args_get(args, OPT_JOB);
    t->stats = args_have(args, OPT_STATS);
    t->follow = args_have(args, OPT_FOLLOW);
    f->intake.strict = args_have(args, OPT_STRICT);
    f->wrap = args_have(args, OPT_ENVELOPE);
    f->variant.subgraphs = args_have(args, OPT_SUBGRAPHS);
    f->variant.stored = args_have(args, OPT_STORED);
    f->variant.aiq_compat = args_have(args, OPT_COMPAT);
    int code = read_choices(args, t);
    return code != EXIT_OK ? code : read_limits(args, f);
}

/* --- what the filter calls --------------------------------------------------- */

static int64_t on_clock(void *arg)
{
    const struct translate *t = arg;

    return t->fixed_clock ? FIXED_CLOCK_MS : clock_wall_ms();
}

static int on_write(void *arg, struct str bytes)
{
    struct translate *t = arg;

    while (bytes.n > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            t->reader_left = errno == EPIPE;
            t->write_errno = errno;
            return ERR_IO;
        }
        bytes = str_skip(bytes, (size_t)n);
    }
    return 0;
}

enum { MAX_BAD_SHOWN = 20 };

static void on_bad(void *arg, uint64_t line, const struct error *why)
{
    struct translate *t = arg;

    if (t->n_bad_shown++ < MAX_BAD_SHOWN)
        (void)fprintf(stderr, "%s:%llu: %s\n", t->file, (unsigned long long)line, why->text);
    else if (t->n_bad_shown == MAX_BAD_SHOWN + 1)
        (void)fprintf(stderr, "(further bad lines are only counted)\n");
}

/* --- reading ----------------------------------------------------------------- */

static int trouble(const struct translate *t, const char *what)
{
    return cli_trouble("translate", "%s: %s", t->file, what);
}

/* A strict stop is a bad line; a reader that left is not an error. */
static int stopped(const struct translate *t, struct filter *f, int err)
{
    if (t->reader_left)
        return EXIT_OK;
    if (t->write_errno != 0)
        return trouble(t, strerror(t->write_errno));
    if (t->filter.intake.strict && err != ERR_NOMEM)
        return EXIT_BAD_NEWS;
    return trouble(t, filter_error(f)->text);
}

static int copy(struct translate *t, struct filter *f, int fd, char *piece)
{
    for (;;) {
        ssize_t n = read(fd, piece, READ_BYTES);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return trouble(t, strerror(errno));
        if (n == 0 && t->follow && fd != STDIN_FILENO && !filter_job_ended(f)) {
            clock_sleep_ms(FOLLOW_MS);
            continue;
        }
        if (n == 0)
            break;
        int err = filter_feed(f, str_make(piece, (size_t)n));
        if (err != 0)
            return stopped(t, f, err);
    }
    int err = filter_end(f);
    return err != 0 ? stopped(t, f, err) : EXIT_OK;
}

/* The given id (with a number from the second file on), else one made of the file's name;
 * of standard input, which has none, of the moment. */
static void job_id(struct translate *t, size_t i, bool standard, char out[128])
{
    if (t->job == NULL) {
        uint64_t salt =
            standard && !t->fixed_clock ? (uint64_t)on_clock(t) ^ (uint64_t)getpid() << 44 : 0;

        key_uuid(key_stable(salt + i, str_of(t->file)), out);
        out[KEY_UUID_CHARS] = '\0';
    } else if (i == 0) {
        (void)snprintf(out, 128, "%s", t->job);
    } else {
        (void)snprintf(out, 128, "%s-%zu", t->job, i + 1);
    }
}

static int translate_file(struct translate *t,
                          struct filter *f,
                          const char *file,
                          size_t i,
                          char *piece)
{
    bool standard = strcmp(file, "-") == 0;
    char id[128];

    t->file = standard ? "(standard input)" : file;
    int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return trouble(t, strerror(errno));
    job_id(t, i, standard, id);
    int code = filter_begin(f, str_of(id)) == 0 ? copy(t, f, fd, piece)
                                                : trouble(t, filter_error(f)->text);
    if (!standard)
        (void)close(fd); /* only read from */
    return code;
}

/* --- the command ------------------------------------------------------------- */

static void print_stats(struct filter *f, uint64_t began_us)
{
    struct filter_stats s;
    double seconds = (double)(clock_monotonic_us() - began_us) / 1e6;

    filter_stats(f, &s);
    (void)fprintf(
        stderr, "jobs      %llu\nlines     %llu\nevents    %llu (%.0f/s)\nbad lines %llu\n",
        (unsigned long long)s.jobs, (unsigned long long)s.in.lines,
        (unsigned long long)s.in.events, seconds > 0 ? (double)s.in.events / seconds : 0.0,
        (unsigned long long)s.in.bad);
    for (size_t i = 0; i < REC_KIND_MAX; i++)
        if (s.fold.records[i] > 0)
            (void)fprintf(stderr, "  %-20s %llu\n", record_kind_name((enum record_kind)i),
                          (unsigned long long)s.fold.records[i]);
    (void)fprintf(
        stderr,
        "frames    %llu\nbytes out %llu\nopen runs %zu\nopen questions %zu\n"
        "repeated tokens dropped %llu\nstray ends and streams  %llu\nlossy records %llu\n",
        (unsigned long long)s.frames, (unsigned long long)s.bytes_out, s.fold.open_runs,
        s.fold.open_questions, (unsigned long long)s.fold.repeats,
        (unsigned long long)s.fold.orphans, (unsigned long long)s.fold.lossy);
}

static int load_agent(struct translate *t)
{
    struct error err;

    if (agent_new(str_of(t->agent_name), &t->agent) != 0)
        return cli_trouble("translate", "out of memory");
    t->filter.agent = t->agent;
    if (t->agent_config == NULL)
        return EXIT_OK;
    FILE *in = fopen(t->agent_config, "re");
    if (in == NULL)
        return cli_trouble("translate", "%s: %s", t->agent_config, strerror(errno));
    int code = agent_file_read(in, t->agent_config, t->agent, &err);
    (void)fclose(in); /* only read from */
    if (code != 0)
        (void)cli_trouble("translate", "%s", err.text);
    return code == 0 ? EXIT_OK : EXIT_USAGE;
}

static int translate_all(struct translate *t, struct filter *f, char *const *files, size_t n)
{
    static char *const standard_input[] = { "-" };
    char *piece = malloc(READ_BYTES);
    int code = EXIT_OK;

    if (piece == NULL)
        return EXIT_TROUBLE;
    if (n == 0) {
        files = standard_input;
        n = 1;
    }
    for (size_t i = 0; i < n && !t->reader_left; i++) {
        int one = translate_file(t, f, files[i], i, piece);

        if (one > code)
            code = one;
        if (one == EXIT_BAD_NEWS || t->write_errno != 0)
            break; /* strict, or the output has failed; after a missing file the next is read */
    }
    free(piece);
    return code;
}

static int translate(struct translate *t, char *const *files, size_t n)
{
    struct filter *f = NULL;
    uint64_t began_us = clock_monotonic_us();
    struct filter_stats s;

    int code = load_agent(t);
    if (code != EXIT_OK)
        return code;
    if (n > 1) /* lines of several jobs must say whose they are */
        t->filter.wrap = t->filter.name_jobs = true;
    if (filter_new(&t->filter, &f) != 0)
        return cli_trouble("translate", "out of memory");
    code = translate_all(t, f, files, n);
    filter_stats(f, &s);
    if (t->stats)
        print_stats(f, began_us);
    filter_free(f);
    return code == EXIT_OK && s.in.bad > 0 ? EXIT_BAD_NEWS : code;
}

static int run(const struct args *args)
{
    struct translate t = {
        .filter = { .dialect = &dialect_agent,
                    .framing = &framing_sse,
                    .variant = { .modes = MODE_DEFAULT },
                    .write = on_write,
                    .clock = on_clock },
    };

    t.filter.arg = t.filter.intake.arg = &t;
    t.filter.intake.bad = on_bad;
    int code = read_options(args, &t);
    if (code != EXIT_OK)
        return code;
    (void)signal(SIGPIPE, SIG_IGN); /* write() fails instead, and we end without a message */
    code = translate(&t, args->words, args->n_words);
    agent_free(t.agent);
    return code;
}

const struct command command_translate = {
    .name = "translate",
    .arguments = "[FILE…]",
    .about = "turn a worker's events into a reader's frames",
    .story =
        "Reads a worker's events (JSON lines or SSE; each FILE is one job; none or - is "
        "standard input) and writes the frames that a reader gets.  What has been read is "
        "translated and written at once, so a slow worker can be followed token by token.\n"
        "\n"
        "A malformed line is reported on standard error as "
        "file:line: reason, counted and skipped.",
    .flags = flags,
    .exits = "0 all well, also when the job failed or the reader closed the pipe\n1 some lines "
             "were malformed",
    .max_words = COMMAND_MANY,
    .run = run,
};
