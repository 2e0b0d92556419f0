/* The environment of an agent's workers. */
#ifndef AGENTS_ENVIRONMENT_H
#define AGENTS_ENVIRONMENT_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct environment {
    char **all; /* owned, with its texts; NULL-terminated */
    size_t n;
};

/* The server's @mark (or NULL), what is in @inherited without SPOOLWIRE_*, and @extra (or
 * NULL), which wins over it. */
MUST_CHECK int environment_init(struct environment *env,
                                const char *mark,
                                char *const *inherited,
                                char *const *extra);
void environment_done(struct environment *env);
/* KEY=VALUE, unless the agent has a value of its own. */
MUST_CHECK int environment_add(struct environment *env, const char *entry);

/* One worker's: the agent's, and who it is.  @token is its own, unless the agent has a value
 * for that.  One block, to be freed with free(); it borrows the agent's texts.  NULL when
 * memory ran out. */
char **environment_for(const struct environment *env,
                       struct str job,
                       int64_t attempt,
                       struct str agent,
                       struct str token);
/* The same for a process that has up to @concurrency jobs at a time. */
char **environment_for_pool(const struct environment *env,
                            struct str agent,
                            unsigned concurrency,
                            struct str token);

#endif
