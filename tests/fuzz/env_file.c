/* Any bytes as a file of variables: every name is one, and what is left gets less. */
#include "fuzz.h"

#include "cli/env_file.h"

#include "base/buf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_make((const char *)data, size), name;
    struct buf value;
    size_t left = rest.n;

    buf_init(&value, SIZE_MAX / 4);
    while (env_file_next(&rest, &name, &value)) {
        if (rest.n >= left || name.n == 0 || str_find(name, '=') < name.n || value.n > size)
            abort();
        left = rest.n;
    }
    if (rest.n != 0)
        abort();
    buf_done(&value);
    return 0;
}
