#include "server/log.h"

#include "base/calendar.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "dialect/render.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* A log line of at most PIPE_BUF bytes, and only if the pipe has room, so that a log that is
 * not read never blocks the server; what does not fit is lost. */
static void write_log(const struct buf *line)
{
    struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (line->error == 0 && poll(&room, 1, 0) == 1)
        (void)!write(STDERR_FILENO, line->p, line->n); /* best effort */
}

int64_t log_now(void *arg)
{
    (void)arg;
    return clock_wall_ms();
}

/* A line of the log, for the operator. */
void log_begin(struct buf *out, const char *event)
{
    buf_init(out, PIPE_BUF);
    json_begin(out);
    json_add_timestamp(out, "time", log_now(NULL));
    json_add_str(out, "event", str_of(event));
}

void log_end(struct buf *out)
{
    buf_lit(out, "}\n");
    write_log(out);
    buf_done(out);
}

/* As text for a terminal. */
void log_plain(struct str agent, struct str line)
{
    struct buf out LOCAL_BUF(PIPE_BUF);

    visible_put(&out, str_head(agent, 100));
    buf_lit(&out, ": ");
    visible_put(&out, utf8_head_bytes(line, 400));
    buf_lit(&out, "\n");
    write_log(&out);
}
