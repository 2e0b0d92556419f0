/* `spoolwire db`: makes, checks, compacts and copies the database. */
#include "base/error.h"
#include "base/json.h"
#include "base/json_format.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/data.h"
#include "cli/examine.h"
#include "config/values/database_url.h"
#include "dialect/render.h"
#include "store/copy.h"
#include "store/store.h"

#include <stdio.h>

/* --- check ----------------------------------------------------------------------------------
 */

enum { MAX_FINDINGS = 1024 * 1024 }; /* bytes */

struct findings {
    const struct args *args;
    struct buf out;
    size_t n;
};

static void on_finding(void *arg, struct str what)
{
    struct findings *f = arg;
    bool json = args_have(f->args, FLAG_JSON);

    f->n++;
    if (json) {
        json_put_str(json_next(&f->out), what);
        return;
    }
    visible_put(&f->out, what);
    buf_char(&f->out, '\n');
}

static int write_findings(struct findings *f)
{
    struct buf json LOCAL_BUF(2 * MAX_FINDINGS);

    if (!args_have(f->args, FLAG_JSON))
        return cli_write(f->args->path, f->n == 0 ? STR("sound\n") : buf_text(&f->out));
    json_format(&json, "{'sound':%b,'problems':[%j]}\n", f->n == 0, buf_text(&f->out));
    return cli_write(f->args->path, buf_text(&json));
}

