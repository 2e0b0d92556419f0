/* The stack machine.
 *
 *     bytes ──▶ step() ──▶ stack [ … MARK a b c ]   APPENDS takes all above the mark
 *                          memo  [ … ]              PUT and GET share values
 *
 * Every opcode pushes at most one value, so that limits on values bound the stack as well.
 * The first error ends it. */
#include "pickle/read.h"

#include "base/error.h"
#include "base/utf8.h"
#include "pickle/json.h"
#include "pickle/names.h"
#include "pickle/number.h"
#include "pickle/opcodes.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_NAME = 512, MAX_WIDE = 8 };

struct pile {
    struct value **p; /* owned */
    size_t n, cap;
};

struct machine {
    struct str in; /* what is left */
    const struct pickle_limits *limits;
    struct arena *mem;
    struct pile stack;
    struct pile memo; /* with holes */
    size_t n_values;
    struct value mark; /* it is known by its address */
    struct error *err;
};

/* --- errors ------------------------------------------------------------------ */

static int bad(struct machine *m, const char *what)
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

static int take(struct machine *m, uint64_t n, struct str *ret)
{
    if (n > m->in.n)
        return bad(m, "it ends in the middle");
    *ret = str_head(m->in, (size_t)n);
    m->in = str_skip(m->in, (size_t)n);
    return 0;
}

/* A little-endian number of @width bytes. */
static int take_uint(struct machine *m, size_t width, uint64_t *ret)
{
    struct str bytes;
    int err = take(m, width, &bytes);

    *ret = 0;
    for (size_t i = bytes.n; err == 0 && i > 0; i--)
        *ret = *ret << 8 | (unsigned char)bytes.p[i - 1];
    return err;
}

/* Bytes behind their length. */
static int take_sized(struct machine *m, size_t width, struct str *ret)
{
    uint64_t n;
    int err = take_uint(m, width, &n);

    return err != 0 ? err : take(m, n, ret);
}

static int take_line(struct machine *m, struct str *ret)
{
    size_t n = str_find(m->in, '\n');

    if (n == m->in.n)
        return bad(m, "it ends in the middle of a line");
    *ret = str_head(m->in, n);
    m->in = str_skip(m->in, n + 1);
    return 0;
}

/* --- values ------------------------------------------------------------------ */

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

static int push(struct machine *m, struct value *v)
{
    int err = grow(m, &m->stack, m->stack.n + 1);

    if (err == 0)
        m->stack.p[m->stack.n++] = v;
    return err;
}

static int pop(struct machine *m, struct value **ret)
{
    if (m->stack.n == 0 || m->stack.p[m->stack.n - 1] == &m->mark)
        return bad(m, "it takes a value where there is none");
    *ret = m->stack.p[--m->stack.n];
    return 0;
}

static int make(struct machine *m, enum value_kind kind, struct value **ret)
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

static int push_new(struct machine *m, enum value_kind kind)
{
    struct value *v;
    int err = make(m, kind, &v);

    return err != 0 ? err : push(m, v);
}

static int push_text(struct machine *m, enum value_kind kind, struct str text)
{
    struct value *v;
    int err = make(m, kind, &v);

    if (err != 0)
        return err;
    v->text = text;
    return push(m, v);
}

static int push_bool(struct machine *m, bool truth)
{
    struct value *v;
    int err = make(m, VALUE_BOOL, &v);

    if (err != 0)
        return err;
    v->truth = truth;
    return push(m, v);
}

static int push_float(struct machine *m, double number)
{
    struct value *v;
    int err = make(m, VALUE_FLOAT, &v);

    if (err != 0)
        return err;
    v->number = number;
    return push(m, v);
}

/* A copy of what was written to @b, which ends here. */
static int push_written(struct machine *m, enum value_kind kind, struct buf *b)
{
    struct str text;
    int err = b->error == 0 && arena_copy(m->mem, buf_text(b), &text) ? 0 : no_memory(m);

    buf_done(b);
    return err != 0 ? err : push_text(m, kind, text);
}

static int add_items(struct machine *m, struct value *to, struct value *const *items, size_t n)
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

/* --- texts and numbers ------------------------------------------------------- */

static int push_unicode(struct machine *m, struct str text)
{
    /* Python writes surrogate halves as three bytes each. */
    for (struct str rest = text; rest.n > 0;) {
        rest = str_skip(rest, utf8_valid(rest));
        if (rest.n > 0 && utf8_half_first(rest) == 0)
            return bad(m, "a text that is not UTF-8");
        rest = str_skip(rest, 3);
    }
    return push_text(m, VALUE_TEXT, text);
}

