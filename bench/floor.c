/* The floor: what parsing alone costs.
 *
 *   floor FILE...
 *
 * Every event must at least be found in the input and parsed, so no filter that looks at
 * all of them is faster than this loop.  `bench/run` divides by it.  It reads as the real
 * filter does (read(2) in pieces of 256 KiB, lines cut with memchr) and parses each line
 * with yyjson, no flags, into one preallocated pool: no malloc per line, nothing kept.
 * Lines and JSON values are counted and printed, so that the work cannot be left out.
 *
 * The buffer of one file:
 *
 *   data            start          end                      cap
 *    |  lines done    |  a part of   |  room for the next     |
 *    |                |  a line      |  read                  |
 *
 * The part left over moves to the front before the next read; a line that does not fit
 * makes the buffer grow, and one whose values might not fit the pool makes the pool grow.
 * Both stay for the lines after it, so growth stops once the longest line was seen. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

#define READ_BYTES ((size_t)256 * 1024)
#define POOL_BYTES ((size_t)1024 * 1024)

struct floor {
    char *data; /* owned */
    size_t start;
    size_t end;
    size_t cap;
    void *pool; /* owned */
    size_t pool_bytes;
    yyjson_alc alc; /* over pool */
    uint64_t n_lines;
    uint64_t n_values;
    uint64_t n_bad;
    uint64_t n_bytes;
};

static void floor_done(struct floor *f)
{
    free(f->data);
    free(f->pool);
}

static int grow_pool(struct floor *f, size_t need)
{
    void *pool = malloc(need);

    if (pool == NULL)
        return -ENOMEM;
    free(f->pool);
    f->pool = pool;
    f->pool_bytes = need;
    return yyjson_alc_pool_init(&f->alc, pool, need) ? 0 : -EINVAL;
}

static int floor_init(struct floor *f)
{
    memset(f, 0, sizeof(*f));
    f->cap = 2 * READ_BYTES;
    f->data = malloc(f->cap);
    if (f->data == NULL)
        return -ENOMEM;
    return grow_pool(f, POOL_BYTES);
}

static int parse_line(struct floor *f, char *line, size_t len)
{
    if (len == 0)
        return 0;
    size_t need = yyjson_read_max_memory_usage(len, 0);
    if (need > f->pool_bytes) {
        int err = grow_pool(f, need + need / 2);
        if (err != 0)
            return err;
    }
    yyjson_doc *doc = yyjson_read_opts(line, len, 0, &f->alc, NULL);
    f->n_lines++;
    if (doc == NULL)
        f->n_bad++;
    f->n_values += yyjson_doc_get_val_count(doc);
    yyjson_doc_free(doc);
    return 0;
}

static int parse_lines(struct floor *f)
{
    for (;;) {
        char *line = f->data + f->start;
        char *newline = memchr(line, '\n', f->end - f->start);

        if (newline == NULL)
            return 0;
        size_t len = (size_t)(newline - line);
        f->start += len + 1;
        int err = parse_line(f, line, len);
        if (err != 0)
            return err;
    }
}

/* Makes room for one more read behind the part of a line that is left. */
static int make_room(struct floor *f)
{
    memmove(f->data, f->data + f->start, f->end - f->start);
    f->end -= f->start;
    f->start = 0;
    if (f->cap - f->end >= READ_BYTES)
        return 0;
    char *data = realloc(f->data, f->cap * 2);
    if (data == NULL)
        return -ENOMEM;
    f->data = data;
    f->cap *= 2;
    return 0;
}

static int parse_fd(struct floor *f, int fd)
{
    f->start = 0;
    f->end = 0;
    for (;;) {
        int err = make_room(f);
        if (err != 0)
            return err;
        ssize_t n = read(fd, f->data + f->end, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return parse_line(f, f->data + f->start, f->end - f->start);
        f->end += (size_t)n;
        f->n_bytes += (uint64_t)n;
        err = parse_lines(f);
        if (err != 0)
            return err;
    }
}

static int parse_file(struct floor *f, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    int err = parse_fd(f, fd);
    (void)close(fd); /* only read from */
    return err;
}

int main(int argc, char **argv)
{
    struct floor f;
    int status = EXIT_FAILURE;

    if (argc < 2) {
        fprintf(stderr, "usage: floor FILE...\n");
        return 2;
    }
    int err = floor_init(&f);
    if (err != 0) {
        fprintf(stderr, "floor: %s\n", strerror(-err));
        goto out;
    }
    for (int i = 1; i < argc; i++) {
        err = parse_file(&f, argv[i]);
        if (err != 0) {
            fprintf(stderr, "floor: %s: %s\n", argv[i], strerror(-err));
            goto out;
        }
    }
    printf("%llu lines, %llu values, %llu bad, %llu bytes\n", (unsigned long long)f.n_lines,
           (unsigned long long)f.n_values, (unsigned long long)f.n_bad,
           (unsigned long long)f.n_bytes);
    status = EXIT_SUCCESS;

out:
    floor_done(&f);
    return status;
}
