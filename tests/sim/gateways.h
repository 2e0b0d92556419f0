/* Several gateways over one store.
 *
 *     gateways.c  who lives, who writes, who is frozen, killed or sent away; what each forwards
 *     members.c   the list of gateways in the database (store/gateways.h)
 *     network.c   connections between them
 *     pushes.c    records that go from the writer to the others' readers
 *
 * Each gateway has a real journal, link, member, and connections that it serves.  The standby
 * (cluster/standby.c) sleeps and waits for locks, so it is played.  The database is played too:
 * memory_shared.c. */
#ifndef SIM_GATEWAYS_H
#define SIM_GATEWAYS_H

#include "model.h"

#include "cluster/link.h"
#include "cluster/link_socket.h"

extern const unsigned char gateways_secret[CLUSTER_SECRET_BYTES];

/* "g12" of instance 12. */
/* The linker sends calls here (--wrap). */
void __real_loop_call_answer(struct loop_call *call);
void __wrap_loop_call_answer(struct loop_call *call);
void __real_journal_gateways(struct journal *j, struct journal_request *req);
void __wrap_journal_gateways(struct journal *j, struct journal_request *req);

void gateway_start(struct sim *s, struct server *g);
void gateways_put_id(char ret[GATEWAY_ID_BYTES], unsigned instance);
struct server *gateways_find(struct sim *s, unsigned instance); /* NULL: it does not live */

/* --- members.c ------------------------------------------------------------------ */

void members_init(struct sim *s);
struct gateways *members_last(void); /* that was opened last */
/* Its row, when it is killed: @ghost is a session that nobody has ended, or NULL. */
void members_kill(struct sim *s, unsigned instance, struct store *ghost);
void members_done(struct sim *s);

/* --- network.c ------------------------------------------------------------------ */

void network_init(struct sim *s);
/* Something may happen to each connection. */
void network_step(struct sim *s);
/* It has read what came over connections that have ended. */
void network_read_rest(struct sim *s, const struct server *g);
/* That gateway is gone: nobody serves its connections any more. */
void network_lose(struct sim *s, const struct server *g);
/* Is that gateway connected to @writer? */
bool network_is_up(const struct sim *s, const struct server *g, const struct server *writer);
/* Has all arrived that was sent? */
bool network_is_quiet(const struct sim *s);

/* Nothing goes wrong: what is sent arrives, each gateway does what it has to do, and nobody
 * makes a turn. */
void gateways_move(struct sim *s);
bool gateways_are_quiet(const struct sim *s);

/* --- pushes.c ------------------------------------------------------------------- */

void __real_link_doubt(struct journal_link *l);
void __wrap_link_doubt(struct journal_link *l);

/* For the link of @g. */
void pushes_start(struct sim *s, struct server *g, struct follow_options *ret);
void pushes_stop(struct server *g);
/* Another gateway writes, and @g knows it. */
void pushes_trust_no_older(struct sim *s, struct server *g);

#endif
