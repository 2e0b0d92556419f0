/* The access log.
 *
 * stderr is often a pipe, and a pipe that is full blocks its writer.  poll() tells whether
 * at least PIPE_BUF bytes fit, so pieces of that size are written, cut between lines: they
 * go in whole, and the lines of two loops do not mix. */
#include "http/access_log.h"

#include "base/calendar.h"
#include "base/json.h"
#include "base/utf8.h"
#include "http/date.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_BYTES = 512 * 1024, /* waiting */
    MAX_SEGMENT = 65,       /* of a path, with its slash: ids have 64 */
    SHOWN_SEGMENT = 17,
};

static const char *const kinds[] = {
    [ACCESS_REQUEST] = "request",
    [ACCESS_STREAM] = "stream",
    [ACCESS_CLOSE] = "close",
};

void access_log_init(struct access_log *log, int fd, bool is_text, bool is_off)
{
    struct stat about;

    *log = (struct access_log){ .fd = fd, .is_text = is_text, .is_off = is_off };
    log->is_file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    buf_init(&log->lines, MAX_BYTES);
}

void access_log_done(struct access_log *log)
{
    buf_done(&log->lines);
}

/* --- one line ----------------------------------------------------------------------- */

/* ".007" */
static void put_thousandths(struct buf *b, uint64_t n)
{
    char text[4] = { '.', (char)('0' + n / 100 % 10), (char)('0' + n / 10 % 10),
                     (char)('0' + n % 10) };

    buf_put(b, text, sizeof(text));
}

/* Microseconds as milliseconds: "0.123". */
static void put_ms(struct buf *b, uint64_t us)
{
    buf_u64(b, us / 1000);
    put_thousandths(b, us % 1000);
}

static void put_member(struct buf *b, const char *name, struct str value)
{
    if (str_absent(value))
        return;
    json_put_key(b, str_of(name));
    json_put_str(b, value);
}

/* Appends the path, escaped.  A segment that is longer than any id may be a secret: only its
 * beginning is logged. */
static void put_path(struct buf *b, struct str path)
{
    while (path.n > MAX_SEGMENT) {
        struct str segment = str_head(path, str_find(str_skip(path, 1), '/') + 1);

        if (segment.n > MAX_SEGMENT) {
            json_put_escaped(b, utf8_head_bytes(segment, SHOWN_SEGMENT));
            buf_lit(b, "…");
        } else {
            json_put_escaped(b, segment);
        }
        path = str_skip(path, segment.n);
    }
    json_put_escaped(b, path);
}

static void put_json(struct buf *b, const struct date *date, const struct access_entry *e)
{
    json_begin(b);
    json_add_timestamp(b, "time", date->ms);
    json_add_str(b, "event", str_of(kinds[e->kind]));
    put_member(b, "method", e->method);
    if (!str_absent(e->path)) {
        json_add_parts(b, "path");
        put_path(b, e->path);
        json_end_parts(b);
    }
    if (e->kind != ACCESS_CLOSE) {
        json_add_int(b, "status", e->status);
        json_add_uint(b, "bytes", e->bytes);
        json_key(b, "ms");
        put_ms(b, e->us);
    }
    put_member(b, "request_id", e->id);
    put_member(b, "peer", e->peer);
    put_member(b, "why", e->why);
    buf_lit(b, "}\n");
}

static void put_word(struct buf *b, struct str word)
{
    if (str_absent(word))
        buf_char(b, '-');
    else
        json_put_escaped(b, word); /* so that a line stays one line */
    buf_char(b, ' ');
}

static void put_text(struct buf *b, const struct date *date, const struct access_entry *e)
{
    calendar_put(b, date->ms);
    buf_char(b, ' ');
    buf_str(b, str_of(kinds[e->kind]));
    buf_char(b, ' ');
    if (e->kind != ACCESS_CLOSE) {
        put_word(b, e->method);
        if (str_absent(e->path))
            buf_char(b, '-');
        else
            put_path(b, e->path);
        buf_char(b, ' ');
        buf_i64(b, e->status);
        buf_char(b, ' ');
        buf_u64(b, e->bytes);
        buf_lit(b, "B ");
        put_ms(b, e->us);
        buf_lit(b, "ms ");
    }
    buf_lit(b, "id=");
    put_word(b, e->id);
    buf_lit(b, "peer=");
    json_put_escaped(b, e->peer);
    if (!str_absent(e->why)) {
        buf_lit(b, " why=");
        json_put_str(b, e->why);
    }
    buf_char(b, '\n');
}

static void say_lost(struct access_log *log, const struct date *date)
{
    uint64_t n = log->n_lost;

    log->n_lost = 0;
    if (log->is_text) {
        calendar_put(&log->lines, date->ms);
        buf_lit(&log->lines, " log lines lost: ");
        buf_u64(&log->lines, n);
    } else {
        json_begin(&log->lines);
        json_add_timestamp(&log->lines, "time", date->ms);
        json_add_lit(&log->lines, "event", "log_lines_lost");
        json_add_uint(&log->lines, "count", n);
        json_end(&log->lines);
    }
    buf_char(&log->lines, '\n');
}

void access_log_add(struct access_log *log,
                    const struct date *date,
                    const struct access_entry *entry)
{
    size_t from = log->lines.n;

    if (log->is_off)
        return;
    if (log->n_lost > 0 && log->lines.n < MAX_BYTES / 2)
        say_lost(log, date);
    if (log->is_text)
        put_text(&log->lines, date, entry);
    else
        put_json(&log->lines, date, entry);
    if (log->lines.error != 0) {
        log->lines.error = 0;
        buf_cut(&log->lines, from);
        log->n_lost++;
    }
}

/* --- writing ------------------------------------------------------------------------ */

static bool is_writable(const struct access_log *log)
{
    struct pollfd fd = { .fd = log->fd, .events = POLLOUT };

    return log->is_file || (poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) != 0);
}

/* How much to write at once: whole lines, at most PIPE_BUF bytes unless one is longer. */
static size_t piece_of(const struct access_log *log, struct str lines)
{
    size_t n = 0;

    if (log->is_file)
        return lines.n;
    while (n < lines.n) {
        size_t line = str_find(str_skip(lines, n), '\n') + 1;
        if (n > 0 && n + line > PIPE_BUF)
            break;
        n += line;
    }
    return n;
}

void access_log_flush(struct access_log *log)
{
    struct str rest = buf_text(&log->lines);

    while (rest.n > 0 && is_writable(log)) {
        ssize_t n = write(log->fd, rest.p, piece_of(log, rest));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) { /* stderr is broken: drop the lines */
            rest.n = 0;
            break;
        }
        if (n <= 0)
            break;
        rest = str_skip(rest, (size_t)n);
    }
    if (rest.n > 0 && rest.n < log->lines.n)
        memmove(log->lines.p, rest.p, rest.n);
    buf_cut(&log->lines, rest.n);
}
