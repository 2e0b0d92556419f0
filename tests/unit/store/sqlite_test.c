/* SQLite's files: whose they are, which are taken, the WAL, and what is damaged. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <pthread.h>
#include <sqlite3.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "store/breadcrumb.h"
#include "store_fixture.h"

/* --- SQLite: files ---------------------------------------------------------------- */

static void expect_mode(const struct fixture *f, const char *end)
{
    char path[160];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s%s", f->path, end);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void files_are_for_their_owner_only(void **state)
{
    struct fixture *f = *state;
    static const mode_t masks[] = { 0, 022, 0377 };

    for (size_t i = 0; i < 3; i++) {
        mode_t old = umask(masks[i]);
        open_both(f);
        add_job(f->w, "a", "a", "queued");
        (void)umask(old);
        expect_mode(f, "");
        expect_mode(f, "-wal");
        expect_mode(f, "-shm");
        if (masks[i] != 0377)
            expect_mode(f, ".lock");
        close_both(f);
        remove_files(f);
    }
}

static void expect_refusal(struct fixture *f, int code, const char *words)
{
    struct store *s = NULL;
    struct error why = { 0 };

    assert_int_equal(f->backend->open(f, &s, &why), code);
    assert_null(s);
    if (strstr(why.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why.text, words);
}

static void a_second_writer_is_refused_and_disturbs_nobody(void **state)
{
    struct fixture *f = *state;
    char real[128];

    open_both(f);
    int64_t key = add_job(f->w, "a", "a", "running");
    expect_refusal(f, ERR_BUSY, "already open in this process");
    /* By another name, too. */
    (void)snprintf(real, sizeof(real), "%s", f->path);
    (void)snprintf(f->path, sizeof(f->path), "%s/link.db", f->folder);
    assert_int_equal(symlink("jobs.db", f->path), 0);
    expect_refusal(f, ERR_BUSY, "jobs.db is already open");
    assert_int_equal(unlink(f->path), 0);
    (void)snprintf(f->path, sizeof(f->path), "%s", real);

    add_records(f->w, key, 1, 3);
    assert_int_equal(count(f->r, key), 3);
    close_both(f);
    open_both(f);
    assert_int_equal(count(f->r, key), 3);
}

/* Makes a SQLite file with @sql. */
static void make_file(const struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void write_file(const struct fixture *f, const char *text, size_t n)
{
    FILE *file = fopen(f->path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    struct stat st;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    *ret_n = (size_t)st.st_size;
    char *text = malloc(*ret_n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *ret_n, file), *ret_n);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void files_of_others_are_refused_and_left_alone(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *sql;
        const char *words;
    } files[] = {
        { "CREATE TABLE t(x); INSERT INTO t VALUES(1)", "of another program" },
        { "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", "of another program" },
        { "PRAGMA application_id=7", "of another program" },
        { "PRAGMA user_version=7", "of another program" },
        { "PRAGMA application_id=0x53705772; PRAGMA user_version=1000; CREATE TABLE t(x)",
          "by a newer spoolwire (schema 1000" },
        { "PRAGMA application_id=0x53705772; PRAGMA user_version=-1", "is damaged" },
        { "PRAGMA application_id=0x53705772; PRAGMA user_version=1; CREATE TABLE jobs(x)",
          "does not have the tables" },
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t n = 0;
        size_t n_after = 0;

        make_file(f, files[i].sql);
        char *before = read_file(f->path, &n);
        struct error why = { 0 };
        struct store *s = NULL;
        assert_int_not_equal(f->backend->open(f, &s, &why), 0);
        assert_null(s);
        assert_non_null(strstr(why.text, files[i].words));
        if (i < 5) {
            char *after = read_file(f->path, &n_after);
            assert_int_equal(n, n_after);
            assert_memory_equal(before, after, n);
            free(after);
        }
        assert_int_not_equal(f->backend->open_reader(f, &s, &why), 0);
        free(before);
        remove_files(f);
    }
}

static void what_is_no_database_is_refused(void **state)
{
    struct fixture *f = *state;
    char text[8192];
    struct store *s = NULL;

    refused(f->backend->open_reader(f, &s, err), ERR_IO); /* a reader makes no file */
    memset(text, 'x', sizeof(text));
    write_file(f, text, sizeof(text));
    expect_refusal(f, ERR_REFUSED, "is not a SQLite database");
    write_file(f, text, 10);
    expect_refusal(f, ERR_REFUSED, "is not a SQLite database");
    remove_files(f);
    assert_int_equal(mkdir(f->path, 0700), 0);
    expect_refusal(f, ERR_REFUSED, "is not a file");
    assert_int_equal(rmdir(f->path), 0);

    struct fixture other = *f;
    (void)snprintf(other.path, sizeof(other.path), "%s/no/such.db", f->folder);
    expect_refusal(&other, ERR_IO, "the folder of");
    (void)snprintf(other.path, sizeof(other.path), "%s/", f->folder);
    expect_refusal(&other, ERR_REFUSED, "names no file");
    other.path[0] = '\0';
    expect_refusal(&other, ERR_REFUSED, "names no file");
}

static bool has_wal(const struct fixture *f)
{
    char wal[160];

    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    return access(wal, F_OK) == 0;
}

static void the_last_to_close_moves_the_wal_if_it_is_the_writer(void **state)
{
    struct fixture *f = *state;

    open_both(f);
    add_job(f->w, "a", "a", "queued");
    store_close(f->r);
    f->r = NULL;
    assert_true(has_wal(f));
    store_close(f->w);
    f->w = NULL;
    assert_false(has_wal(f));

    open_both(f);
    add_job(f->w, "b", "a", "queued");
    store_close(f->w);
    f->w = NULL;
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 10).n, 2);
    store_close(f->r);
    f->r = NULL;
    assert_true(has_wal(f));
    open_both(f);
    assert_int_equal(jobs(f->r, NULL, NULL, 0, 10).n, 2);
}

/* A WAL that its program has left, for instance by a crash, stays as it is. */
static void the_wal_of_others_is_left_alone(void **state)
{
    struct fixture *f = *state;
    sqlite3 *db = NULL;
    struct fixture copy = *f;
    size_t n = 0;
    size_t n_wal = 0;
    char wal[160];

    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    char *file = read_file(f->path, &n);
    char *log = read_file(wal, &n_wal);
    assert_true(n_wal > 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    write_file(f, file, n);
    (void)snprintf(copy.path, sizeof(copy.path), "%.100s-wal", f->path);
    write_file(&copy, log, n_wal);
    expect_refusal(f, ERR_REFUSED, "of another program");
    size_t n_after = 0;
    char *after = read_file(wal, &n_after);
    assert_int_equal(n_after, n_wal);
    assert_memory_equal(after, log, n_wal);
    free(after);
    free(log);
    free(file);
}

static void an_empty_file_is_a_new_one(void **state)
{
    struct fixture *f = *state;

    write_file(f, "", 0);
    open_both(f);
    add_job(f->w, "a", "a", "queued");
    close_both(f);
    remove_files(f);
    make_file(f, "PRAGMA journal_mode=WAL"); /* as left by a crash in the first moment */
    open_both(f);
    add_job(f->w, "a", "a", "queued");
}

static void a_store_in_memory_works_without_readers(void **state)
{
    struct fixture *f = *state;
    struct store *s = NULL;

    (void)snprintf(f->path, sizeof(f->path), ":memory:");
    ok(f->backend->open(f, &f->w, err));
    int64_t key = add_job(f->w, "a", "a", "queued");
    add_records(f->w, key, 1, 5);
    store_compact(f->w);
    assert_int_equal(count(f->w, key), 5);
    refused(f->backend->open_reader(f, &s, err), ERR_REFUSED);
}

static void long_paths_are_told_by_their_end(void **state)
{
    struct fixture *f = *state;
    struct error why;
    struct store *s;
    char path[600] = "/tmp/";

    /* One byte, then two-byte characters, so that the cut falls into one of them. */
    for (size_t n = strlen(path); n + 20 < sizeof(path);)
        n += (size_t)snprintf(path + n, sizeof(path) - n, "x/%s", "\xc3\xa4\xc3\xa4\xc3\xa4");
    strcat(path, "/the.db");
    struct store_options o = { .url = path };
    assert_int_equal(store_open(&o, &s, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/the.db"));
    assert_non_null(strstr(why.text, "give another path"));
    (void)f;
}

static void the_wal_stays_small_beside_readers(void **state)
{
    struct fixture *f = *state;
    char wal[160];
    struct stat st;
    size_t n = (size_t)256 * 1024;
    char *text = malloc(n);

    assert_non_null(text);
    memset(text, 'x', n);
    open_both(f);
    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    int64_t key = add_job(f->w, "a", "a", "running");
    for (uint64_t seq = 1; seq <= 400; seq++) { /* 100 MiB */
        ok(store_begin(f->w, err));
        ok(store_append(f->w, key, seq, str_make(text, n), -1, err));
        ok(store_commit(f->w, err));
        assert_int_equal(records(f->r, key, seq - 1, 1, SIZE_MAX).n, 1);
        store_compact(f->w);
        assert_int_equal(stat(wal, &st), 0);
        assert_true(st.st_size < (off_t)18 * 1024 * 1024);
    }
    free(text);
}

/* A commit that makes a file larger takes long: few may. */
static void the_wal_is_made_larger_ahead_of_commits(void **state)
{
    struct fixture *f = *state;
    char wal[160], command[200];
    struct stat st;
    off_t before = 0;
    int grown = 0;

    struct store_options synced = { .url = f->path, .busy_ms = 1000 };
    ok(store_open(&synced, &f->w, err));
    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    int64_t key = add_job(f->w, "a", "a", "running");
    for (uint64_t seq = 1; seq <= 500; seq++) {
        assert_int_equal(stat(wal, &st), 0);
        before = st.st_size;
        add_records(f->w, key, seq, seq);
        assert_int_equal(stat(wal, &st), 0);
        grown += st.st_size > before;
        store_compact(f->w);
    }
    assert_true(grown <= 1); /* not 500 times */
    /* What a crash would leave is read without the zeros behind it. */
    (void)snprintf(command, sizeof(command),
                   "cd %s && cp jobs.db c.db && cp jobs.db-wal c.db-wal", f->folder);
    assert_int_equal(system(command), 0);
    close_both(f);
    (void)snprintf(f->path, sizeof(f->path), "%s/c.db", f->folder);
    open_both(f);
    assert_int_equal(count(f->w, key), 500);
    close_both(f);
    remove_files(f);
    (void)snprintf(f->path, sizeof(f->path), "%s/jobs.db", f->folder);
}

/* --- SQLite: a file that is damaged ------------------------------------------------ */

/* Reads all there is; errors are fine, crashes are not. */
static void read_everything(struct store *s)
{
    struct seen seen = { 0 };
    struct job_row row;
    struct store_stats stats;
    struct str text;

    (void)store_jobs(s, &(struct job_filter){ .limit = 20 }, on_job, &seen, NULL);
    (void)store_jobs(
        s, &(struct job_filter){ .state = STR("failed"), .agent = STR("a"), .limit = 20 },
        on_job, &seen, NULL);
    (void)store_open_jobs(s, on_job, &seen, NULL);
    (void)store_job_get(s, STR("j3"), &row, NULL);
    (void)store_stats(s, &stats, NULL);
    for (int64_t key = 1; key <= 4; key++) {
        seen.n = 0;
        (void)store_records(s, key, 0, 60, SIZE_MAX, on_record, &seen, NULL);
        (void)store_record(s, key, 3, &text, NULL);
    }
}

static void write_something(struct store *s)
{
    size_t n;
    struct job_row row = a_job("new", "a", "queued");

    if (store_begin(s, NULL) != 0)
        return;
    (void)store_job_insert(s, &row, NULL);
    (void)store_append(s, 2, 60, STR("more"), -1, NULL);
    (void)store_expire(s, INT64_MAX, 0, 10, &n, NULL);
    (void)store_commit(s, NULL);
}

static void a_damaged_file_is_an_error_and_no_crash(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 1;
    size_t n = 0;

    open_both(f);
    for (int i = 0; i < 4; i++) {
        char id[3] = { 'j', (char)('0' + i), '\0' };
        add_records(f->w, add_job(f->w, id, "a", i == 1 ? "failed" : "queued"), 1, 50);
    }
    close_both(f);
    char *good = read_file(f->path, &n);
    char *bad = malloc(n);
    assert_non_null(bad);
    for (int round = 0; round < 300; round++) {
        memcpy(bad, good, n);
        for (int i = 0; i < 20; i++) {
            seed = seed * 1103515245 + 12345;
            size_t at = seed / 3 % n;
            bad[at < 100 ? at + 100 : at] = (char)(seed >> 24);
        }
        write_file(f, bad, round % 10 == 9 ? n / 2 : n);
        struct error why = { 0 };
        if (f->backend->open(f, &f->w, &why) == 0) {
            read_everything(f->w);
            write_something(f->w);
            read_everything(f->w);
            close_both(f);
        } else {
            assert_true(why.text[0] != '\0');
        }
        remove_files(f);
    }
    free(bad);
    free(good);
}

static void tokens_are_made_beside_a_server(void **state)
{
    struct fixture *f = *state;
    struct store_options o = options(f);
    struct store *beside = NULL;

    refused(store_open_beside(&o, &beside, err), ERR_IO); /* there is no file yet */
    open_both(f);
    ok(store_open_beside(&o, &beside, err));
    add_token(beside, "a", NULL);
    expect_tokens(f->r, "a", 0);
    ok(store_begin(f->w, err));
    refused(store_token_revoke(beside, STR("a"), 5, err), ERR_BUSY);
    ok(store_commit(f->w, err));
    ok(store_token_revoke(beside, STR("a"), 5, err));
    store_close(beside);
    expect_tokens(f->r, "a", 5);
    (void)add_job(f->w, "j", "a", "queued");
}

/* --- the breadcrumb ------------------------------------------------------------------ */

static void a_breadcrumb_outlives_its_process(void **state)
{
    struct fixture *f = *state;
    struct breadcrumb crumb = { 0 };
    int status = 0;

    open_both(f);
    pid_t child = fork();
    if (child == 0) {
        struct error why;

        if (store_breadcrumb(f->w, &crumb, &why) != 0)
            _exit(1);
        breadcrumb_set(&crumb, 77);
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ok(store_breadcrumb(f->w, &crumb, err));
    assert_int_equal(breadcrumb_get(&crumb), 77);
    expect_mode(f, ".folding");
}

/* What is in the page is of another boot, or not ours. */
static void a_foreign_breadcrumb_says_nothing(void **state)
{
    struct fixture *f = *state;
    struct breadcrumb crumb = { 0 };
    char path[160];

    open_both(f);
    (void)snprintf(path, sizeof(path), "%s.folding", f->path);
    for (long at = 0; at <= 16; at += 16) {
        ok(store_breadcrumb(f->w, &crumb, err));
        breadcrumb_set(&crumb, 77);
        close_both(f);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fputc('?', file), '?');
        assert_int_equal(fclose(file), 0);
        open_both(f);
        ok(store_breadcrumb(f->w, &crumb, err));
        assert_int_equal(breadcrumb_get(&crumb), 0);
    }
}

static void an_older_file_is_brought_up_to_date(void **state)
{
    struct fixture *f = *state;
    struct store_options o = options(f);
    struct store *s = NULL;

    open_both(f);
    (void)add_job(f->w, "j", "a", "queued");
    int64_t expired = add_final(f->w, "expired", "succeeded", 1000, 5);
    close_both(f);
    make_file(
        f,
        "DROP TABLE suspects;"
        "DROP INDEX jobs_unpublished; ALTER TABLE jobs DROP COLUMN published;"
        "DROP TABLE webhooks; DROP TABLE item_vectors; DROP TABLE crons; DROP TABLE assistants; DROP TABLE items; DROP TABLE checkpoints; DROP TABLE channels; DROP TABLE run_writes;"
        "DROP TABLE run_states; DROP TABLE large_values; DROP TABLE threads; DROP TABLE runs; DROP INDEX jobs_thread;"
        "ALTER TABLE jobs DROP COLUMN thread; ALTER TABLE jobs DROP COLUMN ordinal;"
        "ALTER TABLE jobs DROP COLUMN not_before;"
        "ALTER TABLE jobs DROP COLUMN values_seq;"
        "DROP TABLE questions; ALTER TABLE jobs DROP COLUMN pause_requested;"
        "ALTER TABLE jobs DROP COLUMN resumed; ALTER TABLE jobs DROP COLUMN answer_by;"
        "DROP TABLE leavings; DROP INDEX jobs_whole; DROP INDEX jobs_expired;"
        "CREATE INDEX jobs_expiry ON jobs(finished + expiry_seconds * 1000);"
        "UPDATE jobs SET first_seq = seq + 1 WHERE id = 'expired';"
        "DROP INDEX jobs_owner; ALTER TABLE jobs DROP COLUMN owner;"
        "ALTER TABLE jobs DROP COLUMN holder; ALTER TABLE jobs DROP COLUMN request_id;"
        "ALTER TABLE jobs DROP COLUMN max_running;"
        "ALTER TABLE jobs DROP COLUMN unsigned_attempt;"
        "DROP TABLE tokens;"
        "DROP TABLE token_changes; DROP TABLE secrets; DROP TABLE clock; DROP VIEW job_runs;"
        "ALTER TABLE records DROP COLUMN batch;"
        "CREATE VIEW job_records AS SELECT id FROM records; PRAGMA user_version=1");
    refused(f->backend->open_reader(f, &s, err), ERR_REFUSED);
    refused(store_open_beside(&o, &s, err), ERR_REFUSED);
    open_both(f);
    struct job_row row = get_job(f->r, "j");
    assert_true(str_absent(row.owner) && str_absent(row.holder));
    assert_true(str_absent(row.request_id));
    assert_true(row.crashed == 0 && row.set_aside == 0);
    refused(store_job_get(f->r, STR("expired"), &row, err), ERR_NOT_FOUND);
    expire_until(f->w, 0);
    assert_int_equal(count(f->r, expired), 0);
    add_token(f->w, "a", NULL);
    expect_tokens(f->r, "a", 0);
}

static void a_deleted_job_is_swept_in_small_steps(void **state)
{
    struct fixture *f = *state;
    struct job_row row;

    open_both(f);
    int64_t key = add_final(f->w, "a", "succeeded", 1000, 100);
    ok(store_begin(f->w, err));
    ok(store_job_delete(f->w, key, err));
    ok(store_commit(f->w, err));
    refused(store_job_get(f->r, STR("a"), &row, err), ERR_NOT_FOUND);
    assert_int_equal(expire(f->w, 0, 30), 30);
    assert_int_equal(count(f->r, key), 70);
    expire_until(f->w, 0);
    assert_int_equal(count(f->r, key), 0);
}

/* A job may have 2^30 - 1 records. */
static void the_last_record_of_a_job_is_stored(void **state)
{
    struct fixture *f = *state;
    uint64_t most = ((uint64_t)1 << 30) - 1;
    struct str got;

    open_both(f);
    int64_t key = add_job(f->w, "a", "a", "running");
    assert_int_equal(store_max_seq(f->w), most);
    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, most, STR("last"), -1, err));
    refused(store_append(f->w, key, most + 1, STR("too many"), -1, err), ERR_TOO_LARGE);
    ok(store_commit(f->w, err));
    ok(store_record(f->r, key, most, &got, err));
    expect_text(got, STR("last"));
}

/* Until the change time of the folder is so old that commits rely on it. */
static void wait_for_a_quiet_folder(const struct fixture *f)
{
    struct timespec pause = { .tv_nsec = 20 * 1000000 }, now;
    struct stat st;

    do {
        assert_int_equal(nanosleep(&pause, NULL), 0);
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
        assert_int_equal(stat(f->folder, &st), 0);
    } while (now.tv_sec - st.st_ctim.tv_sec < 4);
}

static int commit(struct store *s)
{
    int code = store_begin(s, NULL);

    return code == 0 ? store_commit(s, NULL) : code;
}

static void a_file_that_goes_after_a_quiet_time_is_noticed_at_once(void **state)
{
    struct fixture *f = *state;
    char wal[160], away[170];

    (void)snprintf(wal, sizeof(wal), "%s-wal", f->path);
    (void)snprintf(away, sizeof(away), "%s.away", wal);
    open_both(f);
    add_job(f->w, "a", "a", "queued");
    wait_for_a_quiet_folder(f);
    assert_int_equal(commit(f->w), 0);
    assert_int_equal(commit(f->w), 0); /* which looks at the folder only */
    assert_int_equal(rename(wal, away), 0);
    assert_int_equal(commit(f->w), ERR_IO);
    assert_int_equal(commit(f->w), ERR_IO);
    assert_int_equal(rename(away, wal), 0);
    assert_int_equal(commit(f->w), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        sqlite_only(a_deleted_job_is_swept_in_small_steps),
        sqlite_only(the_last_record_of_a_job_is_stored),
        sqlite_only(files_are_for_their_owner_only),
        sqlite_only(a_second_writer_is_refused_and_disturbs_nobody),
        sqlite_only(a_file_that_goes_after_a_quiet_time_is_noticed_at_once),
        sqlite_only(tokens_are_made_beside_a_server),
        sqlite_only(an_older_file_is_brought_up_to_date),
        sqlite_only(a_breadcrumb_outlives_its_process),
        sqlite_only(a_foreign_breadcrumb_says_nothing),
        sqlite_only(files_of_others_are_refused_and_left_alone),
        sqlite_only(what_is_no_database_is_refused),
        sqlite_only(the_last_to_close_moves_the_wal_if_it_is_the_writer),
        sqlite_only(the_wal_of_others_is_left_alone),
        sqlite_only(an_empty_file_is_a_new_one),
        sqlite_only(a_store_in_memory_works_without_readers),
        sqlite_only(long_paths_are_told_by_their_end),
        sqlite_only(the_wal_stays_small_beside_readers),
        sqlite_only(the_wal_is_made_larger_ahead_of_commits),
        sqlite_only(a_damaged_file_is_an_error_and_no_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
