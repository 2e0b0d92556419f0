/* `spoolwire db`: checks, compacts and copies the database file. */
#include "base/error.h"
#include "base/json.h"
#include "base/visible.h"
#include "cli/commands.h"
#include "cli/data.h"
#include "dialect/render.h"
#include "store/store.h"

#include <stdio.h>

/* --- check ----------------------------------------------------------------------------------
 */

struct findings {
    const struct args *args;
    struct buf out;
    size_t n;
};

static void on_finding(void *arg, struct str what)
{
    struct findings *f = arg;
    bool json = args_have(f->args, FLAG_JSON);

    if (json && f->n > 0)
        buf_char(&f->out, ',');
    if (json)
        json_put_str(&f->out, what);
    else
        visible_put(&f->out, what);
    if (!json)
        buf_char(&f->out, '\n');
    f->n++;
}

static int write_findings(struct findings *f)
{
    if (!args_have(f->args, FLAG_JSON))
        return cli_write(f->args->path, f->n == 0 ? STR("sound\n") : buf_text(&f->out));
    if (printf("{\"sound\":%s,\"problems\":[%.*s]}\n", f->n == 0 ? "true" : "false",
               STR_ARG(buf_text(&f->out))) < 0 ||
        fflush(stdout) != 0)
        return cli_trouble(f->args->path, "the output cannot be written");
    return EXIT_OK;
}

static int run_check(const struct args *args)
{
    struct findings f = { .args = args };
    struct store *store = NULL;
    struct error err = { 0 };

    int code = data_open_reader(args, &store);
    buf_init(&f.out, 1024 * 1024);
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
    .about = "check the file",
    .story = "Checks the whole file, also while a server runs.  spoolwire verify checks the "
             "records in it.",
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

    buf_lit(&out, "{\"done\":true");
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

static void put_size(struct buf *out, const char *name, uint64_t bytes, bool json)
{
    static const char units[] = "KMGT";
    size_t unit = 0;
    uint64_t n = bytes;

    if (json) {
        buf_lit(out, ",\"");
        buf_str(out, str_of(name));
        buf_lit(out, "_bytes\":");
        buf_u64(out, bytes);
        return;
    }
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
                      const struct store_disk *disk,
                      bool json)
{
    buf_str(out, json ? STR("{\"jobs\":") : STR("jobs      "));
    buf_i64(out, stats->jobs);
    buf_str(out, json ? STR(",\"records\":") : STR("\nrecords   "));
    buf_i64(out, stats->records);
    if (!json)
        buf_char(out, '\n');
    for (size_t i = 0; i < disk->n; i++)
        put_size(out, disk->figures[i].name, disk->figures[i].bytes, json);
    put_size(out, "free", disk->free, json);
    if (json)
        buf_lit(out, "}\n");
}

static int run_stats(const struct args *args)
{
    struct store *store = NULL;
    struct store_stats stats;
    struct store_disk disk;
    struct error err = { 0 };
    struct buf out LOCAL_BUF(4096);

    int code = data_open_reader(args, &store);
    if (code == EXIT_OK &&
        (store_stats(store, &stats, &err) != 0 || store_disk(store, &disk, &err) != 0))
        code = cli_trouble(args->path, "%s", err.text);
    if (code == EXIT_OK) {
        put_stats(&out, &stats, &disk, args_have(args, FLAG_JSON));
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

static const struct command *const parts[] = { &command_check, &command_backup, &command_vacuum,
                                               &command_stats, NULL };

const struct command command_db = {
    .name = "db",
    .about = "check, copy and compact the database",
    .parts = parts,
};
