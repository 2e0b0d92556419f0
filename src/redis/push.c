#include "redis/push.h"

#include "base/error.h"

#include <errno.h>
#include <unistd.h>

enum {
    HEAD_MAX = 24,           /* a type, 20 digits, CRLF */
    ELEMENTS_MAX = 16,       /* Redis sends four at most */
    READ_BYTES = 128 * 1024, /* at least so many at once */
    READS = 4,               /* per turn of the loop */
    KEEP_BYTES = 1 << 20     /* of buffer, while nothing arrives */
};

/* Redis's limit of one string, and some room for the header. */
#define BULK_MAX  ((int64_t)512 << 20)
#define BYTES_MAX ((size_t)BULK_MAX + (64 << 20))

/* --- parsing one message --------------------------------------------------------- */

struct push_place {
    struct str rest;
    int code; /* 0; ERR_BUSY: incomplete; ERR_SYNTAX, ERR_TOO_LARGE */
};

/* The next line, without its type and CRLF. */
static struct str next_line(struct push_place *at, size_t max)
{
    const char *end = memchr(at->rest.p, '\n', at->rest.n < max ? at->rest.n : max);

    if (end == NULL || end == at->rest.p || end[-1] != '\r') {
        at->code = end == NULL && at->rest.n < max ? ERR_BUSY : ERR_SYNTAX;
        return STR("");
    }
    size_t n = (size_t)(end - at->rest.p);
    struct str line = str_make(at->rest.p + 1, n > 2 ? n - 2 : 0);
    at->rest = str_skip(at->rest, n + 1);
    return line;
}

static bool is_at(const struct push_place *at, char type)
{
    return at->rest.n > 0 && at->rest.p[0] == type;
}

/* Reads a count: `*4`, `$8`; -1 for null. */
static int64_t next_count(struct push_place *at, char type)
{
    int64_t n = -1;

    if (at->rest.n > 0 && !is_at(at, type)) {
        at->code = ERR_SYNTAX;
        return -1;
    }
    struct str line = next_line(at, HEAD_MAX);
    if (at->code == 0 && !str_number(line, &n) && !str_is(line, "-1"))
        at->code = ERR_SYNTAX;
    return n;
}

static struct str next_text(struct push_place *at)
{
    int64_t n = next_count(at, '$');

    if (at->code == 0 && n > BULK_MAX)
        at->code = ERR_TOO_LARGE;
    if (at->code != 0 || n < 0)
        return STR("");
    if (at->rest.n < (size_t)n + 2) {
        at->code = ERR_BUSY;
        return STR("");
    }
    struct str text = str_head(at->rest, (size_t)n);
    at->rest = str_skip(at->rest, (size_t)n);
    if (!str_starts(at->rest, STR("\r\n")))
        at->code = ERR_SYNTAX;
    at->rest = str_skip(at->rest, 2);
    return text;
}

static struct str next_element(struct push_place *at)
{
    return is_at(at, ':') ? next_line(at, HEAD_MAX) : next_text(at);
}

static void read_array(struct push_place *at, struct push *ret)
{
    struct str texts[ELEMENTS_MAX] = { 0 };
    int64_t n = next_count(at, '*');

    if (n > ELEMENTS_MAX)
        at->code = ERR_SYNTAX;
    for (int64_t i = 0; at->code == 0 && i < n; i++)
        texts[i] = next_element(at);
    if (n == 4 && str_is(texts[0], "pmessage"))
        *ret = (struct push){ .kind = PUSH_MESSAGE, .channel = texts[2], .payload = texts[3] };
    else
        *ret = (struct push){ .kind = PUSH_OTHER };
}

int64_t push_read(struct str bytes, struct push *ret)
{
    struct push_place at = { .rest = bytes };

    if (bytes.n == 0)
        return 0;
    if (is_at(&at, '-'))
        *ret = (struct push){ .kind = PUSH_ERROR, .payload = next_line(&at, READ_BYTES) };
    else
        read_array(&at, ret);
    return at.code == 0 ? (int64_t)(bytes.n - at.rest.n) : at.code == ERR_BUSY ? 0 : at.code;
}

/* --- reading from the socket ----------------------------------------------------- */

void pushes_init(struct pushes *p)
{
    buf_init(&p->in, BYTES_MAX);
}

void pushes_done(struct pushes *p)
{
    buf_done(&p->in);
}

/* ERR_BUSY: nothing to read. */
static int read_more(struct pushes *p, int fd, bool *ret_full)
{
    struct buf *in = &p->in;

    if (!buf_reserve(in, READ_BYTES))
        return in->error;
    size_t room = in->cap - in->n;
    ssize_t n;
    do
        n = read(fd, in->p + in->n, room);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n == 0 ? ERR_CLOSED : errno == EAGAIN ? ERR_BUSY : ERR_IO;
    in->n += (size_t)n;
    *ret_full = (size_t)n == room;
    return 0;
}

/* Calls back for complete messages; *ret_n: how many bytes they had. */
static int hand_over(struct pushes *p, push_cb cb, void *arg, size_t *ret_n, bool *ret_stopped)
{
    struct str all = buf_text(&p->in);
    struct push push;
    int64_t n;

    *ret_n = 0;
    while ((n = push_read(str_skip(all, *ret_n), &push)) > 0) {
        *ret_n += (size_t)n;
        *ret_stopped = !cb(arg, &push);
        if (*ret_stopped)
            return 0;
    }
    return (int)n;
}

static void let_go(struct pushes *p, size_t n)
{
    size_t left = p->in.n - n;

    if (left == 0 && p->in.cap > KEEP_BYTES) {
        pushes_done(p);
        pushes_init(p);
        return;
    }
    if (n > 0 && left > 0)
        memmove(p->in.p, p->in.p + n, left);
    buf_cut(&p->in, left);
}

int pushes_take(struct pushes *p, int fd, push_cb cb, void *arg)
{
    bool more = true, stopped = false;
    int err = 0;

    for (unsigned i = 0; err == 0 && more && i < READS; i++) {
        size_t n;

        err = read_more(p, fd, &more);
        if (err != 0)
            break;
        err = hand_over(p, cb, arg, &n, &stopped);
        if (stopped)
            return 0;
        let_go(p, n);
    }
    return err == ERR_BUSY ? 0 : err;
}
