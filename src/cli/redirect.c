#include "cli/redirect.h"
#include "base/text_format.h"

#include "http/header.h"

enum { MAX_HEAD = 64 * 1024 };

void redirect_init(struct redirect *r, struct str job)
{
    *r = (struct redirect){ .job = job };
    buf_init(&r->head, SIZE_MAX / 4);
}

void redirect_done(struct redirect *r)
{
    buf_done(&r->head);
}

/* Cuts the first line off, without its end. */
static struct str take_line(struct str *rest)
{
    struct str line = str_head(*rest, str_find(*rest, '\n'));

    *rest = str_skip(*rest, line.n + 1);
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static struct str header_value(struct str line, size_t colon)
{
    struct str value = str_skip(line, colon + 1);

    while (value.n > 0 && (value.p[0] == ' ' || value.p[0] == '\t'))
        value = str_skip(value, 1);
    while (value.n > 0 && (value.p[value.n - 1] == ' ' || value.p[value.n - 1] == '\t'))
        value.n--;
    return value;
}

/* The length of the body; -1: it is not known. */
static int64_t body_of(struct str head)
{
    int64_t length = 0;

    (void)take_line(&head);
    while (head.n > 0) {
        struct str line = take_line(&head);
        size_t colon = str_find(line, ':');
        struct str name = str_head(line, colon);

        if (header_is(name, "Transfer-Encoding") || header_is(name, "Upgrade") ||
            (header_is(name, "Content-Length") &&
             !str_number(header_value(line, colon), &length)))
            return -1;
    }
    return length;
}

/* The path that replaces a submission's; absent for other requests. */
static struct str other_path(struct str line)
{
    struct str path = str_skip(line, sizeof("POST ") - 1);

    path = str_head(path, str_find(path, ' '));
    path = str_head(path, str_find(path, '?'));
    if (!str_starts(line, STR("POST ")))
        return STR_NONE;
    return str_is(path, "/v1/jobs")                ? STR("/v1/jobs/")
           : str_is(path, "/v1/jobs/async/submit") ? STR("/v1/jobs/async/job/")
                                                   : STR_NONE;
}

/* Writes the head with a new request line, and without the headers that describe a body. */
static void put_question(const struct redirect *r,
                         struct str head,
                         struct str path,
                         struct buf *out)
{
    (void)take_line(&head);
    text_format(out, "GET %s%s HTTP/1.1\r\n", path, r->job);
    while (head.n > 0) {
        struct str line = take_line(&head);
        struct str name = str_head(line, str_find(line, ':'));

        if (header_is(name, "Content-Length") || header_is(name, "Content-Type") ||
            header_is(name, "Expect") || header_is(name, "Idempotency-Key"))
            continue;
        text_format(out, "%s\r\n", line);
    }
}

/* Handles a head that is complete. */
static void take_header(struct redirect *r, struct buf *out)
{
    struct str head = buf_text(&r->head), rest = head;
    struct str path = other_path(take_line(&rest));
    int64_t body = body_of(head);

    r->passes = body < 0;
    r->body_left = body > 0 ? (uint64_t)body : 0;
    r->drops = !r->passes && !str_absent(path);
    if (r->drops)
        put_question(r, head, path, out);
    else
        buf_str(out, head);
    buf_clear(&r->head);
}

static bool ends_head(struct str head)
{
    return head.n >= 4 && memcmp(head.p + head.n - 4, "\r\n\r\n", 4) == 0;
}

/* Takes bytes of the current body; returns how many. */
static size_t take_body(struct redirect *r, struct str bytes, struct buf *out)
{
    size_t n = bytes.n < r->body_left ? bytes.n : (size_t)r->body_left;

    if (!r->drops)
        buf_str(out, str_head(bytes, n));
    r->body_left -= n;
    return n;
}

void redirect_feed(struct redirect *r, struct str bytes, struct buf *out)
{
    while (bytes.n > 0 && !r->passes) {
        if (r->body_left > 0) {
            bytes = str_skip(bytes, take_body(r, bytes, out));
            continue;
        }
        buf_char(&r->head, bytes.p[0]);
        bytes = str_skip(bytes, 1);
        if (ends_head(buf_text(&r->head))) {
            take_header(r, out);
        } else if (r->head.n > MAX_HEAD || r->head.error != 0) {
            buf_str(out, buf_text(&r->head));
            buf_clear(&r->head);
            r->passes = true;
        }
    }
    buf_str(out, bytes);
}
