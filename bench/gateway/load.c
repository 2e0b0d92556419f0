/* The load: readers that hold streams open, and writers that post, in one thread.
 *
 *   load KEY=VALUE...      prints `ready` when all readers have their answer's head, then
 *                          one line of JSON
 *
 *   port=8400 pid=1        the server; its threads' CPU time is read from /proc
 *   to=0                   the port that writers post to; 0: the same server
 *   readers=1000 jobs=1    reader i asks for job i % jobs
 *   get=/v1/jobs/b%d/...   the readers' path; %d is the job
 *   writers=1 depth=1      connections, and requests that each has unanswered at most
 *   post=/v1/worker/...    the writers' path; %d is the job; each writer goes round the jobs
 *                          that are its own
 *   leases=FILE            a line for each job, which is put behind the path
 *   body=FILE events=10    what is posted, and how many events are in it
 *   repeat=1               posts to one job before the next one's turn
 *   rate=0                 posts per second in all, whatever the answers; 0: as they come
 *   warm=0.5 seconds=2     seconds of warming up, and seconds that are measured
 *   until=0                instead: until reader 0 has so many frames
 *   look=0                 1: every reader looks at its bytes (latency is then measured from
 *                          the digits behind `T=` in the body)
 *   drain=1                wait at the end for what is still on its way
 *   idle=0                 1: only hold the streams, until standard input ends
 *
 * A reader that does not look lets the kernel throw its bytes away (MSG_TRUNC): the load
 * must not be what is measured.  Reader 0 always looks and counts frames; the others got the
 * same bytes, which is checked at the end. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_PATH = 256,
    MAX_LEASE = 128,
    MAX_THREADS = 64,
    READ_BYTES = 1 << 20,
    PER_ADDRESS = 8000
};

struct reader {
    int fd;
    bool has_head, looks, closed;
    int newlines; /* seen in a row at the end of the last piece */
    int carry_n;  /* of a piece that may hold half a stamp */
    char carry[32];
    uint64_t bytes, frames; /* behind the head */
};

struct writer {
    int fd;
    int index, job, turn, open; /* requests without answer */
    char *out;
    size_t out_n, out_at;
    char in[4096];
    size_t in_n;
    int64_t sent_at[256]; /* of the open ones, a ring */
    unsigned first;
};

struct thread {
    char name[32];
    uint64_t tid, ns;
};

struct load {
    long port, to, pid, n_readers, n_jobs, n_writers, depth, events, repeat, rate, until, look,
        idle, drain;
    double warm, seconds;
    char get[MAX_PATH], post[MAX_PATH], body_path[MAX_PATH], leases_path[MAX_PATH];
    char (*leases)[MAX_LEASE]; /* of the jobs; NULL: none are needed */
    char *body;
    size_t body_n, stamp; /* where the digits are, or 0 */
    int ep;
    struct reader *readers;
    struct writer *writers;
    char *scratch;
    uint64_t n_bytes, n_acked, n_refused, n_posted;
    long n_heads, n_closed;
    bool stopped, counts;
    int64_t *latency, *ack;
    size_t n_latency, n_ack, cap;
};