static int push_long(struct machine *m, struct str bytes)
{
    struct buf text;

    buf_init(&text, NUMBER_MAX_DIGITS + 64);
    if (number_put_text(&text, bytes) != 0) {
        buf_done(&text);
        return error_set(m->err, ERR_TOO_LARGE, "the pickle has a number of %zu bytes",
                         bytes.n);
    }
    return push_written(m, VALUE_INT, &text);
}

/* Of @width bytes; only that of four has a sign. */
static int push_small(struct machine *m, size_t width)
{
    struct buf text;
    uint64_t value;
    int err = take_uint(m, width, &value);

    if (err != 0)
        return err;
    buf_init(&text, 32);
    buf_i64(&text, width == 4 ? (int32_t)(uint32_t)value : (int64_t)value);
    return push_written(m, VALUE_INT, &text);
}

static bool is_decimal(struct str s)
{
    size_t from = s.n > 0 && s.p[0] == '-' ? 1 : 0;

    for (size_t i = from; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > from && s.n <= NUMBER_MAX_DIGITS && (s.p[from] != '0' || s.n == from + 1);
}

/* "12", and of protocol 1 "00" and "01", which are False and True. */
static int push_int_line(struct machine *m)
{
    struct str line;
    int err = take_line(m, &line);

    if (err != 0)
        return err;
    if (str_is(line, "00") || str_is(line, "01"))
        return push_bool(m, line.p[1] == '1');
    return is_decimal(line) ? push_text(m, VALUE_INT, line) : bad(m, "a number that is none");
}

/* "12L" */
static int push_long_line(struct machine *m)
{
    struct str line;
    int err = take_line(m, &line);

    if (err != 0)
        return err;
    if (line.n > 0 && line.p[line.n - 1] == 'L')
        line.n--;
    return is_decimal(line) ? push_text(m, VALUE_INT, line) : bad(m, "a number that is none");
}

static int push_float_line(struct machine *m)
{
    char copy[64], *end;
    struct str line;
    int err = take_line(m, &line);

    if (err != 0)
        return err;
    (void)snprintf(copy, sizeof(copy), "%.*s", STR_ARG(line)); /* one that is cut is none */
    double number = strtod(copy, &end);
    return line.n > 0 && line.n < sizeof(copy) && *end == '\0' && end == copy + line.n
               ? push_float(m, number)
               : bad(m, "a number that is none");
}

static int push_binfloat(struct machine *m)
{
    struct str bytes;
    uint64_t bits = 0;
    double number;
    int err = take(m, sizeof(bits), &bytes);

    if (err != 0)
        return err;
    for (size_t i = 0; i < bytes.n; i++)
        bits = bits << 8 | (unsigned char)bytes.p[i];
    memcpy(&number, &bits, sizeof(number));
    return push_float(m, number);
}

/* @n hexadecimal digits; false when they are none. */
static bool read_hex(struct str s, size_t n, uint32_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        char c = i < s.n ? s.p[i] : '\0';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return false;
        *ret = *ret << 4 | digit;
    }
    return true;
}

static void put_point(struct buf *b, uint32_t point)
{
    char bytes[4];

    buf_put(b, bytes, utf8_put(bytes, point <= 0x10FFFF ? point : 0xFFFD));
}

/* A line of protocol 0: Latin-1, with \uXXXX and \UXXXXXXXX. */
static int push_unicode_line(struct machine *m)
{
    struct buf text;
    struct str line;
    int err = take_line(m, &line);

    if (err != 0)
        return err;
    buf_init(&text, 2 * line.n + 8);
    while (line.n > 0) {
        bool is_long = line.n > 1 && line.p[1] == 'U';
        size_t digits = is_long ? 8 : 4;
        uint32_t point;
        if (line.p[0] == '\\' && line.n > 1 && (line.p[1] == 'u' || is_long) &&
            read_hex(str_skip(line, 2), digits, &point)) {
            put_point(&text, point);
            line = str_skip(line, 2 + digits);
        } else {
            put_point(&text, (unsigned char)line.p[0]);
            line = str_skip(line, 1);
        }
    }
    return push_written(m, VALUE_TEXT, &text);
}

/* Bytes of Python 2 are a text if they are ASCII, as Python 3 takes them. */
static int push_string(struct machine *m, struct str bytes)
{
    bool is_ascii = true;

    for (size_t i = 0; i < bytes.n; i++)
        is_ascii = is_ascii && (unsigned char)bytes.p[i] < 0x80;
    return push_text(m, is_ascii ? VALUE_TEXT : VALUE_BYTES, bytes);
}

