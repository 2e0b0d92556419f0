/* TLS by OpenSSL.
 *
 * OpenSSL reads and writes through a BIO of ours that has no memory: it takes from the bytes
 * that were just received and appends to the buffer that is about to be sent.  An idle
 * connection therefore holds no buffer at all. */
#define _DEFAULT_SOURCE /* timegm */
#include "http/tls.h"

#include "base/error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    RECORD_BYTES = 16384, /* the most of one record */
    MAX_WRITE = 1 << 30,  /* at once: OpenSSL counts in int */
};

struct tls_identity {
    atomic_uint refs;
    SSL_CTX *ctx;       /* owned */
    BIO_METHOD *method; /* owned */
    int64_t expiry;
};

struct tls {
    struct tls_identity *id; /* ref */
    SSL *ssl;                /* owned */
    struct str in;           /* not taken yet; only inside a call */
    struct buf *out;         /* only inside a call */
    char problem[128];
};

/* --- the BIO ------------------------------------------------------------------------- */

static int on_bio_read(BIO *bio, char *p, int room)
{
    struct tls *t = BIO_get_data(bio);
    size_t n = t->in.n < (size_t)room ? t->in.n : (size_t)room;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(p, t->in.p, n);
    t->in = str_skip(t->in, n);
    return (int)n;
}

static int on_bio_write(BIO *bio, const char *p, int n)
{
    struct tls *t = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    buf_put(t->out, p, (size_t)n);
    return t->out->error == 0 ? n : -1;
}

static long on_bio_ctrl(BIO *bio, int command, long number, void *arg)
{
    (void)bio;
    (void)number;
    (void)arg;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "connection");

    if (m != NULL && BIO_meth_set_read(m, on_bio_read) == 1 &&
        BIO_meth_set_write(m, on_bio_write) == 1 && BIO_meth_set_ctrl(m, on_bio_ctrl) == 1)
        return m;
    BIO_meth_free(m);
    return NULL;
}

/* --- identities ---------------------------------------------------------------------- */

/* Instead of a prompt on the terminal. */
static int no_passphrase(char *p, int n, int writes, void *arg)
{
    (void)p;
    (void)n;
    (void)writes;
    (void)arg;
    return -1;
}

/* A client that names protocols must name one that we speak. */
static int on_alpn(SSL *ssl,
                   const unsigned char **ret,
                   unsigned char *ret_n,
                   const unsigned char *offered,
                   unsigned n,
                   void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
    unsigned char *chosen;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, ret_n, ours, sizeof(ours) - 1, offered, n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static bool set_up(SSL_CTX *ctx)
{
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* we use tickets */
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

static int refuse_file(const char *what, const char *path, struct error *err)
{
    unsigned long code = ERR_peek_error(); /* the first error is the cause */
    const char *why =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);

    return error_set(err, ERR_REFUSED, "cannot use %s as the %s: %s", path, what,
                     why != NULL ? why : "it cannot be read");
}

static int load(SSL_CTX *ctx, const char *cert, const char *key, struct error *err)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return refuse_file("TLS certificate", cert, err);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return refuse_file("key of the TLS certificate", key, err);
    return 0;
}

static int64_t expiry_of(SSL_CTX *ctx)
{
    struct tm when;

    if (ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(ctx)), &when) != 1)
        return 0;
    when.tm_isdst = 0;
    return (int64_t)timegm(&when);
}

int tls_identity_new(const char *cert,
                     const char *key,
                     struct tls_identity **ret,
                     struct error *err)
{
    struct tls_identity *id = calloc(1, sizeof(*id));

    if (id != NULL) {
        atomic_init(&id->refs, 1);
        id->ctx = SSL_CTX_new(TLS_server_method());
        id->method = make_method();
    }
    int code = id == NULL || id->ctx == NULL || id->method == NULL || !set_up(id->ctx)
                   ? error_set(err, ERR_NOMEM, "TLS cannot be set up")
                   : load(id->ctx, cert, key, err);
    if (code != 0) {
        tls_identity_unref(id);
        return code;
    }
    id->expiry = expiry_of(id->ctx);
    *ret = id;
    return 0;
}

int tls_identity_new_client(struct tls_identity **ret, struct error *err)
{
    struct tls_identity *id = calloc(1, sizeof(*id));

    if (id != NULL) {
        atomic_init(&id->refs, 1);
        id->ctx = SSL_CTX_new(TLS_client_method());
        id->method = make_method();
    }
    if (id == NULL || id->ctx == NULL || id->method == NULL || !set_up(id->ctx) ||
        SSL_CTX_set_default_verify_paths(id->ctx) != 1) {
        tls_identity_unref(id);
        return error_set(err, ERR_NOMEM, "TLS cannot be set up");
    }
    SSL_CTX_set_verify(id->ctx, SSL_VERIFY_PEER, NULL);
    *ret = id;
    return 0;
}

