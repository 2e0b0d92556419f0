/* What a route asks of its caller, and the scopes of tokens that give it.  Pure.
 *
 * A route names exactly one of these; a token has the union of what its scopes give. */
#ifndef AUTH_ACCESS_H
#define AUTH_ACCESS_H

#include "base/str.h"

enum {
    ACCESS_PUBLIC = 1 << 0, /* anybody, also without a token */
    ACCESS_READ = 1 << 1,   /* look at jobs and their events */
    ACCESS_CLIENT = 1 << 2, /* submit, cancel, delete, answer */
    ACCESS_WORKER = 1 << 3, /* the worker protocol */
    ACCESS_ADMIN = 1 << 4,  /* tokens */
    ACCESS_METRICS = 1 << 5,
    ACCESS_ITEMS = 1 << 6, /* what graphs and their clients keep together */
    ACCESS_ALL = ACCESS_READ | ACCESS_CLIENT | ACCESS_WORKER | ACCESS_ADMIN | ACCESS_METRICS |
                 ACCESS_ITEMS,
};

/* What "client,worker" gives; 0 when one is not a scope, or there is none. */
unsigned access_of_scopes(struct str scopes);
/* The scope that gives least of what has @access; for people. */
const char *access_scope(unsigned access);

#endif
