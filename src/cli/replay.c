/* `spoolwire replay`: a recorded run, served again.
 *
 *     file ─▶ a temporary database ─▶ `spoolwire serve` on a Unix socket ◀─▶ relay ◀─▶ clients
 *
 * The records are stored as they were, so every reader gets the very frames of the recorded
 * run, from the server's own code, in any dialect and from any place.  The relay adds the
 * recorded timing and the requested faults.  All files are removed afterwards. */
#define _GNU_SOURCE /* mkdtemp */
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_format.h"
#include "base/table.h"
#include "client/client.h"
#include "cli/commands.h"
#include "cli/relay.h"
#include "config/options/amount.h"
#include "config/options/listen.h"
#include "jobs/job.h"
#include "record/record.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPT_SPEED = FLAG_OWN, OPT_DROP, OPT_STALL, OPT_LISTEN, OPT_JOB };
enum { MAX_FILE = 1024 * 1024 * 1024, RUN_BYTES = 4000, START_MS = 10000, LOOK_MS = 20 };

struct replay {
    const struct args *args;
    struct relay_options relay;
    struct listen_address address;
    struct buf made;   /* int64_t of each record */
    struct buf stored; /* the records, a line each */
    struct table headers;
    struct record **kept; /* refs */
    size_t n_kept, cap_kept;
    uint64_t seq;
    char job[65], agent[200], state[24];
    int64_t first_ms, last_ms;
    char folder[64], data[100], socket[100];
    pid_t server;
    bool has_relay; /* whose threads look at `made` until the program ends */
};

/* --- reading the file -----------------------------------------------------------------------
 */

/* Later records of the same run name it as their header again. */
static int keep_header(struct replay *r, const struct record *rec)
{
    if (!array_grow(&r->kept, r->n_kept, &r->cap_kept, sizeof(struct record *)))
        return ERR_NOMEM;
    int err = record_new(rec, &r->kept[r->n_kept]);
    if (err == 0)
        err = table_put(&r->headers, table_key(&r->headers, 0, rec->info.run),
                        r->kept[r->n_kept++]);
    return err;
}

static bool same_info(const struct record *header, const struct record *rec)
{
    struct record *copy = NULL;
    bool same = record_new(rec, &copy) == 0 && str_eq(copy->info_json, header->info_json);

    record_unref(copy);
    return same;
}

static int restore_header(struct replay *r, struct record *rec)
{
    struct record *header =
        rec->info.run.n > 0 ? table_get(&r->headers, table_key(&r->headers, 0, rec->info.run))
                            : NULL;

    if (header != NULL && same_info(header, rec)) {
        rec->header_seq = header->seq;
        return 0;
    }
    return rec->info.run.n > 0 ? keep_header(r, rec) : 0;
}

/* What the job is called and how it ended, as a server would have it. */
static int take_ends(struct replay *r, const struct record *rec, struct error *err)
{
    const char *given = args_get(r->args, OPT_JOB);
    struct str job = given != NULL ? str_of(given) : rec->job;
    enum job_state state;

    if (rec->seq == 1) {
        if (!job_id_valid(job))
            return error_set(err, ERR_REFUSED,
                             "the job's id must be " JOB_ID_RULE ": give "
                             "another with --job");
        (void)snprintf(r->job, sizeof(r->job), "%.*s", STR_ARG(job)); /* fits */
        (void)snprintf(r->agent, sizeof(r->agent), "%.*s", STR_ARG(rec->agent));
        r->first_ms = rec->ts;
    }
    if (rec->kind != REC_JOB_END)
        return 0;
    if (!job_state_find(rec->status, &state) || !job_state_is_final(state))
        return error_set(err, ERR_REFUSED, "job.end says no state in which a job ends");
    (void)snprintf(r->state, sizeof(r->state), "%s", job_state_name(state)); /* fits */
    return 0;
}

static int take_record(struct replay *r, struct record *rec, struct error *err)
{
    if (rec->seq != r->seq + 1)
        return error_set(err, ERR_REFUSED, "record %llu follows record %llu",
                         (unsigned long long)rec->seq, (unsigned long long)r->seq);
    if ((rec->seq == 1) != (rec->kind == REC_JOB_START))
        return error_set(err, ERR_REFUSED, "a recording begins with job.start");
    if (r->state[0] != '\0')
        return error_set(err, ERR_REFUSED, "it comes after the job's end");
    int code = take_ends(r, rec, err);
    if (code != 0)
        return code;
    r->seq = rec->seq;
    r->last_ms = rec->ts;
    code = restore_header(r, rec);
    if (code == 0) {
        if (r->stored.n > 0)
            buf_char(&r->stored, '\n');
        record_encode(rec, &r->stored);
        buf_put(&r->made, &rec->ts, sizeof(rec->ts));
        code = r->stored.error != 0 ? r->stored.error : r->made.error;
    }
    return code == 0 ? 0 : error_set(err, code, "%s", error_name(code));
}

