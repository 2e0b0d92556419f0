/* Python's frames are indented; the first line after them that is not indented is the
 * exception. Of several tracebacks the last one is used: an exception that was raised while
 * another one was handled.  An exception group is printed with bars in front; the group's own
 * message is used.
 *
 *     Traceback (most recent call last):               + Exception Group Traceback (…):
 *       File "graph.py", line 6, in node               |   File "graph.py", line 6, in node
 *         raise ValueError("no such repository")       |     async with TaskGroup() as t:
 *     ValueError: no such repository                   | ExceptionGroup: unhandled errors …
 *     During task with name 'writer' and id '1'        +-+---------------- 1 ------- */
#include "agents/traceback.h"

static const char BAR[] = "  | ";

static struct str next_line(struct str *rest)
{
    struct str line = str_head(*rest, str_find(*rest, '\n'));

    *rest = str_skip(*rest, line.n + 1);
    return line;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* @text begins with `module.Class: ` or is just the class. */
static void split(struct str text, struct exception *ret)
{
    size_t n = 0, dot;

    *ret = (struct exception){ .message = text };
    while (n < text.n && is_name_char(text.p[n]))
        n++;
    if (n == 0 || (n < text.n && text.p[n] != ':' && text.p[n] != '\n'))
        return;
    ret->type = str_head(text, n);
    while ((dot = str_find(ret->type, '.')) < ret->type.n)
        ret->type = str_skip(ret->type, dot + 1);
    text = str_skip(text, n + 1);
    while (text.n > 0 && text.p[0] == ' ')
        text = str_skip(text, 1);
    ret->message = text.n > 0 ? text : ret->type;
}

static struct str trimmed(struct str text)
{
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == ' '))
        text.n--;
    return text;
}

/* The message that starts at @line, up to LangGraph's note or the end of @all. */
static struct str message_from(struct str all, struct str line)
{
    struct str text = str_skip(all, (size_t)(line.p - all.p)), rest = text;

    while (rest.n > 0) {
        struct str here = next_line(&rest);

        if (str_starts(here, STR("During task with name '")))
            return trimmed(str_head(text, (size_t)(here.p - text.p)));
    }
    return trimmed(text);
}

static bool read_python(struct str all, struct exception *ret)
{
    struct str rest = all, found = STR_NONE;
    bool in_frames = false, found_in_bars = false;

    while (rest.n > 0) {
        struct str line = next_line(&rest);
        bool in_bars = str_starts(line, STR(BAR));

        if (in_bars)
            line = str_skip(line, sizeof(BAR) - 1);
        if (str_starts(line, STR("  File \""))) {
            in_frames = true;
        } else if (in_frames && line.n > 0 && line.p[0] != ' ') {
            found = line;
            found_in_bars = in_bars;
            in_frames = false;
        }
    }
    if (str_absent(found))
        return false;
    split(found_in_bars ? found : message_from(all, found), ret);
    return true;
}

static bool read_node(struct str all, struct exception *ret)
{
    struct str rest = all, from = STR_NONE;
    size_t end = all.n;

    while (rest.n > 0 && end == all.n) {
        struct str line = next_line(&rest);

        if (str_starts(line, STR("    at ")))
            end = (size_t)(line.p - all.p);
        else if (line.n == 0)
            from = STR_NONE;
        else if (str_absent(from))
            from = line;
    }
    if (str_absent(from) || end == all.n)
        return false;
    split(trimmed(str_make(from.p, (size_t)(all.p + end - from.p))), ret);
    return true;
}

bool traceback_read(struct str text, struct exception *ret)
{
    struct str rest = text = trimmed(text), last = STR_NONE;

    while (rest.n > 0)
        last = next_line(&rest);
    if (last.n > 0 && str_starts(last, STR("Node.js v")))
        return read_node(text, ret);
    return read_python(text, ret);
}
