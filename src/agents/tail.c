#include "agents/tail.h"

#include "base/utf8.h"

enum {
    MAX_LINE = 8 * 1024, /* longer lines are split */
    KEPT = 4 * 1024,
    GROWTH = 3, /* an invalid byte becomes U+FFFD, three bytes */
};

void tail_init(struct tail *t, tail_line_cb cb, void *arg)
{
    *t = (struct tail){ .cb = cb, .arg = arg };
    buf_init(&t->line, MAX_LINE);
    buf_init(&t->clean, GROWTH * MAX_LINE);
    buf_init(&t->kept, 2 * KEPT + GROWTH * MAX_LINE + 1);
}

void tail_done(struct tail *t)
{
    buf_done(&t->line);
    buf_done(&t->clean);
    buf_done(&t->kept);
}

static void put_clean(struct buf *out, struct str s)
{
    while (s.n > 0) {
        size_t nul = str_find(s, '\0'), valid = utf8_valid(str_head(s, nul));

        buf_str(out, str_head(s, valid));
        s = str_skip(s, valid);
        if (s.n > 0) {
            buf_lit(out, "\xEF\xBF\xBD");
            s = str_skip(s, 1);
        }
    }
}

static void keep(struct tail *t, struct str line)
{
    struct buf *k = &t->kept;

    k->error = 0;
    buf_str(k, line);
    buf_char(k, '\n');
    if (k->n > 2 * KEPT) {
        struct str text = tail_text(t);

        memmove(k->p, text.p, text.n);
        buf_cut(k, text.n);
    }
}

static void say(struct tail *t, struct str line)
{
    if (str_ends(line, STR("\r")))
        line.n--;
    buf_clear(&t->clean);
    put_clean(&t->clean, line);
    keep(t, buf_text(&t->clean));
    t->cb(t->arg, buf_text(&t->clean));
}

/* Where to split a full line buffer: not inside a UTF-8 character. */
static size_t piece(struct str s)
{
    size_t back = 0;

    while (back < 3 && ((unsigned char)s.p[s.n - 1 - back] & 0xC0) == 0x80)
        back++;
    return (unsigned char)s.p[s.n - 1 - back] >= 0xC0 ? s.n - 1 - back : s.n;
}

static void say_piece(struct tail *t)
{
    size_t n = piece(buf_text(&t->line)), left = t->line.n - n;

    say(t, str_head(buf_text(&t->line), n));
    memmove(t->line.p, t->line.p + n, left);
    buf_cut(&t->line, left);
}

void tail_put(struct tail *t, struct str bytes)
{
    while (bytes.n > 0) {
        size_t end = str_find(bytes, '\n'), room = MAX_LINE - t->line.n;
        size_t n = end < room ? end : room;

        t->line.error = 0;
        buf_str(&t->line, str_head(bytes, n));
        bytes = str_skip(bytes, n);
        if (end == n && bytes.n > 0) {
            say(t, buf_text(&t->line));
            buf_clear(&t->line);
            bytes = str_skip(bytes, 1);
        } else if (t->line.n == MAX_LINE) {
            say_piece(t);
        }
    }
}

void tail_end(struct tail *t)
{
    if (t->line.n > 0)
        say(t, buf_text(&t->line));
    buf_clear(&t->line);
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t')
            return false;
    return true;
}

struct str tail_last(const struct tail *t)
{
    struct str text = tail_text(t);

    while (text.n > 0) {
        size_t end = text.n - 1, from = end; /* every kept line ends with a newline */

        while (from > 0 && text.p[from - 1] != '\n')
            from--;
        struct str line = str_make(text.p + from, end - from);
        if (!is_blank(line))
            return line;
        text.n = from;
    }
    return STR_NONE;
}

struct str tail_text(const struct tail *t)
{
    struct str all = buf_text(&t->kept);

    if (all.n <= KEPT)
        return all;
    bool at_line = all.p[all.n - KEPT - 1] == '\n';
    struct str text = str_skip(all, all.n - KEPT);
    size_t line = str_find(text, '\n') + 1;
    if (!at_line && line < text.n)
        return str_skip(text, line);
    while (text.n > 0 && ((unsigned char)text.p[0] & 0xC0) == 0x80)
        text = str_skip(text, 1);
    return text;
}
