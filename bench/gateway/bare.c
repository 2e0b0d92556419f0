/* Baselines for the gateway where there is no other server to compare it with.
 *
 *   bare append FOLDER BATCH SECONDS        rows/s, and per CPU second: SQLite with
 *                                           synchronous=FULL, our table's shape, one insert
 *                                           a row, BATCH rows a commit
 *   bare replay FILE JOB                    events/s, and per CPU second: SELECT, parse,
 *                                           render `aiq` as SSE, in one thread, into memory
 *   bare redis PORT CLIENTS BATCH SECONDS   events/s: XADD, each client sends BATCH at a time
 *                                           and waits for the answers */
#define _GNU_SOURCE
#include "rendering.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sqlite3.h>

enum { EVENT_BYTES = 200, CHECKPOINT_FRAMES = 4000, SEQ_BITS = 30 };

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    return stmt;
}

static void step(sqlite3_stmt *stmt)
{
    if (sqlite3_step(stmt) != SQLITE_DONE)
        die("step");
    (void)sqlite3_reset(stmt);
}

/* --- append --------------------------------------------------------------------------- */

static int frames_in_wal;

static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
    (void)arg;
    (void)db;
    (void)name;
    frames_in_wal = frames;
    return SQLITE_OK;
}

static double append(const char *folder, long batch, double seconds, double *ret_per_cpu)
{
    char path[400], text[EVENT_BYTES];
    sqlite3 *db = NULL;
    sqlite3_int64 id = 1ll << SEQ_BITS;
    long rows = 0;

    memset(text, 'x', sizeof(text));
    (void)snprintf(path, sizeof(path), "%s/bare.db", folder);
    (void)unlink(path);
    if (sqlite3_open_v2(path, &db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                     "PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-32768;"
                     "CREATE TABLE records(id INTEGER PRIMARY KEY, stored TEXT NOT NULL)",
                     NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    (void)sqlite3_wal_hook(db, on_wal, NULL);
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE"), *commit = prepare(db, "COMMIT");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO records(id, stored) VALUES(?, ?)");
    double start = now(), end = start, start_cpu = cpu();
    for (; end - start < seconds; end = now(), rows += batch) {
        step(begin);
        for (long i = 0; i < batch; i++) {
            (void)sqlite3_bind_int64(insert, 1, ++id);
            (void)sqlite3_bind_text(insert, 2, text, EVENT_BYTES, SQLITE_STATIC);
            step(insert);
        }
        step(commit);
        if (frames_in_wal >= CHECKPOINT_FRAMES) {
            (void)sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
            frames_in_wal = 0;
        }
    }
    *ret_per_cpu = (double)rows / (cpu() - start_cpu);
    (void)sqlite3_finalize(begin);
    (void)sqlite3_finalize(insert);
    (void)sqlite3_finalize(commit);
    (void)sqlite3_close(db);
    (void)unlink(path);
    return (double)rows / (end - start);
}

/* --- replay --------------------------------------------------------------------------- */

static double replay(const char *path, const char *job, double *ret_per_cpu)
{
    struct rendering r;
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        die("cannot open");
    rendering_init(&r, job);
    double start = now(), start_cpu = cpu();
    sqlite3_stmt *s = prepare(db, "SELECT r.id, r.stored FROM jobs j, records r WHERE j.id = ?"
                                  " AND r.id > j.key << 30 AND r.id < (j.key + 1) << 30"
                                  " ORDER BY r.id");
    (void)sqlite3_bind_text(s, 1, job, -1, SQLITE_STATIC);
    while (sqlite3_step(s) == SQLITE_ROW)
        render_row(&r, str_make((const char *)sqlite3_column_text(s, 1),
                                (size_t)sqlite3_column_bytes(s, 1)));
    double seconds = now() - start, seconds_cpu = cpu() - start_cpu;
    if (r.n_bytes == 0 && r.out.n == 0)
        die("nothing was rendered");
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    rendering_done(&r);
    *ret_per_cpu = (double)r.n_events / seconds_cpu;
    return (double)r.n_events / seconds;
}

/* --- Redis ---------------------------------------------------------------------------- */

struct client {
    int fd;
    char *text; /* owned; of a batch */
    size_t n;
    long open; /* answers that are missing */
    bool in_length;
};

static int dial(long port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* A batch of XADD to a stream of its own. */
static void write_batch(struct client *c, long number, long batch)
{
    char key[32], value[EVENT_BYTES + 1], one[512];
    int key_n = snprintf(key, sizeof(key), "stream:%ld", number);

    memset(value, 'x', EVENT_BYTES);
    value[EVENT_BYTES] = '\0';
    int n = snprintf(one, sizeof(one),
                     "*5\r\n$4\r\nXADD\r\n$%d\r\n%s\r\n$1\r\n*\r\n$1\r\nd\r\n$%d\r\n%s\r\n",
                     key_n, key, EVENT_BYTES, value);
    c->n = (size_t)(n * batch);
    c->text = malloc(c->n);
    if (c->text == NULL)
        die("memory");
    for (long k = 0; k < batch; k++)
        memcpy(c->text + k * n, one, (size_t)n);
}

static void send_batch(struct client *c, long batch)
{
    for (size_t at = 0; at < c->n;) {
        ssize_t sent = send(c->fd, c->text + at, c->n - at, MSG_NOSIGNAL);

        if (sent <= 0)
            die("send");
        at += (size_t)sent;
    }
    c->open = batch;
}

/* $15\r\n1700000000000-0\r\n: two line ends each.  How many have come. */
static long take_answers(struct client *c)
{
    char in[65536];
    ssize_t n = recv(c->fd, in, sizeof(in), 0);
    long done = 0;

    if (n <= 0 || memchr(in, '-', 1) != NULL)
        die("Redis answered with an error");
    for (ssize_t k = 0; k < n; k++) {
        if (in[k] != '\n')
            continue;
        c->in_length = !c->in_length;
        done += !c->in_length;
    }
    c->open -= done;
    return done;
}

static double redis(long port, long n_clients, long batch, double seconds)
{
    struct client *clients = calloc((size_t)n_clients, sizeof(*clients));
    int ep = epoll_create1(0);
    long done = 0;

    if (clients == NULL)
        die("memory");
    for (long i = 0; i < n_clients; i++) {
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = &clients[i] };

        write_batch(&clients[i], i, batch);
        clients[i].fd = dial(port);
        (void)epoll_ctl(ep, EPOLL_CTL_ADD, clients[i].fd, &e);
    }
    double start = now(), end = start;
    for (long i = 0; i < n_clients; i++)
        send_batch(&clients[i], batch);
    for (; end - start < seconds; end = now()) {
        struct epoll_event events[64];
        int got = epoll_wait(ep, events, 64, 100);

        for (int i = 0; i < got; i++) {
            struct client *c = events[i].data.ptr;

            done += take_answers(c);
            if (c->open == 0)
                send_batch(c, batch);
        }
    }
    for (long i = 0; i < n_clients; i++) {
        (void)close(clients[i].fd);
        free(clients[i].text);
    }
    free(clients);
    return (double)done / (end - start);
}

int main(int argc, char **argv)
{
    double value, per_cpu = 0;

    if (argc == 5 && strcmp(argv[1], "append") == 0)
        value = append(argv[2], strtol(argv[3], NULL, 10), strtod(argv[4], NULL), &per_cpu);
    else if (argc == 4 && strcmp(argv[1], "replay") == 0)
        value = replay(argv[2], argv[3], &per_cpu);
    else if (argc == 6 && strcmp(argv[1], "redis") == 0)
        value = redis(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10),
                      strtol(argv[4], NULL, 10), strtod(argv[5], NULL));
    else
        die("append FOLDER BATCH SECONDS | replay FILE JOB | redis PORT CLIENTS BATCH SECONDS");
    printf("%.0f %.0f\n", value, per_cpu);
    return 0;
}
