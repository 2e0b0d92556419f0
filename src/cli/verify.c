/* `spoolwire verify`: checks the records of jobs, in the file or through the API.
 *
 * Offline it reads the database as any reader does, also beside a server that runs.  Online it
 * reads what a client would get: the records as `raw`, then every other dialect to its end. */
#include "base/error.h"
#include "base/json_format.h"
#include "base/visible.h"
#include "cli/audit.h"
#include "cli/commands.h"
#include "cli/data.h"
#include "cli/remote.h"
#include "dialect/dialect.h"
#include "framing/framing.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TOLD = 20, PAGE_ROWS = 2000, PAGE_JOBS = 500, STOP = 1 };

struct verify {
    const struct args *args;
    struct remote remote; /* online */
    struct store *store;  /* offline */
    struct buf problems;  /* of the job: JSON strings with commas between, or lines */
    uint64_t n_problems;  /* of the job */
    uint64_t n_jobs, n_bad;
    uint64_t n_records; /* of the job */
    struct audit *audit;
    uint64_t last; /* record that came */
    uint64_t upto; /* where to stop */
    int err;
    struct cursor cursor; /* of the dialect that is being read */
    const char *dialect;
    struct json_reader reader;
};

/* --- telling --------------------------------------------------------------------------------
 */

static bool as_json(const struct verify *v)
{
    return args_have(v->args, FLAG_JSON);
}

static void on_problem(void *arg, uint64_t seq, const char *what)
{
    struct verify *v = arg;
    char line[480];

    if (v->n_problems++ >= MAX_TOLD)
        return;
    if (seq > 0)
        (void)snprintf(line, sizeof(line), "record %llu: %s", (unsigned long long)seq, what);
    else
        (void)snprintf(line, sizeof(line), "%s", what);
    if (as_json(v)) {
        json_put_str(json_next(&v->problems), str_of(line));
        return;
    }
    buf_lit(&v->problems, "     ");
    visible_put(&v->problems, str_of(line));
    buf_char(&v->problems, '\n');
}

static void begin_job(struct verify *v)
{
    buf_clear(&v->problems);
    v->n_problems = v->n_records = v->last = 0;
    v->err = 0;
}

static int end_job(struct verify *v, struct str id)
{
    struct buf out LOCAL_BUF(1024 * 1024);

    v->n_jobs++;
    v->n_bad += v->n_problems > 0;
    if (as_json(v)) {
        json_format(&out, "{'job_id':%s,'sound':%b,'records':%d,'problems':[%j]}\n", id,
                    v->n_problems == 0, v->n_records, buf_text(&v->problems));
    } else {
        buf_str(&out, v->n_problems == 0 ? STR("ok   ") : STR("BAD  "));
        visible_put(&out, id);
        buf_lit(&out, " (");
        buf_u64(&out, v->n_records);
        buf_lit(&out, " records)\n");
        buf_str(&out, buf_text(&v->problems));
        if (v->n_problems > MAX_TOLD)
            buf_lit(&out, "     and more\n");
    }
    return cli_write(v->args->path, buf_text(&out));
}

static int memory_out(const struct verify *v)
{
    return cli_trouble(v->args->path, "out of memory");
}

/* --- offline --------------------------------------------------------------------------------
 */

static int on_stored(void *arg, uint64_t seq, struct str stored)
{
    struct verify *v = arg;

    if (seq > v->upto)
        return STOP; /* it was added after we had read the job's row */
    v->err = audit_take(v->audit, seq, stored);
    v->last = seq;
    v->n_records++;
    return v->err;
}

static int read_records(struct verify *v, int64_t key, uint64_t from, struct error *err)
{
    int code = 0;

    v->last = from;
    for (uint64_t before = UINT64_MAX; code == 0 && v->err == 0 && v->last != before;) {
        before = v->last;
        code = store_records(v->store, key, before, PAGE_ROWS, SIZE_MAX, on_stored, v, err);
    }
    return code != 0 ? code : v->err;
}

static int verify_row(struct verify *v, const struct job_row *row)
{
    struct audit_job job = { .id = row->id,
                             .agent = row->agent,
                             .state = row->state,
                             .first_seq = row->first_seq,
                             .seq = row->seq };
    struct error err = { 0 };
    struct buf id LOCAL_BUF(4096);

    begin_job(v);
    v->upto = row->seq;
    buf_str(&id, row->id); /* a copy: the next call frees the row's */
    int64_t key = row->key;
    int code = audit_new(&job, on_problem, v, &v->audit);
    if (code == 0)
        code = read_records(v, key, row->first_seq > 1 ? row->first_seq - 1 : 0, &err);
    if (code == 0)
        code = audit_end(v->audit);
    audit_free(v->audit);
    v->audit = NULL;
    return code == 0           ? end_job(v, buf_text(&id))
           : code == ERR_NOMEM ? memory_out(v)
                               : cli_trouble(v->args->path, "%s",
                                             err.text[0] != '\0' ? err.text : error_name(code));
}

