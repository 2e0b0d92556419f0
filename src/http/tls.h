/* TLS between the bytes of a socket (encrypted, here: sealed) and those of a connection
 * (plain).
 *
 * It has no socket and never waits: sealed bytes come in and go out as buffers.  An identity
 * is a certificate with its key; a connection keeps the one that it began with. */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include "base/must_check.h"
#include "base/buf.h"
#include "base/str.h"

struct error;
struct tls; /* one connection's */
struct tls_identity;

/* Reads PEM files: the certificate with its chain, and the key without a passphrase. */
MUST_CHECK int tls_identity_new(const char *cert,
                                const char *key,
                                struct tls_identity **ret,
                                struct error *err);
void tls_identity_unref(struct tls_identity *id); /* from any thread; NULL is fine */
/* When the certificate runs out, in seconds since 1970. */
int64_t tls_identity_expiry(const struct tls_identity *id);

/* Of a client, which has no certificate and trusts the authorities that the system trusts
 * (SSL_CERT_FILE and SSL_CERT_DIR in the environment name others). */
MUST_CHECK int tls_identity_new_client(struct tls_identity **ret, struct error *err);

/* ERR_NOMEM.  It takes a reference of its own. */
MUST_CHECK int tls_new(struct tls_identity *id, struct tls **ret);
/* The client's side: the server's certificate must be that of @host, a name or an address.
 * tls_open() without bytes begins the handshake. */
MUST_CHECK int tls_new_client(struct tls_identity *id, const char *host, struct tls **ret);
void tls_free(struct tls *t);

/* Takes all of @in: appends the decrypted bytes to @plain, and what has to be sent in answer
 * (the handshake, an alert) to @sealed.  ERR_CLOSED: the peer has sent close_notify;
 * ERR_SYNTAX: it speaks HTTP without TLS; ERR_REFUSED: any other TLS error; ERR_NOMEM. */
MUST_CHECK int tls_open(struct tls *t, struct str in, struct buf *plain, struct buf *sealed);
/* The handshake has begun, and is not over. */
bool tls_is_waiting(const struct tls *t);
/* The handshake is over. */
bool tls_is_ready(const struct tls *t);
/* Appends @plain to @sealed.  Only when it is ready.  ERR_REFUSED, ERR_NOMEM. */
MUST_CHECK int tls_seal(struct tls *t, struct str plain, struct buf *sealed);
/* Appends close_notify to @sealed. */
void tls_end(struct tls *t, struct buf *sealed);

/* What was wrong, for the log. */
const char *tls_problem(const struct tls *t);

#endif