static void die(const char *why)
{
    fprintf(stderr, "load: %s: %s\n", why, strerror(errno));
    exit(2);
}

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double own_cpu(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- the server's threads ------------------------------------------------------------ */

static int read_threads(long pid, struct thread out[MAX_THREADS])
{
    char path[400], text[128];
    struct dirent *e;
    int n = 0;

    if (pid == 0)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/task", pid);
    DIR *d = opendir(path);
    if (d == NULL)
        return 0;
    while ((e = readdir(d)) != NULL && n < MAX_THREADS) {
        unsigned long long ns = 0;
        FILE *f;

        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/schedstat", pid, e->d_name);
        f = fopen(path, "r");
        if (f == NULL)
            continue;
        if (fscanf(f, "%llu", &ns) != 1)
            ns = 0;
        (void)fclose(f);
        (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/comm", pid, e->d_name);
        f = fopen(path, "r");
        if (f == NULL)
            continue;
        if (fgets(text, sizeof(text), f) == NULL)
            text[0] = '\0';
        (void)fclose(f);
        text[strcspn(text, "\n")] = '\0';
        out[n] = (struct thread){ .tid = strtoull(e->d_name, NULL, 10), .ns = ns };
        (void)snprintf(out[n++].name, sizeof(out[0].name), "%.31s", text);
    }
    (void)closedir(d);
    return n;
}

/* --- connecting ------------------------------------------------------------------------ */

static int dial(long port, long i)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in from = { .sin_family = AF_INET };
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("socket");
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(i / PER_ADDRESS));
    (void)setsockopt(fd, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) != 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("connect");
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl");
    return fd;
}

static void watch(struct load *l, int fd, uint64_t data)
{
    struct epoll_event e = { .events = EPOLLIN, .data.u64 = data };

    if (epoll_ctl(l->ep, EPOLL_CTL_ADD, fd, &e) != 0)
        die("epoll_ctl");
}

