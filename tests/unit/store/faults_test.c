/* A disk and an allocator that fail under SQLite: the n-th call does, for n = 1, 2, 3 and so on
 * until everything passes untouched. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <sqlite3.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "store_fixture.h"

/* Calls count down; the one that reaches 0 fails, and if it lasts, all after it. */
struct trouble {
    long countdown; /* 0: none */
    bool lasting;
    int rc;
    long n_failed;
};

static struct trouble disk;
static struct trouble memory;

static bool fails(struct trouble *t)
{
    if (t->countdown == 0 || --t->countdown > 0)
        return false;
    t->n_failed++;
    if (t->lasting)
        t->countdown = 1;
    return true;
}

/* SQLite's own file methods, and ours, which are the same but for those that can fail. */
static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty_vfs;
static struct faulty_methods {
    sqlite3_io_methods methods; /* first, as files point to it */
    const sqlite3_io_methods *real;
} faulty_methods[2]; /* SQLite has one for databases, and one without locks for the others */

static const sqlite3_io_methods *real_of(const sqlite3_file *file)
{
    return ((const struct faulty_methods *)(const void *)file->pMethods)->real;
}

static int faulty_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    return fails(&disk) ? disk.rc : real_of(file)->xWrite(file, p, n, at);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    return fails(&disk) ? SQLITE_IOERR_FSYNC : real_of(file)->xSync(file, flags);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 n)
{
    return fails(&disk) ? SQLITE_IOERR_TRUNCATE : real_of(file)->xTruncate(file, n);
}

static int faulty_shm_map(sqlite3_file *file, int page, int n, int extend, void volatile **ret)
{
    return extend != 0 && fails(&disk) ? SQLITE_IOERR_SHMSIZE
                                       : real_of(file)->xShmMap(file, page, n, extend, ret);
}

static const sqlite3_io_methods *make_faulty(const sqlite3_io_methods *real)
{
    struct faulty_methods *m = &faulty_methods[0];

    if (m->real != NULL && m->real != real)
        m++;
    assert_true(m->real == NULL || m->real == real);
    m->real = real;
    m->methods = *real;
    m->methods.xWrite = faulty_write;
    m->methods.xSync = faulty_sync;
    m->methods.xTruncate = faulty_truncate;
    if (real->xShmMap != NULL)
        m->methods.xShmMap = faulty_shm_map;
    return &m->methods;
}

static int faulty_open(sqlite3_vfs *vfs,
                       const char *name,
                       sqlite3_file *file,
                       int flags,
                       int *out)
{
    (void)vfs;
    int rc = real_vfs->xOpen(real_vfs, name, file, flags, out);
    if (rc == SQLITE_OK && file->pMethods != NULL)
        file->pMethods = make_faulty(file->pMethods);
    return rc;
}

static sqlite3_mem_methods real_memory;

static void *faulty_malloc(int n)
{
    return fails(&memory) ? NULL : real_memory.xMalloc(n);
}

static void *faulty_realloc(void *p, int n)
{
    return fails(&memory) ? NULL : real_memory.xRealloc(p, n);
}

