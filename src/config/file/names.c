#include "config/file/names.h"

#include "base/error.h"
#include "config/text/quote.h"
#include "config/file/walk.h"

void names_init(struct names *names)
{
    buf_init(&names->bytes, WALK_MAX_BYTES);
    names->n = 0;
}

void names_done(struct names *names)
{
    buf_done(&names->bytes);
    names->n = 0;
}

int names_add(struct names *names, struct walk *w, size_t max, const char *what)
{
    if (!walk_at(w, YAML_SCALAR_EVENT) || walk_is_null(w) || str_empty(walk_scalar(w)))
        return walk_fail(w, ERR_TYPE, "there must be a name at line %zu", walk_line(w));
    if (walk_scalar(w).n > NAMES_MAX_BYTES)
        return walk_fail(w, ERR_TOO_LARGE, "the name '%s' at line %zu has more than %d bytes",
                         quote(walk_scalar(w)).z, walk_line(w), NAMES_MAX_BYTES);
    if (names->n == max)
        return walk_fail(w, ERR_TOO_LARGE, "more than %zu %s at line %zu", max, what,
                         walk_line(w));
    buf_str(&names->bytes, walk_scalar(w));
    if (names->bytes.error != 0)
        return walk_no_memory(w);
    names->ends[names->n++] = names->bytes.n;
    return 0;
}

struct str names_at(const struct names *names, size_t i)
{
    size_t begin = i > 0 ? names->ends[i - 1] : 0;

    return str_make(buf_text(&names->bytes).p + begin, names->ends[i] - begin);
}

bool names_have(const struct names *names, struct str name)
{
    for (size_t i = 0; i < names->n; i++)
        if (str_eq(names_at(names, i), name))
            return true;
    return false;
}