static void start_reader(struct load *l, long i)
{
    struct reader *r = &l->readers[i];
    char path[MAX_PATH + 20], text[MAX_PATH + 200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(path, sizeof(path), l->get, (int)(i % l->n_jobs));
#pragma GCC diagnostic pop
    int n =
        snprintf(text, sizeof(text),
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nAccept: text/event-stream\r\n\r\n",
                 path, l->port);
    r->fd = dial(l->port, i);
    r->looks = l->look || i == 0;
    if (send(r->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        die("send");
    watch(l, r->fd, (uint64_t)i);
}

/* --- reading ----------------------------------------------------------------------------- */

static void keep_latency(struct load *l, int64_t ns)
{
    if (l->counts && l->n_latency < l->cap)
        l->latency[l->n_latency++] = ns;
}

static void find_stamps(struct load *l, struct reader *r, const char *p, size_t n)
{
    static char joined[READ_BYTES + 64];
    int64_t now = now_ns();

    memcpy(joined, r->carry, (size_t)r->carry_n);
    memcpy(joined + r->carry_n, p, n);
    n += (size_t)r->carry_n;
    const char *at = joined, *end = joined + n;
    const char *rest = end;
    while ((at = memmem(at, (size_t)(end - at), "T=", 2)) != NULL) {
        if (end - at < 21)
            break;
        keep_latency(l, now - strtoll(at + 2, NULL, 10));
        at += 21;
        rest = at;
    }
    size_t keep = at != NULL ? (size_t)(end - at) : 1;
    if (keep > (size_t)(end - rest) && at == NULL)
        keep = (size_t)(end - rest);
    r->carry_n = (int)keep;
    memcpy(r->carry, end - keep, keep);
}

static void count_frames(struct reader *r, const char *p, size_t n)
{
    const char *end = p + n;

    for (const char *at = p; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) {
        bool pair = at > p ? at[-1] == '\n' : r->newlines > 0;

        if (pair)
            r->frames++;
    }
    r->newlines = n > 0 && end[-1] == '\n';
}

static void take(struct load *l, struct reader *r, const char *p, size_t n)
{
    r->bytes += n;
    l->n_bytes += n;
    if (!r->looks)
        return;
    count_frames(r, p, n);
    if (l->look)
        find_stamps(l, r, p, n);
}

static void on_readable(struct load *l, struct reader *r)
{
    bool looks = r->looks || !r->has_head;
    ssize_t n =
        recv(r->fd, l->scratch, looks ? READ_BYTES : 16 * READ_BYTES, looks ? 0 : MSG_TRUNC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        (void)epoll_ctl(l->ep, EPOLL_CTL_DEL, r->fd, NULL);
        r->closed = true;
        l->n_closed++;
        return;
    }
    if (r->has_head) {
        take(l, r, l->scratch, (size_t)n);
        return;
    }
    const char *end = memmem(l->scratch, (size_t)n, "\r\n\r\n", 4); /* the head comes whole */
    if (end == NULL || memcmp(l->scratch, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "load: a reader was answered: %.*s\n", (int)(n < 300 ? n : 300),
                l->scratch);
        exit(2);
    }
    r->has_head = true;
    l->n_heads++;
    end += 4;
    take(l, r, end, (size_t)n - (size_t)(end - l->scratch));
}

/* --- writing ------------------------------------------------------------------------------ */

static void flush_writer(struct load *l, struct writer *w)
{
    struct epoll_event e = { .events = EPOLLIN, .data.u64 = (1ull << 32) + (uint64_t)w->index };

    while (w->out_at < w->out_n) {
        ssize_t n = send(w->fd, w->out + w->out_at, w->out_n - w->out_at, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN) {
            e.events = EPOLLIN | EPOLLOUT;
            break;
        }
        if (n < 0)
            die("writer");
        w->out_at += (size_t)n;
    }
    if (w->out_at == w->out_n)
        w->out_at = w->out_n = 0;
    (void)epoll_ctl(l->ep, EPOLL_CTL_MOD, w->fd, &e);
}

static void post(struct load *l, struct writer *w)
{
    char path[MAX_PATH + 20], head[MAX_PATH + MAX_LEASE + 200];
    const char *lease = l->leases != NULL ? l->leases[w->job] : "";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(path, sizeof(path), l->post, w->job);
#pragma GCC diagnostic pop
    if (++w->turn >= l->repeat) {
        w->turn = 0;
        w->job += (int)l->n_writers;
        if (w->job >= l->n_jobs)
            w->job = (int)(w->index % l->n_jobs);
    }
    int n = snprintf(head, sizeof(head),
                     "POST %s%s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nContent-Length: %zu\r\n\r\n",
                     path, lease, l->to > 0 ? l->to : l->port, l->body_n);
    int64_t now = now_ns();
    if (l->stamp > 0) {
        char digits[24];

        (void)snprintf(digits, sizeof(digits), "%019lld", (long long)now);
        memcpy(l->body + l->stamp, digits, 19);
    }
    w->out = realloc(w->out, w->out_n + (size_t)n + l->body_n);
    if (w->out == NULL)
        die("memory");
    memcpy(w->out + w->out_n, head, (size_t)n);
    memcpy(w->out + w->out_n + n, l->body, l->body_n);
    w->out_n += (size_t)n + l->body_n;
    w->sent_at[(w->first + (unsigned)w->open) % 256] = now;
    w->open++;
    l->n_posted++;
}

static void fill(struct load *l, struct writer *w)
{
    while (!l->stopped && l->rate == 0 && w->open < l->depth)
        post(l, w);
    if (w->out_n > 0)
        flush_writer(l, w);
}

/* The length of the answer at the front of `in`, or 0. */
static size_t whole_answer(const struct writer *w)
{
    const char *end = memmem(w->in, w->in_n, "\r\n\r\n", 4);
    const char *length = memmem(w->in, w->in_n, "Content-Length: ", 16);

    if (end == NULL)
        return 0;
    size_t n = (size_t)(end - w->in) + 4;
    if (length != NULL && length < end)
        n += strtoul(length + 16, NULL, 10);
    return n <= w->in_n ? n : 0;
}

static void on_answers(struct load *l, struct writer *w)
{
    ssize_t got = recv(w->fd, w->in + w->in_n, sizeof(w->in) - w->in_n, 0);
    size_t n;

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        die("a writer was cut off");
    w->in_n += (size_t)got;
    while ((n = whole_answer(w)) > 0) {
        if (memcmp(w->in, "HTTP/1.1 20", 11) == 0 &&
            memmem(w->in, n, "\"rejected\":0", 12) != NULL)
            l->n_acked++;
        else if (memcmp(w->in, "HTTP/1.1 20", 11) == 0 && memmem(w->in, n, "\"rej", 4) == NULL)
            l->n_acked++; /* nchan */
        else if (l->n_refused++ == 0)
            fprintf(stderr, "load: a writer was answered: %.*s\n", (int)n, w->in);
        if (l->counts && l->n_ack < l->cap)
            l->ack[l->n_ack++] = now_ns() - w->sent_at[w->first % 256];
        w->first = (w->first + 1) % 256;
        w->open--;
        w->in_n -= n;
        memmove(w->in, w->in + n, w->in_n);
    }
    fill(l, w);
}

/* --- running ---------------------------------------------------------------------------------
 */

static void turn(struct load *l, int timeout_ms)
{
    static struct epoll_event events[1024];
    int n = epoll_wait(l->ep, events, 1024, timeout_ms);

    for (int i = 0; i < n; i++) {
        uint64_t data = events[i].data.u64;

        if (data >> 32 == 0) {
            on_readable(l, &l->readers[data]);
            continue;
        }
        struct writer *w = &l->writers[data & 0xffffffff];
        if (events[i].events & EPOLLOUT)
            flush_writer(l, w);
        if (events[i].events & ~(uint32_t)EPOLLOUT)
            on_answers(l, w);
    }
}

static void run_until(struct load *l, int64_t end)
{
    static int64_t due;
    int64_t now = now_ns(), gap = l->rate > 0 ? 1000000000 / l->rate : 0;
    static unsigned long next;

    if (due == 0)
        due = now;
    while (now < end && !(l->until > 0 && (long)l->readers[0].frames >= l->until) &&
           !(l->n_readers > 0 && l->n_closed == l->n_readers)) {
        int wait = (int)((end - now) / 1000000) + 1;

        if (l->rate > 0 && !l->stopped) {
            for (; due <= now; due += gap) {
                struct writer *w = &l->writers[next++ % (unsigned long)l->n_writers];

                if (w->open >= 250)
                    die("the server is far behind");
                post(l, w);
                flush_writer(l, w);
            }
            wait = (int)((due - now) / 1000000);
        }
        turn(l, wait);
        now = now_ns();
    }
}

static void open_readers(struct load *l)
{
    int64_t give_up = now_ns() + 60000000000;

    for (long i = 0; i < l->n_readers; i++) {
        start_reader(l, i);
        while (i - l->n_heads > 200 && now_ns() < give_up)
            turn(l, 100);
    }
    while (l->n_heads < l->n_readers && now_ns() < give_up)
        turn(l, 100);
    if (l->n_heads < l->n_readers)
        die("not all readers were answered in time");
    run_until(l, now_ns() + 300000000);
}

static void open_writers(struct load *l)
{
    for (int i = 0; i < l->n_writers; i++) {
        struct writer *w = &l->writers[i];

        w->index = i;
        w->job = (int)(i % l->n_jobs);
        w->fd = dial(l->to > 0 ? l->to : l->port, l->n_readers + i);
        watch(l, w->fd, (1ull << 32) + (uint64_t)i);
    }
}

/* Waits for what is still on its way. */
static void drain(struct load *l)
{
    int64_t give_up = now_ns() + 8000000000, last = now_ns();
    uint64_t before = l->n_bytes + l->n_acked;

    l->stopped = true;
    while (now_ns() < give_up && now_ns() - last < 300000000) {
        turn(l, 50);
        if (l->n_bytes + l->n_acked != before) {
            before = l->n_bytes + l->n_acked;
            last = now_ns();
        }
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_latency(const char *name, int64_t *values, size_t n)
{
    qsort(values, n, sizeof(values[0]), by_value);
    printf(",\"%s_n\":%zu", name, n);
    if (n > 0)
        printf(",\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f", name, (double)values[n / 2] / 1e3,
               name, (double)values[n * 99 / 100] / 1e3);
}

static void print_threads(struct thread *a, int na, struct thread *b, int nb)
{
    double all = 0;

    printf(",\"threads\":{");
    for (int i = 0; i < nb; i++) {
        uint64_t ns = b[i].ns;

        for (int k = 0; k < na; k++)
            if (a[k].tid == b[i].tid)
                ns -= a[k].ns;
        all += (double)ns / 1e9;
        printf("%s\"%s-%d\":%.3f", i > 0 ? "," : "", b[i].name, i, (double)ns / 1e9);
    }
    printf("},\"cpu\":%.4f", all);
}

/* How many readers have other bytes than reader 0 (of the same job). */
static long count_odd(const struct load *l)
{
    long odd = 0;

    for (long i = 0; l->n_jobs == 1 && i < l->n_readers; i++)
        odd += l->readers[i].bytes != l->readers[0].bytes;
    return odd;
}

static void measure(struct load *l)
{
    static struct thread before[MAX_THREADS], after[MAX_THREADS];

    for (int i = 0; i < l->n_writers; i++)
        fill(l, &l->writers[i]);
    if (l->until == 0)
        run_until(l, now_ns() + (int64_t)(l->warm * 1e9));
    l->counts = true;
    int na = read_threads(l->pid, before);
    uint64_t bytes = l->n_bytes, acked = l->n_acked;
    double cpu = own_cpu();
    int64_t start = now_ns();
    run_until(l, start + (int64_t)(l->seconds * 1e9));
    double seconds = (double)(now_ns() - start) / 1e9;
    int nb = read_threads(l->pid, after);
    cpu = own_cpu() - cpu;
    bytes = l->n_bytes - bytes;
    acked = l->n_acked - acked;
    l->counts = false;
    if (l->until == 0 && l->drain)
        drain(l);

    uint64_t all_frames = 0, all_bytes = 0;
    for (long i = 0; i < l->n_readers; i++) {
        if (!l->readers[i].looks)
            continue;
        all_frames += l->readers[i].frames;
        all_bytes += l->readers[i].bytes;
    }
    double frame = all_frames > 0 ? (double)all_bytes / (double)all_frames : 0;
    printf("{\"seconds\":%.4f,\"bytes\":%llu,\"frame_bytes\":%.1f,\"deliveries\":%.0f,"
           "\"events\":%llu,\"refused\":%llu,\"odd\":%ld,\"closed\":%ld,\"frames\":%llu,"
           "\"load_cpu\":%.3f",
           seconds, (unsigned long long)bytes, frame, frame > 0 ? (double)bytes / frame : 0,
           (unsigned long long)(acked * (uint64_t)l->events), (unsigned long long)l->n_refused,
           count_odd(l), l->n_closed, (unsigned long long)all_frames, cpu);
    printf(",\"posted\":%llu,\"acked\":%llu", (unsigned long long)l->n_posted,
           (unsigned long long)l->n_acked);
    print_threads(before, na, after, nb);
    print_latency("latency", l->latency, l->n_latency);
    print_latency("ack", l->ack, l->n_ack);
    printf("}\n");
}

static void read_body(struct load *l)
{
    FILE *f = fopen(l->body_path, "r");

    l->body = calloc(1, 1 << 20);
    if (f == NULL || l->body == NULL)
        die("body");
    l->body_n = fread(l->body, 1, 1 << 20, f);
    (void)fclose(f);
    const char *at = memmem(l->body, l->body_n, "T=", 2);
    if (at != NULL && (l->rate > 0 || l->look))
        l->stamp = (size_t)(at - l->body) + 2;
}

static void read_leases(struct load *l)
{
    FILE *f = fopen(l->leases_path, "r");

    l->leases = calloc((size_t)l->n_jobs, sizeof(*l->leases));
    if (f == NULL || l->leases == NULL)
        die(l->leases_path);
    for (long i = 0; i < l->n_jobs; i++) {
        if (fgets(l->leases[i], MAX_LEASE, f) == NULL)
            die("too few leases");
        l->leases[i][strcspn(l->leases[i], "\n")] = '\0';
    }
    (void)fclose(f);
}

static void set(struct load *l, const char *word)
{
    struct {
        const char *name;
        long *number;
        double *real;
        char *text;
    } table[] = {
        { "port", &l->port, NULL, NULL },     { "to", &l->to, NULL, NULL },
        { "pid", &l->pid, NULL, NULL },       { "readers", &l->n_readers, NULL, NULL },
        { "jobs", &l->n_jobs, NULL, NULL },   { "writers", &l->n_writers, NULL, NULL },
        { "depth", &l->depth, NULL, NULL },   { "events", &l->events, NULL, NULL },
        { "repeat", &l->repeat, NULL, NULL }, { "rate", &l->rate, NULL, NULL },
        { "until", &l->until, NULL, NULL },   { "look", &l->look, NULL, NULL },
        { "idle", &l->idle, NULL, NULL },     { "drain", &l->drain, NULL, NULL },
        { "warm", NULL, &l->warm, NULL },     { "seconds", NULL, &l->seconds, NULL },
        { "get", NULL, NULL, l->get },        { "post", NULL, NULL, l->post },
        { "body", NULL, NULL, l->body_path }, { "leases", NULL, NULL, l->leases_path },
    };
    size_t n = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strlen(table[i].name) != n || strncmp(table[i].name, word, n) != 0)
            continue;
        if (table[i].number != NULL)
            *table[i].number = strtol(word + n + 1, NULL, 10);
        else if (table[i].real != NULL)
            *table[i].real = strtod(word + n + 1, NULL);
        else
            (void)snprintf(table[i].text, MAX_PATH, "%s", word + n + 1);
        return;
    }
    fprintf(stderr, "load: what is %s?\n", word);
    exit(2);
}

int main(int argc, char **argv)
{
    struct load l = { .n_jobs = 1,
                      .depth = 1,
                      .events = 1,
                      .repeat = 1,
                      .warm = 0.5,
                      .seconds = 2,
                      .drain = 1,
                      .cap = 4000000 };
    struct rlimit limit;

    for (int i = 1; i < argc; i++)
        set(&l, argv[i]);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    l.ep = epoll_create1(EPOLL_CLOEXEC);
    l.readers = calloc((size_t)l.n_readers + 1, sizeof(*l.readers));
    l.writers = calloc((size_t)l.n_writers + 1, sizeof(*l.writers));
    l.scratch = malloc(READ_BYTES);
    l.latency = malloc(l.cap * sizeof(int64_t));
    l.ack = malloc(l.cap * sizeof(int64_t));
    if (l.readers == NULL || l.writers == NULL || l.scratch == NULL || l.latency == NULL ||
        l.ack == NULL)
        die("memory");
    if (l.n_writers > 0)
        read_body(&l);
    if (l.leases_path[0] != '\0')
        read_leases(&l);
    l.stopped = true;
    if (l.until == 0)
        open_readers(&l);
    open_writers(&l);
    if (l.idle) {
        int flags = fcntl(0, F_GETFL);
        char c;

        (void)fcntl(0, F_SETFL, flags | O_NONBLOCK);
        printf("ready\n");
        (void)fflush(stdout);
        while (read(0, &c, 1) != 0)
            turn(&l, 200);
        printf("{\"closed\":%ld,\"bytes\":%llu}\n", l.n_closed, (unsigned long long)l.n_bytes);
        return 0;
    }
    printf("ready\n");
    (void)fflush(stdout);
    if (l.until > 0) /* a replay begins with its request */
        for (long i = 0; i < l.n_readers; i++)
            start_reader(&l, i);
    l.stopped = false;
    measure(&l);
    return 0;
}
