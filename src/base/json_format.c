#include "base/json_format.h"

#include "base/json.h"

#include <assert.h>

void json_format_list(struct buf *b, const char *template, const struct str *args, size_t n)
{
    size_t used = 0;

    for (;;) {
        size_t plain = strcspn(template, "'%");

        buf_put(b, template, plain);
        template += plain;
        if (*template == '\0')
            break;
        if (*template ++ == '\'') {
            buf_char(b, '"');
            continue;
        }
        assert(used < n && (*template == 's' || *template == 'j'));
        if (*template ++ == 's')
            json_put_str_or_null(b, args[used++]);
        else
            buf_str(b, args[used++]);
    }
    assert(used == n);
}
