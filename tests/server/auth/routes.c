/* Prints the table of routes, a line each: method, pattern, what it asks of its caller, and
 * whether its errors are problems. */
#include "api/api.h"
#include "auth/access.h"

#include <stdio.h>

static const char *name_of(unsigned access)
{
    return access == ACCESS_PUBLIC   ? "public"
           : access == ACCESS_ITEMS  ? "items"
           : access == ACCESS_QUEUES ? "queues"
                                     : access_scope(access);
}

int main(void)
{
    for (const struct http_route *r = api_routes; r->pattern != NULL; r++)
        printf("%s %s %s %s %s\n", r->method, r->pattern, name_of(r->access),
               (r->flags & HTTP_ROUTE_PROBLEM) != 0 ? "problem" : "detail",
               (r->flags & HTTP_ROUTE_STREAM) != 0 ? "stream" : "whole");
    return 0;
}
