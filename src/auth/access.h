/* Access rights: what a route requires, and which scopes of tokens grant it.  Pure.
 *
 * A route requires exactly one right; a token has the union of its scopes' rights. */
#ifndef AUTH_ACCESS_H
#define AUTH_ACCESS_H

#include "base/str.h"

enum {
    ACCESS_PUBLIC = 1 << 0, /* anybody, also without a token */
    ACCESS_READ = 1 << 1,   /* read jobs and their events */
    ACCESS_CLIENT = 1 << 2, /* submit, cancel, delete, answer */
    ACCESS_WORKER = 1 << 3, /* the worker protocol */
    ACCESS_ADMIN = 1 << 4,  /* manage tokens */
    ACCESS_METRICS = 1 << 5,
    ACCESS_ITEMS = 1 << 6,  /* items of /store, shared by graphs and their clients */
    ACCESS_QUEUES = 1 << 7, /* how much waits for an agent: for workers and readers */
    ACCESS_ALL = ACCESS_READ | ACCESS_CLIENT | ACCESS_WORKER | ACCESS_ADMIN | ACCESS_METRICS |
                 ACCESS_ITEMS | ACCESS_QUEUES,
};

/* The rights of "client,worker"; 0 when a scope is unknown, or there is none. */
unsigned access_of_scopes(struct str scopes);
/* The least powerful scope that grants @access; for error messages. */
const char *access_scope(unsigned access);

#endif
