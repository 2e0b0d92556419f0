/* The time of day as text, made at most once per second. */
#ifndef HTTP_DATE_H
#define HTTP_DATE_H

#include "base/str.h"

#include <stdint.h>

struct date {
    int64_t second;  /* since 1970, that the texts are of */
    uint32_t millis; /* of the last date_update */
    char http[30];   /* "Sun, 06 Nov 1994 08:49:37 GMT" */
    char iso[20];    /* "1994-11-06T08:49:37" */
};

void date_set(struct date *d, int64_t second);
/* Brings it up to now. */
void date_update(struct date *d);

#endif