/* What the backslash at the beginning of @s stands for; returns how much it takes. */
static size_t put_escape(struct buf *b, struct str s)
{
    static const char names[] = "ntr\\'\"", chars[] = "\n\t\r\\'\"";
    const char *hit = s.n > 1 && s.p[1] != '\0' ? strchr(names, s.p[1]) : NULL;
    uint32_t code;

    if (hit != NULL) {
        buf_char(b, chars[hit - names]);
        return 2;
    }
    if (s.n > 1 && s.p[1] == 'x' && read_hex(str_skip(s, 2), 2, &code)) {
        buf_char(b, (char)(unsigned char)code);
        return 4;
    }
    buf_char(b, '\\');
    return 1;
}

/* 'a text' as Python 2 writes it. */
static int push_string_line(struct machine *m)
{
    struct buf plain;
    struct str line;
    int err = take_line(m, &line);

    if (err != 0)
        return err;
    if (line.n < 2 || (line.p[0] != '\'' && line.p[0] != '"') ||
        line.p[line.n - 1] != line.p[0])
        return bad(m, "a string without quotes");
    line = str_make(line.p + 1, line.n - 2);
    buf_init(&plain, line.n + 8);
    while (line.n > 0) {
        size_t n = 1;
        if (line.p[0] == '\\')
            n = put_escape(&plain, line);
        else
            buf_char(&plain, line.p[0]);
        line = str_skip(line, n);
    }
    err = push_written(m, VALUE_BYTES, &plain);
    if (err != 0)
        return err;
    struct value *v = m->stack.p[--m->stack.n];
    return push_string(m, v->text);
}

/* --- containers -------------------------------------------------------------- */

/* Where the values above the topmost mark begin. */
static int find_mark(struct machine *m, size_t *ret)
{
    for (size_t i = m->stack.n; i > 0; i--)
        if (m->stack.p[i - 1] == &m->mark) {
            *ret = i;
            return 0;
        }
    return bad(m, "a mark is missing");
}

/* All above the mark, as one value. */
static int gather(struct machine *m, enum value_kind kind)
{
    struct value *v;
    size_t from;
    int err = find_mark(m, &from);

    if (err == 0)
        err = make(m, kind, &v);
    if (err == 0 && kind == VALUE_DICT && (m->stack.n - from) % 2 != 0)
        err = bad(m, "a key without a value");
    if (err == 0)
        err = add_items(m, v, m->stack.p + from, m->stack.n - from);
    if (err != 0)
        return err;
    m->stack.n = from - 1;
    return push(m, v);
}

/* The last @n, as a tuple. */
static int gather_last(struct machine *m, size_t n)
{
    struct value *items[3], *v;
    int err = make(m, VALUE_TUPLE, &v);

    for (size_t i = n; err == 0 && i > 0; i--)
        err = pop(m, &items[i - 1]);
    if (err == 0)
        err = add_items(m, v, items, n);
    return err != 0 ? err : push(m, v);
}

/* Adds the @n values on top to the one below them: items, or keys and values. */
static int extend(struct machine *m, size_t from, bool pairs)
{
    size_t n = m->stack.n - from;

    if (from == 0 || m->stack.p[from - 1] == &m->mark)
        return bad(m, "it adds to nothing");
    struct value *to = m->stack.p[from - 1];
    bool fits =
        pairs ? to->kind == VALUE_DICT : to->kind == VALUE_LIST || to->kind == VALUE_SET;
    if (to->kind == VALUE_OBJECT && (to->n == 0 || to->has_pairs == pairs)) {
        to->has_pairs = pairs;
        fits = true;
    }
    if (!fits || (pairs && n % 2 != 0))
        return bad(m, "it adds to what takes nothing");
    int err = add_items(m, to, m->stack.p + from, n);
    m->stack.n = from;
    return err;
}

static int extend_last(struct machine *m, size_t n, bool pairs)
{
    struct value *ignored;

    for (size_t i = 0; i < n; i++) { /* none of them a mark */
        int err = pop(m, &ignored);
        if (err != 0)
            return err;
    }
    m->stack.n += n;
    return extend(m, m->stack.n - n, pairs);
}

