/* An order: the line that a worker finds on its stdin.
 *
 *     {"job":"a1","attempt":1,"agent":"triage","input":{...},"lease_seconds":60} */
#ifndef AGENTS_ORDER_H
#define AGENTS_ORDER_H

#include "base/buf.h"

#include <stdint.h>

struct order {
    struct str job;
    int64_t attempt;
    struct str agent;
    struct str input; /* JSON; absent: null */
    int64_t lease_ms;
};

/* With its newline. */
void order_put(struct buf *b, const struct order *order);

#endif