void tls_identity_unref(struct tls_identity *id)
{
    if (id == NULL || atomic_fetch_sub(&id->refs, 1) > 1)
        return;
    SSL_CTX_free(id->ctx);
    BIO_meth_free(id->method);
    free(id);
}

int64_t tls_identity_expiry(const struct tls_identity *id)
{
    return id->expiry;
}

/* --- connections --------------------------------------------------------------------- */

int tls_new(struct tls_identity *id, struct tls **ret)
{
    struct tls *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return ERR_NOMEM;
    atomic_fetch_add(&id->refs, 1);
    t->id = id;
    t->ssl = SSL_new(id->ctx);
    BIO *bio = t->ssl != NULL ? BIO_new(id->method) : NULL;
    if (bio == NULL) {
        tls_free(t);
        return ERR_NOMEM;
    }
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio); /* owns it now */
    SSL_set_accept_state(t->ssl);
    *ret = t;
    return 0;
}

static bool expect_host(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return true;
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, host) == 1;
}

int tls_new_client(struct tls_identity *id, const char *host, struct tls **ret)
{
    int err = tls_new(id, ret);

    if (err != 0)
        return err;
    SSL_set_connect_state((*ret)->ssl);
    if (expect_host((*ret)->ssl, host))
        return 0;
    tls_free(*ret);
    return ERR_NOMEM;
}

void tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl);
    tls_identity_unref(t->id);
    free(t);
}

bool tls_is_ready(const struct tls *t)
{
    return SSL_is_init_finished(t->ssl) == 1;
}

bool tls_is_waiting(const struct tls *t)
{
    return SSL_in_before(t->ssl) == 0 && !tls_is_ready(t);
}

const char *tls_problem(const struct tls *t)
{
    return t->problem;
}

/* After a call of OpenSSL that returned @result: 0 when it only wants more bytes. */
static int verdict(struct tls *t, int result)
{
    int error = SSL_get_error(t->ssl, result);
    unsigned long code = ERR_peek_last_error();
    const char *why = ERR_reason_error_string(code);

    if (error == SSL_ERROR_WANT_READ)
        return 0;
    if (error == SSL_ERROR_ZERO_RETURN)
        return ERR_CLOSED;
    if (t->out->error != 0 || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
        return ERR_NOMEM;
    long verified = SSL_get_verify_result(t->ssl);
    bool is_trusted = verified == X509_V_OK;
    if (!is_trusted) /* says more than "certificate verify failed" */
        why = X509_verify_cert_error_string(verified);
    (void)snprintf(t->problem, sizeof(t->problem), "TLS: %s%s",
                   is_trusted ? "" : "its certificate is not trusted: ",
                   why != NULL ? why : "broken"); /* may be truncated */
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST
               ? ERR_SYNTAX
               : ERR_REFUSED;
}

/* Decrypts one record; 0 bytes when there is no whole one. */
static int read_record(struct tls *t, struct buf *plain, size_t *ret_n)
{
    *ret_n = 0;
    if (!buf_reserve(plain, RECORD_BYTES))
        return ERR_NOMEM;
    int n = SSL_read(t->ssl, plain->p + plain->n, RECORD_BYTES);
    if (n <= 0)
        return verdict(t, n);
    plain->n += (size_t)n;
    *ret_n = (size_t)n;
    return 0;
}

int tls_open(struct tls *t, struct str in, struct buf *plain, struct buf *sealed)
{
    size_t n = 0;
    int err = 0;

    ERR_clear_error();
    t->in = in;
    t->out = sealed;
    if (!tls_is_ready(t)) {
        int result = SSL_do_handshake(t->ssl);
        err = result == 1 ? 0 : verdict(t, result);
    }
    if (err == 0 && tls_is_ready(t))
        do
            err = read_record(t, plain, &n);
        while (err == 0 && n > 0);
    t->in = STR_NONE;
    t->out = NULL;
    return err;
}

int tls_seal(struct tls *t, struct str plain, struct buf *sealed)
{
    int err = 0;

    ERR_clear_error();
    t->out = sealed;
    while (plain.n > 0 && err == 0) {
        /* Writing never wants to read: there is no renegotiation. */
        int n = SSL_write(t->ssl, plain.p, plain.n < MAX_WRITE ? (int)plain.n : MAX_WRITE);
        if (n > 0)
            plain = str_skip(plain, (size_t)n);
        else
            err = verdict(t, n);
    }
    t->out = NULL;
    return err;
}

void tls_end(struct tls *t, struct buf *sealed)
{
    ERR_clear_error();
    t->out = sealed;
    if (tls_is_ready(t))
        (void)SSL_shutdown(t->ssl); /* the connection is closed in any case */
    t->out = NULL;
}