struct keys {
    int64_t key[PAGE_JOBS];
    char id[PAGE_JOBS][128];
    size_t n;
    int64_t created; /* of the last one */
};

static int on_row(void *arg, const struct job_row *row)
{
    struct keys *k = arg;

    k->key[k->n] = row->key;
    k->created = row->created;
    (void)snprintf(k->id[k->n], sizeof(k->id[0]), "%.*s", STR_ARG(row->id));
    return ++k->n == PAGE_JOBS;
}

static int verify_id(struct verify *v, const char *id, bool named)
{
    struct error err = { 0 };
    struct job_row row;

    int code = store_job_get(v->store, str_of(id), &row, &err);
    if (code == ERR_NOT_FOUND && !named)
        return EXIT_OK; /* deleted since it was listed */
    if (code == ERR_NOT_FOUND)
        return cli_trouble(v->args->path, "Job not found: %s", id);
    return code == 0 ? verify_row(v, &row) : cli_trouble(v->args->path, "%s", err.text);
}

static int verify_file(struct verify *v)
{
    struct job_filter filter = { .limit = PAGE_JOBS };
    struct keys *k = calloc(1, sizeof(*k));
    struct error err = { 0 };
    int code = EXIT_OK;

    if (k == NULL)
        return memory_out(v);
    do {
        k->n = 0;
        if (store_jobs(v->store, &filter, on_row, k, &err) != 0)
            code = cli_trouble(v->args->path, "%s", err.text);
        for (size_t i = 0; code == EXIT_OK && i < k->n; i++)
            code = verify_id(v, k->id[i], false);
        filter.before = k->n > 0 ? k->key[k->n - 1] : 0;
        filter.created = k->created;
    } while (code == EXIT_OK && k->n == PAGE_JOBS);
    free(k);
    return code;
}

static int run_offline(struct verify *v)
{
    int code = data_open_reader(v->args, &v->store);

    if (code != EXIT_OK)
        return code;
    if (v->args->n_words == 0)
        code = verify_file(v);
    for (size_t i = 0; i < v->args->n_words; i++) {
        int one = verify_id(v, v->args->words[i], true);

        code = one > code ? one : code;
    }
    store_close(v->store);
    return code;
}

/* --- online ---------------------------------------------------------------------------------
 */

/* Its number, or 0: a heartbeat and the like has none. */
static uint64_t number_of(const struct client_frame *frame)
{
    struct cursor c = { 0 };

    return frame->id.p != NULL && cursor_parse(frame->id, &c) == 0 ? c.seq : 0;
}

static int on_raw(void *arg, const struct client_frame *frame)
{
    struct verify *v = arg;
    uint64_t seq = number_of(frame);

    if (seq == 0)
        return 0;
    v->err = audit_take(v->audit, seq, frame->data);
    v->n_records++;
    v->last = seq;
    return v->err != 0 ? v->err : seq >= v->upto ? STOP : 0;
}

static bool is_after(const struct cursor *a, const struct cursor *b)
{
    uint64_t ka = a->k == 0 ? UINT64_MAX : a->k, kb = b->k == 0 ? UINT64_MAX : b->k;

    return a->seq > b->seq || (a->seq == b->seq && ka > kb);
}

static int on_said(void *arg, const struct client_frame *frame)
{
    struct verify *v = arg;
    struct cursor at = { 0 };
    struct json json;
    char text[120];

    if (json_read(&v->reader, frame->data, &json, NULL) != 0) {
        (void)snprintf(text, sizeof(text), "a frame of %s is not JSON", v->dialect);
        on_problem(v, 0, text);
    }
    if (number_of(frame) == 0)
        return 0;
    (void)cursor_parse(frame->id, &at); /* number_of has seen that it is one */
    if (!is_after(&at, &v->cursor) || at.seq > v->upto) {
        (void)snprintf(text, sizeof(text), "a frame of %s is out of order", v->dialect);
        on_problem(v, at.seq, text);
    }
    v->cursor = at;
    return 0;
}

static int read_stream(struct verify *v,
                       struct str id,
                       const char *dialect,
                       int (*frame)(void *, const struct client_frame *))
{
    struct client_follow how = { .frame = frame, .arg = v };
    struct buf path LOCAL_BUF(REMOTE_MAX_PATH);

    remote_job_path(&path, "/v1/jobs/", id, "/events?dialect=");
    buf_cut(&path, path.n > 0 ? path.n - 1 : 0);
    client_put_escaped(&path, str_of(dialect));
    buf_char(&path, '\0');
    how.path = how.again = path.p;
    int err = path.error != 0 ? path.error : client_follow(v->remote.client, &how);
    return err == STOP ? 0 : err;
}

