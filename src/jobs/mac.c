/* HMAC as RFC 2104 has it, over OpenSSL's SHA-256 itself: OpenSSL's own HMAC() looks its
 * algorithm up and allocates for each call, which costs more than all else that a request of a
 * worker does on its loop. */
#define OPENSSL_SUPPRESS_DEPRECATED  /* SHA256_Init() and its like: no look-up, no allocation \
                                      */

#include "jobs/mac.h"

#include "base/error.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

/* The hash of @key (padded, and changed by @pad) and @text. */
static bool hash_keyed(const unsigned char key[MAC_KEY],
                       unsigned char pad,
                       const void *text,
                       size_t n,
                       unsigned char ret[SHA256_DIGEST_LENGTH])
{
    unsigned char block[SHA256_CBLOCK];
    SHA256_CTX hash;

    memset(block, pad, sizeof(block));
    for (size_t i = 0; i < MAC_KEY; i++)
        block[i] ^= key[i];
    bool ok = SHA256_Init(&hash) == 1 && SHA256_Update(&hash, block, sizeof(block)) == 1 &&
              SHA256_Update(&hash, text, n) == 1 && SHA256_Final(ret, &hash) == 1;
    OPENSSL_cleanse(block, sizeof(block));
    OPENSSL_cleanse(&hash, sizeof(hash));
    return ok;
}

bool mac_make(const unsigned char key[MAC_KEY], struct str text, char ret[MAC_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char inner[SHA256_DIGEST_LENGTH], mac[SHA256_DIGEST_LENGTH];

    _Static_assert(MAC_KEY <= SHA256_CBLOCK, "a longer key would have to be hashed");
    if (!hash_keyed(key, 0x36, text.p, text.n, inner) ||
        !hash_keyed(key, 0x5C, inner, sizeof(inner), mac))
        return false;
    for (size_t i = 0; i < MAC_CHARS / 2; i++) {
        ret[2 * i] = digits[mac[i] >> 4];
        ret[2 * i + 1] = digits[mac[i] & 15];
    }
    return true;
}

bool mac_eq(const char own[MAC_CHARS], struct str mac)
{
    return mac.n == MAC_CHARS && CRYPTO_memcmp(own, mac.p, MAC_CHARS) == 0;
}

int mac_check(const unsigned char key[MAC_KEY], struct str text, struct str mac)
{
    char own[MAC_CHARS];

    if (!mac_make(key, text, own))
        return ERR_NOMEM;
    return mac_eq(own, mac) ? 0 : ERR_REFUSED;
}

bool mac_valid(struct str mac)
{
    for (size_t i = 0; i < mac.n; i++)
        if (!((mac.p[i] >= '0' && mac.p[i] <= '9') || (mac.p[i] >= 'a' && mac.p[i] <= 'f')))
            return false;
    return mac.n == MAC_CHARS;
}
