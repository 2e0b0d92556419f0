/* The environment of an agent's workers. */
#ifndef AGENTS_ENVIRONMENT_H
#define AGENTS_ENVIRONMENT_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct environment {
    char **all; /* owned, with its strings; NULL-terminated */
    size_t n;
};

/* The server's @mark (or NULL), the variables of @inherited without SPOOLWIRE_*, and @extra (or
 * NULL), which overrides them. */
MUST_CHECK int environment_init(struct environment *env,
                                const char *mark,
                                char *const *inherited,
                                char *const *extra);
void environment_done(struct environment *env);
/* Adds KEY=VALUE, unless the agent sets KEY itself. */
MUST_CHECK int environment_add(struct environment *env, const char *entry);

/* The environment of one worker: the agent's, and the worker's identity.  @token is used unless
 * the agent sets one.  One block, to be freed with free(); it borrows the agent's strings. NULL
 * when memory ran out. */
char **environment_for(const struct environment *env,
                       struct str job,
                       int64_t attempt,
                       struct str agent,
                       struct str token);
/* The same for a process of a pool, which runs up to @concurrency jobs at a time. */
char **environment_for_pool(const struct environment *env,
                            struct str agent,
                            unsigned concurrency,
                            struct str token);

#endif
