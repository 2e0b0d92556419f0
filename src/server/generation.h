/* The settings that a server runs with, in the shapes that its parts take.
 *
 * A reload makes the next generation.  Parts point into the ones before, also from other
 * threads, so all of them live until the server's end. */
#ifndef SERVER_GENERATION_H
#define SERVER_GENERATION_H

#include "api/api.h"
#include "config/server.h"
#include "journal/journal.h"

struct generation {
    struct generation *older;             /* owned */
    struct server_config *config;         /* owned */
    struct journal_agent *journal_agents; /* owned */
    struct app_agent *app_agents;         /* owned */
    struct journal_settings journal;
    struct app_settings app;
};

/* Takes @config, to which @n_more agents may be added before generation_fill.  ERR_NOMEM: it
 * was not taken. */
int generation_new(struct server_config *config, size_t n_more, struct generation **ret);
void generation_fill(struct generation *g);
/* It and all older ones. */
void generation_free(struct generation *g);

#endif
