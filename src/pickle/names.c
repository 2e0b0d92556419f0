/* Nothing is ever called here, so this is not a security boundary.  It reports a pickle that
 * tries to run code as an error instead of a strange result. */
#include "pickle/names.h"

/* Including their submodules. */
static const char *const refused_modules[] = {
    "os",
    "posix",
    "nt",
    "sys",
    "subprocess",
    "commands",
    "pty",
    "shutil",
    "socket",
    "importlib",
    "imp",
    "runpy",
    "code",
    "codeop",
    "ctypes",
    "cffi",
    "marshal",
    "pickle",
    "_pickle",
    "cPickle",
    "dill",
    "operator",
    "_operator",
    "webbrowser",
    "timeit",
    "pdb",
    "bdb",
    "pip",
    "multiprocessing",
    "_posixsubprocess",
    "_io",
    "io",
    "tempfile",
};

/* The allowed names of builtins; exceptions are allowed too, by the ending of their names.
 * Python pickles members of a class as getattr calls. */
static const char *const plain_types[] = {
    "object",        "int",
    "float",         "bool",
    "complex",       "str",
    "bytes",         "bytearray",
    "list",          "tuple",
    "set",           "frozenset",
    "dict",          "range",
    "slice",         "type",
    "NoneType",      "ellipsis",
    "Ellipsis",      "NotImplemented",
    "long",          "unicode",
    "StopIteration", "StopAsyncIteration",
    "getattr",       "KeyboardInterrupt",
    "SystemExit",    "GeneratorExit",
};

static bool is_one_of(struct str s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(s, str_of(list[i])))
            return true;
    return false;
}

#define IS_ONE_OF(s, list) is_one_of((s), (list), sizeof(list) / sizeof((list)[0]))

static bool is_exception(struct str name)
{
    static const struct str endings[] = {
        { "Error", 5 }, { "Exception", 9 }, { "ExceptionGroup", 14 }, { "Warning", 7 }
    };

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (str_ends(name, endings[i]) && str_find(name, '.') == name.n)
            return true;
    return false;
}

bool pickle_name_is_harmless(struct str module, struct str name)
{
    if (str_is(module, "builtins") || str_is(module, "__builtin__") ||
        str_is(module, "exceptions"))
        return IS_ONE_OF(name, plain_types) || is_exception(name);
    return !IS_ONE_OF(str_head(module, str_find(module, '.')), refused_modules);
}
