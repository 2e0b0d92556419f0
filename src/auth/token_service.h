/* The token service: a thread that keeps the tokens of the store and of the configuration in
 * memory, and notices when other processes change them.
 *
 *     store ──ten times a second──▶ token service ──keyring──▶ authenticators of the loops
 *     loop ──create, revoke──▶ token service: stored, then known to all at once
 *
 * A server is locked (requires a token) as soon as a token exists, valid or not, and stays so:
 * removing the last token must not open the server. */
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
    bool is_required;   /* locked even without tokens */
    bool is_off;        /* never locked */
    const char *admin;  /* an admin token from the configuration; or NULL */
    char *const *specs; /* more tokens, in the format of spec.h, NULL-terminated; or NULL */
    struct token_limits limits;
    int64_t ticket_life_ms;      /* the longest life of a ticket */
    int64_t (*clock)(void *arg); /* milliseconds since 1970 */
    /* A monotonic clock in milliseconds; tokens expire by it.  NULL: use `clock`, which is
     * never set. */
    int64_t (*steady)(void *arg);
    /* On the token service's thread: tokens were added or became invalid. */
    void (*changed)(void *arg);
    /* Tokens cannot be read from the store: the known ones stay in use. */
    void (*trouble)(void *arg, const struct error *why);
    void *arg;
};

/* Opens the store (which must exist) and reads the tokens. */
MUST_CHECK int token_service_new(const struct token_service_options *options,
                                 struct token_service **ret,
                                 struct error *err);
MUST_CHECK int token_service_start(struct token_service *k, struct error *err);
/* Handles pending requests, and ends the thread. */
void token_service_stop(struct token_service *k);
void token_service_free(struct token_service *k); /* may be NULL */

/* From any thread. */
bool token_service_is_locked(const struct token_service *k);
uint64_t token_service_generation(const struct token_service *k);
struct keyring *token_service_ring(struct token_service *k); /* a reference */
/* Signs tokens of our processes (jobs/process_token.h); valid as long as the service. */
const unsigned char *token_service_process_key(const struct token_service *k);
/* Signs leases (jobs/lease.h); valid as long as the service. */
const unsigned char *token_service_lease_key(const struct token_service *k);
struct token *token_service_everybody(struct token_service *k); /* borrowed; used while the
                                                                   server is not locked */

int64_t token_service_ticket_life_ms(const struct token_service *k);
/* Tickets use the wall clock as it was at the start of the server, even if it is set later. Add
 * this offset to the steady clock to get that time. */
int64_t token_service_ticket_offset(const struct token_service *k);

/* --- requests -------------------------------------------------------------------- */

enum token_op {
    TOKEN_CREATE, /* row */
    TOKEN_REVOKE, /* row.id */
    TOKEN_LOGOUT, /* row.id: a session */
};

/* Memory of the caller, valid until the answer. */
struct token_request {
    struct token_request *next; /* used by the token service */
    enum token_op op;
    struct token_row row;
    struct loop_call *call; /* answered when the request is done */
    /* ERR_REFUSED, ERR_NOT_FOUND; ERR_BUSY, ERR_IO: try again. */
    int code;
    struct error why;
};

/* From any thread.  After the answer, all loops know the change. */
void token_service_post(struct token_service *k, struct token_request *req);

#endif
