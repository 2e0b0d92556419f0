/* Names, and calls of them that are recorded and never made.
 *
 * A class or a function is a name.  A call of it becomes an object with that name and the
 * arguments.  Bytes and members of classes, which Python also writes as calls, become what the
 * call would return. */
#include "base/utf8.h"
#include "pickle/machine.h"
#include "pickle/names.h"
#include "pickle/steps.h"

enum { MAX_NAME = 512 };

static int make_name(struct machine *m, struct str module, struct str name, struct value **ret)
{
    struct buf text;

    if (module.n == 0 || name.n == 0 || module.n > MAX_NAME || name.n > MAX_NAME ||
        utf8_valid(module) != module.n || utf8_valid(name) != name.n)
        return machine_bad(m, "a class without a proper name");
    if (!pickle_name_is_harmless(module, name))
        return error_set(m->err, ERR_REFUSED, "the pickle asks for %.*s.%.*s: refused",
                         STR_ARG(utf8_head_bytes(module, 80)),
                         STR_ARG(utf8_head_bytes(name, 80)));
    buf_init(&text, 2 * MAX_NAME + 2);
    buf_str(&text, module);
    buf_char(&text, '.');
    buf_str(&text, name);
    int err = machine_push_written(m, VALUE_NAME, &text);
    return err != 0 ? err : machine_pop(m, ret);
}

static int take_name(struct machine *m, struct value **ret)
{
    struct str module, name;
    int err = machine_take_line(m, &module);

    if (err == 0)
        err = machine_take_line(m, &name);
    return err != 0 ? err : make_name(m, module, name, ret);
}

int step_global(struct machine *m)
{
    struct value *name;
    int err = take_name(m, &name);

    return err != 0 ? err : machine_push(m, name);
}

int step_stack_global(struct machine *m)
{
    struct value *module, *name, *made;
    int err = machine_pop(m, &name);

    if (err == 0)
        err = machine_pop(m, &module);
    if (err == 0 && (module->kind != VALUE_TEXT || name->kind != VALUE_TEXT))
        err = machine_bad(m, "a class without a proper name");
    if (err == 0)
        err = make_name(m, module->text, name->text, &made);
    return err != 0 ? err : machine_push(m, made);
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
            return machine_bad(m, "malformed bytes");
        }
        if (is_pair)
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)text.p[++i] & 0x3f));
        buf_char(&bytes, (char)c);
    }
    return machine_push_written(m, VALUE_BYTES, &bytes);
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
    return machine_push_written(m, VALUE_NAME, &text);
}

/* The object that stands for the call of @name. */
static int push_object(struct machine *m, struct value *name, struct value *args)
{
    struct value *v;

    if (name->kind != VALUE_NAME || args->kind != VALUE_TUPLE)
        return machine_bad(m, "a call of something that is no class");
    if (str_is(name->text, "_codecs.encode") && args->n > 0 &&
        args->items[0]->kind == VALUE_TEXT)
        return push_encoded(m, args->items[0]->text);
    if (str_is(name->text, "builtins.getattr") || str_is(name->text, "__builtin__.getattr"))
        return push_inner(m, args);
    int err = machine_make(m, VALUE_OBJECT, &v);
    if (err != 0)
        return err;
    v->text = name->text;
    v->args = args;
    /* copyreg._reconstructor(class, base, state) and copyreg.__newobj__(class, …) */
    if ((str_ends(name->text, STR("._reconstructor")) ||
         str_ends(name->text, STR(".__newobj__"))) &&
        args->n > 0 && args->items[0]->kind == VALUE_NAME) {
        v->text = args->items[0]->text;
        err = machine_make(m, VALUE_TUPLE, &v->args);
    }
    return err != 0 ? err : machine_push(m, v);
}

int step_call(struct machine *m)
{
    struct value *name, *args;
    int err = machine_pop(m, &args);

    if (err == 0)
        err = machine_pop(m, &name);
    return err != 0 ? err : push_object(m, name, args);
}

int step_call_with_names(struct machine *m)
{
    struct value *names;
    int err = machine_pop(m, &names);

    if (err == 0)
        err = step_call(m);
    if (err == 0 && m->stack.p[m->stack.n - 1]->kind == VALUE_OBJECT)
        m->stack.p[m->stack.n - 1]->state = names;
    return err;
}

/* The arguments lie above the mark, the class first among them (OBJ) or in the text (INST). */
static int call_marked(struct machine *m, struct value *name)
{
    struct value *args;
    int err = step_gather(m, VALUE_TUPLE);

    if (err == 0)
        err = machine_pop(m, &args);
    if (err == 0 && name == NULL) {
        if (args->n == 0)
            return machine_bad(m, "a call of nothing");
        name = args->items[0];
        args->items++;
        args->n--;
        args->cap--;
    }
    return err != 0 ? err : push_object(m, name, args);
}

int step_call_marked(struct machine *m)
{
    return call_marked(m, NULL);
}

int step_call_inst(struct machine *m)
{
    struct value *name;
    int err = take_name(m, &name);

    return err != 0 ? err : call_marked(m, name);
}

int step_build(struct machine *m)
{
    struct value *state, *object;
    int err = machine_pop(m, &state);

    if (err == 0)
        err = machine_pop(m, &object);
    if (err == 0 && object->kind != VALUE_OBJECT)
        err = machine_bad(m, "a state of something that is no object");
    if (err != 0)
        return err;
    object->state = state;
    return machine_push(m, object);
}
