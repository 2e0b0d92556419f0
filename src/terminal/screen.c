#include "terminal/screen.h"

#include "base/error.h"
#include "base/text_format.h"

#include <stdio.h>

enum { MAX_PICTURE = 64 * 1024 * 1024 };

void screen_init(struct screen *s, struct term *term)
{
    *s = (struct screen){ .term = term };
    buf_init(&s->stay, MAX_PICTURE);
    buf_init(&s->live, MAX_PICTURE);
    buf_init(&s->out, 2 * MAX_PICTURE);
}

void screen_done(struct screen *s)
{
    buf_done(&s->stay);
    buf_done(&s->live);
    buf_done(&s->out);
}

/* Appends what fits of @text; the columns it takes. */
static unsigned put(const struct screen *s,
                    struct buf *out,
                    struct str text,
                    enum term_style style,
                    unsigned columns)
{
    struct str shown = term_head(text, columns);

    if (shown.n == 0)
        return 0;
    if (style != STYLE_PLAIN)
        term_style(s->term, out, style);
    buf_str(out, shown);
    if (style != STYLE_PLAIN)
        term_style(s->term, out, STYLE_PLAIN);
    return term_columns(shown);
}

void screen_line(struct screen *s,
                 struct str mark,
                 enum term_style mark_style,
                 struct str text,
                 enum term_style style)
{
    (void)put(s, &s->stay, mark, mark_style, UINT32_MAX);
    (void)put(s, &s->stay, text, style, UINT32_MAX);
    buf_char(&s->stay, '\n');
}

void screen_live(struct screen *s,
                 struct str mark,
                 enum term_style mark_style,
                 struct str text,
                 enum term_style style)
{
    /* The last column stays free: some terminals go to the next line with it. */
    unsigned room = s->term->width > 1 ? s->term->width - 1 : 1;

    if (s->n_live == SCREEN_MAX_LIVE)
        return;
    if (s->n_live > 0)
        buf_char(&s->live, '\n');
    unsigned used = put(s, &s->live, mark, mark_style, room);
    used += put(s, &s->live, text, style, room - used);
    s->columns[s->n_live++] = used;
}

/* Rows that the drawn lines take by now: a terminal that became narrower has broken them. */
static unsigned drawn_rows(const struct screen *s)
{
    unsigned rows = 0, width = s->term->width > 0 ? s->term->width : 1;

    for (size_t i = 0; i < s->n_drawn; i++)
        rows += s->drawn[i] > width ? (s->drawn[i] + width - 1) / width : 1;
    return rows;
}

static void erase(struct screen *s)
{
    unsigned rows = drawn_rows(s);

    if (rows == 0)
        return;
    buf_char(&s->out, '\r');
    if (rows > 1) {
        text_format(&s->out, "\033[%dA", rows - 1);
    }
    buf_lit(&s->out, "\033[J");
}

int screen_show(struct screen *s)
{
    erase(s);
    buf_str(&s->out, buf_text(&s->stay));
    buf_str(&s->out, buf_text(&s->live));
    struct str text = buf_text(&s->out);
    bool bad = s->out.error != 0 || s->stay.error != 0 || s->live.error != 0 ||
               fwrite(text.p, 1, text.n, stdout) != text.n || fflush(stdout) != 0;
    memcpy(s->drawn, s->columns, sizeof(s->drawn));
    s->n_drawn = s->n_live;
    s->n_live = 0;
    buf_clear(&s->stay);
    buf_clear(&s->live);
    buf_clear(&s->out);
    return bad ? ERR_IO : 0;
}

void screen_forget(struct screen *s)
{
    s->n_drawn = 0;
}

size_t screen_room(const struct screen *s)
{
    size_t height = s->term->height > 1 ? s->term->height - 1 : 1;

    return height < SCREEN_MAX_LIVE ? height : SCREEN_MAX_LIVE;
}
