#include "jobs/mac.h"

#include "base/error.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

bool mac_make(const unsigned char key[MAC_KEY], struct str text, char ret[MAC_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (HMAC(EVP_sha256(), key, MAC_KEY, (const unsigned char *)text.p, text.n, mac, &n) ==
            NULL ||
        n < MAC_CHARS / 2)
        return false;
    for (size_t i = 0; i < MAC_CHARS / 2; i++) {
        ret[2 * i] = digits[mac[i] >> 4];
        ret[2 * i + 1] = digits[mac[i] & 15];
    }
    return true;
}

int mac_check(const unsigned char key[MAC_KEY], struct str text, struct str mac)
{
    char own[MAC_CHARS];

    if (mac.n != MAC_CHARS)
        return ERR_REFUSED;
    if (!mac_make(key, text, own))
        return ERR_NOMEM;
    return CRYPTO_memcmp(own, mac.p, MAC_CHARS) == 0 ? 0 : ERR_REFUSED;
}

bool mac_valid(struct str mac)
{
    for (size_t i = 0; i < mac.n; i++)
        if (!((mac.p[i] >= '0' && mac.p[i] <= '9') || (mac.p[i] >= 'a' && mac.p[i] <= 'f')))
            return false;
    return mac.n == MAC_CHARS;
}
