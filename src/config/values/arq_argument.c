#include "config/values/arq_argument.h"

struct str arq_argument_split(struct str word, struct str *ret_name)
{
    size_t equals = str_find(word, '=');

    *ret_name = equals < word.n ? str_head(word, equals) : STR_NONE;
    return equals < word.n ? str_skip(word, equals + 1) : word;
}

bool arq_argument_is_valid(struct str word)
{
    static const char *const known[] = { "job_id", "agent",  "attempt",
                                         "input",  "resume", "answer" };
    struct str name, value = arq_argument_split(word, &name);

    if (!str_absent(name) && name.n == 0)
        return false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(value, str_of(known[i])))
            return true;
    return str_starts(value, STR("input.")) && value.n > sizeof("input.") - 1;
}
