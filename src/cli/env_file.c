#include "cli/env_file.h"

#include "base/buf.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct str trim(struct str s)
{
    while (s.n > 0 && is_blank(s.p[0]))
        s = str_skip(s, 1);
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.n > 0;
}

static char unescape(char c)
{
    return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
}

/* @text follows the quote, and may go over several lines; returns what was used of it, with the
 * quote at its end. */
static size_t put_quoted(struct str text, char quote, struct buf *value)
{
    size_t i = 0;

    for (; i < text.n && text.p[i] != quote; i++) {
        if (quote == '"' && text.p[i] == '\\' && i + 1 < text.n)
            buf_char(value, unescape(text.p[++i]));
        else
            buf_char(value, text.p[i]);
    }
    return i < text.n ? i + 1 : i;
}

/* Up to a comment, which has a blank before it. */
static void put_plain(struct str text, struct buf *value)
{
    size_t n = 0;

    while (n < text.n && !(text.p[n] == '#' && (n == 0 || is_blank(text.p[n - 1]))))
        n++;
    buf_str(value, trim(str_head(text, n)));
}

/* Reads the value and leaves @rest behind its line. */
static void take_value(struct str *rest, struct buf *value)
{
    while (rest->n > 0 && is_blank(rest->p[0]))
        *rest = str_skip(*rest, 1);
    char first = rest->n > 0 ? rest->p[0] : '\0';
    if (first == '"' || first == '\'') {
        *rest = str_skip(*rest, 1);
        *rest = str_skip(*rest, put_quoted(*rest, first, value));
    } else {
        put_plain(str_head(*rest, str_find(*rest, '\n')), value);
    }
    *rest = str_skip(*rest, str_find(*rest, '\n'));
    *rest = str_skip(*rest, rest->n > 0 ? 1 : 0);
}

bool env_file_next(struct str *rest, struct str *name, struct buf *value)
{
    while (rest->n > 0) {
        struct str line = trim(str_head(*rest, str_find(*rest, '\n')));

        if (str_starts(line, STR("export ")))
            line = trim(str_skip(line, sizeof("export ") - 1));
        *name = trim(str_head(line, str_find(line, '=')));
        if (str_has(line, '=') && is_name(*name)) {
            *rest = str_skip(*rest, str_find(*rest, '=') + 1);
            buf_clear(value);
            take_value(rest, value);
            return true;
        }
        *rest = str_skip(*rest, str_find(*rest, '\n'));
        *rest = str_skip(*rest, rest->n > 0 ? 1 : 0);
    }
    return false;
}