static int read_lines(struct replay *r, FILE *in, struct error *err, size_t *line)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    char *text = NULL;
    size_t size = 0;
    ssize_t n;
    int code = 0;

    while (code == 0 && (n = getline(&text, &size, in)) > 0) {
        struct record rec;

        ++*line;
        if (text[n - 1] == '\n')
            n--;
        code = record_decode(&reader, str_make(text, (size_t)n), &rec, err);
        if (code == 0)
            code = take_record(r, &rec, err);
    }
    if (code == 0 && r->state[0] == '\0')
        code = error_set(err, ERR_REFUSED, "the recording has no end (job.end)");
    free(text);
    return code;
}

static int read_file(struct replay *r)
{
    const char *name = r->args->words[0];
    bool standard = strcmp(name, "-") == 0;
    FILE *in = standard ? stdin : fopen(name, "re");
    struct error err = { 0 };
    size_t line = 0;

    if (in == NULL)
        return cli_trouble(r->args->path, "%s: %s", name, strerror(errno));
    int code = read_lines(r, in, &err, &line);
    if (!standard)
        (void)fclose(in); /* only read from */
    if (code != 0)
        return cli_trouble(r->args->path, "%s:%zu: %s", name, line, err.text);
    return EXIT_OK;
}

/* --- the temporary database -----------------------------------------------------------------
 */

/* In runs of some records, as the journal would. */
static int append_all(const struct replay *r,
                      struct store *store,
                      int64_t key,
                      struct error *err)
{
    struct str rest = buf_text(&r->stored);
    uint64_t seq = 0;
    int code = 0;

    while (rest.n > 0 && code == 0) {
        struct str run = { rest.p, 0 };

        while (rest.n > 0 && run.n < RUN_BYTES) {
            size_t line = str_find(rest, '\n');

            run.n = (size_t)(rest.p - run.p) + line;
            rest = str_skip(rest, line + 1);
            seq++;
        }
        code = store_append(store, key, seq, run, -1, err);
    }
    return code;
}

static int fill_store(struct replay *r, struct store *store, struct error *err)
{
    struct job_row row = { .id = str_of(r->job),
                           .agent = str_of(r->agent),
                           .state = str_of(r->state),
                           .input = STR("null"),
                           .request_hash = STR("replay"),
                           .attempt = 1,
                           .created = r->first_ms,
                           .updated = r->last_ms,
                           .started = r->first_ms,
                           .finished = clock_wall_ms(),
                           .expiry_seconds = 365 * 24 * 3600,
                           .producer_seq = -1,
                           .seq = r->seq,
                           .first_seq = 1 };

    int code = store_begin(store, err);
    if (code == 0)
        code = store_job_insert(store, &row, err);
    if (code == 0)
        code = append_all(r, store, row.key, err);
    if (code == 0)
        code = store_job_update(store, &row, err);
    return code == 0 ? store_commit(store, err) : code;
}

static int make_store(struct replay *r)
{
    struct store_options options = { .url = r->data, .relaxed = true, .busy_ms = 5000 };
    struct store *store = NULL;
    struct error err = { 0 };

    (void)snprintf(r->folder, sizeof(r->folder), "/tmp/spoolwire-replay-XXXXXX");
    if (mkdtemp(r->folder) == NULL) {
        r->folder[0] = '\0';
        return cli_trouble(r->args->path, "a temporary folder: %s", strerror(errno));
    }
    (void)snprintf(r->data, sizeof(r->data), "%s/run.db", r->folder);
    (void)snprintf(r->socket, sizeof(r->socket), "%s/socket", r->folder);
    int code = store_open(&options, &store, &err);
    if (code == 0)
        code = fill_store(r, store, &err);
    store_close(store);
    return code == 0 ? EXIT_OK : cli_trouble(r->args->path, "%s", err.text);
}

/* All files in it are ours: the socket, and those of the database. */
static void remove_folder(const struct replay *r)
{
    DIR *folder = r->folder[0] != '\0' ? opendir(r->folder) : NULL;
    char path[400];

    if (folder == NULL)
        return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        (void)snprintf(path, sizeof(path), "%s/%s", r->folder, e->d_name);
        (void)unlink(path); /* `.` and `..` stay */
    }
    (void)closedir(folder);
    (void)rmdir(r->folder); /* fails when somebody has made a folder in it */
}

