#include "agents/http/unframe.h"

#include "base/json.h"

enum { KEEP_CAPACITY = 256 * 1024 }; /* memory kept after a long line */

/* For these names event_read() looks into the document's own "event" member, which a wrapper
 * would hide. */
static bool is_own_name(struct str event)
{
    return str_starts(event, STR("on_")) ||
           (str_has(event, '/') && !str_starts(event, STR("messages/")));
}

/* Writes JSON on one line: between its tokens there may be newlines. */
static void put_flat(struct buf *b, struct str data)
{
    size_t from = b->n;

    buf_str(b, data);
    for (size_t i = from; i < b->n; i++)
        if (b->p[i] == '\n' || b->p[i] == '\r')
            b->p[i] = ' ';
}

static void put_message(struct buf *b, const struct sse_message *m)
{
    bool is_named = !str_empty(m->event) && !is_own_name(m->event);

    if (is_named) {
        json_begin(b);
        json_add_str(b, "event", m->event);
        json_key(b, "data");
    }
    put_flat(b, m->data);
    if (is_named)
        json_end(b);
    buf_char(b, '\n');
}

static void deliver(struct unframe *u, const struct sse_message *m)
{
    if (m->data.n == 0)
        return; /* a message without data, such as `event: end` */
    buf_clear(&u->line);
    put_message(&u->line, m);
    if (u->line.error != 0)
        u->error = u->line.error;
    else
        u->cb(u->arg, buf_text(&u->line));
    if (u->line.cap > KEEP_CAPACITY)
        buf_done(&u->line);
}

static void on_line(void *arg, struct str line)
{
    struct unframe *u = arg;
    struct sse_message m;
    int code = sse_line(&u->sse, line, &m);

    if (code == 1)
        deliver(u, &m);
    else if (code == ERR_SYNTAX)
        u->n_bad++;
    else if (code < 0)
        u->error = code;
}

void unframe_init(struct unframe *u, size_t max_bytes, lines_cb cb, void *arg)
{
    *u = (struct unframe){ .cb = cb, .arg = arg };
    lines_init(&u->lines, max_bytes, on_line, u);
    sse_init(&u->sse, max_bytes);
    buf_init(&u->line, 3 * max_bytes); /* the message's name may have to be escaped */
}

void unframe_done(struct unframe *u)
{
    lines_done(&u->lines);
    sse_done(&u->sse);
    buf_done(&u->line);
}

int unframe_put(struct unframe *u, struct str bytes)
{
    int err = lines_put(&u->lines, bytes);

    return err != 0 ? err : u->error;
}

int unframe_end(struct unframe *u)
{
    struct sse_message m;

    lines_end(&u->lines);
    if (sse_end(&u->sse, &m) == 1)
        deliver(u, &m);
    return u->error;
}
