#include "webhooks/signature.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/text_format.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum { MIN_KEY = 16, MAX_KEY = 64, MAX_ENCODED = 88 };

struct secret_key {
    unsigned char bytes[MAX_ENCODED];
    size_t n;
};

static bool read_key(const char *secret, struct secret_key *ret)
{
    struct str text = str_of(secret);

    if (str_starts(text, STR("whsec_")))
        text = str_skip(text, 6);
    return text.n <= MAX_ENCODED && base64_decode(text, (char *)ret->bytes, &ret->n) &&
           ret->n >= MIN_KEY && ret->n <= MAX_KEY;
}

int signature_check_secrets(char *const *secrets, struct error *err)
{
    struct secret_key key;

    for (char *const *s = secrets; s != NULL && *s != NULL; s++) {
        bool is_good = read_key(*s, &key);

        OPENSSL_cleanse(&key, sizeof(key));
        if (!is_good)
            return error_set(err, ERR_SYNTAX,
                             "webhook_secrets: a secret is 'whsec_' and 16 to 64 bytes in "
                             "base64; make one with: echo whsec_$(openssl rand -base64 32)");
    }
    return 0;
}

static int put_one(struct buf *b, const char *secret, struct str text)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    struct secret_key key;
    unsigned n = 0;
    bool ok =
        read_key(secret, &key) && HMAC(EVP_sha256(), key.bytes, (int)key.n,
                                       (const unsigned char *)text.p, text.n, mac, &n) != NULL;

    OPENSSL_cleanse(&key, sizeof(key));
    if (!ok)
        return ERR_NOMEM;
    buf_lit(b, "v1,");
    base64_put(b, str_make((const char *)mac, n));
    return b->error;
}

int signature_put(struct buf *b,
                  char *const *secrets,
                  struct str id,
                  int64_t timestamp,
                  struct str body)
{
    struct buf text LOCAL_BUF(SIZE_MAX / 4);
    int err = 0;

    text_format(&text, "%s.%d.%s", id, timestamp, body);
    if (text.error != 0)
        return text.error;
    for (size_t i = 0; err == 0 && secrets[i] != NULL; i++) {
        if (i > 0)
            buf_char(b, ' ');
        err = put_one(b, secrets[i], buf_text(&text));
    }
    return err;
}