static int read_job(struct verify *v, const struct audit_job *job, bool ended)
{
    const struct dialect *d;
    int err = audit_new(job, on_problem, v, &v->audit);

    if (err == 0 && job->seq > 0)
        err = read_stream(v, job->id, "raw", on_raw);
    if (err == 0)
        err = audit_end(v->audit);
    for (size_t i = 0; ended && err == 0 && (d = dialect_at(i)) != NULL; i++) {
        v->dialect = d->name;
        v->cursor = (struct cursor){ 0 };
        err = read_stream(v, job->id, d->name, on_said);
    }
    audit_free(v->audit);
    v->audit = NULL;
    return err;
}

static int verify_remote(struct verify *v, struct str id)
{
    struct client_reply reply LOCAL_REPLY;
    struct json_reader reader ANSWER_READER;
    struct json json;

    begin_job(v);
    int code = remote_job(&v->remote, "GET", "/v1/jobs/", id, "", &reply);
    if (code == EXIT_OK)
        code = remote_json(&v->remote, &reply, &reader, &json);
    if (code == EXIT_OK) {
        struct audit_job job = { .id = id,
                                 .agent = json_text(json_at(json.root, "agent")),
                                 .state = json_text(json_at(json.root, "state")),
                                 .first_seq =
                                     yyjson_is_true(json_at(json.root, "expired")) ? 0 : 1,
                                 .seq = (uint64_t)json_int(json_at(json.root, "events"), 0),
                                 .alone = true };
        bool ended = !json_is_null(json_at(json.root, "finished_at"));

        v->upto = job.seq;
        int err = read_job(v, &job, ended);
        code = err == 0           ? end_job(v, id)
               : err == ERR_NOMEM ? memory_out(v)
                                  : remote_failed(&v->remote, err);
    }
    return code;
}

static int verify_page(struct verify *v, char next[40])
{
    struct client_reply reply LOCAL_REPLY;
    struct json_reader reader ANSWER_READER;
    struct json json;
    char path[120];

    (void)snprintf(path, sizeof(path), "/v1/jobs?limit=%d%s%s", PAGE_JOBS,
                   next[0] != '\0' ? "&after=" : "", next);
    int code = remote_get(&v->remote, path, &reply);
    if (code == EXIT_OK)
        code = remote_json(&v->remote, &reply, &reader, &json);
    if (code == EXIT_OK) {
        json_each(job, json_at(json.root, "jobs"))
            if (code == EXIT_OK)
                code = verify_remote(v, json_text(json_at(job, "job_id")));
        (void)snprintf(next, 40, "%.*s", STR_ARG(json_text(json_at(json.root, "next"))));
    }
    return code;
}

static int run_online(struct verify *v)
{
    char next[40] = "";

    int code = remote_open(v->args, &v->remote);
    if (code == EXIT_OK && v->args->n_words == 0) {
        do
            code = verify_page(v, next);
        while (code == EXIT_OK && next[0] != '\0');
    }
    for (size_t i = 0; v->remote.client != NULL && i < v->args->n_words; i++) {
        int one = verify_remote(v, args_word(v->args, i));

        code = one > code ? one : code;
    }
    remote_close(&v->remote);
    return code;
}

/* --- the command ----------------------------------------------------------------------------
 */

static int run(const struct args *args)
{
    struct verify v = { .args = args };

    buf_init(&v.problems, 1024 * 1024);
    json_reader_init(&v.reader, SIZE_MAX / 64, 512);
    int code = args_have(args, FLAG_DATA) || args_have(args, FLAG_STORE) ||
                       args_have(args, FLAG_CONFIG)
                   ? run_offline(&v)
                   : run_online(&v);
    if (code == EXIT_OK && !as_json(&v))
        printf("%llu job%s, %llu of them not sound\n", (unsigned long long)v.n_jobs,
               v.n_jobs == 1 ? "" : "s", (unsigned long long)v.n_bad);
    json_reader_done(&v.reader);
    buf_done(&v.problems);
    return code == EXIT_OK && v.n_bad > 0 ? EXIT_BAD_NEWS : code;
}

const struct command command_verify = {
    .name = "verify",
    .arguments = "[JOB…]",
    .about = "check the records of jobs",
    .story =
        "Checks the records of jobs, or of all jobs: their numbers have no gap, each is as "
        "it was written, there is one ending and it is the last, every start is closed, a "
        "fold that is rebuilt from them agrees with the job's state, and every dialect can "
        "render them.  It asks a server, or with --data, --store or --config it reads the database, also "
        "while a server has it open, and writes nothing.  Through a server it also reads every "
        "dialect of ended jobs to its end; that a record is as it was written can only be seen "
        "in the file.",
    .exits = "0 all are consistent\n1 some are not",
    .takes = COMMAND_JSON | COMMAND_DATA | COMMAND_REMOTE,
    .max_words = COMMAND_MANY,
    .run = run,
};
