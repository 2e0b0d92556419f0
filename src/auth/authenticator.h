/* The authenticator of a loop: who sends this request?
 *
 * Loop thread only.  It needs no lock and no store: the tokens are in memory, and a connection
 * keeps the token of its last request. */
#ifndef AUTH_AUTHENTICATOR_H
#define AUTH_AUTHENTICATOR_H

#include "auth/token_service.h"

enum credential_kind {
    CREDENTIAL_NONE,
    CREDENTIAL_TOKEN,   /* in a header */
    CREDENTIAL_SESSION, /* in a cookie */
    CREDENTIAL_TICKET,  /* in a query, for `job` */
};

struct credential {
    enum credential_kind kind;
    struct str text;
    struct str job;
};

/* An authenticated caller; a connection keeps it for its next request. */
struct visitor {
    struct token *token; /* ref */
    enum credential_kind kind;
    int64_t until; /* when its ticket expires (INT64_MAX: never); on the clock of `now` below */
    void *note;    /* owned; of whoever set it */
    void (*note_free)(void *note);
    size_t n;               /* bytes of `text` */
    char text[TOKEN_CHARS]; /* the credential, to compare the next request's with; not kept for
                               tickets and processes, whose texts are long */
};

struct authenticator {
    struct token_service *tokens; /* borrowed */
    struct keyring *ring;         /* ref */
};

void authenticator_init(struct authenticator *g, struct token_service *tokens);
void authenticator_done(struct authenticator *g);

/* The current tokens; valid until the next call. */
const struct keyring *authenticator_ring(struct authenticator *g);
/* Authentication is off, or there are no tokens: no token is needed. */
bool authenticator_is_open(const struct authenticator *g);

/* `now` is milliseconds of the steady clock. */

/* Is it the same credential as before, and still valid?  @v may be NULL. */
bool visitor_is(const struct visitor *v, const struct credential *c, int64_t now);
/* Looks up a credential.  ERR_NOT_FOUND (none, or unknown), ERR_CLOSED (expired or revoked),
 * ERR_NOMEM; the error's text is for the caller. */
int authenticator_admit(struct authenticator *g,
                        const struct credential *c,
                        int64_t now,
                        struct visitor **ret,
                        struct error *err);
void visitor_free(struct visitor *v); /* may be NULL */
/* A caller that somebody else has to authenticate: it acts with @token's rights.  ERR_NOMEM. */
MUST_CHECK int visitor_new_guest(struct token *token, struct visitor **ret);
/* Keeps something with the visitor, in place of what was kept before. */
void visitor_set_note(struct visitor *v, void *note, void (*note_free)(void *note));

/* The expiry of a ticket that is made now. */
int64_t authenticator_ticket_expiry_s(const struct authenticator *g,
                                      int64_t now,
                                      int64_t life_s);
/* Makes a ticket of @t for @job; returns its length, or 0 when OpenSSL fails. */
size_t authenticator_make_ticket(struct authenticator *g,
                                 const struct token *t,
                                 struct str job,
                                 int64_t expires_s,
                                 char ret[TICKET_CHARS + 1]);

#endif
