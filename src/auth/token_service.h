/* The token service: a thread that has the tokens of the store and the
 * configuration in memory, and notices what other processes do to them.
 *
 *     store ──ten times a second──▶ token service ──keyring──▶ authenticators of the loops
 *     loop ──create, revoke──▶ token service: stored, then known to all at once
 *
 * A server is locked as soon as there is a token, valid or not, and stays so: removing the last
 * token must not open the server. */
#ifndef AUTH_TOKEN_SERVICE_H
#define AUTH_TOKEN_SERVICE_H

#include "auth/keyring.h"
#include "base/error.h"
#include "base/must_check.h"
#include "loop/loop_call.h"
#include "store/store.h"

struct token_service;

struct token_service_options {
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
    /* On the token service's thread: some tokens are new, or good no longer. */
    void (*changed)(void *arg);
    /* Tokens cannot be read: the ones that are known stay. */
    void (*trouble)(void *arg, const struct error *why);
    void *arg;
};

/* Opens the store (which must be there) and reads the tokens. */
MUST_CHECK int token_service_new(const struct token_service_options *options,
                                 struct token_service **ret,
                                 struct error *err);
MUST_CHECK int token_service_start(struct token_service *k, struct error *err);
/* Does what is waiting, and ends the thread. */
void token_service_stop(struct token_service *k);
void token_service_free(struct token_service *k); /* may be NULL */

/* From any thread. */
bool token_service_is_locked(const struct token_service *k);
uint64_t token_service_generation(const struct token_service *k);
struct keyring *token_service_ring(struct token_service *k); /* a reference */
/* What tokens of our processes are signed with (jobs/process_token.h); good until the end. */
const unsigned char *token_service_process_key(const struct token_service *k);
/* What leases are signed with (jobs/lease.h); good until the end. */
const unsigned char *token_service_lease_key(const struct token_service *k);
struct token *token_service_everybody(struct token_service *k); /* borrowed; good while it is
                                                                   not locked */

int64_t token_service_ticket_life_ms(const struct token_service *k);
/* Tickets are on the wall clock as it was when the server began, however it was set since: this
 * is from the steady clock to that. */
int64_t token_service_ticket_offset(const struct token_service *k);

/* --- requests -------------------------------------------------------------------- */

enum token_op {
    TOKEN_CREATE, /* row */
    TOKEN_REVOKE, /* row.id */
    TOKEN_LOGOUT, /* row.id: of a session */
};

/* The caller's memory, alive until the answer. */
struct token_request {
    struct token_request *next; /* the token service's */
    enum token_op op;
    struct token_row row;
    struct loop_call *call; /* answered when it is done */
    /* ERR_REFUSED, ERR_NOT_FOUND; ERR_BUSY, ERR_IO: try again. */
    int code;
    struct error why;
};

/* From any thread; after the answer the change is known everywhere. */
void token_service_post(struct token_service *k, struct token_request *req);

#endif
