/* What a project's own handlers have said about a caller and its last request; kept with its
 * connection's visitor. */
#ifndef API_AUTHORIZATION_H
#define API_AUTHORIZATION_H

#include "base/arena.h"
#include "base/str.h"

struct http_request;

struct authorization {
    struct arena mem;
    struct str user; /* JSON */
    struct str identity;
    struct str permissions;    /* JSON list */
    struct str filters;        /* JSON; absent: none */
    struct str thread_filters; /* the same for the threads of crons */
    struct str place; /* of an item: {"namespace": [...], "key": "..."}; absent: as asked */
};

/* NULL: out of memory. */
struct authorization *authorization_new(void);
void authorization_free(void *authorization);

/* NULL: they were not asked. */
const struct authorization *authorization_of(struct http_request *req);

#endif
