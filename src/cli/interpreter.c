#include "cli/interpreter.h"

#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool can_run(const char *folder, const char *name, char *ret, size_t size)
{
    int n = snprintf(ret, size, "%s/%s", folder, name);

    return n > 0 && (size_t)n < size && access(ret, X_OK) == 0;
}

bool interpreter_find(const char *name, char *ret, size_t size)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path != NULL ? path : "");
    char folder[PATH_MAX];

    while (rest.n > 0) {
        struct str part = str_head(rest, str_find(rest, ':'));
        rest = str_skip(rest, part.n + 1);
        if (part.n == 0 || part.n >= sizeof(folder))
            continue;
        str_copy(folder, part);
        folder[part.n] = '\0';
        if (can_run(folder, name, ret, size))
            return true;
    }
    return false;
}

bool interpreter_python(const char *folder, char *ret, size_t size)
{
    static const char *const places[] = { ".venv/bin/python", "venv/bin/python" };
    const char *active = getenv("VIRTUAL_ENV");

    if (active != NULL && can_run(active, "bin/python", ret, size))
        return true;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (can_run(folder, places[i], ret, size))
            return true;
    return interpreter_find("python3", ret, size);
}
