#include "config/text/columns.h"

#include "base/buf.h"

enum { COLUMN = 26, WIDTH = 80 };

static void spaces(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_char(out, ' ');
}

/* How wide a word is when it is shown: code points, without `. */
static size_t width_of(struct str word)
{
    size_t n = 0;

    for (size_t i = 0; i < word.n; i++)
        n += word.p[i] != '`' && ((unsigned char)word.p[i] & 0xC0) != 0x80;
    return n;
}

/* Appends the words of @text from @left on; @column is where we are. */
static void wrap(struct buf *out, size_t column, size_t left, struct str text)
{
    size_t blanks = 0;

    for (; text.n > 0; blanks++) {
        struct str word = str_head(text, str_find(text, ' '));
        size_t width = width_of(word);

        text = str_skip(text, word.n + 1);
        if (word.n == 0)
            continue;
        if (column > left && column + blanks + width > WIDTH) {
            buf_char(out, '\n');
            column = 0;
        }
        size_t gap = column < left ? left - column : column > left ? blanks : 0;
        spaces(out, gap);
        for (size_t i = 0; i < word.n; i++)
            if (word.p[i] != '`')
                buf_char(out, word.p[i]);
        column += gap + width;
        blanks = 0;
    }
    buf_char(out, '\n');
}

void columns_option(struct buf *out, struct str flag, struct str help)
{
    size_t column = 2 + width_of(flag);

    spaces(out, 2);
    buf_str(out, flag);
    if (column >= COLUMN) {
        buf_char(out, '\n');
        column = 0;
    }
    wrap(out, column, COLUMN, help);
}

void columns_list(struct buf *out, struct str lines)
{
    while (lines.n > 0) {
        struct str line = str_head(lines, str_find(lines, '\n'));
        struct str key = str_head(line, str_find(line, ' '));

        spaces(out, 2);
        buf_str(out, key);
        wrap(out, 2 + key.n, 6, str_skip(line, key.n + 1));
        lines = str_skip(lines, line.n + 1);
    }
}

void columns_text(struct buf *out, struct str text)
{
    while (text.n > 0) {
        struct str line = str_head(text, str_find(text, '\n'));

        if (line.n > 0 && line.p[0] == ' ') {
            buf_str(out, line);
            buf_char(out, '\n');
        } else {
            wrap(out, 0, 0, line);
        }
        text = str_skip(text, line.n + 1);
    }
}
