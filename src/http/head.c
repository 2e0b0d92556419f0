/* The shape of a head:
 *
 *     START -CR-> START_CR -LF-> FIRST      (at most once)
 *       |                          |
 *       +------> LINE <------------+
 *                 | CR     ^
 *                 v        |
 *                CR -LF-> NEXT -CR-> END_CR -LF-> DONE
 *
 * Everything else is BAD: a line feed without its carriage return, a carriage return
 * without its line feed, a control character anywhere. */
#include "http/head.h"

void head_init(struct head *h)
{
    *h = (struct head){ .state = HEAD_START, .in_request_line = true };
}

static void fail(struct head *h, int status, const char *problem)
{
    h->state = HEAD_BAD;
    h->status = status;
    h->problem = problem;
}

#define TAIL(a, b, c, d, e, f, g, h)                                                         \
    ((uint64_t)(a) << 56 | (uint64_t)(b) << 48 | (uint64_t)(c) << 40 | (uint64_t)(d) << 32 | \
     (uint64_t)(e) << 24 | (uint64_t)(f) << 16 | (uint64_t)(g) << 8 | (uint64_t)(h))

/* At the end of "GET /path HTTP/1.1". */
static void check_request_line(struct head *h)
{
    if (h->n_blanks != 2)
        fail(h, 400, "The request line is not METHOD TARGET HTTP/1.1");
    else if (h->tail >> 24 != TAIL('H', 'T', 'T', 'P', '/', 0, 0, 0) >> 24)
        fail(h, 400, "Not HTTP");
    else if (h->tail != TAIL('H', 'T', 'T', 'P', '/', '1', '.', '1') &&
             h->tail != TAIL('H', 'T', 'T', 'P', '/', '1', '.', '0'))
        fail(h, 505, "HTTP/1.1 and HTTP/1.0 are spoken here");
    h->in_request_line = false;
}

static void take_request_line(struct head *h, struct str bytes)
{
    uint32_t n_blanks = h->n_blanks;

    for (size_t i = bytes.n < 8 ? 0 : bytes.n - 8; i < bytes.n; i++)
        h->tail = h->tail << 8 | (unsigned char)bytes.p[i];
    for (size_t i = 0; i < bytes.n; i++)
        n_blanks += bytes.p[i] == ' ';
    h->n_blanks = n_blanks;
    h->line_bytes += (uint32_t)bytes.n;
    if (h->line_bytes > HEAD_MAX_LINE)
        fail(h, 414, "The request line is too long");
}

static void take_line_byte(struct head *h, unsigned char c)
{
    h->state = HEAD_LINE;
    if (c == '\r') {
        h->state = HEAD_CR;
        if (h->in_request_line)
            check_request_line(h);
    } else if (c == '\n') {
        fail(h, 400, "A line ends without a carriage return");
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
        fail(h, 400, "Control character in the head");
    } else if (h->in_request_line) {
        take_request_line(h, str_make((const char *)&c, 1));
    }
}

static void take_line_feed(struct head *h, unsigned char c, enum head_state then)
{
    if (c == '\n')
        h->state = then;
    else
        fail(h, 400, "A carriage return without a line feed");
}

static void take_byte(struct head *h, unsigned char c)
{
    switch (h->state) {
    case HEAD_START:
        if (c == '\r')
            h->state = HEAD_START_CR;
        else
            take_line_byte(h, c);
        break;
    case HEAD_START_CR:
        take_line_feed(h, c, HEAD_FIRST);
        break;
    case HEAD_FIRST:
    case HEAD_LINE:
        take_line_byte(h, c);
        break;
    case HEAD_CR:
        take_line_feed(h, c, HEAD_NEXT);
        break;
    case HEAD_NEXT:
        if (c == '\r')
            h->state = HEAD_END_CR;
        else
            take_line_byte(h, c);
        break;
    case HEAD_END_CR:
        take_line_feed(h, c, HEAD_DONE);
        break;
    case HEAD_DONE:
    case HEAD_BAD:
        break;
    }
}

/* Are the eight bytes at @p free of control characters? */
static bool are_plain(const char *p)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    uint64_t bytes;

    memcpy(&bytes, p, sizeof(bytes));
    uint64_t deleted = bytes ^ 0x7f * ones;
    return ((((bytes - 0x20 * ones) & ~bytes) | ((deleted - ones) & ~deleted)) & high) == 0;
}

/* The fast path for the inside of a line, which most bytes are.  Stops before the first byte
 * that is not, or that makes the request line too long: take_byte() handles it. */
static size_t take_plain(struct head *h, struct str in)
{
    size_t i = 0;

    if (h->in_request_line)
        in = str_head(in, HEAD_MAX_LINE - h->line_bytes);
    while (in.n - i >= 8 && are_plain(in.p + i))
        i += 8;
    while (i < in.n && (unsigned char)in.p[i] >= 0x20 && in.p[i] != 0x7f)
        i++;
    if (h->in_request_line)
        take_request_line(h, str_head(in, i));
    return i;
}

size_t head_scan(struct head *h, struct str in)
{
    size_t i = 0;

    while (i < in.n && h->state != HEAD_DONE && h->state != HEAD_BAD) {
        if (h->state == HEAD_LINE)
            i += take_plain(h, str_skip(in, i));
        if (i < in.n)
            take_byte(h, (unsigned char)in.p[i++]);
    }
    return i;
}