static int run_check(const struct args *args)
{
    struct findings f = { .args = args };
    struct store *store = NULL;
    struct error err = { 0 };

    int code = data_open_reader(args, &store);
    buf_init(&f.out, MAX_FINDINGS);
    if (code == EXIT_OK && store_check(store, on_finding, &f, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    if (code == EXIT_OK)
        code = write_findings(&f);
    buf_done(&f.out);
    store_close(store);
    return code == EXIT_OK && f.n > 0 ? EXIT_BAD_NEWS : code;
}

static const struct command command_check = {
    .name = "check",
    .about = "check the database",
    .story = "Checks the whole file, also while a server runs; in PostgreSQL, whether rows fit "
             "together (pg_amcheck looks at its pages).  spoolwire verify checks the records.",
    .exits = "0 it is intact\n1 it is damaged",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_check,
};

/* --- backup ---------------------------------------------------------------------------------
 */

/* {"done":true}, and to which file, for programs; people see errors only. */
static int write_done(const struct args *args, struct str file)
{
    struct buf out LOCAL_BUF(64 * 1024);

    json_begin(&out);
    json_add_const(&out, "done", "true");
    if (!str_absent(file))
        json_add_text(&out, "file", file);
    buf_lit(&out, "}\n");
    return cli_write(args->path, buf_text(&out));
}

static int run_backup(const struct args *args)
{
    struct store *store = NULL;
    struct error err = { 0 };

    int code = data_open_reader(args, &store);
    if (code == EXIT_OK && store_backup(store, args->words[0], &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    store_close(store);
    if (code == EXIT_OK && args_have(args, FLAG_JSON))
        code = write_done(args, args_word(args, 0));
    return code;
}

static const struct command command_backup = {
    .name = "backup",
    .arguments = "FILE",
    .about = "copy it, also while the server runs",
    .story = "Copies the database to a new file, also while the server runs: a consistent copy "
             "of one moment.  The file appears under its name only when it is complete.",
    .exits = "0 the copy is there",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .min_words = 1,
    .max_words = 1,
    .run = run_backup,
};

/* --- vacuum ---------------------------------------------------------------------------------
 */

static int run_vacuum(const struct args *args)
{
    struct store *store = NULL;
    struct error err = { 0 };

    int code = data_open(args, &store);
    if (code == EXIT_OK && store_vacuum(store, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    store_close(store);
    if (code == EXIT_OK && args_have(args, FLAG_JSON))
        code = write_done(args, STR_NONE);
    return code;
}

static const struct command command_vacuum = {
    .name = "vacuum",
    .about = "return its free space to the system",
    .story =
        "Rewrites the file without the space of deleted jobs.  The server must be stopped, "
        "and the disk needs as much free space as the file has.",
    .exits = "0 it is done",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_vacuum,
};

/* --- stats ----------------------------------------------------------------------------------
 */

static void put_size(struct buf *out, const char *name, uint64_t bytes)
{
    static const char units[] = "KMGT";
    size_t unit = 0;
    uint64_t n = bytes;

    for (; n >= 10 * 1024 && unit < sizeof(units) - 1; unit++)
        n /= 1024;
    buf_str(out, str_of(name));
    for (size_t i = strlen(name); i < 10; i++)
        buf_char(out, ' ');
    buf_u64(out, n);
    if (unit > 0)
        buf_char(out, units[unit - 1]);
    buf_char(out, '\n');
}

static void put_stats(struct buf *out,
                      const struct store_stats *stats,
                      const struct store_disk *disk)
{
    buf_lit(out, "jobs      ");
    buf_i64(out, stats->jobs);
    buf_lit(out, "\nrecords   ");
    buf_i64(out, stats->records);
    buf_char(out, '\n');
    for (size_t i = 0; i < disk->n; i++)
        put_size(out, disk->figures[i].name, disk->figures[i].bytes);
    if (disk->total > 0)
        put_size(out, "free", disk->free);
}

static void put_stats_json(struct buf *out,
                           const struct store_stats *stats,
                           const struct store_disk *disk)
{
    json_format(out, "{'jobs':%d,'records':%d", stats->jobs, stats->records);
    for (size_t i = 0; i < disk->n; i++)
        json_format(out, ",'%j_bytes':%d", disk->figures[i].name, disk->figures[i].bytes);
    if (disk->total > 0)
        json_format(out, ",'free_bytes':%d", disk->free);
    buf_lit(out, "}\n");
}

static int run_stats(const struct args *args)
{
    struct store *store = NULL;
    struct store_stats stats;
    struct store_disk disk = { 0 };
    struct error err = { 0 };
    int rc = 0;
    struct buf out LOCAL_BUF(4096);

    int code = data_open_reader(args, &store);
    if (code == EXIT_OK && store_stats(store, &stats, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    else if (code == EXIT_OK && (rc = store_disk(store, &disk, &err)) != 0 && rc != ERR_REFUSED)
        code = cli_trouble(args->path, "%s", err.text);
    if (rc == ERR_REFUSED) { /* a database server's disk: its figures are not known here */
        disk.n = 1;
        disk.figures[0] =
            (struct store_figure){ .name = "database", .bytes = (uint64_t)stats.bytes };
    }
    if (code == EXIT_OK) {
        if (args_have(args, FLAG_JSON))
            put_stats_json(&out, &stats, &disk);
        else
            put_stats(&out, &stats, &disk);
        code = cli_write(args->path, buf_text(&out));
    }
    store_close(store);
    return code;
}

static const struct command command_stats = {
    .name = "stats",
    .about = "count jobs, records and bytes",
    .story = "Counts jobs and records, and the bytes that they take.",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_stats,
};

/* --- init, migrate, status ------------------------------------------------------------------
 */

static int write_ready(const struct args *args)
{
    return args_have(args, FLAG_JSON) ? write_done(args, STR_NONE)
                                      : cli_write(args->path, STR("ready\n"));
}

/* Opening it for writing creates or migrates it; it fails while a server uses it. */
static int run_ready(const struct args *args)
{
    struct store *store = NULL;
    int code = data_open(args, &store);

    store_close(store);
    return code == EXIT_OK ? write_ready(args) : code;
}

enum { OPT_SHARDS = FLAG_OWN };

static int run_init(const struct args *args)
{
    struct str given = str_of(args_get(args, OPT_SHARDS));
    struct store *store = NULL;
    struct error err = { 0 };
    int64_t n = 0;

    if (given.p != NULL && (!str_number(given, &n) || n < 1 || n > STORE_MAX_SHARDS))
        return cli_usage_error(args->path, "--shards takes a number from 1 to %d",
                               STORE_MAX_SHARDS);
    if (given.p == NULL)
        return run_ready(args);
    int code = data_open(args, &store);
    if (code == EXIT_OK && store_make_shards(store, n, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    store_close(store);
    return code == EXIT_OK ? write_ready(args) : code;
}

static const struct flag init_flags[] = {
    { OPT_SHARDS, "shards", "N", NULL,
      "Of PostgreSQL: how many shares the jobs have (1).  Each is written by one gateway at a "
      "time.  The number never changes." },
    { 0 },
};

static const struct command db_init = {
    .name = "init",
    .about = "make an empty database",
    .story =
        "Makes the file, or the tables in PostgreSQL.  A server does the same at its first "
        "start; this is for those who want to see it work before, or want several shards.",
    .flags = init_flags,
    .exits = "0 it is ready",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_init,
};

static const struct command db_migrate = {
    .name = "migrate",
    .about = "bring it to the schema of this version",
    .story =
        "Brings an older database to the schema of this version, as a server does when it "
        "starts.  Refused while a server has it; names a gateway that does not know the new "
        "schema.",
    .exits = "0 it is up to date",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = run_ready,
};

static const struct command db_status = {
    .name = "status",
    .about = "show version, schema and writer",
    .story = "Looks at the database without changing it, also while a server runs: the same as "
             "spoolwire doctor --store.",
    .exits = "0 a server can use it\n1 it cannot",
    .takes = COMMAND_JSON | COMMAND_DATA,
    .run = examine_print,
};

/* --- copy -----------------------------------------------------------------------------------
 */

enum { OPT_FROM = FLAG_OWN, OPT_TO };

struct copy_report {
    bool json;
    struct buf out; /* of JSON */
};

static void on_copied(void *arg, const char *table, size_t n_rows)
{
    struct copy_report *r = arg;

    if (r->json) {
        json_put_key(&r->out, str_of(table));
        buf_u64(&r->out, n_rows);
    } else {
        printf("%-14s %zu\n", table, n_rows);
    }
    (void)fflush(stdout); /* a large table takes a while; cli_write sees errors */
}

/* Opens it to write, so that no server can have it meanwhile. */
static int open_end(const struct args *args, int flag, struct store **ret)
{
    const char *url = args_get(args, flag);
    struct error err = { 0 };

    if (url == NULL)
        return cli_usage_error(args->path, "it takes --from URL and --to URL");
    if (database_url_check(str_of(url), &err) != 0 ||
        store_open(&(struct store_options){ .url = url, .busy_ms = 5000 }, ret, &err) != 0)
        return cli_trouble(args->path, "%s: %s", flag == OPT_FROM ? "--from" : "--to",
                           err.text);
    return EXIT_OK;
}

/* Fails if the source does not exist: opening a misspelt file name would create an empty
 * database and copy that. */
static int check_source(const struct args *args)
{
    const char *url = args_get(args, OPT_FROM);
    struct store *reader = NULL;
    struct error err = { 0 };

    if (url == NULL || database_url_check(str_of(url), &err) != 0)
        return EXIT_OK; /* open_end() reports the error */
    if (store_open_reader(&(struct store_options){ .url = url, .busy_ms = 5000 }, &reader,
                          &err) != 0)
        return cli_trouble(args->path, "--from: %s", err.text);
    store_close(reader);
    return EXIT_OK;
}

static int run_copy(const struct args *args)
{
    struct copy_report r = { .json = args_have(args, FLAG_JSON) };
    struct store *from = NULL, *to = NULL;
    struct error err = { 0 };
    int code = check_source(args);

    buf_init(&r.out, 64 * 1024);
    if (code == EXIT_OK)
        code = open_end(args, OPT_FROM, &from);
    if (code == EXIT_OK)
        code = open_end(args, OPT_TO, &to);
    if (code == EXIT_OK)
        json_begin(&r.out);
    if (code == EXIT_OK && store_copy(from, to, on_copied, &r, &err) != 0)
        code = cli_trouble(args->path, "%s", err.text);
    if (code == EXIT_OK) {
        json_end(&r.out);
        buf_char(&r.out, '\n');
        code = cli_write(args->path, r.json ? buf_text(&r.out) : STR("copied and compared\n"));
    }
    buf_done(&r.out);
    store_close(to);
    store_close(from);
    return code;
}

static const struct flag copy_flags[] = {
    { OPT_FROM, "from", "URL", NULL, "The database to copy: a path or a URL." },
    { OPT_TO, "to", "URL", NULL, "The one to copy it to, which is new or empty." },
    { 0 },
};

static const struct command db_copy = {
    .name = "copy",
    .about = "copy it into another, also of another kind",
    .story = "Copies a database into an empty one, between SQLite and PostgreSQL in either "
             "direction.  The servers of both must be stopped; no other can start meanwhile.  "
             "Keys, ids, cursors, leases, tokens and secrets stay good.  The target gets all "
             "of it in one transaction: interrupted, it stays empty.  Both are compared "
             "afterwards.",
    .flags = copy_flags,
    .exits = "0 the copy is there, and the same",
    .takes = COMMAND_JSON,
    .run = run_copy,
};

static const struct command *const parts[] = { &db_init,       &db_status,      &db_migrate,
                                               &command_check, &command_backup, &command_vacuum,
                                               &command_stats, &db_copy,        NULL };

const struct command command_db = {
    .name = "db",
    .about = "make, check, copy and compact the database",
    .parts = parts,
};