static int extend_marked(struct machine *m, bool pairs)
{
    size_t from;
    int err = find_mark(m, &from);

    if (err != 0)
        return err;
    size_t n = m->stack.n - from;
    memmove(m->stack.p + from - 1, m->stack.p + from, n * sizeof(struct value *));
    m->stack.n--;
    return extend(m, from - 1, pairs);
}

static int pop_marked(struct machine *m)
{
    size_t from;
    int err = find_mark(m, &from);

    if (err == 0)
        m->stack.n = from - 1;
    return err;
}

static int pop_any(struct machine *m)
{
    if (m->stack.n == 0)
        return bad(m, "it takes a value where there is none");
    m->stack.n--;
    return 0;
}

static int duplicate(struct machine *m)
{
    struct value *v;
    int err = pop(m, &v);

    if (err == 0)
        err = push(m, v);
    return err != 0 ? err : push(m, v);
}

/* --- the memo ---------------------------------------------------------------- */

static int put_memo(struct machine *m, uint64_t at)
{
    if (m->stack.n == 0 || m->stack.p[m->stack.n - 1] == &m->mark)
        return bad(m, "it remembers a value where there is none");
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

static int get_memo(struct machine *m, uint64_t at)
{
    if (at >= m->memo.n || m->memo.p[at] == NULL)
        return bad(m, "it recalls what it has not remembered");
    return push(m, m->memo.p[at]);
}

static int at_number(struct machine *m, size_t width, int (*use)(struct machine *, uint64_t))
{
    uint64_t at;
    int err = take_uint(m, width, &at);

    return err != 0 ? err : use(m, at);
}

static int at_line(struct machine *m, int (*use)(struct machine *, uint64_t))
{
    struct str line;
    int64_t at;
    int err = take_line(m, &line);

    if (err == 0 && !str_number(line, &at))
        err = bad(m, "a place in the memo that is none");
    return err != 0 ? err : use(m, (uint64_t)at);
}

/* --- names and calls --------------------------------------------------------- */

static int make_name(struct machine *m, struct str module, struct str name, struct value **ret)
{
    struct buf text;

    if (module.n == 0 || name.n == 0 || module.n > MAX_NAME || name.n > MAX_NAME ||
        utf8_valid(module) != module.n || utf8_valid(name) != name.n)
        return bad(m, "a class without a proper name");
    if (!pickle_name_is_harmless(module, name))
        return error_set(m->err, ERR_REFUSED, "the pickle asks for %.*s.%.*s: refused",
                         STR_ARG(utf8_head_bytes(module, 80)),
                         STR_ARG(utf8_head_bytes(name, 80)));
    buf_init(&text, 2 * MAX_NAME + 2);
    buf_str(&text, module);
    buf_char(&text, '.');
    buf_str(&text, name);
    int err = push_written(m, VALUE_NAME, &text);
    return err != 0 ? err : pop(m, ret);
}

static int take_name(struct machine *m, struct value **ret)
{
    struct str module, name;
    int err = take_line(m, &module);

    if (err == 0)
        err = take_line(m, &name);
    return err != 0 ? err : make_name(m, module, name, ret);
}

static int push_global(struct machine *m)
{
    struct value *name;
    int err = take_name(m, &name);

    return err != 0 ? err : push(m, name);
}

static int push_stack_global(struct machine *m)
{
    struct value *module, *name, *made;
    int err = pop(m, &name);

    if (err == 0)
        err = pop(m, &module);
    if (err == 0 && (module->kind != VALUE_TEXT || name->kind != VALUE_TEXT))
        err = bad(m, "a class without a proper name");
    if (err == 0)
        err = make_name(m, module->text, name->text, &made);
    return err != 0 ? err : push(m, made);
}

/* Protocol 2 and below write bytes as a text of Latin-1 that is encoded. */
static int push_encoded(struct machine *m, struct str text)
{
    struct buf bytes;

    buf_init(&bytes, text.n + 8);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_pair = (c == 0xc2 || c == 0xc3) && i + 1 < text.n;
        if (c >= 0x80 && !is_pair) {
            buf_done(&bytes);
            return bad(m, "bytes that are none");
        }
        if (is_pair)
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)text.p[++i] & 0x3f));
        buf_char(&bytes, (char)c);
    }
    return push_written(m, VALUE_BYTES, &bytes);
}

