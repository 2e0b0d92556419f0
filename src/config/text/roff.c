#include "config/text/roff.h"

#include "base/buf.h"

static const struct str dots = { "…", sizeof("…") - 1 };

void roff_text(struct buf *out, struct str text)
{
    if (text.n > 0 && (text.p[0] == '.' || text.p[0] == '\''))
        buf_lit(out, "\\&");
    while (text.n > 0) {
        char c = text.p[0];

        if (str_starts(text, dots)) {
            buf_lit(out, "\\&...");
            text = str_skip(text, dots.n);
            continue;
        }
        if (c == '-')
            buf_lit(out, "\\-");
        else if (c == '\\')
            buf_lit(out, "\\e");
        else if (c != '`')
            buf_char(out, c);
        text = str_skip(text, 1);
    }
}

void roff_option(struct buf *out, struct str flag, struct str value)
{
    buf_str(out, str_absent(value) ? STR(".TP\n.B ") : STR(".TP\n.BI "));
    roff_text(out, flag);
    if (!str_absent(value)) {
        buf_lit(out, " \" ");
        roff_text(out, value);
        buf_char(out, '"');
    }
    buf_char(out, '\n');
}

void roff_lines(struct buf *out, struct str text)
{
    bool literal = false;

    while (text.n > 0) {
        struct str line = str_head(text, str_find(text, '\n'));
        bool indented = line.n > 0 && line.p[0] == ' ';

        if (indented != literal)
            buf_str(out, indented ? STR(".in +4n\n.EX\n") : STR(".EE\n.in\n"));
        literal = indented;
        if (line.n == 0 && !str_ends(buf_text(out), STR(".in\n")))
            buf_lit(out, ".PP\n");
        else if (line.n > 0) {
            roff_text(out, indented ? str_skip(line, 2) : line);
            buf_char(out, '\n');
        }
        text = str_skip(text, line.n + 1);
    }
    if (literal)
        buf_lit(out, ".EE\n.in\n");
}