/* --- the server behind it -------------------------------------------------------------------
 */

/* It does not inherit our environment. */
static void become_server(const struct replay *r, const sigset_t *before)
{
    char listen[120];
    char *nothing[] = { NULL };

    (void)snprintf(listen, sizeof(listen), "unix:%s", r->socket);
    char *words[] = { (char[]){ "spoolwire" },
                      (char[]){ "serve" },
                      (char[]){ "--data" },
                      (char *)(uintptr_t)r->data,
                      (char[]){ "--listen" },
                      listen,
                      (char[]){ "--no-demo" },
                      (char[]){ "--hosts=*" },
                      (char[]){ "--origins=*" },
                      (char[]){ "--access-log=off" },
                      (char[]){ "--shutdown-window=0" },
                      NULL };
    (void)sigprocmask(SIG_SETMASK, before, NULL);
    if (freopen("/dev/null", "w", stdout) != NULL) /* its log is not shown
                                                    */
        (void)execve("/proc/self/exe", words, nothing);
    _exit(EXIT_TROUBLE);
}

/* Is the server listening on the socket? */
static bool answers(const struct replay *r)
{
    return access(r->socket, F_OK) == 0;
}

static int start_server(struct replay *r, const sigset_t *before)
{
    int status;

    r->server = fork();
    if (r->server < 0)
        return cli_trouble(r->args->path, "cannot start the server: %s", strerror(errno));
    if (r->server == 0)
        become_server(r, before);
    for (int waited = 0; waited < START_MS && !answers(r); waited += LOOK_MS) {
        if (waitpid(r->server, &status, WNOHANG) == r->server) {
            r->server = 0;
            return cli_trouble(r->args->path, "the server behind it did not start");
        }
        clock_sleep_ms(LOOK_MS);
    }
    return answers(r) ? EXIT_OK
                      : cli_trouble(r->args->path, "the server behind it does not answer");
}

static void stop_server(struct replay *r)
{
    if (r->server <= 0)
        return;
    (void)kill(r->server, SIGTERM);
    (void)waitpid(r->server, NULL, 0); /* it ends at once: its shutdown window is 0 */
    r->server = 0;
}

/* --- options --------------------------------------------------------------------------------
 */

static bool is_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '.')
            return false;
    return s.n > 0 && s.n < RELAY_ID;
}

static bool add_fault(struct replay *r, struct str id, int64_t stall_ms)
{
    if (!is_id(id) || r->relay.n_faults == RELAY_MAX_FAULTS)
        return false;
    struct relay_fault *f = &r->relay.faults[r->relay.n_faults++];
    str_copy(f->id, id);
    f->id[id.n] = '\0';
    f->stall_ms = stall_ms;
    return true;
}

/* "57,90.1" or "57:10s,90:500ms" */
static bool add_faults(struct replay *r, const char *list, bool stalls)
{
    struct str rest = str_of(list);

    while (rest.n > 0) {
        struct str one = str_head(rest, str_find(rest, ','));
        struct str id = stalls ? str_head(one, str_find(one, ':')) : one;
        int64_t ms = 0;

        if (stalls && (!amount_parse(AMOUNT_MS, str_skip(one, id.n + 1), &ms) || ms == 0))
            return false;
        if (!add_fault(r, id, ms))
            return false;
        rest = str_skip(rest, one.n + 1);
    }
    return true;
}

static bool read_speed(const char *text, double *ret)
{
    char *end;

    *ret = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret) && *ret >= 0 && *ret <= 1e6;
}

static int read_options(struct replay *r)
{
    const char *speed = args_get(r->args, OPT_SPEED), *drop = args_get(r->args, OPT_DROP);
    const char *stall = args_get(r->args, OPT_STALL), *listen = args_get(r->args, OPT_LISTEN);

    r->relay.speed = 1;
    if (speed != NULL && !read_speed(speed, &r->relay.speed))
        return cli_usage_error(r->args->path, "--speed must be a number from 0 to 1000000");
    if (drop != NULL && !add_faults(r, drop, false))
        return cli_usage_error(r->args->path, "--drop-at must be ids such as 57 or 57.1, with "
                                              "commas between");
    if (stall != NULL && !add_faults(r, stall, true))
        return cli_usage_error(r->args->path,
                               "--stall must be ids with a time, such as 57:10s,90:500ms");
    if (!listen_parse(str_of(listen != NULL ? listen : "127.0.0.1:8400"), &r->address) ||
        r->address.host[0] == '\0')
        return cli_usage_error(r->args->path, "--listen must be an address and a port, such as "
                                              "127.0.0.1:8400");
    if (!r->address.is_loopback)
        return cli_usage_error(r->args->path, "--listen must be a loopback address: replay "
                                              "has no authentication");
    return EXIT_OK;
}

