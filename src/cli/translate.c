/* `spoolwire translate`: the library as a Unix filter.
 *
 * Each FILE is one job; without FILE, standard input is.  What was read is translated and
 * written at once, so a slow worker is followed token by token and a fast file is
 * written in large pieces. */
#include "base/table.h"
#include "cli/cli.h"
#include "config/agent_file.h"
#include "dialect/dialect.h"
#include "filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024, FOLLOW_MS = 100, MAX_JOB_ID = 100 };

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
    bool reader_left; /* nobody reads our output any more */
    int write_errno;
    uint64_t n_bad_shown;
};

/* --- options ----------------------------------------------------------------- */

enum option_id {
    OPT_FROM = 256,
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
    OPT_HELP,
};

static const struct option options[] = {
    { "from", required_argument, NULL, OPT_FROM },
    { "to", required_argument, NULL, OPT_TO },
    { "framing", required_argument, NULL, OPT_FRAMING },
    { "after", required_argument, NULL, OPT_AFTER },
    { "modes", required_argument, NULL, OPT_MODES },
    { "subgraphs", no_argument, NULL, OPT_SUBGRAPHS },
    { "agent", required_argument, NULL, OPT_AGENT },
    { "agent-config", required_argument, NULL, OPT_AGENT_CONFIG },
    { "job", required_argument, NULL, OPT_JOB },
    { "clock", required_argument, NULL, OPT_CLOCK },
    { "stats", no_argument, NULL, OPT_STATS },
    { "strict", no_argument, NULL, OPT_STRICT },
    { "follow", no_argument, NULL, OPT_FOLLOW },
    { "envelope", no_argument, NULL, OPT_ENVELOPE },
    { "stored", no_argument, NULL, OPT_STORED },
    { "aiq-compat", no_argument, NULL, OPT_COMPAT },
    { "max-line", required_argument, NULL, OPT_MAX_LINE },
    { "max-depth", required_argument, NULL, OPT_MAX_DEPTH },
    { "max-field", required_argument, NULL, OPT_MAX_FIELD },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

static int help(void)
{
    puts(
        "Usage: spoolwire translate [OPTION…] [FILE…]\n"
        "\n"
        "Reads a worker's events (JSON lines or SSE; each FILE is one job; none or - is\n"
        "standard input) and writes the frames that a reader gets.\n"
        "\n"
        "  --from FORMAT         auto (per line), events, callbacks, envelope, modes, native\n"
        "  --to DIALECT          agent (default), envelope, messages, nodes, aiq, raw\n"
        "  --framing FRAMING     sse (default), ndjson\n"
        "  --after ID            only the frames after this id, such as 57 or 57.1\n"
        "  --modes LIST          messages: values,updates,messages,custom (default), events,\n"
        "                        tasks, checkpoints, debug, or all\n"
        "  --subgraphs           messages: name the namespaces of subgraphs\n"
        "  --agent NAME          the agent whose settings apply (built in: triage, demo)\n"
        "  --agent-config FILE   settings of agents, in YAML\n"
        "  --job ID              the job's id (default: made from the file's name)\n"
        "  --clock fixed         a clock that stands still, for tests\n"
        "  --envelope            ndjson: each line as {\"id\",\"event\",\"data\"}; always so, and\n"
        "                        with \"job\", when there are several FILEs\n"
        "  --stored              raw: records as they are stored, without their heads\n"
        "  --aiq-compat          aiq: statuses in lower case\n"
        "  --follow              wait for a growing FILE until its job has ended, which only\n"
        "                        the worker's own job.done, job.failed or the like says\n"
        "  --strict              stop at the first line that cannot be understood\n"
        "  --stats               counts on standard error at the end\n"
        "  --max-line BYTES      longest line (16M)\n"
        "  --max-depth N         deepest nesting (64, at most 256)\n"
        "  --max-field BYTES     largest field (64K); what is larger becomes a marker\n"
        "\n"
        "Exit status: 0 all well; 1 some lines could not be understood; 2 usage; 3 trouble\n"
        "with a file, the output or memory.");
    return EXIT_OK;
}

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

static int parse_modes(const char *text, uint32_t *ret)
{
    struct str rest = str_of(text);

    *ret = 0;
    do {
        struct str name = str_head(rest, str_find(rest, ','));
        uint32_t mode = str_is(name, "all") ? UINT32_MAX : mode_find(name);

        if (mode == 0)
            return cli_usage_error("translate", "there is no stream mode '%.*s'",
                                   STR_ARG(name));
        *ret |= mode;
        rest = str_skip(rest, name.n + 1);
    } while (rest.n > 0);
    return EXIT_OK;
}

static int set_limit(struct translate *t, int id, const char *value)
{
    struct intake_options *in = &t->filter.intake;
    size_t *place = id == OPT_MAX_LINE    ? &in->max_line
                    : id == OPT_MAX_DEPTH ? &in->max_depth
                                          : &t->filter.field_limit;
    size_t max = id == OPT_MAX_DEPTH ? 256 : (size_t)1 << 30;

    if (!parse_size(value, max, place))
        return cli_usage_error("translate", "'%s' is not a size from 1 to %zu", value, max);
    return EXIT_OK;
}

static int set_choice(struct translate *t, int id, const char *value)
{
    struct filter_options *f = &t->filter;
    struct str s = str_of(value);

    switch (id) {
    case OPT_FROM:
        if (!event_source_find(s, &f->intake.from))
            return cli_usage_error("translate", "there is no source format '%s'", value);
        return EXIT_OK;
    case OPT_TO:
        f->dialect = dialect_find(s);
        if (f->dialect == NULL)
            return cli_usage_error("translate",
                                   "there is no dialect '%s'; see 'spoolwire dialects'", value);
        return EXIT_OK;
    case OPT_FRAMING:
        f->framing = framing_find(s);
        if (f->framing == NULL)
            return cli_usage_error("translate", "there is no framing '%s'", value);
        return EXIT_OK;
    case OPT_AFTER:
        if (cursor_parse(s, &f->after) != 0)
            return cli_usage_error("translate", "'%s' is not an id such as 57 or 57.1", value);
        return EXIT_OK;
    case OPT_CLOCK:
        t->fixed_clock = str_is(s, "fixed");
        if (!t->fixed_clock && !str_is(s, "real"))
            return cli_usage_error("translate", "there is no clock '%s': fixed or real", value);
        return EXIT_OK;
    default:
        return parse_modes(value, &f->variant.modes);
    }
}

static void set_flag(struct translate *t, int id)
{
    switch (id) {
    case OPT_SUBGRAPHS:
        t->filter.variant.subgraphs = true;
        break;
    case OPT_STATS:
        t->stats = true;
        break;
    case OPT_STRICT:
        t->filter.intake.strict = true;
        break;
    case OPT_FOLLOW:
        t->follow = true;
        break;
    case OPT_ENVELOPE:
        t->filter.wrap = true;
        break;
    case OPT_STORED:
        t->filter.variant.stored = true;
        break;
    default:
        t->filter.variant.aiq_compat = true;
        break;
    }
}

static int set_option(struct translate *t, int id, char *const *argv)
{
    switch (id) {
    case OPT_AGENT:
        t->agent_name = optarg;
        return EXIT_OK;
    case OPT_AGENT_CONFIG:
        t->agent_config = optarg;
        return EXIT_OK;
    case OPT_JOB:
        if (optarg[0] == '\0' || strlen(optarg) > MAX_JOB_ID)
            return cli_usage_error("translate", "a job's id has 1 to %d bytes", MAX_JOB_ID);
        t->job = optarg;
        return EXIT_OK;
    case OPT_FROM:
    case OPT_TO:
    case OPT_FRAMING:
    case OPT_AFTER:
    case OPT_CLOCK:
    case OPT_MODES:
        return set_choice(t, id, optarg);
    case OPT_MAX_LINE:
    case OPT_MAX_DEPTH:
    case OPT_MAX_FIELD:
        return set_limit(t, id, optarg);
    case ':':
        return cli_usage_error("translate", "%s needs a value", argv[optind - 1]);
    case '?':
        return cli_usage_error("translate", "there is no option %s", argv[optind - 1]);
    default:
        set_flag(t, id);
        return EXIT_OK;
    }
}

/* --- what the filter calls --------------------------------------------------- */

static int64_t on_clock(void *arg)
{
    struct translate *t = arg;
    struct timespec now;

    if (t->fixed_clock)
        return FIXED_CLOCK_MS;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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
    (void)fprintf(stderr, "spoolwire translate: %s: %s\n", t->file, what);
    return EXIT_TROUBLE;
}

/* A strict stop is a bad line; a reader that left is no trouble at all. */
static int stopped(const struct translate *t, struct filter *f, int err)
{
    if (t->reader_left)
        return EXIT_OK;
    if (t->write_errno != 0)
        return trouble(t, strerror(t->write_errno));
    if (t->filter.intake.strict && err != ERR_NOMEM)
        return EXIT_BAD_LINES;
    return trouble(t, filter_error(f)->text);
}

static void wait_for_more(void)
{
    struct timespec pause = { .tv_nsec = FOLLOW_MS * 1000000L };

    (void)nanosleep(&pause, NULL); /* an early return only looks sooner */
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
            wait_for_more();
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

        key_uuid(key_of(salt + i, str_of(t->file)), out);
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

static void print_stats(struct filter *f, const struct timespec *began)
{
    struct filter_stats s;
    struct timespec now;

    filter_stats(f, &s);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds =
        (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
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

    if (agent_new(str_of(t->agent_name), &t->agent) != 0) {
        (void)fprintf(stderr, "spoolwire translate: out of memory\n");
        return EXIT_TROUBLE;
    }
    t->filter.agent = t->agent;
    if (t->agent_config == NULL)
        return EXIT_OK;
    FILE *in = fopen(t->agent_config, "re");
    if (in == NULL) {
        (void)fprintf(stderr, "spoolwire translate: %s: %s\n", t->agent_config,
                      strerror(errno));
        return EXIT_TROUBLE;
    }
    int code = agent_file_read(in, t->agent_config, t->agent, &err);
    (void)fclose(in); /* only read from */
    if (code != 0)
        (void)fprintf(stderr, "spoolwire translate: %s\n", err.text);
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
        if (one == EXIT_BAD_LINES || t->write_errno != 0)
            break; /* strict, or nowhere to write to; a file that is missing stops no other */
    }
    free(piece);
    return code;
}

static int run(struct translate *t, char *const *files, size_t n)
{
    struct filter *f = NULL;
    struct timespec began;
    struct filter_stats s;

    int code = load_agent(t);
    if (code != EXIT_OK)
        return code;
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    if (n > 1) /* lines of several jobs must say whose they are */
        t->filter.wrap = t->filter.name_jobs = true;
    if (filter_new(&t->filter, &f) != 0) {
        (void)fprintf(stderr, "spoolwire translate: out of memory\n");
        return EXIT_TROUBLE;
    }
    code = translate_all(t, f, files, n);
    filter_stats(f, &s);
    if (t->stats)
        print_stats(f, &began);
    filter_free(f);
    return code == EXIT_OK && s.in.bad > 0 ? EXIT_BAD_LINES : code;
}

int cli_translate(int argc, char **argv)
{
    struct translate t = {
        .agent_name = "agent",
        .filter = { .dialect = &dialect_agent,
                    .framing = &framing_sse,
                    .variant = { .modes = MODE_DEFAULT },
                    .write = on_write,
                    .clock = on_clock },
    };
    int id, code = EXIT_OK;

    t.filter.arg = t.filter.intake.arg = &t;
    t.filter.intake.bad = on_bad;
    opterr = 0;
    optind = 1;
    while (code == EXIT_OK && (id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (id == OPT_HELP)
            return help();
        code = set_option(&t, id, argv);
    }
    if (code != EXIT_OK)
        return code;
    (void)signal(SIGPIPE, SIG_IGN); /* write() tells, and we stop quietly */
    code = run(&t, argv + optind, (size_t)(argc - optind));
    agent_free(t.agent);
    return code;
}
