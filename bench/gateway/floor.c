/* The floor of a fan-out: accepts readers, then only write()s the same frames to all.
 *
 *   floor READERS FRAMES_PER_WRITE FRAME_BYTES [EVENTS_PER_SECOND]
 *
 * Prints its port.  Whoever has asked (any request) gets a head; when all have, writing
 * begins: flat out, or one frame at that rate with the time in it (`T=` and 19 digits).  A
 * full socket is waited for. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void die(const char *why)
{
    fprintf(stderr, "floor: %s: %s\n", why, strerror(errno));
    exit(2);
}

static long long now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int start_listening(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) != 0)
        die("listen");
    printf("%d\n", ntohs(at.sin_port));
    (void)fflush(stdout);
    return fd;
}

/* Until @n have asked. */
static void accept_all(int listener, int *fds, long n)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    struct epoll_event e = { .events = EPOLLIN, .data.fd = listener }, events[256];
    int ep = epoll_create1(0);
    long asked = 0, opened = 0;
    char text[1024];

    (void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e);
    while (asked < n) {
        int got = epoll_wait(ep, events, 256, -1);

        for (int i = 0; i < got; i++) {
            int fd = events[i].data.fd, one = 1;

            if (fd == listener) {
                fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                if (fd < 0 || opened == n)
                    die("accept");
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
                fds[opened++] = fd;
                e.data.fd = fd;
                (void)epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
                continue;
            }
            if (read(fd, text, sizeof(text)) <= 0 || write(fd, head, sizeof(head) - 1) < 0)
                die("a reader left");
            (void)epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
            asked++;
        }
    }
    (void)close(ep);
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = write(fd, p, n);

        if (sent < 0 && errno != EAGAIN)
            exit(0); /* the load has ended and closed its connections */
        if (sent < 0) {
            struct pollfd wait = { .fd = fd, .events = POLLOUT };

            (void)poll(&wait, 1, 1000);
            continue;
        }
        p += sent;
        n -= (size_t)sent;
    }
}

static void sleep_until(long long at)
{
    struct timespec t = { at / 1000000000, at % 1000000000 };

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
    long n = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
    size_t frames = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    long rate = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    struct rlimit limit;

    if (n <= 0 || frames == 0 || bytes < 64)
        return 2;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    int *fds = calloc((size_t)n, sizeof(*fds));
    char *text = malloc(frames * bytes);
    if (fds == NULL || text == NULL)
        die("memory");
    memset(text, 'x', frames * bytes);
    for (size_t i = 0; i < frames; i++) {
        memcpy(text + i * bytes, "data: T=", 8);
        memset(text + i * bytes + 8, '0', 19);
        memcpy(text + (i + 1) * bytes - 2, "\n\n", 2);
    }
    accept_all(start_listening(), fds, n);
    sleep_until(now_ns() + 500000000);
    for (long long due = now_ns();;) {
        if (rate > 0) {
            char digits[24];

            sleep_until(due);
            (void)snprintf(digits, sizeof(digits), "%019lld", due); /* being late counts */
            due += 1000000000 / rate;
            memcpy(text + 8, digits, 19);
        }
        for (long i = 0; i < n; i++)
            write_all(fds[i], text, frames * bytes);
    }
}
