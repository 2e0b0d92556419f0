/* Lists, tuples, sets and dicts: gathered from the stack, or added to; and opcodes that move
 * values on the stack and the memo. */
#include "pickle/machine.h"
#include "pickle/steps.h"

int step_new(struct machine *m, size_t kind)
{
    struct value *v;
    int err = machine_make(m, (enum value_kind)kind, &v);

    return err != 0 ? err : machine_push(m, v);
}

int step_mark(struct machine *m)
{
    return machine_push(m, &m->mark);
}

/* Where the values above the topmost mark begin. */
static int find_mark(struct machine *m, size_t *ret)
{
    for (size_t i = m->stack.n; i > 0; i--)
        if (m->stack.p[i - 1] == &m->mark) {
            *ret = i;
            return 0;
        }
    return machine_bad(m, "a mark is missing");
}

int step_gather(struct machine *m, size_t n)
{
    enum value_kind kind = (enum value_kind)n;
    struct value *v;
    size_t from = 0;
    int err = find_mark(m, &from);

    if (err == 0)
        err = machine_make(m, kind, &v);
    if (err == 0 && kind == VALUE_DICT && (m->stack.n - from) % 2 != 0)
        err = machine_bad(m, "a key without a value");
    if (err == 0)
        err = machine_add_items(m, v, m->stack.p + from, m->stack.n - from);
    if (err != 0)
        return err;
    m->stack.n = from - 1;
    return machine_push(m, v);
}

int step_tuple(struct machine *m, size_t n)
{
    struct value *items[3], *v;
    int err = machine_make(m, VALUE_TUPLE, &v);

    for (size_t i = n; err == 0 && i > 0; i--)
        err = machine_pop(m, &items[i - 1]);
    if (err == 0)
        err = machine_add_items(m, v, items, n);
    return err != 0 ? err : machine_push(m, v);
}

/* Adds the values from @from on to the one below them: items, or keys and values. */
static int extend(struct machine *m, size_t from, bool pairs)
{
    size_t n = m->stack.n - from;

    if (from == 0 || m->stack.p[from - 1] == &m->mark)
        return machine_bad(m, "it adds to nothing");
    struct value *to = m->stack.p[from - 1];
    bool fits =
        pairs ? to->kind == VALUE_DICT : to->kind == VALUE_LIST || to->kind == VALUE_SET;
    if (to->kind == VALUE_OBJECT && (to->n == 0 || to->has_pairs == pairs)) {
        to->has_pairs = pairs;
        fits = true;
    }
    if (!fits || (pairs && n % 2 != 0))
        return machine_bad(m, "it adds to what takes nothing");
    int err = machine_add_items(m, to, m->stack.p + from, n);
    m->stack.n = from;
    return err;
}

int step_add(struct machine *m, size_t n)
{
    struct value *ignored;

    for (size_t i = 0; i < n; i++) { /* none of them a mark */
        int err = machine_pop(m, &ignored);
        if (err != 0)
            return err;
    }
    m->stack.n += n;
    return extend(m, m->stack.n - n, n == 2);
}

int step_add_marked(struct machine *m, size_t n)
{
    size_t from = 0;
    int err = find_mark(m, &from);

    if (err != 0)
        return err;
    memmove(m->stack.p + from - 1, m->stack.p + from,
            (m->stack.n - from) * sizeof(struct value *));
    m->stack.n--;
    return extend(m, from - 1, n == 2);
}

int step_pop_marked(struct machine *m)
{
    size_t from = 0;
    int err = find_mark(m, &from);

    if (err == 0)
        m->stack.n = from - 1;
    return err;
}

int step_pop(struct machine *m)
{
    if (m->stack.n == 0)
        return machine_bad(m, "it takes a value from an empty stack");
    m->stack.n--;
    return 0;
}

int step_duplicate(struct machine *m)
{
    struct value *v;
    int err = machine_pop(m, &v);

    if (err == 0)
        err = machine_push(m, v);
    return err != 0 ? err : machine_push(m, v);
}

/* --- the memo ---------------------------------------------------------------- */

static int at_number(struct machine *m, size_t width, int (*use)(struct machine *, uint64_t))
{
    uint64_t at;
    int err = machine_take_uint(m, width, &at);

    return err != 0 ? err : use(m, at);
}

static int at_line(struct machine *m, int (*use)(struct machine *, uint64_t))
{
    struct str line;
    int64_t at = 0;
    int err = machine_take_line(m, &line);

    if (err == 0 && !str_number(line, &at))
        err = machine_bad(m, "an unknown place in the memo");
    return err != 0 ? err : use(m, (uint64_t)at);
}

int step_put(struct machine *m, size_t width)
{
    return at_number(m, width, machine_remember);
}

int step_put_line(struct machine *m)
{
    return at_line(m, machine_remember);
}

int step_put_next(struct machine *m)
{
    return machine_remember(m, m->memo.n);
}

int step_get(struct machine *m, size_t width)
{
    return at_number(m, width, machine_recall);
}

int step_get_line(struct machine *m)
{
    return at_line(m, machine_recall);
}
