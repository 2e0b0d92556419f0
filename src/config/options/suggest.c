#include "config/options/suggest.h"

enum {
    MAX_KEY = 32,   /* longer than all known keys: no suggestion */
    MAX_CHANGES = 3 /* between a misspelt key and the suggestion */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbours; both at most MAX_KEY bytes. */
static size_t distance(struct str a, struct str b)
{
    size_t rows[3][MAX_KEY + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.n; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t change = last[j - 1] + (a.p[i - 1] != b.p[j - 1]);
            row[j] = least(change, 1 + least(last[j], row[j - 1]));
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b.n];
}

struct suggestion suggest_for(struct str key)
{
    return (struct suggestion){ .key = key, .changes = MAX_CHANGES + 1 };
}

void suggest_try(struct suggestion *s, const char *name)
{
    struct str known = str_of(name);

    if (s->key.n > MAX_KEY || known.n > MAX_KEY)
        return;
    size_t changes = distance(s->key, known);
    /* With more than a third of it changed it is another word ("tools" is not "loops"). */
    if (changes >= s->changes || 3 * changes > known.n)
        return;
    s->changes = changes;
    s->nearest = name;
}