/* getattr(Class, "method"): how Python names what is inside of a class. */
static int push_inner(struct machine *m, const struct value *args)
{
    struct buf text;

    if (args->n != 2 || args->items[0]->kind != VALUE_NAME ||
        args->items[1]->kind != VALUE_TEXT)
        return error_set(m->err, ERR_REFUSED,
                         "the pickle asks for getattr of a value: refused");
    buf_init(&text, 4 * MAX_NAME);
    buf_str(&text, args->items[0]->text);
    buf_char(&text, '.');
    buf_str(&text, utf8_head_bytes(args->items[1]->text, MAX_NAME));
    return push_written(m, VALUE_NAME, &text);
}

/* What the call of @name would make, were it made. */
static int push_object(struct machine *m, struct value *name, struct value *args)
{
    struct value *v;

    if (name->kind != VALUE_NAME || args->kind != VALUE_TUPLE)
        return bad(m, "a call of what is no class");
    if (str_is(name->text, "_codecs.encode") && args->n > 0 &&
        args->items[0]->kind == VALUE_TEXT)
        return push_encoded(m, args->items[0]->text);
    if (str_is(name->text, "builtins.getattr") || str_is(name->text, "__builtin__.getattr"))
        return push_inner(m, args);
    int err = make(m, VALUE_OBJECT, &v);
    if (err != 0)
        return err;
    v->text = name->text;
    v->args = args;
    /* copyreg._reconstructor(class, base, state) and copyreg.__newobj__(class, …) */
    if ((str_ends(name->text, STR("._reconstructor")) ||
         str_ends(name->text, STR(".__newobj__"))) &&
        args->n > 0 && args->items[0]->kind == VALUE_NAME) {
        v->text = args->items[0]->text;
        err = make(m, VALUE_TUPLE, &v->args);
    }
    return err != 0 ? err : push(m, v);
}

static int call(struct machine *m)
{
    struct value *name, *args;
    int err = pop(m, &args);

    if (err == 0)
        err = pop(m, &name);
    return err != 0 ? err : push_object(m, name, args);
}

/* With keyword arguments, which become its state. */
static int call_with_names(struct machine *m)
{
    struct value *names;
    int err = pop(m, &names);

    if (err == 0)
        err = call(m);
    if (err == 0 && m->stack.p[m->stack.n - 1]->kind == VALUE_OBJECT)
        m->stack.p[m->stack.n - 1]->state = names;
    return err;
}

/* The arguments lie above the mark, the class first among them (OBJ) or in the text (INST). */
static int call_marked(struct machine *m, struct value *name)
{
    struct value *args;
    int err = gather(m, VALUE_TUPLE);

    if (err == 0)
        err = pop(m, &args);
    if (err == 0 && name == NULL) {
        if (args->n == 0)
            return bad(m, "a call of nothing");
        name = args->items[0];
        args->items++;
        args->n--;
        args->cap--;
    }
    return err != 0 ? err : push_object(m, name, args);
}

static int call_inst(struct machine *m)
{
    struct value *name;
    int err = take_name(m, &name);

    return err != 0 ? err : call_marked(m, name);
}

static int build(struct machine *m)
{
    struct value *state, *object;
    int err = pop(m, &state);

    if (err == 0)
        err = pop(m, &object);
    if (err == 0 && object->kind != VALUE_OBJECT)
        err = bad(m, "a state of what is no object");
    if (err != 0)
        return err;
    object->state = state;
    return push(m, object);
}

/* --- the program ------------------------------------------------------------- */

static int sized_text(struct machine *m, size_t width)
{
    struct str text;
    int err = take_sized(m, width, &text);

    return err != 0 ? err : push_unicode(m, text);
}

static int sized_bytes(struct machine *m, size_t width)
{
    struct str bytes;
    int err = take_sized(m, width, &bytes);

    return err != 0 ? err : push_text(m, VALUE_BYTES, bytes);
}

static int sized_string(struct machine *m, size_t width)
{
    struct str bytes;
    int err = take_sized(m, width, &bytes);

    return err != 0 ? err : push_string(m, bytes);
}

static int sized_long(struct machine *m, size_t width)
{
    struct str bytes;
    int err = take_sized(m, width, &bytes);

    return err != 0 ? err : push_long(m, bytes);
}

static int skip(struct machine *m, size_t n)
{
    struct str ignored;

    return take(m, n, &ignored);
}

static int unknown(struct machine *m, unsigned char op)
{
    return error_set(m->err, ERR_REFUSED,
                     "the pickle has the opcode 0x%02x, which is not taken", op);
}

