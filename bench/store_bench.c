/* The store against a bare SQLite loop.
 *
 *   store_bench [FOLDER] [SECONDS]     the folder's disk is what is measured; "." and 1
 *
 * Appends of 200-byte records, acknowledged after a commit with synchronous=FULL, in batches
 * of 1, 10, 100, 1000 rows to one job, and of 100 rows to ten of a thousand jobs:
 *
 *   bare      begin, insert with the shape of our table, commit; the checkpoint as often
 *   store     the same through store.h
 *   journal   as the journal uses it: the records of a request (ten of a job at most) as one
 *             run, with the number of its batch
 *
 * Then the replay of one job of 100 000 records, in pages of 1000, cold caches.  The three
 * take turns in short rounds and the median of these counts, because the speed of a disk
 * that syncs changes from second to second. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "base/error.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

enum {
    N_BYTES = 200,
    N_JOBS = 1000,
    REQUEST = 10, /* rows */
    ROUNDS = 9,
    PAGE_BYTES = 4096,
    CHECKPOINT_FRAMES = 4000, /* as in store/sqlite/sqlite.c */
    N_REPLAYED = 100000,
    REPLAY_PAGE = 1000
};

struct bench {
    const char *folder;
    double seconds; /* of a measurement, all rounds together */
    char text[N_BYTES];
    long frames; /* in the bare loop's WAL */
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *why)
{
    fprintf(stderr, "store_bench: %s\n", why);
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(values[0]), by_size);
    return values[ROUNDS / 2];
}

/* --- who appends ------------------------------------------------------------------ */

/* One way to append, with a file of its own. */
struct writer {
    char path[256];
    uint64_t seqs[N_JOBS + 1];
    size_t next_job;
    struct bench *bench;
    /* bare */
    sqlite3 *db;
    sqlite3_stmt *begin, *insert, *commit;
    /* store */
    struct store *store;
    struct job_row rows[N_JOBS + 1];
    bool like_journal;
};

static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct bench *b = arg;

    (void)db;
    (void)name;
    b->frames = frames;
    return SQLITE_OK;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    return stmt;
}

