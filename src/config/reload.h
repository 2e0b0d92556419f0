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

/* Makes of @next what the server can run with: what needs a restart stays as it is in
 * @running.  Agents that are gone are moved from there, so @running is only good for what
 * points into it.  After ERR_NOMEM both can only be used for that, and freed. */
int reload_carry(struct reload *r, struct server_config *running, struct server_config *next);

#endif
