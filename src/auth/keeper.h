/* The keeper of the keys: a thread that has the tokens of the store and the configuration in
 * memory, and notices what other processes do to them.
 *
 *     store ──ten times a second──▶ keeper ──keyring──▶ gates of the loops
 *     loop ──create, revoke──▶ keeper: stored, then known to all at once
 *
 * A server is locked as soon as there is a token, good or not, and stays so: taking the last
 * token away must not open the door. */
#ifndef AUTH_KEEPER_H
#define AUTH_KEEPER_H

#include "auth/keyring.h"
#include "base/error.h"
#include "store/store.h"

struct keeper;

struct keeper_options {
    struct store_options store;
    bool is_required;   /* locked also without a token */
    bool is_off;        /* never locked */
    const char *admin;  /* a token of the configuration, for the scope admin; or NULL */
    char *const *specs; /* more of them, as spec.h says, NULL-terminated; or NULL */
    struct token_limits limits;
    int64_t ticket_life_ms;      /* the longest that one is made for */
    int64_t (*clock)(void *arg); /* milliseconds since 1970 */
    /* Milliseconds that only rise; tokens end by it.  NULL: the clock is never set. */
    int64_t (*steady)(void *arg);
    /* On the keeper's thread: some tokens are new, or good no longer. */
    void (*changed)(void *arg);
    /* Tokens cannot be read: the ones that are known stay. */
    void (*trouble)(void *arg, const struct error *why);
    void *arg;
};

/* Opens the store (which must be there) and reads the tokens. */
int keeper_new(const struct keeper_options *options, struct keeper **ret, struct error *err);
int keeper_start(struct keeper *k, struct error *err);
/* Does what is waiting, and ends the thread. */
void keeper_stop(struct keeper *k);
void keeper_free(struct keeper *k); /* may be NULL */

/* From any thread. */
bool keeper_is_locked(const struct keeper *k);
uint64_t keeper_generation(const struct keeper *k);
struct keyring *keeper_ring(struct keeper *k); /* a reference */
/* What tokens of our processes are signed with (jobs/process_token.h); good until the end. */
const unsigned char *keeper_process_key(const struct keeper *k);
/* What leases are signed with (jobs/lease.h); good until the end. */
const unsigned char *keeper_lease_key(const struct keeper *k);
struct token *keeper_everybody(struct keeper *k); /* borrowed; good while it is not locked */

int64_t keeper_ticket_life_ms(const struct keeper *k);
/* Tickets are on the wall clock as it was when the server began, however it was set since: this
 * is from the steady clock to that. */
int64_t keeper_ticket_offset(const struct keeper *k);

/* --- requests -------------------------------------------------------------------- */

enum keeper_op {
    KEEPER_CREATE, /* row */
    KEEPER_REVOKE, /* row.id */
    KEEPER_LOGOUT, /* row.id: of a session */
};

/* The caller's memory, alive until `done`. */
struct keeper_request {
    struct keeper_request *next; /* the keeper's */
    enum keeper_op op;
    struct token_row row;
    void (*done)(struct keeper_request *req); /* on the keeper's thread */
    /* ERR_REFUSED, ERR_NOT_FOUND; ERR_BUSY, ERR_IO: try again. */
    int code;
    struct error why;
};

/* From any thread; after the answer the change is known everywhere. */
void keeper_post(struct keeper *k, struct keeper_request *req);

#endif
