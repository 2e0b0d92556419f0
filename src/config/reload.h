/* Which new settings a running server can take over, and which need a restart. */
#ifndef CONFIG_RELOAD_H
#define CONFIG_RELOAD_H

#include "base/buf.h"

struct server_config;

/* Names such as "max_body" and "agents.triage.lease", as JSON strings with commas between. */
struct reload {
    struct buf taken; /* from now on */
    struct buf left;  /* they need a restart */
};

void reload_init(struct reload *r);
void reload_done(struct reload *r);

/* Changes @next into settings that the server can run with: options that need a restart keep
 * their values of @running.  Agents that were removed are moved from @running to @next, so
 * @running then only serves pointers that were taken before.  After ERR_NOMEM that is true of
 * both, until they are freed. */
int reload_carry(struct reload *r, struct server_config *running, struct server_config *next);

#endif
