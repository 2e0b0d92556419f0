#include "base/json_format.h"

#include "base/json.h"

#include <assert.h>

static void fill(struct buf *b, char kind, const struct json_hole *hole)
{
    assert(hole->is_text == (kind == 's' || kind == 'j'));
    if (kind == 's')
        json_put_str_or_null(b, hole->text);
    else if (kind == 'j')
        json_put_raw_or_null(b, hole->text);
    else if (kind == 'b')
        buf_str(b, hole->number != 0 ? STR("true") : STR("false"));
    else if (hole->is_unsigned)
        buf_u64(b, (uint64_t)hole->number);
    else
        buf_i64(b, hole->number);
}

void json_format_holes(struct buf *b,
                       const char *template,
                       const struct json_hole *holes,
                       size_t n)
{
    size_t used = 0;

    if (*template == ',' && json_follows(b, '{'))
        template ++;
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
        assert(used < n && *template != '\0' && strchr("sjdb", *template) != NULL);
        fill(b, *template ++, &holes[used++]);
    }
    assert(used == n);
}
