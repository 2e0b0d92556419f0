#include "cluster/frame.h"

#include "base/error.h"

static void put_number(char *to, uint64_t n, size_t bytes)
{
    for (size_t i = bytes; i-- > 0; n >>= 8)
        to[i] = (char)(n & 0xff);
}

static uint64_t read_number(const char *from, size_t bytes)
{
    uint64_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | (unsigned char)from[i];
    return n;
}

size_t frame_begin(struct buf *b, enum frame_kind kind, uint64_t number)
{
    char head[FRAME_HEAD] = { 0 };
    size_t from = b->n;

    head[4] = (char)kind;
    put_number(head + 5, number, 8);
    buf_put(b, head, sizeof(head));
    return from;
}

void frame_end(struct buf *b, size_t from)
{
    if (b->error == 0)
        put_number(b->p + from, b->n - from - 4, 4);
}

int frame_read(struct str bytes, struct frame_in *ret, size_t *ret_n)
{
    *ret_n = 0;
    if (bytes.n < FRAME_HEAD)
        return 0;
    uint64_t n = read_number(bytes.p, 4);
    unsigned char kind = (unsigned char)bytes.p[4];
    if (n < FRAME_HEAD - 4 || n > FRAME_MAX || kind >= FRAME_KIND_MAX)
        return ERR_SYNTAX;
    if (bytes.n < n + 4)
        return 0;
    *ret = (struct frame_in){ kind, read_number(bytes.p + 5, 8),
                              str_make(bytes.p + FRAME_HEAD, (size_t)n - (FRAME_HEAD - 4)) };
    *ret_n = (size_t)n + 4;
    return 0;
}
