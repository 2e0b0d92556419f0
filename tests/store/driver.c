/* A process with a store, for tests/store/run to kill, starve and lock out.
 *
 *   driver open PATH             opens to write, and says "ok" or why not
 *   driver hold PATH             opens to write, says "open", waits for the end of its input
 *   driver append PATH BATCH BYTES CHECKPOINT
 *                                appends until its input ends: each commit gives BATCH records
 *                                of BYTES to every one of three jobs; says "acked N" when N
 *                                records of each are stored, or "error WHY", and goes on;
 *                                with CHECKPOINT 0, all stays in the WAL
 *   driver turn PATH N           one turn as the journal makes them: N rows read at once, and N
 *                                chunks appended to a job; "found N"
 *   driver expire PATH KEEP_MS   applies retention until there is nothing left to do; "ok"
 *   driver read PATH             "seq N" for each job, by a reader, after reading all records
 *   driver verify PATH           the same by a writer, so the WAL is recovered first
 *
 * Every record says which it is, so that reading is checking: numbers without a gap, texts as
 * they were written, no more and no fewer than the job's row says.  Exit status 1: refused or
 * not as it should be, with a line that says why. */
#include "base/clock.h"
#include "base/error.h"
#include "store/batch.h"
#include "store/read.h"
#include "store/store.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_JOBS = 3, TEXT_MAX = 4096, RETRY_MS = 20 };

static const char *const ids[N_JOBS] = { "a", "b", "c" };

struct driver {
    struct store *store; /* owned */
    struct job_row jobs[N_JOBS];
    char text[TEXT_MAX];
    size_t n_bytes; /* of a record */
    bool alone;     /* nobody writes while we read */
};

static int complain(const struct error *err)
{
    printf("error %s\n", err->text);
    return 1;
}

/* What record @seq of a job holds. */
static struct str text_of(struct driver *d, int64_t key, uint64_t seq, size_t n)
{
    int head = snprintf(d->text, sizeof(d->text), "%" PRId64 "/%" PRIu64 "/", key, seq);

    memset(d->text + head, 'a' + (int)(seq % 26), sizeof(d->text) - (size_t)head);
    return str_make(d->text, n);
}

/* Input has ended, or ends within @ms. */
static bool told_to_stop(int ms)
{
    struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

    return poll(&fd, 1, ms) > 0;
}

/* --- appending -------------------------------------------------------------------- */

static int find_or_add(struct driver *d, int i, struct error *err)
{
    struct job_row *row = &d->jobs[i];
    int code = store_job_get(d->store, str_of(ids[i]), row, err);

    if (code == ERR_NOT_FOUND) {
        *row = (struct job_row){ .id = str_of(ids[i]), .first_seq = 1 };
        row->agent = STR("a");
        row->state = STR("running");
        code = store_job_insert(d->store, row, err);
    }
    row->state = STR("running"); /* texts live until the next call only */
    return code;
}

static int start(struct driver *d, struct error *err)
{
    int code = store_begin(d->store, err);

    for (int i = 0; code == 0 && i < N_JOBS; i++)
        code = find_or_add(d, i, err);
    return code == 0 ? store_commit(d->store, err) : code;
}

static int append_to(struct driver *d, struct job_row *row, uint64_t batch, struct error *err)
{
    for (uint64_t i = 1; i <= batch; i++) {
        uint64_t seq = row->seq + i;
        int code = store_append(d->store, row->key, seq, text_of(d, row->key, seq, d->n_bytes),
                                -1, err);

        if (code != 0)
            return code;
    }
    struct job_row next = *row;
    next.seq += batch;
    return store_job_update(d->store, &next, err);
}

static int commit_batch(struct driver *d, uint64_t batch, struct error *err)
{
    int code = store_begin(d->store, err);

    if (code != 0)
        return code;
    for (int i = 0; code == 0 && i < N_JOBS; i++)
        code = append_to(d, &d->jobs[i], batch, err);
    if (code != 0) {
        store_rollback(d->store);
        return code;
    }
    return store_commit(d->store, err);
}

static int append(struct driver *d, uint64_t batch, bool checkpoint)
{
    struct error err;

    if (start(d, &err) != 0)
        return complain(&err);
    while (!told_to_stop(0)) {
        if (commit_batch(d, batch, &err) != 0) {
            (void)complain(&err); /* and try again, as the journal does */
            (void)told_to_stop(RETRY_MS);
            continue;
        }
        for (int i = 0; i < N_JOBS; i++)
            d->jobs[i].seq += batch;
        printf("acked %" PRIu64 "\n", d->jobs[0].seq);
        if (checkpoint)
            store_compact(d->store);
    }
    return 0;
}

/* --- a turn ----------------------------------------------------------------------- */

static int on_found(void *arg, const struct store_want *want, const struct store_found *found)
{
    (void)want;
    *(size_t *)arg += found->job != NULL && str_eq(found->job->id, str_of(ids[0]));
    return 0;
}

static int gather_chunks(struct driver *d, struct store_batch *b, size_t n)
{
    int code = 0;

    for (size_t i = 0; i < n && code == 0; i++) {
        uint64_t seq = d->jobs[0].seq + i + 1;
        size_t from = b->records.n;

        buf_str(&b->records, text_of(d, d->jobs[0].key, seq, 50));
        code = store_batch_append(b, d->jobs[0].key, seq, from, -1);
    }
    return code;
}

