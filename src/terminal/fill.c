#include "terminal/fill.h"

#include "base/visible.h"
#include "terminal/term.h"

/* As much of a line as fits, and at least one code point; *@ret_next is where it goes on. */
static struct str first_part(struct str line, unsigned columns, size_t *ret_next)
{
    struct str head = term_head(line, columns), rest = line;

    *ret_next = head.n;
    if (head.n == line.n)
        return head;
    if (head.n == 0) {
        (void)visible_next(&rest);
        *ret_next = line.n - rest.n;
        return str_head(line, *ret_next);
    }
    for (size_t i = head.n; i > 0; i--) {
        if (line.p[i] != ' ')
            continue;
        *ret_next = i + 1;
        return str_head(line, i);
    }
    return head;
}

void fill(struct str text,
          unsigned columns,
          void (*each)(void *arg, struct str line),
          void *arg)
{
    while (text.n > 0) {
        struct str line = str_head(text, str_find(text, '\n'));

        text = str_skip(text, line.n + 1);
        do {
            size_t next;

            each(arg, first_part(line, columns, &next));
            line = str_skip(line, next);
        } while (line.n > 0);
    }
}

static void keep(void *arg, struct str line)
{
    struct fill_last *l = arg;

    if (l->n < l->max) {
        l->line[(l->first + l->n++) % l->max] = line;
    } else {
        l->line[l->first] = line;
        l->first = (l->first + 1) % l->max;
    }
}

void fill_last(struct str text, unsigned columns, size_t max, struct fill_last *ret)
{
    /* A column has at most four bytes, unless marks are heaped upon it. */
    size_t enough = (size_t)columns * 4 * (max + 1);

    *ret = (struct fill_last){ .max = max < FILL_MAX_LAST ? max : FILL_MAX_LAST };
    if (ret->max == 0)
        return;
    if (text.n > enough) {
        text = str_skip(text, text.n - enough);
        while (text.n > 0 && ((unsigned char)text.p[0] & 0xC0) == 0x80)
            text = str_skip(text, 1);
    }
    fill(text, columns, keep, ret);
}

struct str fill_last_at(const struct fill_last *l, size_t i)
{
    return l->line[(l->first + i) % l->max];
}
