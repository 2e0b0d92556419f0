/* The parts of the machine: its input, its stack, its memo, and the values it makes. */
#include "pickle/machine.h"

#include <stdlib.h>

void machine_done(struct machine *m)
{
    free(m->stack.p);
    free(m->memo.p);
}

int machine_bad(struct machine *m, const char *what)
{
    return error_set(m->err, ERR_SYNTAX, "not a pickle: %s", what);
}

static int no_memory(struct machine *m)
{
    return error_set(m->err, ERR_NOMEM, "out of memory for a pickle");
}

static int too_many(struct machine *m)
{
    return error_set(m->err, ERR_TOO_LARGE, "the pickle has more than %zu values",
                     m->limits->max_values);
}

/* --- input ------------------------------------------------------------------- */

int machine_take(struct machine *m, uint64_t n, struct str *ret)
{
    if (n > m->in.n)
        return machine_bad(m, "it ends in the middle");
    *ret = str_head(m->in, (size_t)n);
    m->in = str_skip(m->in, (size_t)n);
    return 0;
}

int machine_take_uint(struct machine *m, size_t width, uint64_t *ret)
{
    struct str bytes;
    int err = machine_take(m, width, &bytes);

    *ret = 0;
    for (size_t i = bytes.n; err == 0 && i > 0; i--)
        *ret = *ret << 8 | (unsigned char)bytes.p[i - 1];
    return err;
}

int machine_take_sized(struct machine *m, size_t width, struct str *ret)
{
    uint64_t n;
    int err = machine_take_uint(m, width, &n);

    return err != 0 ? err : machine_take(m, n, ret);
}

int machine_take_line(struct machine *m, struct str *ret)
{
    size_t n = str_find(m->in, '\n');

    if (n == m->in.n)
        return machine_bad(m, "it ends in the middle of a line");
    *ret = str_head(m->in, n);
    m->in = str_skip(m->in, n + 1);
    return 0;
}

/* --- the stack --------------------------------------------------------------- */

static int grow(struct machine *m, struct pile *pile, size_t n)
{
    if (n <= pile->cap)
        return 0;
    if (n > m->limits->max_values)
        return too_many(m);
    size_t cap = n < 32 ? 64 : 2 * n;
    struct value **p = realloc(pile->p, cap * sizeof(struct value *));
    if (p == NULL)
        return no_memory(m);
    pile->p = p;
    pile->cap = cap;
    return 0;
}

int machine_push(struct machine *m, struct value *v)
{
    int err = grow(m, &m->stack, m->stack.n + 1);

    if (err == 0)
        m->stack.p[m->stack.n++] = v;
    return err;
}

int machine_pop(struct machine *m, struct value **ret)
{
    if (m->stack.n == 0 || m->stack.p[m->stack.n - 1] == &m->mark)
        return machine_bad(m, "it takes a value from an empty stack");
    *ret = m->stack.p[--m->stack.n];
    return 0;
}

/* --- the memo ---------------------------------------------------------------- */

int machine_remember(struct machine *m, uint64_t at)
{
    if (m->stack.n == 0 || m->stack.p[m->stack.n - 1] == &m->mark)
        return machine_bad(m, "it stores a value from an empty stack");
    if (at >= m->limits->max_values)
        return too_many(m);
    int err = grow(m, &m->memo, (size_t)at + 1);
    if (err != 0)
        return err;
    while (m->memo.n <= at)
        m->memo.p[m->memo.n++] = NULL;
    m->memo.p[at] = m->stack.p[m->stack.n - 1];
    return 0;
}

int machine_recall(struct machine *m, uint64_t at)
{
    if (at >= m->memo.n || m->memo.p[at] == NULL)
        return machine_bad(m, "it recalls what it has not remembered");
    return machine_push(m, m->memo.p[at]);
}

/* --- values ------------------------------------------------------------------ */

int machine_make(struct machine *m, enum value_kind kind, struct value **ret)
{
    if (m->n_values >= m->limits->max_values)
        return too_many(m);
    struct value *v = arena_alloc(m->mem, sizeof(*v));
    if (v == NULL)
        return no_memory(m);
    m->n_values++;
    *v = (struct value){ .kind = kind };
    *ret = v;
    return 0;
}

int machine_push_text(struct machine *m, enum value_kind kind, struct str text)
{
    struct value *v;
    int err = machine_make(m, kind, &v);

    if (err != 0)
        return err;
    v->text = text;
    return machine_push(m, v);
}

int machine_push_written(struct machine *m, enum value_kind kind, struct buf *b)
{
    struct str text;
    int err = b->error == 0 && arena_copy(m->mem, buf_text(b), &text) ? 0 : no_memory(m);

    buf_done(b);
    return err != 0 ? err : machine_push_text(m, kind, text);
}

int machine_add_items(struct machine *m, struct value *to, struct value *const *items, size_t n)
{
    if (to->n + n > to->cap) {
        size_t cap = to->n == 0 ? n : 2 * (to->n + n);
        struct value **grown = arena_alloc(m->mem, cap * sizeof(struct value *));
        if (grown == NULL)
            return no_memory(m);
        if (to->n > 0)
            memcpy(grown, to->items, to->n * sizeof(struct value *));
        to->items = grown;
        to->cap = cap;
    }
    if (n > 0)
        memcpy(to->items + to->n, items, n * sizeof(struct value *));
    to->n += n;
    return 0;
}
