/* Any schema and any value, with a NUL between: an end is found, and a problem is text. */
#include "fuzz.h"

#include "schema/json_schema.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = str_make((const char *)data, size);
    size_t at = str_find(in, '\0');
    struct json_schema_problem problem;

    memset(&problem, 'x', sizeof(problem));
    if (!json_schema_check(str_head(in, at), str_skip(in, at + 1), &problem) &&
        memchr(problem.text, '\0', sizeof(problem.text)) == NULL)
        abort();
    memset(&problem, 'x', sizeof(problem));
    if (!json_schema_usable(str_head(in, at), &problem) &&
        (problem.text[0] == '\0' || memchr(problem.text, '\0', sizeof(problem.text)) == NULL))
        abort();
    return 0;
}
