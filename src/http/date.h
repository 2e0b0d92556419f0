/* The time of day as text, made at most once per second. */
#ifndef HTTP_DATE_H
#define HTTP_DATE_H

#include <stdint.h>

struct date {
    int64_t ms;    /* since 1970 */
    char http[30]; /* "Sun, 06 Nov 1994 08:49:37 GMT" */
};

void date_set(struct date *d, int64_t ms);
/* Brings it up to now. */
void date_update(struct date *d);

#endif
