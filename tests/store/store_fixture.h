/* What the tests of the store share: a folder of its own for each, the backends, jobs and
 * records to put there.  Included once, after cmocka.h, by a program that is one test. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "base/error.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- backends -------------------------------------------------------------------- */

struct fixture {
    const struct backend *backend;
    char folder[64]; /* its own, removed afterwards */
    char path[128];
    struct store *w; /* what the test opens, it may leave open */
    struct store *r;
    void *own; /* the backend's */
};

struct backend {
    const char *name;
    int (*open)(struct fixture *f, struct store **ret, struct error *err);
    int (*open_reader)(struct fixture *f, struct store **ret, struct error *err);
    void (*done)(struct fixture *f); /* frees f->own; or NULL */
    bool in_turns;                   /* its readers are used between transactions only */
    bool is_partial;                 /* it may leave operations out */
};

static inline struct store_options options(const struct fixture *f)
{
    /* Relaxed: no test here pulls the plug, and a sync takes its time. */
    return (struct store_options){ .url = f->path, .relaxed = true, .busy_ms = 1000 };
}

static inline int sqlite_open(struct fixture *f, struct store **ret, struct error *err)
{
    struct store_options o = options(f);

    return store_open(&o, ret, err);
}

static inline int sqlite_open_reader(struct fixture *f, struct store **ret, struct error *err)
{
    struct store_options o = options(f);

    return store_open_reader(&o, ret, err);
}

static const struct backend sqlite_backend = { .name = "sqlite",
                                               .open = sqlite_open,
                                               .open_reader = sqlite_open_reader };

/* --- what tests share ------------------------------------------------------------- */

static inline void expect_ok(int code, const struct error *err)
{
    if (code != 0)
        fail_msg("%s: %s", error_name(code), err->text);
}

#define ok(call)                \
    do {                        \
        struct error e = { 0 }; \
        struct error *err = &e; \
        expect_ok(call, err);   \
    } while (0)

#define refused(call, want)             \
    do {                                \
        struct error e = { 0 };         \
        struct error *err = &e;         \
        assert_int_equal(call, want);   \
        assert_int_equal(e.code, want); \
        assert_true(e.text[0] != '\0'); \
    } while (0)

static inline void expect_text(struct str got, struct str want)
{
    assert_true((got.p == NULL) == (want.p == NULL));
    assert_int_equal(got.n, want.n);
    if (got.n > 0)
        assert_memory_equal(got.p, want.p, got.n);
}

static inline int make_folder(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->backend = *state != NULL ? *state : &sqlite_backend;
    /* In memory where there is such a place: some tests make thousands of files. */
    (void)snprintf(f->folder, sizeof(f->folder), "%s/store_test.XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    (void)snprintf(f->path, sizeof(f->path), "%s/jobs.db", f->folder);
    *state = f;
    return 0;
}

static inline void open_both(struct fixture *f)
{
    ok(f->backend->open(f, &f->w, err));
    ok(f->backend->open_reader(f, &f->r, err));
}

static inline void close_both(struct fixture *f)
{
    store_close(f->r);
    store_close(f->w);
    f->r = f->w = NULL;
}

static inline void reopen(struct fixture *f)
{
    close_both(f);
    open_both(f);
}

static inline int setup(void **state)
{
    if (make_folder(state) != 0)
        return -1;
    open_both(*state);
    return 0;
}

static inline void remove_files(const struct fixture *f)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal", ".lock", ".folding" };
    char path[160];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", f->path, ends[i]);
        (void)unlink(path); /* most are not there */
    }
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    close_both(f);
    if (f->backend->done != NULL)
        f->backend->done(f);
    remove_files(f);
    int rc = rmdir(f->folder); /* fails when something else was left there */
    free(f);
    return rc;
}

static inline struct job_row a_job(const char *id, const char *agent, const char *state)
{
    return (struct job_row){ .id = str_of(id),
                             .agent = str_of(agent),
                             .state = str_of(state),
                             .created = 1,
                             .updated = 1,
                             .producer_seq = -1,
                             .first_seq = 1 };
}

/* In a transaction of its own. */
static inline int64_t add_job(struct store *s,
                              const char *id,
                              const char *agent,
                              const char *state)
{
    struct job_row row = a_job(id, agent, state);

    ok(store_begin(s, err));
    ok(store_job_insert(s, &row, err));
    ok(store_commit(s, err));
    assert_true(row.key > 0);
    return row.key;
}

static inline void append_text(struct store *s, int64_t key, uint64_t seq)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "{\"job\":%d,\"seq\":%d}", (int)key, (int)seq);

    ok(store_append(s, key, seq, str_make(text, (size_t)n), -1, err));
}

/* Records @from to @to, in a transaction of their own. */
static inline void add_records(struct store *s, int64_t key, uint64_t from, uint64_t to)
{
    ok(store_begin(s, err));
    for (uint64_t seq = from; seq <= to; seq++)
        append_text(s, key, seq);
    ok(store_commit(s, err));
}

/* What a callback was given: the numbers in order. */
struct seen {
    uint64_t numbers[64];
    size_t n;
    size_t stop_at; /* 0: never */
    size_t bytes;
};

static inline int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct seen *seen = arg;

    assert_true(seen->n < 64);
    seen->numbers[seen->n++] = seq;
    seen->bytes += stored.n;
    return seen->n == seen->stop_at;
}

