/* Either end of a Redis channel, as fast as hiredis goes.
 *
 *   channel publish SOCKET JOBS COUNT FILE
 *           COUNT messages, the lines of FILE over and over, in turn to jobs:b0:events,
 *           jobs:b1:events, …, 1000 at a time; prints when it began
 *   channel count SOCKET COUNT
 *           subscribes to jobs:*:events, prints `ready`, counts so many messages and prints
 *           when the last one came
 *
 * Times are seconds of the monotonic clock. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIPELINE = 1000, MAX_LINES = 100000 };

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "channel: %s\n", what);
    exit(1);
}

static redisContext *dial(const char *path)
{
    redisContext *c = redisConnectUnix(path);

    if (c == NULL || c->err != 0)
        die(c != NULL ? c->errstr : "out of memory");
    return c;
}

static void take_reply(redisContext *c)
{
    redisReply *reply;

    if (redisGetReply(c, (void **)&reply) != REDIS_OK)
        die(c->errstr);
    freeReplyObject(reply);
}

static size_t read_lines(const char *path, char **lines, size_t *sizes)
{
    FILE *f = fopen(path, "r");
    size_t n = 0, cap = 0;
    ssize_t got;

    if (f == NULL)
        die("cannot open the file");
    while (n < MAX_LINES && (lines[n] = NULL, got = getline(&lines[n], &cap, f)) > 0) {
        sizes[n++] = (size_t)got - 1; /* without the line's end */
        cap = 0;
    }
    (void)fclose(f);
    if (n == 0)
        die("the file is empty");
    return n;
}

static void publish(const char *path, long jobs, long count, const char *file)
{
    static char *lines[MAX_LINES];
    static size_t sizes[MAX_LINES];
    size_t n = read_lines(file, lines, sizes);
    redisContext *c = dial(path);
    char name[64];

    printf("%.6f\n", now());
    for (long i = 0; i < count;) {
        long batch = count - i < PIPELINE ? count - i : PIPELINE;

        for (long k = 0; k < batch; k++, i++) {
            size_t line = (size_t)(i / jobs) % n;

            (void)snprintf(name, sizeof(name), "jobs:b%ld:events", i % jobs);
            const char *words[] = { "PUBLISH", name, lines[line] };
            size_t lengths[] = { 7, strlen(name), sizes[line] };
            if (redisAppendCommandArgv(c, 3, words, lengths) != REDIS_OK)
                die(c->errstr);
        }
        while (batch-- > 0)
            take_reply(c);
    }
    redisFree(c);
}

static void count(const char *path, long wanted)
{
    redisContext *c = dial(path);

    if (redisAppendCommand(c, "PSUBSCRIBE jobs:*:events") != REDIS_OK)
        die(c->errstr);
    take_reply(c);
    printf("ready\n");
    (void)fflush(stdout);
    while (wanted-- > 0)
        take_reply(c);
    printf("%.6f\n", now());
    redisFree(c);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "publish") == 0)
        publish(argv[2], atol(argv[3]), atol(argv[4]), argv[5]);
    else if (argc == 4 && strcmp(argv[1], "count") == 0)
        count(argv[2], atol(argv[3]));
    else
        die("publish SOCKET JOBS COUNT FILE, or count SOCKET COUNT");
    return 0;
}
