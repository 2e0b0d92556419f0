/* The shape of a request's head, byte by byte.  Pure.
 *
 * llhttp forgives some of what we do not (line feeds and blanks before and inside the
 * request line, other protocols' names), and it does not say where the head ends.  This
 * checks the same bytes first; when the two disagree, the request is refused. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "base/str.h"

#include <stdint.h>

enum head_state {
    HEAD_START,    /* nothing yet; one empty line may come (RFC 9112, 2.2) */
    HEAD_START_CR, /* inside that empty line */
    HEAD_FIRST,    /* after it: the request line must start */
    HEAD_LINE,     /* inside a line */
    HEAD_CR,       /* its line feed must follow */
    HEAD_NEXT,     /* a line ended: another one or the end */
    HEAD_END_CR,
    HEAD_DONE,
    HEAD_BAD, /* see status and problem */
};

struct head {
    enum head_state state;
    int status; /* 400, 414 or 505 when bad */
    const char *problem;
    uint64_t tail; /* the last eight bytes of the request line */
    uint32_t line_bytes;
    uint32_t n_blanks;    /* in the request line */
    bool in_request_line; /* also before it */
};

enum { HEAD_MAX_LINE = 8192 }; /* bytes of the request line */

void head_init(struct head *h);

/* Looks at @in until its end or the head's, whichever comes first; returns the number of
 * bytes looked at. */
size_t head_scan(struct head *h, struct str in);

#endif