static int turn(struct driver *d, size_t n)
{
    struct store_want *wants = calloc(2 * n, sizeof(*wants));
    struct store_batch batch;
    struct error err = { 0 };
    size_t found = 0;

    store_batch_init(&batch);
    for (size_t i = 0; wants != NULL && i < n; i++) {
        wants[2 * i] = (struct store_want){ .kind = WANT_JOB, .text = str_of(ids[0]) };
        wants[2 * i + 1] = (struct store_want){ .kind = WANT_VALUES_BEFORE, .number = 1 };
    }
    int code = wants == NULL ? ERR_NOMEM : start(d, &err);
    if (code == 0)
        code = store_begin(d->store, &err);
    if (code == 0)
        code = store_read(d->store, wants, 2 * n, on_found, &found, &err);
    if (code == 0)
        code = gather_chunks(d, &batch, n);
    if (code == 0)
        code = store_flush(d->store, &batch, &err);
    if (code == 0)
        code = store_commit(d->store, &err);
    store_batch_done(&batch);
    free(wants);
    if (code != 0)
        return complain(&err);
    printf("found %zu\n", found);
    return 0;
}

/* --- retention -------------------------------------------------------------------- */

static int expire(struct driver *d, int64_t keep_ms)
{
    struct error err = { 0 };
    size_t n = 1;
    int code = 0;

    while (code == 0 && n > 0) {
        code = store_begin(d->store, &err);
        if (code == 0)
            code = store_expire(d->store, clock_wall_ms(), keep_ms, 100, &n, &err);
        if (code == 0)
            code = store_commit(d->store, &err);
    }
    if (code != 0)
        return complain(&err);
    printf("ok\n");
    return 0;
}

/* --- reading ---------------------------------------------------------------------- */

struct reading {
    struct driver *d;
    int64_t key;
    uint64_t seq; /* the last one */
    bool good;
};

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct reading *r = arg;

    r->good = seq == r->seq + 1 && stored.n < TEXT_MAX &&
              str_eq(stored, text_of(r->d, r->key, seq, stored.n));
    r->seq = seq;
    return !r->good;
}

static int read_job(struct driver *d, const char *id)
{
    struct job_row row;
    struct error err;
    int code = store_job_get(d->store, str_of(id), &row, &err);

    if (code == ERR_NOT_FOUND) {
        printf("seq 0\n");
        return 0;
    }
    if (code != 0)
        return complain(&err);
    struct reading r = { .d = d, .key = row.key, .good = true };
    if (store_records(d->store, row.key, 0, SIZE_MAX, SIZE_MAX, on_record, &r, &err) != 0)
        return complain(&err);
    /* Beside a writer there may be more by now. */
    if (!r.good || r.seq < row.seq || (d->alone && r.seq > row.seq)) {
        printf("error job %s has %" PRIu64 " records, and good ones up to %" PRIu64 "\n", id,
               row.seq, r.seq);
        return 1;
    }
    printf("seq %" PRIu64 "\n", row.seq);
    return 0;
}

static int read_all(struct driver *d)
{
    int status = 0;

    for (int i = 0; status == 0 && i < N_JOBS; i++)
        status = read_job(d, ids[i]);
    return status;
}

/* ---------------------------------------------------------------------------------- */

static int run(struct driver *d, const char *verb, char **args)
{
    if (strcmp(verb, "open") == 0) {
        printf("ok\n");
        return 0;
    }
    if (strcmp(verb, "hold") == 0) {
        printf("open\n");
        (void)told_to_stop(-1);
        return 0;
    }
    if (strcmp(verb, "append") == 0) {
        d->n_bytes = strtoul(args[1], NULL, 10);
        return append(d, strtoul(args[0], NULL, 10), strcmp(args[2], "0") != 0);
    }
    if (strcmp(verb, "turn") == 0)
        return turn(d, strtoul(args[0], NULL, 10));
    if (strcmp(verb, "expire") == 0)
        return expire(d, strtoll(args[0], NULL, 10));
    d->alone = strcmp(verb, "verify") == 0;
    return read_all(d);
}

int main(int argc, char **argv)
{
    struct driver *d = calloc(1, sizeof(*d));
    struct error err;

    if (d == NULL || argc < 3 || (strcmp(argv[1], "append") == 0 && argc != 6) ||
        ((strcmp(argv[1], "turn") == 0 || strcmp(argv[1], "expire") == 0) && argc != 4)) {
        fprintf(stderr, "usage: driver open|hold|append|turn|expire|read|verify PATH ...\n");
        free(d);
        return 2;
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* as every server does: the error is enough */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    struct store_options options = { .url = argv[2], .busy_ms = 2000 };
    int code = strcmp(argv[1], "read") == 0 ? store_open_reader(&options, &d->store, &err)
                                            : store_open(&options, &d->store, &err);
    int status = code == 0 ? run(d, argv[1], argv + 3) : complain(&err);
    store_close(d->store);
    free(d);
    return status;
}
