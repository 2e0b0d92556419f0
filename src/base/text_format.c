#include "base/text_format.h"

#include <assert.h>

void text_format_holes(struct buf *b,
                       const char *template,
                       const struct json_hole *holes,
                       size_t n)
{
    struct str rest = str_of(template);

    for (size_t i = 0;; i++) {
        struct str plain = str_head(rest, str_find(rest, '%'));

        buf_str(b, plain);
        rest = str_skip(rest, plain.n);
        if (rest.n == 0) {
            assert(i == n);
            return;
        }
        assert(i < n &&
               (str_starts(rest, STR("%s")) ? holes[i].is_text : str_starts(rest, STR("%d"))));
        if (holes[i].is_text)
            buf_str(b, holes[i].text);
        else if (holes[i].is_unsigned)
            buf_u64(b, (uint64_t)holes[i].number);
        else
            buf_i64(b, holes[i].number);
        rest = str_skip(rest, 2);
    }
}