static inline int on_job(void *arg, const struct job_row *row)
{
    return on_record(arg, (uint64_t)row->key, row->id);
}

static inline void expect_numbers(const struct seen *seen, size_t n, const uint64_t *want)
{
    assert_int_equal(seen->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(seen->numbers[i], want[i]);
}

#define numbers(seen, ...)                                                       \
    expect_numbers(seen, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), \
                   (uint64_t[]){ __VA_ARGS__ })

static inline struct seen records(struct store *s,
                                  int64_t key,
                                  uint64_t after,
                                  size_t limit,
                                  size_t bytes)
{
    struct seen seen = { 0 };

    ok(store_records(s, key, after, limit, bytes, on_record, &seen, err));
    return seen;
}

static inline int on_counted(void *arg, uint64_t seq, struct str stored)
{
    (void)seq, (void)stored;
    ++*(size_t *)arg;
    return 0;
}

static inline size_t count(struct store *s, int64_t key)
{
    size_t n = 0;

    ok(store_records(s, key, 0, SIZE_MAX, SIZE_MAX, on_counted, &n, err));
    return n;
}

static inline struct seen jobs(struct store *s,
                               const char *state,
                               const char *agent,
                               int64_t before,
                               size_t limit)
{
    struct seen seen = { 0 };
    struct job_filter filter = {
        .state = str_of(state), .agent = str_of(agent), .before = before, .limit = limit
    };

    ok(store_jobs(s, &filter, on_job, &seen, err));
    return seen;
}

static inline struct seen open_jobs(struct store *s)
{
    struct seen seen = { 0 };

    ok(store_open_jobs(s, on_job, &seen, err));
    return seen;
}

static inline struct job_row get_job(struct store *s, const char *id)
{
    struct job_row row;

    ok(store_job_get(s, str_of(id), &row, err));
    return row;
}

/* --- final jobs, and tokens ------------------------------------------------------- */

enum { KEEP_MS = 1000 }; /* the ending, after the rest */

static const char a_hash[STORE_SECRET_BYTES + 1] = "0123456789abcdef0123456789ABCDE\0";

static inline void insert(struct store *s, struct job_row *row)
{
    ok(store_begin(s, err));
    ok(store_job_insert(s, row, err));
    ok(store_commit(s, err));
}

static inline int64_t add_final(struct store *s,
                                const char *id,
                                const char *state,
                                int64_t finished,
                                uint64_t n)
{
    struct job_row row = a_job(id, "a", state);

    row.input = STR("{}");
    row.finished = finished;
    row.expiry_seconds = 10;
    row.seq = n;
    insert(s, &row);
    add_records(s, row.key, 1, n);
    return row.key;
}

static inline size_t expire(struct store *s, int64_t now, size_t limit)
{
    size_t n = 99;

    ok(store_begin(s, err));
    ok(store_expire(s, now, KEEP_MS, limit, &n, err));
    ok(store_commit(s, err));
    return n;
}

/* All that there is to do. */
static inline void expire_until(struct store *s, int64_t now)
{
    while (expire(s, now, 100) > 0)
        ;
}

static inline struct token_row a_token(const char *id, const char *parent)
{
    return (struct token_row){ .id = str_of(id),
                               .parent = str_of(parent),
                               .hash = str_make(a_hash, STORE_SECRET_BYTES),
                               .name = STR("laptop"),
                               .scopes = STR("client,worker"),
                               .owner = STR("acme"),
                               .jobs = STR("own"),
                               .agents = STR_NONE,
                               .max_jobs = -1,
                               .max_queued = 3,
                               .max_running = 4,
                               .max_streams = 5,
                               .max_events = 0,
                               .created = 100,
                               .expires = parent != NULL ? 200 : 0 };
}

static inline void add_token(struct store *s, const char *id, const char *parent)
{
    struct token_row row = a_token(id, parent);

    ok(store_token_insert(s, &row, err));
}

struct tokens {
    char ids[64];
    int64_t revoked; /* of the last one */
};

static inline int on_token(void *arg, const struct token_row *row)
{
    struct tokens *t = arg;
    struct token_row want = a_token("x", row->parent.p != NULL ? "x" : NULL);

    expect_text(row->hash, want.hash);
    expect_text(row->name, want.name);
    expect_text(row->scopes, want.scopes);
    expect_text(row->owner, want.owner);
    expect_text(row->jobs, want.jobs);
    expect_text(row->agents, want.agents);
    assert_int_equal(row->max_jobs, want.max_jobs);
    assert_int_equal(row->max_queued, want.max_queued);
    assert_int_equal(row->max_running, want.max_running);
    assert_int_equal(row->max_streams, want.max_streams);
    assert_int_equal(row->max_events, want.max_events);
    assert_int_equal(row->created, want.created);
    assert_int_equal(row->expires, want.expires);
    strncat(t->ids, row->id.p, row->id.n);
    t->revoked = row->revoked;
    return 0;
}

static inline void expect_tokens(struct store *s, const char *ids, int64_t revoked)
{
    struct tokens got = { 0 };

    ok(store_tokens(s, on_token, &got, err));
    assert_string_equal(got.ids, ids);
    assert_int_equal(got.revoked, revoked);
}

/* For a case of SQLite's own, without a store that is open. */
#define sqlite_only(test) cmocka_unit_test_setup_teardown(test, make_folder, teardown)

#endif
