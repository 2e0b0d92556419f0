#include "auth/access.h"

static const struct {
    const char *scope;
    unsigned gives;
} scopes[] = {
    { "read", ACCESS_READ | ACCESS_QUEUES },
    { "client", ACCESS_READ | ACCESS_CLIENT | ACCESS_ITEMS | ACCESS_QUEUES },
    { "worker", ACCESS_WORKER | ACCESS_ITEMS | ACCESS_QUEUES },
    { "metrics", ACCESS_METRICS },
    { "admin", ACCESS_ALL },
};

enum { N_SCOPES = sizeof(scopes) / sizeof(scopes[0]) };

static unsigned find(struct str scope)
{
    for (size_t i = 0; i < N_SCOPES; i++)
        if (str_eq(scope, str_of(scopes[i].scope)))
            return scopes[i].gives;
    return 0;
}

unsigned access_of_scopes(struct str list)
{
    unsigned all = 0;

    while (list.n > 0) {
        struct str scope = str_head(list, str_find(list, ','));
        unsigned gives = find(scope);

        if (gives == 0)
            return 0;
        all |= gives;
        list = str_skip(list, scope.n + 1);
    }
    return all;
}

const char *access_scope(unsigned access)
{
    for (size_t i = 0; i < N_SCOPES; i++)
        if ((scopes[i].gives & access) == access)
            return scopes[i].scope;
    return "none";
}
