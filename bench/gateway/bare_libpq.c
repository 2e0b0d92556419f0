/* The baseline for the gateway on PostgreSQL: programs that only call libpq.
 *
 *   bare_libpq append URL JOBS BATCH BYTES SECONDS
 *           prints events/s, and events per CPU second of its own: one connection; each commit
 *           has JOBS x BATCH events of BYTES bytes, in chunk rows as ours, written by one
 *           INSERT … SELECT unnest(…) in one pipeline
 *   bare_libpq usual URL WORKERS BYTES SECONDS
 *           prints events/s: each worker has a connection, and inserts a row and notifies in
 *           one transaction
 *   bare_libpq wake URL BYTES COUNT RATE
 *           prints the median in microseconds of: a row is committed, NOTIFY in a transaction
 *           of its own, another connection hears it and reads the row; so often a second, with
 *           a pause between them as the load makes it (0: none)
 *   bare_libpq replay URL JOB
 *           prints events/s, and events per CPU second: reads key-set pages in binary, parses
 *           them, renders `aiq` as SSE */
#define _GNU_SOURCE
#include "base/buf.h"
#include "rendering.h"

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>

#include <libpq-fe.h>

enum { CHUNK_BYTES = 1900, MAX_WORKERS = 64, PAGE_ROWS = 64, OID_INT8 = 20, OID_BYTEA = 17 };

static PGconn *dial(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    if (PQstatus(conn) != CONNECTION_OK)
        die(PQerrorMessage(conn));
    return conn;
}

static void run(PGconn *conn, const char *sql)
{
    PGresult *r = PQexec(conn, sql);

    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
        die(PQerrorMessage(conn));
    PQclear(r);
}

/* --- append --------------------------------------------------------------------------- */

static void put_u32(struct buf *b, uint32_t n)
{
    n = htonl(n);
    buf_put(b, (const char *)&n, sizeof(n));
}

static void put_int(struct buf *b, int64_t n)
{
    uint64_t bytes = htobe64((uint64_t)n);

    put_u32(b, sizeof(bytes));
    buf_put(b, (const char *)&bytes, sizeof(bytes));
}

/* PostgreSQL's binary form of an array: dimensions, NULLs, type, length, first index. */
static void begin_array(struct buf *b, uint32_t type, uint32_t n)
{
    buf_clear(b);
    put_u32(b, 1);
    put_u32(b, 0);
    put_u32(b, type);
    put_u32(b, n);
    put_u32(b, 1);
}

struct chunk_rows {
    struct buf job, last, batch, stored;
    char text[CHUNK_BYTES];
};

static void fill(struct chunk_rows *c, long jobs, long batch, long bytes, int64_t *seq)
{
    long in_chunk = CHUNK_BYTES / (bytes + 1), chunks = (batch + in_chunk - 1) / in_chunk;

    begin_array(&c->job, OID_INT8, (uint32_t)(jobs * chunks));
    begin_array(&c->last, OID_INT8, (uint32_t)(jobs * chunks));
    begin_array(&c->batch, OID_INT8, (uint32_t)(jobs * chunks));
    begin_array(&c->stored, OID_BYTEA, (uint32_t)(jobs * chunks));
    for (long j = 0; j < jobs; j++)
        for (long at = 0; at < batch; at += in_chunk) {
            long n = batch - at < in_chunk ? batch - at : in_chunk;

            put_int(&c->job, j + 1);
            put_int(&c->last, *seq + at + n);
            put_int(&c->batch, *seq);
            put_u32(&c->stored, (uint32_t)(n * (bytes + 1) - 1));
            buf_put(&c->stored, c->text, (size_t)(n * (bytes + 1) - 1));
        }
    *seq += batch;
}

static void send_rows(PGconn *conn, const struct chunk_rows *c)
{
    const char *values[] = { c->job.p, c->last.p, c->batch.p, c->stored.p };
    int lengths[] = { (int)c->job.n, (int)c->last.n, (int)c->batch.n, (int)c->stored.n };
    static const int binary[] = { 1, 1, 1, 1 };

    if (PQsendQueryPrepared(conn, "begin", 0, NULL, NULL, NULL, 1) != 1 ||
        PQsendQueryPrepared(conn, "append", 4, values, lengths, binary, 1) != 1 ||
        PQsendQueryPrepared(conn, "commit", 0, NULL, NULL, NULL, 1) != 1 ||
        PQpipelineSync(conn) != 1)
        die(PQerrorMessage(conn));
    for (int i = 0; i < 3; i++) {
        PGresult *r = PQgetResult(conn);

        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            die(PQerrorMessage(conn));
        PQclear(r);
        (void)PQgetResult(conn);
    }
    PQclear(PQgetResult(conn));
}