static void install_faults(void)
{
    sqlite3_mem_methods methods;

    (void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    methods = real_memory;
    methods.xMalloc = faulty_malloc;
    methods.xRealloc = faulty_realloc;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    real_vfs = sqlite3_vfs_find(NULL);
    faulty_vfs = *real_vfs;
    faulty_vfs.zName = "faulty";
    faulty_vfs.pNext = NULL;
    faulty_vfs.xOpen = faulty_open;
    (void)sqlite3_vfs_register(&faulty_vfs, 1);
}

/* What must be in the store: only what a commit has said is. */
struct model {
    size_t n_jobs;
    size_t n_records; /* of the first job */
    bool expired;     /* the second job is gone */
};

/* One transaction; 0 when it is stored. */
static int add_first_job(struct store *s, const char *id, const char *state)
{
    struct job_row row = a_job(id, "a", state);

    row.input = STR("{\"some\":\"input\"}");
    row.finished = 1;
    int code = store_begin(s, NULL);
    if (code != 0)
        return code;
    (void)store_job_insert(s, &row, NULL); /* the commit knows */
    return store_commit(s, NULL);
}

/* @n records in a transaction. */
static int add_some(struct store *s, uint64_t after, uint64_t n)
{
    char text[300];
    int code = store_begin(s, NULL);

    if (code != 0)
        return code;
    memset(text, 'x', sizeof(text));
    for (uint64_t i = 1; i <= n && code == 0; i++)
        code = store_append(s, 1, after + i, str_make(text, sizeof(text)), -1, NULL);
    if (code != 0) {
        store_rollback(s);
        return code;
    }
    return store_commit(s, NULL);
}

static int expire_all(struct store *s)
{
    size_t n;
    int code = store_begin(s, NULL);

    if (code != 0)
        return code;
    (void)store_expire(s, INT64_MAX, 0, 100, &n, NULL); /* the commit knows */
    return store_commit(s, NULL);
}

static void expect_model(struct store *s, const struct model *m)
{
    assert_int_equal(jobs(s, NULL, NULL, 0, 10).n, m->n_jobs - (m->expired ? 1 : 0));
    struct seen seen = records(s, 1, 0, 64, SIZE_MAX);
    assert_int_equal(seen.n, m->n_records);
    for (size_t i = 0; i < seen.n; i++)
        assert_int_equal(seen.numbers[i], i + 1);
}

/* All that a store does, going on after every failure. */
static void live(struct store *s, struct model *m)
{
    m->n_jobs += add_first_job(s, "first", "running") == 0;
    if (m->n_jobs == 1)
        m->n_jobs += add_first_job(s, "second", "failed") == 0;
    for (uint64_t round = 0; m->n_jobs == 2 && round < 4; round++)
        m->n_records += add_some(s, m->n_records, 10) == 0 ? 10 : 0;
    if (m->n_jobs == 2)
        m->expired = expire_all(s) == 0;
}

/* The next call to fail: every one at first, then fewer, as they resemble each other.
 * EVERY_FAULT in the environment leaves out less. */
static long next_fault(long n)
{
    if (getenv("EVERY_FAULT") != NULL)
        return n + (n < 300 ? 1 : n < 1000 ? 7 : 31);
    return n + (n < 60 ? 1 : n < 1000 ? 19 : 127);
}

/* Opens and lives with the n-th call failing, for each n that next_fault gives; what was
 * acknowledged is there, what was not is not, and the store goes on once the trouble is over.
 * With @opening there is trouble from the start, else only after the store is open, and once
 * more while it closes. */
static void survive(struct fixture *f, struct trouble *t, int rc, bool lasting, bool opening)
{
    long n = 0;

    do {
        struct model m = { 0 };
        struct error why = { 0 };

        n = next_fault(n);
        *t = (struct trouble){ .countdown = opening ? n : 0, .lasting = lasting, .rc = rc };
        int code = f->backend->open(f, &f->w, &why);
        if (!opening)
            *t = (struct trouble){ .countdown = n, .lasting = lasting, .rc = rc };
        if (code == 0) {
            live(f->w, &m);
            t->countdown = 0;
            expect_model(f->w, &m);
            if (m.n_jobs >= 1) {
                assert_int_equal(add_some(f->w, m.n_records, 3), 0);
                m.n_records += 3;
                expect_model(f->w, &m);
            }
            if (!opening) { /* the checkpoint at the end may fail as well */
                *t = (struct trouble){ .countdown = n, .rc = rc, .n_failed = t->n_failed };
            }
        } else {
            assert_true(why.text[0] != '\0' && why.code == code);
            t->countdown = 0;
        }
        close_both(f);
        t->countdown = 0;
        open_both(f);
        expect_model(f->r, &m);
        close_both(f);
        remove_files(f);
    } while (t->n_failed > 0);
    assert_true(n > 5); /* it did fail some times */
}

static void a_full_disk_loses_nothing_that_was_stored(void **state)
{
    survive(*state, &disk, SQLITE_FULL, false, true);
    survive(*state, &disk, SQLITE_FULL, true, false);
}

static void a_failing_disk_loses_nothing_that_was_stored(void **state)
{
    survive(*state, &disk, SQLITE_IOERR_WRITE, false, false);
    survive(*state, &disk, SQLITE_IOERR_WRITE, true, true);
}

static void memory_that_runs_out_fails_one_call_only(void **state)
{
    survive(*state, &memory, 0, false, false);
}

static void memory_that_runs_out_while_opening_is_an_error(void **state)
{
    survive(*state, &memory, 0, false, true);
}

static void a_commit_after_a_lost_transaction_gives_its_error(void **state)
{
    struct fixture *f = *state;
    struct error why = { 0 };
    struct str big;
    size_t n = (size_t)40 * 1024 * 1024; /* more than the cache: written before the commit */
    char *text = malloc(n);

    assert_non_null(text);
    memset(text, 'x', n);
    big = str_make(text, n);
    open_both(f);
    int64_t key = add_job(f->w, "a", "a", "running");
    ok(store_begin(f->w, err));
    append_text(f->w, key, 1);
    disk = (struct trouble){ .countdown = 20, .rc = SQLITE_FULL };
    assert_int_equal(store_append(f->w, key, 2, big, -1, &why), ERR_IO);
    assert_non_null(strstr(why.text, "no space left"));
    /* SQLite has rolled back by now: this must not become a transaction of its own. */
    refused(store_append(f->w, key, 3, STR("x"), -1, err), ERR_IO);
    assert_int_equal(store_commit(f->w, &why), ERR_IO);
    assert_non_null(strstr(why.text, "no space left"));
    assert_int_equal(count(f->r, key), 0);

    ok(store_begin(f->w, err));
    ok(store_append(f->w, key, 1, big, -1, err));
    ok(store_commit(f->w, err));
    assert_int_equal(count(f->r, key), 1);
    free(text);
}

int main(void)
{
    install_faults();
    const struct CMUnitTest tests[] = {
        sqlite_only(a_full_disk_loses_nothing_that_was_stored),
        sqlite_only(a_failing_disk_loses_nothing_that_was_stored),
        sqlite_only(memory_that_runs_out_fails_one_call_only),
        sqlite_only(memory_that_runs_out_while_opening_is_an_error),
        sqlite_only(a_commit_after_a_lost_transaction_gives_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