static int step(struct machine *m, unsigned char op)
{
    switch (op) {
    case OP_PROTO:
        return skip(m, 1);
    case OP_FRAME:
        return skip(m, MAX_WIDE);
    case OP_MARK:
        return push(m, &m->mark);
    case OP_POP:
        return pop_any(m);
    case OP_POP_MARK:
        return pop_marked(m);
    case OP_DUP:
        return duplicate(m);
    case OP_NONE:
        return push_new(m, VALUE_NONE);
    case OP_NEWTRUE:
        return push_bool(m, true);
    case OP_NEWFALSE:
        return push_bool(m, false);
    case OP_INT:
        return push_int_line(m);
    case OP_BININT:
        return push_small(m, 4);
    case OP_BININT1:
        return push_small(m, 1);
    case OP_BININT2:
        return push_small(m, 2);
    case OP_LONG:
        return push_long_line(m);
    case OP_LONG1:
        return sized_long(m, 1);
    case OP_LONG4:
        return sized_long(m, 4);
    case OP_FLOAT:
        return push_float_line(m);
    case OP_BINFLOAT:
        return push_binfloat(m);
    case OP_STRING:
        return push_string_line(m);
    case OP_BINSTRING:
        return sized_string(m, 4);
    case OP_SHORT_BINSTRING:
        return sized_string(m, 1);
    case OP_UNICODE:
        return push_unicode_line(m);
    case OP_SHORT_BINUNICODE:
        return sized_text(m, 1);
    case OP_BINUNICODE:
        return sized_text(m, 4);
    case OP_BINUNICODE8:
        return sized_text(m, MAX_WIDE);
    case OP_SHORT_BINBYTES:
        return sized_bytes(m, 1);
    case OP_BINBYTES:
        return sized_bytes(m, 4);
    case OP_BINBYTES8:
    case OP_BYTEARRAY8:
        return sized_bytes(m, MAX_WIDE);
    case OP_EMPTY_LIST:
        return push_new(m, VALUE_LIST);
    case OP_LIST:
        return gather(m, VALUE_LIST);
    case OP_APPEND:
        return extend_last(m, 1, false);
    case OP_APPENDS:
    case OP_ADDITEMS:
        return extend_marked(m, false);
    case OP_EMPTY_TUPLE:
        return push_new(m, VALUE_TUPLE);
    case OP_TUPLE1:
        return gather_last(m, 1);
    case OP_TUPLE2:
        return gather_last(m, 2);
    case OP_TUPLE3:
        return gather_last(m, 3);
    case OP_TUPLE:
        return gather(m, VALUE_TUPLE);
    case OP_EMPTY_DICT:
        return push_new(m, VALUE_DICT);
    case OP_DICT:
        return gather(m, VALUE_DICT);
    case OP_SETITEM:
        return extend_last(m, 2, true);
    case OP_SETITEMS:
        return extend_marked(m, true);
    case OP_EMPTY_SET:
        return push_new(m, VALUE_SET);
    case OP_FROZENSET:
        return gather(m, VALUE_SET);
    case OP_PUT:
        return at_line(m, put_memo);
    case OP_BINPUT:
        return at_number(m, 1, put_memo);
    case OP_LONG_BINPUT:
        return at_number(m, 4, put_memo);
    case OP_MEMOIZE:
        return put_memo(m, m->memo.n);
    case OP_GET:
        return at_line(m, get_memo);
    case OP_BINGET:
        return at_number(m, 1, get_memo);
    case OP_LONG_BINGET:
        return at_number(m, 4, get_memo);
    case OP_GLOBAL:
        return push_global(m);
    case OP_STACK_GLOBAL:
        return push_stack_global(m);
    case OP_REDUCE:
    case OP_NEWOBJ:
        return call(m);
    case OP_NEWOBJ_EX:
        return call_with_names(m);
    case OP_INST:
        return call_inst(m);
    case OP_OBJ:
        return call_marked(m, NULL);
    case OP_BUILD:
        return build(m);
    default:
        return unknown(m, op);
    }
}

static int run(struct machine *m, struct value **ret)
{
    for (;;) {
        struct str op;
        int err = take(m, 1, &op);

        if (err != 0)
            return err;
        if ((unsigned char)op.p[0] == OP_STOP)
            return pop(m, ret);
        err = step(m, (unsigned char)op.p[0]);
        if (err != 0)
            return err;
    }
}

int pickle_read(struct str bytes,
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
    free(m.stack.p);
    free(m.memo.p);
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
    int code = pickle_read(bytes, limits, &mem, &v, err);
    if (code == 0)
        code = pickle_put_json(out, v, limits->max_depth, err);
    arena_done(&mem);
    return code;
}