static double append(const char *url,
                     long jobs,
                     long batch,
                     long bytes,
                     double seconds,
                     double *ret_per_cpu)
{
    struct chunk_rows c = { 0 };
    PGconn *conn = dial(url);
    int64_t seq = 0;
    long n = 0;

    memset(c.text, 'x', sizeof(c.text));
    for (struct buf *b = &c.job; b <= &c.stored; b++)
        buf_init(b, SIZE_MAX / 4);
    run(conn,
        "CREATE TABLE bare (job bigint, last bigint, batch bigint, stored bytea NOT NULL, "
        "PRIMARY KEY (job, last)); ALTER TABLE bare ALTER COLUMN stored SET STORAGE EXTERNAL; "
        "SET synchronous_commit = on");
    PQclear(PQprepare(conn, "begin", "BEGIN", 0, NULL));
    PQclear(PQprepare(conn, "commit", "COMMIT", 0, NULL));
    PQclear(PQprepare(conn, "append",
                      "INSERT INTO bare(job, last, batch, stored) SELECT * FROM "
                      "unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[])",
                      0, NULL));
    if (PQenterPipelineMode(conn) != 1)
        die(PQerrorMessage(conn));
    double start = now(), end = start, start_cpu = cpu();
    for (; end - start < seconds; end = now(), n += jobs * batch) {
        fill(&c, jobs, batch, bytes, &seq);
        send_rows(conn, &c);
    }
    *ret_per_cpu = (double)n / (cpu() - start_cpu);
    PQfinish(conn);
    conn = dial(url);
    run(conn, "DROP TABLE bare");
    PQfinish(conn);
    for (struct buf *b = &c.job; b <= &c.stored; b++)
        buf_done(b);
    return (double)n / (end - start);
}

/* --- the usual shape -------------------------------------------------------------------- */

static void send_one(PGconn *conn, const char *text, long bytes)
{
    const char *values[] = { text };
    int lengths[] = { (int)bytes }, binary[] = { 1 };

    if (PQsendQueryPrepared(conn, "one", 1, values, lengths, binary, 0) != 1)
        die(PQerrorMessage(conn));
    (void)PQflush(conn);
}

/* One statement is one transaction: the row, and the notification of its commit. */
static double usual(const char *url, long workers, long bytes, double seconds)
{
    PGconn *conns[MAX_WORKERS];
    struct pollfd fds[MAX_WORKERS];
    char text[CHUNK_BYTES];
    long n = 0;

    memset(text, 'x', sizeof(text));
    if (workers > MAX_WORKERS || bytes > CHUNK_BYTES)
        die("too many");
    for (long i = 0; i < workers; i++) {
        conns[i] = dial(url);
        if (i == 0)
            run(conns[i],
                "CREATE TABLE usual (id bigserial PRIMARY KEY, stored bytea NOT NULL)");
        PQclear(PQprepare(conns[i], "one",
                          "WITH r AS (INSERT INTO usual(stored) VALUES($1) RETURNING id) "
                          "SELECT pg_notify('usual', id::text) FROM r",
                          0, NULL));
        fds[i] = (struct pollfd){ .fd = PQsocket(conns[i]), .events = POLLIN };
    }
    double start = now(), end = start;
    for (long i = 0; i < workers; i++)
        send_one(conns[i], text, bytes);
    for (; end - start < seconds; end = now()) {
        (void)poll(fds, (nfds_t)workers, 100);
        for (long i = 0; i < workers; i++) {
            if (fds[i].revents == 0 || PQconsumeInput(conns[i]) != 1 || PQisBusy(conns[i]))
                continue;
            for (PGresult *r; (r = PQgetResult(conns[i])) != NULL; PQclear(r))
                if (PQresultStatus(r) != PGRES_TUPLES_OK)
                    die(PQerrorMessage(conns[i]));
            n++;
            send_one(conns[i], text, bytes);
        }
    }
    for (long i = 0; i < workers; i++)
        PQfinish(conns[i]);
    PGconn *conn = dial(url);
    run(conn, "DROP TABLE usual");
    PQfinish(conn);
    return (double)n / (end - start);
}

/* --- replay --------------------------------------------------------------------------- */

