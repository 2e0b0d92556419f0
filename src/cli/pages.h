/* Lists of the server that come page by page: {"<member>":[…],"next":…}. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include "cli/remote.h"

struct page_filter {
    int flag;         /* of the command; when it is given, */
    const char *name; /* this is in the query: "&agent=" */
};

struct pages {
    const char *path;   /* "/v1/jobs" */
    const char *member; /* "jobs" */
    const struct page_filter *filters;
    size_t n_filters;
    char next[64]; /* where the next page begins; "" for none */
};

/* Reads the next page, of at most @limit items, and hands them out. */
int pages_next(struct pages *p,
               struct remote *r,
               const struct args *args,
               int64_t limit,
               void (*take)(void *arg, yyjson_val *item),
               void *arg);

#endif
