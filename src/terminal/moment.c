#include "terminal/moment.h"

#include "base/buf.h"
#include "base/text_format.h"

void moment_put_span(struct buf *b, int64_t ms)
{
    static const struct {
        int64_t ms;
        char unit;
    } units[] = { { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' }, { 1000, 's' } };

    if (ms < 0)
        ms = 0;
    if (ms < 10000) { /* 0.4s */
        buf_i64(b, ms / 1000);
        text_format(b, ".%ds", ms % 1000 / 100);
        return;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (ms < units[i].ms * (units[i].unit == 's' ? 1 : 2))
            continue; /* "90m" is more exact than "1h" */
        buf_i64(b, ms / units[i].ms);
        buf_char(b, units[i].unit);
        return;
    }
}