static double replay(const char *url, const char *job, double *ret_per_cpu)
{
    struct rendering r;
    PGconn *conn = dial(url);
    uint64_t last = 0;
    int rows;

    rendering_init(&r, job);
    PGresult *key = PQexecParams(conn, "SELECT key FROM jobs WHERE id = convert_to($1, 'UTF8')",
                                 1, NULL, &job, NULL, NULL, 1);
    if (PQntuples(key) != 1)
        die("there is no such job");
    PQclear(
        PQprepare(conn, "page",
                  "SELECT last, stored FROM records WHERE job = $1::int8 AND last > $2::int8 "
                  "ORDER BY last LIMIT 64",
                  0, NULL));
    double start = now(), start_cpu = cpu();
    do {
        uint64_t after = htobe64(last);
        const char *values[] = { PQgetvalue(key, 0, 0), (const char *)&after };
        int lengths[] = { sizeof(after), sizeof(after) }, formats[] = { 1, 1 };
        PGresult *page = PQexecPrepared(conn, "page", 2, values, lengths, formats, 1);

        if (PQresultStatus(page) != PGRES_TUPLES_OK)
            die(PQerrorMessage(conn));
        rows = PQntuples(page);
        for (int i = 0; i < rows; i++) {
            memcpy(&last, PQgetvalue(page, i, 0), sizeof(last));
            last = be64toh(last);
            render_row(&r, str_make(PQgetvalue(page, i, 1), (size_t)PQgetlength(page, i, 1)));
        }
        PQclear(page);
    } while (rows == PAGE_ROWS);
    double seconds = now() - start, seconds_cpu = cpu() - start_cpu;
    if (r.n_bytes == 0 && r.out.n == 0)
        die("nothing was rendered");
    size_t n = r.n_events;
    PQclear(key);
    PQfinish(conn);
    rendering_done(&r);
    *ret_per_cpu = (double)n / seconds_cpu;
    return (double)n / seconds;
}

/* --- wake ----------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void hear(PGconn *conn)
{
    struct pollfd p = { .fd = PQsocket(conn), .events = POLLIN };
    PGnotify *note;

    while ((note = PQnotifies(conn)) == NULL) {
        (void)poll(&p, 1, 1000); /* then look again */
        if (PQconsumeInput(conn) == 0)
            die(PQerrorMessage(conn));
    }
    PQfreemem(note);
}

/* Until the next @i of so many a second. */
static void keep_pace(double begin, long i, long rate)
{
    double left = rate > 0 ? begin + (double)i / (double)rate - now() : 0;
    struct timespec pause = { .tv_nsec = (long)(left * 1e9) };

    if (left > 0)
        (void)nanosleep(&pause, NULL); /* a shorter one does not matter */
}

static double wake(const char *url, long bytes, long count, long rate)
{
    PGconn *here = dial(url), *there = dial(url);
    double *us = calloc((size_t)count + 1, sizeof(*us));
    char insert[200];

    if (us == NULL || count < 1)
        die("wake: COUNT");
    run(here, "CREATE TABLE IF NOT EXISTS woken (id bigserial PRIMARY KEY, stored bytea)");
    run(there, "LISTEN woken");
    (void)snprintf(insert, sizeof(insert),
                   "INSERT INTO woken (stored) VALUES (repeat('x', %ld)::bytea)", bytes);
    double begin = now();
    for (long i = 0; i < count; i++) {
        keep_pace(begin, i, rate);
        double from = now();

        run(here, insert);
        run(here, "NOTIFY woken");
        hear(there);
        run(there, "SELECT stored FROM woken ORDER BY id DESC LIMIT 1");
        us[i] = (now() - from) * 1e6;
    }
    qsort(us, (size_t)count, sizeof(*us), by_size);
    double median = us[count / 2];
    free(us);
    PQfinish(here);
    PQfinish(there);
    return median;
}

int main(int argc, char **argv)
{
    double value, per_cpu = 0;

    if (argc == 7 && strcmp(argv[1], "append") == 0)
        value = append(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10),
                       strtol(argv[5], NULL, 10), strtod(argv[6], NULL), &per_cpu);
    else if (argc == 6 && strcmp(argv[1], "usual") == 0)
        value = usual(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10),
                      strtod(argv[5], NULL));
    else if (argc == 6 && strcmp(argv[1], "wake") == 0)
        value = wake(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10),
                     strtol(argv[5], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "replay") == 0)
        value = replay(argv[2], argv[3], &per_cpu);
    else
        die("append URL JOBS BATCH BYTES SECONDS | usual URL WORKERS BYTES SECONDS | wake URL BYTES COUNT RATE | "
            "replay URL JOB");
    printf("%.0f %.0f\n", value, per_cpu);
    return 0;
}
