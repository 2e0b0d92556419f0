/* Numbers as people write them: 64K, 16M; 500ms, 10s, 2m; 20000.  Pure. */
#ifndef CONFIG_OPTIONS_AMOUNT_H
#define CONFIG_OPTIONS_AMOUNT_H

#include "base/str.h"

#include <stdint.h>

struct buf;

enum amount_kind {
    AMOUNT_COUNT,
    AMOUNT_BYTES, /* K, M, G, T: powers of 1024 */
    AMOUNT_MS,    /* ms, s, m, h, d; the unit may be left out of 0 only */
};

/* One that is too large to hold becomes INT64_MAX. */
bool amount_parse(enum amount_kind kind, struct str text, int64_t *ret);
/* Appends it in the largest unit that needs no fraction; @value is not negative. */
void amount_print(enum amount_kind kind, int64_t value, struct buf *out);

#endif
