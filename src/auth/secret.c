#include "auth/secret.h"

#include "base/error.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* --- base 32 --------------------------------------------------------------------- */

/* Writes @n digits of five bits each; missing bits at the end are 0. */
static void put_digits(const unsigned char *bytes, size_t n_bytes, char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t bit = 5 * i, at = bit / 8;
        unsigned both = (unsigned)bytes[at] << 8 | (at + 1 < n_bytes ? bytes[at + 1] : 0u);

        out[i] = digits[both >> (11 - bit % 8) & 31];
    }
}

static bool are_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_one = (c >= '0' && c <= '9') ||
                      (c >= 'a' && c <= 'z' && c != 'i' && c != 'l' && c != 'o' && c != 'u');

        if (!is_one)
            return false;
    }
    return true;
}

/* Removes and returns the part before the next '_'; absent when there is none. */
static struct str take_part(struct str *rest)
{
    size_t end = str_find(*rest, '_');
    struct str part = str_head(*rest, end);

    if (end == rest->n)
        return STR_NONE;
    *rest = str_skip(*rest, end + 1);
    return part;
}

/* --- hashes ---------------------------------------------------------------------- */

bool secret_hash(struct str secret, unsigned char ret[SECRET_BYTES])
{
    return EVP_Digest(secret.p, secret.n, ret, NULL, EVP_sha256(), NULL) == 1;
}

bool secret_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

void secret_forget(void *p, size_t n)
{
    OPENSSL_cleanse(p, n);
}

int secret_random(unsigned char ret[SECRET_BYTES], struct error *err)
{
    if (RAND_bytes(ret, SECRET_BYTES) == 1)
        return 0;
    return error_set(err, ERR_IO, "the system has no random numbers");
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool secret_read_hex(struct str hex, unsigned char ret[SECRET_BYTES])
{
    if (hex.n != (size_t)2 * SECRET_BYTES)
        return false;
    for (size_t i = 0; i < SECRET_BYTES; i++) {
        int high = hex_digit(hex.p[2 * i]), low = hex_digit(hex.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

bool secret_valid_id(struct str id)
{
    return id.n == SECRET_ID && are_digits(id);
}

/* --- tokens ---------------------------------------------------------------------- */

bool token_text_read(struct str text, struct token_text *ret)
{
    if (text.n != TOKEN_CHARS || !str_starts(text, STR("spw_")))
        return false;
    struct str rest = str_skip(text, 4);
    struct token_text t = { .id = take_part(&rest), .secret = rest };
    if (!secret_valid_id(t.id) || !are_digits(t.secret))
        return false;
    *ret = t;
    return true;
}

int token_text_make(char ret[TOKEN_CHARS + 1], struct error *err)
{
    unsigned char id[SECRET_BYTES], secret[SECRET_BYTES];
    int code = secret_random(id, err);

    if (code == 0)
        code = secret_random(secret, err);
    if (code != 0)
        return code;
    memcpy(ret, "spw_", 4);
    put_digits(id, sizeof(id), ret + 4, SECRET_ID);
    ret[4 + SECRET_ID] = '_';
    put_digits(secret, sizeof(secret), ret + 4 + SECRET_ID + 1, SECRET_CHARS);
    ret[TOKEN_CHARS] = '\0';
    secret_forget(secret, sizeof(secret));
    return 0;
}

/* --- tickets --------------------------------------------------------------------- */

/* Ids of jobs are short; a longer one cannot be a job's. */
enum { MAX_SIGNED = 256 };

static bool sign(const unsigned char key[SECRET_BYTES],
                 int64_t expires,
                 struct str id,
                 struct str job,
                 char ret[SECRET_CHARS])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    char text[MAX_SIGNED];
    unsigned n = 0;
    /* The job comes last, so that nothing in it can be taken for another field. */
    int length = snprintf(text, sizeof(text), "ticket %lld %.*s %.*s", (long long)expires,
                          STR_ARG(id), STR_ARG(job));

    if (length < 0 || length >= MAX_SIGNED ||
        HMAC(EVP_sha256(), key, SECRET_BYTES, (const unsigned char *)text, (size_t)length, mac,
             &n) == NULL ||
        n != SECRET_BYTES)
        return false;
    put_digits(mac, n, ret, SECRET_CHARS);
    return true;
}

size_t ticket_text_make(const unsigned char key[SECRET_BYTES],
                        int64_t expires,
                        struct str id,
                        struct str job,
                        char ret[TICKET_CHARS + 1])
{
    char mac[SECRET_CHARS];

    if (!sign(key, expires, id, job, mac))
        return 0;
    int n = snprintf(ret, TICKET_CHARS + 1, "spt_%lld_%.*s_%.*s", (long long)expires,
                     STR_ARG(id), SECRET_CHARS, mac);
    return n > 0 && n <= TICKET_CHARS ? (size_t)n : 0;
}

static bool read_seconds(struct str text, int64_t *ret)
{
    return text.n <= 12 && !str_starts(text, STR("0")) && str_number(text, ret);
}

bool ticket_text_read(struct str text, struct ticket_text *ret)
{
    struct str rest = text;
    struct ticket_text t;

    if (text.n > TICKET_CHARS || !str_is(take_part(&rest), "spt") ||
        !read_seconds(take_part(&rest), &t.expires))
        return false;
    t.id = take_part(&rest);
    t.mac = rest;
    if (!secret_valid_id(t.id) || t.mac.n != SECRET_CHARS || !are_digits(t.mac))
        return false;
    *ret = t;
    return true;
}

int ticket_text_check(const unsigned char key[SECRET_BYTES],
                      const struct ticket_text *ticket,
                      struct str job)
{
    char mac[SECRET_CHARS];

    if (job.n > MAX_SIGNED / 2)
        return ERR_REFUSED; /* no job has such an id */
    if (!sign(key, ticket->expires, ticket->id, job, mac))
        return ERR_NOMEM;
    return secret_equal(mac, ticket->mac.p, SECRET_CHARS) ? 0 : ERR_REFUSED;
}