static void bare_open(struct writer *w)
{
    if (sqlite3_open_v2(w->path, &w->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(
            w->db,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
            "PRAGMA cache_size=-32768;"
            "CREATE TABLE records(id INTEGER PRIMARY KEY, stored TEXT NOT NULL)",
            NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(w->db));
    (void)sqlite3_wal_hook(w->db, on_wal, w->bench);
    w->begin = prepare(w->db, "BEGIN IMMEDIATE");
    w->insert = prepare(w->db, "INSERT INTO records(id, stored) VALUES(?, ?)");
    w->commit = prepare(w->db, "COMMIT");
}

static void step(struct writer *w, sqlite3_stmt *stmt)
{
    if (sqlite3_step(stmt) != SQLITE_DONE)
        die(sqlite3_errmsg(w->db));
    (void)sqlite3_reset(stmt); /* it was done */
}

static size_t next_job(struct writer *w, size_t n_jobs)
{
    w->next_job = w->next_job % n_jobs + 1;
    return w->next_job;
}

static void bare_batch(struct writer *w, size_t batch, size_t n_jobs)
{
    step(w, w->begin);
    for (size_t done = 0; done < batch;) {
        size_t job = next_job(w, n_jobs);

        for (size_t i = 0; i < REQUEST && done < batch; i++, done++) {
            (void)sqlite3_bind_int64(w->insert, 1,
                                     (sqlite3_int64)(((uint64_t)job << 30) | ++w->seqs[job]));
            (void)sqlite3_bind_text(w->insert, 2, w->bench->text, N_BYTES, SQLITE_STATIC);
            step(w, w->insert);
        }
    }
    step(w, w->commit);
    if (w->bench->frames >= CHECKPOINT_FRAMES) {
        (void)sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        w->bench->frames = 0;
    }
}

static void bare_close(struct writer *w)
{
    (void)sqlite3_finalize(w->begin);
    (void)sqlite3_finalize(w->insert);
    (void)sqlite3_finalize(w->commit);
    (void)sqlite3_close(w->db);
}

static void must(int code, const struct error *err)
{
    if (code != 0)
        die(err->text);
}

static void store_start(struct writer *w)
{
    struct store_options options = { .url = w->path, .busy_ms = 1000 };
    struct error err;

    must(store_open(&options, &w->store, &err), &err);
    must(store_begin(w->store, &err), &err);
    for (size_t i = 1; i <= N_JOBS; i++) {
        char id[40];
        int n = snprintf(id, sizeof(id), "6f9619ff-8b86-d011-b42d-%012zu", i);

        w->rows[i] = (struct job_row){ .id = str_make(id, (size_t)n),
                                       .agent = STR("bench"),
                                       .state = STR("running"),
                                       .worker = STR("worker-1"),
                                       .created = 1700000000000,
                                       .updated = 1700000000000,
                                       .lease_until = 1700000060000,
                                       .first_seq = 1 };
        must(store_job_insert(w->store, &w->rows[i], &err), &err);
    }
    must(store_commit(w->store, &err), &err);
}

/* @n lines. */
static struct str run_of(const struct writer *w, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(out + i * (N_BYTES + 1), w->bench->text, N_BYTES);
        out[i * (N_BYTES + 1) + N_BYTES] = '\n';
    }
    return str_make(out, n * (N_BYTES + 1) - 1);
}

static void store_batch(struct writer *w, size_t batch, size_t n_jobs)
{
    char lines[REQUEST * (N_BYTES + 1)];
    struct error err;

    must(store_begin(w->store, &err), &err);
    for (size_t done = 0; done < batch;) {
        struct job_row *row = &w->rows[next_job(w, n_jobs)];
        size_t n = batch - done < REQUEST ? batch - done : REQUEST;
        size_t step = w->like_journal ? n : 1;

        done += n;
        for (size_t i = 0; i < n; i += step) {
            row->seq += step;
            must(store_append(w->store, row->key, row->seq, run_of(w, step, lines),
                              w->like_journal ? ++row->producer_seq : -1, &err),
                 &err);
        }
    }
    must(store_commit(w->store, &err), &err);
    store_compact(w->store);
}

/* --- measuring -------------------------------------------------------------------- */

enum { BARE, STORE, JOURNAL, N_WRITERS };

static const char *const names[N_WRITERS] = { "bare", "store", "journal" };

static void remove_files(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", ".lock" };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char name[300];

        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name); /* not all are there */
    }
}

static double round_of(struct writer *w, int which, size_t batch, size_t n_jobs, double seconds)
{
    double start = now();
    double end = start;
    size_t rows = 0;

    for (; end - start < seconds; end = now(), rows += batch) {
        if (which == BARE)
            bare_batch(w, batch, n_jobs);
        else
            store_batch(w, batch, n_jobs);
    }
    return (double)rows / (end - start);
}

static void measure_appends(struct bench *b, size_t batch, size_t n_jobs)
{
    static double rates[N_WRITERS][ROUNDS];
    struct writer *writers = calloc(N_WRITERS, sizeof(*writers));

    if (writers == NULL)
        die("out of memory");
    b->frames = 0;
    for (int i = 0; i < N_WRITERS; i++) {
        struct writer *w = &writers[i];

        w->bench = b;
        w->like_journal = i == JOURNAL;
        (void)snprintf(w->path, sizeof(w->path), "%s/%s.db", b->folder, names[i]);
        if (i == BARE)
            bare_open(w);
        else
            store_start(w);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N_WRITERS; i++)
            rates[i][round] =
                round_of(&writers[i], i, batch, n_jobs, b->seconds / (double)ROUNDS);
    }
    double bare = median(rates[BARE]);
    double store = median(rates[STORE]);
    double journal = median(rates[JOURNAL]);
    printf(
        "append  batch %5zu  jobs %5zu  bare %8.0f  store %8.0f (%.2f)  journal %8.0f (%.2f) rows/s\n",
        batch, n_jobs, bare, store, store / bare, journal, journal / bare);
    for (int i = 0; i < N_WRITERS; i++) {
        if (i == BARE)
            bare_close(&writers[i]);
        else
            store_close(writers[i].store);
        remove_files(writers[i].path);
    }
    free(writers);
}