/* --- the command ----------------------------------------------------------------------------
 */

static int start_relay(struct replay *r)
{
    struct relay *relay = NULL; /* it lives as long as the program */
    struct buf out LOCAL_BUF(4096);
    struct error err = { 0 };
    char url[80];

    r->relay.host = r->address.host;
    r->relay.port = r->address.port;
    r->relay.upstream = r->socket;
    r->relay.job = r->job;
    r->relay.made_ms = (const int64_t *)(const void *)r->made.p;
    r->relay.n_made = r->made.n / sizeof(int64_t);
    if (relay_new(&r->relay, &relay, &err) != 0 || relay_start(relay, &err) != 0)
        return cli_trouble(r->args->path, "%s", err.text);
    r->has_relay = true;
    (void)snprintf(url, sizeof(url), "http://%s:%u", r->address.host,
                   (unsigned)relay_port(relay)); /* fits: it is loopback's */
    if (args_have(r->args, FLAG_JSON)) {
        json_format(&out, "{'url':%s,'job_id':%s,'records':%d}\n", url, r->job, r->seq);
        return cli_write(r->args->path, buf_text(&out));
    }
    printf("%s serves the job %s (%llu records)\n", url, r->job, (unsigned long long)r->seq);
    return fflush(stdout) == 0 ? EXIT_OK
                               : cli_trouble(r->args->path, "the output cannot be written");
}

static int wait_for_end(struct replay *r, const sigset_t *set)
{
    int number = 0, status;

    for (;;) {
        (void)sigwait(set, &number); /* fails only for an invalid set */
        if (number != SIGCHLD)
            return EXIT_OK;
        if (waitpid(r->server, &status, WNOHANG) != r->server)
            continue;
        r->server = 0;
        return cli_trouble(r->args->path, "the server behind it has ended");
    }
}

static int play(struct replay *r)
{
    sigset_t set, before;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGCHLD);
    /* Blocked before any thread is made, so that only this one gets them. */
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    int code = make_store(r);
    if (code == EXIT_OK)
        code = start_server(r, &before);
    if (code == EXIT_OK)
        code = start_relay(r);
    if (code == EXIT_OK)
        code = wait_for_end(r, &set);
    stop_server(r);
    remove_folder(r);
    return code;
}

static int run(const struct args *args)
{
    struct replay r = { .args = args };

    int code = read_options(&r);
    if (code != EXIT_OK)
        return code;
    buf_init(&r.made, MAX_FILE);
    buf_init(&r.stored, MAX_FILE);
    table_init(&r.headers);
    code = read_file(&r);
    if (code == EXIT_OK)
        code = play(&r);
    for (size_t i = 0; i < r.n_kept; i++)
        record_unref(r.kept[i]);
    free(r.kept);
    table_done(&r.headers);
    buf_done(&r.stored);
    if (!r.has_relay)
        buf_done(&r.made);
    return code;
}

static const struct flag flags[] = {
    { OPT_SPEED, "speed", "N", NULL,
      "1 (default) as it was recorded, 10 ten times as fast, 0 all at once." },
    { OPT_DROP, "drop-at", "IDS", NULL,
      "Cut the connection behind the frames with these ids, such as 57 or 57,90.1; each once." },
    { OPT_STALL, "stall", "IDS", NULL,
      "Send nothing for a time before these frames, such as 57:10s or 57:10s,90:500ms; each "
      "once." },
    { OPT_LISTEN, "listen", "ADDRESS", NULL,
      "Where to listen, on this machine (127.0.0.1:8400); port 0 is any free one." },
    { OPT_JOB, "job", "ID", NULL, "The id of the job (as it was recorded)." },
    { 0 },
};

const struct command command_replay = {
    .name = "replay",
    .arguments = "FILE",
    .about = "serve a recorded run again, with injected faults",
    .story =
        "Serves a run that spoolwire record has written, as it was: every dialect, from any "
        "place, at its pace, as often as wanted, and without an agent.  Streams of events "
        "begin when the first reader comes.  Every submission, to any agent, gets "
        "this job.  It is over from the beginning, as requests other than streams show.  Pace "
        "and faults are for SSE, and for JSON lines with an envelope.  It ends when it is "
        "stopped, and nothing of it is kept.",
    .flags = flags,
    .exits = "0 it was stopped",
    .takes = COMMAND_JSON,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
