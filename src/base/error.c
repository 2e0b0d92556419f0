#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *err, int code, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    err->code = code;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof(err->text), format, args); /* may be truncated */
    va_end(args);
    return code;
}

const char *error_name(int code)
{
    switch (code) {
    case 0:
        return "no error";
    case ERR_NOMEM:
        return "out of memory";
    case ERR_TOO_LARGE:
        return "over a limit";
    case ERR_SYNTAX:
        return "malformed";
    case ERR_TYPE:
        return "wrong type";
    case ERR_REFUSED:
        return "refused";
    case ERR_NOT_FOUND:
        return "not found";
    case ERR_CLOSED:
        return "closed";
    case ERR_IO:
        return "input or output failed";
    case ERR_BUSY:
        return "busy";
    case ERR_LIMIT:
        return "too many";
    case ERR_ELSEWHERE:
        return "elsewhere";
    case ERR_MOVED:
        return "another gateway does it";
    case ERR_UNKNOWN:
        return "it is not known whether it was done";
    case ERR_CONFLICT:
        return "in conflict with another transaction";
    default:
        return "unknown error";
    }
}