struct replay {
    uint64_t seq;
    size_t n_bytes;
};

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct replay *r = arg;

    r->seq = seq;
    r->n_bytes += stored.n + (size_t)(stored.p[stored.n - 1] == '\0');
    return 0;
}

static double replay_store(const char *path, int64_t key)
{
    struct store_options options = { .url = path, .busy_ms = 1000 };
    struct replay r = { 0 };
    struct store *s = NULL;
    struct error err;
    uint64_t before;

    must(store_open_reader(&options, &s, &err), &err);
    double start = now();
    do {
        before = r.seq;
        must(store_records(s, key, r.seq, REPLAY_PAGE, SIZE_MAX, on_record, &r, &err), &err);
    } while (r.seq > before);
    double seconds = now() - start;
    store_close(s);
    if (r.seq != N_REPLAYED || r.n_bytes != (size_t)N_REPLAYED * N_BYTES)
        die("the replay is not what was stored");
    return (double)N_REPLAYED / seconds;
}

static double replay_bare(const char *path, int64_t key)
{
    sqlite3 *db = NULL;
    struct replay r = { 0 };

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA cache_size=-4096", NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    sqlite3_stmt *select =
        prepare(db, "SELECT id, stored FROM records WHERE id > ? AND id < ? ORDER BY id");
    double start = now();
    (void)sqlite3_bind_int64(select, 1, key << 30);
    (void)sqlite3_bind_int64(select, 2, (key + 1) << 30);
    while (sqlite3_step(select) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(select, 1);

        (void)on_record(&r, (uint64_t)sqlite3_column_int64(select, 0),
                        str_make(text, (size_t)sqlite3_column_bytes(select, 1)));
    }
    double seconds = now() - start;
    (void)sqlite3_finalize(select);
    (void)sqlite3_close(db);
    return (double)N_REPLAYED / seconds;
}

static void measure_replay(struct bench *b)
{
    struct writer *w = calloc(1, sizeof(*w));
    double store[ROUNDS];
    double bare[ROUNDS];

    if (w == NULL)
        die("out of memory");
    w->bench = b;
    (void)snprintf(w->path, sizeof(w->path), "%s/replay.db", b->folder);
    store_start(w);
    for (size_t i = 0; i < N_REPLAYED; i += 1000)
        store_batch(w, 1000, 1);
    for (int round = 0; round < ROUNDS; round++) {
        bare[round] = replay_bare(w->path, w->rows[1].key);
        store[round] = replay_store(w->path, w->rows[1].key);
    }
    double x = median(bare);
    double y = median(store);
    printf("replay  records %d  bare %.0f  store %.0f (%.2f) rows/s\n", (int)N_REPLAYED, x, y,
           y / x);
    store_close(w->store);
    remove_files(w->path);
    free(w);
}

int main(int argc, char **argv)
{
    static const size_t batches[] = { 1, 10, 100, 1000 };
    struct bench b = { .seconds = argc > 2 ? strtod(argv[2], NULL) : 1 };
    char folder[200];

    (void)snprintf(folder, sizeof(folder), "%s/store_bench.XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(folder) == NULL)
        die("cannot make a folder there");
    b.folder = folder;
    memset(b.text, 'x', sizeof(b.text));
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
        measure_appends(&b, batches[i], 1);
    measure_appends(&b, 100, N_JOBS);
    measure_appends(&b, 1000, N_JOBS);
    measure_replay(&b);
    (void)rmdir(folder); /* empty by now */
    return 0;
}
