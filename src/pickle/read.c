/* The program: which opcode is which step of the machine. */
#include "pickle/read.h"

#include "base/error.h"
#include "pickle/json.h"
#include "pickle/machine.h"
#include "pickle/opcodes.h"
#include "pickle/steps.h"

enum { WIDE = 8 };

/* One of the two; @n is how many bytes its number or length has, how many values it takes, or
 * which value or kind it makes. */
struct opcode {
    int (*plain)(struct machine *m);
    int (*counted)(struct machine *m, size_t n);
    size_t n;
};

static int step_skip(struct machine *m, size_t n)
{
    struct str ignored;

    return machine_take(m, n, &ignored);
}

static const struct opcode opcodes[256] = {
    [OP_PROTO] = { .counted = step_skip, .n = 1 },
    [OP_FRAME] = { .counted = step_skip, .n = WIDE },
    [OP_MARK] = { .plain = step_mark },
    [OP_POP] = { .plain = step_pop },
    [OP_POP_MARK] = { .plain = step_pop_marked },
    [OP_DUP] = { .plain = step_duplicate },
    [OP_NONE] = { .counted = step_new, .n = VALUE_NONE },
    [OP_NEWTRUE] = { .counted = step_bool, .n = true },
    [OP_NEWFALSE] = { .counted = step_bool, .n = false },
    [OP_INT] = { .plain = step_int_line },
    [OP_BININT] = { .counted = step_int, .n = 4 },
    [OP_BININT1] = { .counted = step_int, .n = 1 },
    [OP_BININT2] = { .counted = step_int, .n = 2 },
    [OP_LONG] = { .plain = step_long_line },
    [OP_LONG1] = { .counted = step_long, .n = 1 },
    [OP_LONG4] = { .counted = step_long, .n = 4 },
    [OP_FLOAT] = { .plain = step_float_line },
    [OP_BINFLOAT] = { .plain = step_float },
    [OP_STRING] = { .plain = step_string_line },
    [OP_BINSTRING] = { .counted = step_string, .n = 4 },
    [OP_SHORT_BINSTRING] = { .counted = step_string, .n = 1 },
    [OP_UNICODE] = { .plain = step_text_line },
    [OP_SHORT_BINUNICODE] = { .counted = step_text, .n = 1 },
    [OP_BINUNICODE] = { .counted = step_text, .n = 4 },
    [OP_BINUNICODE8] = { .counted = step_text, .n = WIDE },
    [OP_SHORT_BINBYTES] = { .counted = step_bytes, .n = 1 },
    [OP_BINBYTES] = { .counted = step_bytes, .n = 4 },
    [OP_BINBYTES8] = { .counted = step_bytes, .n = WIDE },
    [OP_BYTEARRAY8] = { .counted = step_bytes, .n = WIDE },
    [OP_EMPTY_LIST] = { .counted = step_new, .n = VALUE_LIST },
    [OP_LIST] = { .counted = step_gather, .n = VALUE_LIST },
    [OP_APPEND] = { .counted = step_add, .n = 1 },
    [OP_APPENDS] = { .counted = step_add_marked, .n = 1 },
    [OP_ADDITEMS] = { .counted = step_add_marked, .n = 1 },
    [OP_EMPTY_TUPLE] = { .counted = step_new, .n = VALUE_TUPLE },
    [OP_TUPLE1] = { .counted = step_tuple, .n = 1 },
    [OP_TUPLE2] = { .counted = step_tuple, .n = 2 },
    [OP_TUPLE3] = { .counted = step_tuple, .n = 3 },
    [OP_TUPLE] = { .counted = step_gather, .n = VALUE_TUPLE },
    [OP_EMPTY_DICT] = { .counted = step_new, .n = VALUE_DICT },
    [OP_DICT] = { .counted = step_gather, .n = VALUE_DICT },
    [OP_SETITEM] = { .counted = step_add, .n = 2 },
    [OP_SETITEMS] = { .counted = step_add_marked, .n = 2 },
    [OP_EMPTY_SET] = { .counted = step_new, .n = VALUE_SET },
    [OP_FROZENSET] = { .counted = step_gather, .n = VALUE_SET },
    [OP_PUT] = { .plain = step_put_line },
    [OP_BINPUT] = { .counted = step_put, .n = 1 },
    [OP_LONG_BINPUT] = { .counted = step_put, .n = 4 },
    [OP_MEMOIZE] = { .plain = step_put_next },
    [OP_GET] = { .plain = step_get_line },
    [OP_BINGET] = { .counted = step_get, .n = 1 },
    [OP_LONG_BINGET] = { .counted = step_get, .n = 4 },
    [OP_GLOBAL] = { .plain = step_global },
    [OP_STACK_GLOBAL] = { .plain = step_stack_global },
    [OP_REDUCE] = { .plain = step_call },
    [OP_NEWOBJ] = { .plain = step_call },
    [OP_NEWOBJ_EX] = { .plain = step_call_with_names },
    [OP_INST] = { .plain = step_call_inst },
    [OP_OBJ] = { .plain = step_call_marked },
    [OP_BUILD] = { .plain = step_build },
};

static int unknown(struct machine *m, unsigned char op)
{
    return error_set(m->err, ERR_REFUSED,
                     "the pickle has the opcode 0x%02x, which is not taken", op);
}

static int step(struct machine *m, unsigned char op)
{
    const struct opcode *known = &opcodes[op];

    if (known->plain != NULL)
        return known->plain(m);
    return known->counted != NULL ? known->counted(m, known->n) : unknown(m, op);
}

static int run(struct machine *m, struct value **ret)
{
    for (;;) {
        struct str op;
        int err = machine_take(m, 1, &op);

        if (err != 0)
            return err;
        if ((unsigned char)op.p[0] == OP_STOP)
            return machine_pop(m, ret);
        err = step(m, (unsigned char)op.p[0]);
        if (err != 0)
            return err;
    }
}

/* @bytes is borrowed by the tree; all else is in @mem. */
static int read_tree(struct str bytes,
                     const struct pickle_limits *limits,
                     struct arena *mem,
                     struct value **ret,
                     struct error *err)
{
    struct machine m = { .in = bytes, .limits = limits, .mem = mem, .err = err };

    m.mark.kind = VALUE_MARK;
    if (bytes.n > limits->max_bytes)
        return error_set(err, ERR_TOO_LARGE, "a pickle of %zu bytes; the limit is %zu", bytes.n,
                         limits->max_bytes);
    int code = run(&m, ret);
    machine_done(&m);
    return code;
}

int pickle_to_json(struct str bytes,
                   const struct pickle_limits *limits,
                   struct buf *out,
                   struct error *err)
{
    struct value *v;
    struct arena mem;

    arena_init(&mem);
    int code = read_tree(bytes, limits, &mem, &v, err);
    if (code == 0)
        code = pickle_put_json(out, v, limits->max_depth, err);
    arena_done(&mem);
    return code;
}
