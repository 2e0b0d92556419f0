/* What a route asks of its caller, and what a token's scopes give.
 *
 * A route names exactly one of these; a token has the union of what its scopes give. */
#ifndef AUTH_ACCESS_H
#define AUTH_ACCESS_H

enum {
    ACCESS_PUBLIC = 1 << 0, /* anybody, also without a token */
    ACCESS_READ = 1 << 1,   /* look at jobs and their events */
    ACCESS_CLIENT = 1 << 2, /* submit, cancel, delete, answer */
    ACCESS_WORKER = 1 << 3, /* the worker protocol */
    ACCESS_ADMIN = 1 << 4,  /* operations: tokens, metrics */
};

#endif
