#include "jobs/assistant_id.h"

#include <openssl/evp.h>

/* 6ba7b821-9dad-11d1-80b4-00c04fd430c8 */
static const unsigned char name_space[16] = { 0x6b, 0xa7, 0xb8, 0x21, 0x9d, 0xad, 0x11, 0xd1,
                                              0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8 };

static uint64_t big_endian(const unsigned char *p)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 8; i++)
        value = value << 8 | p[i];
    return value;
}

bool assistant_id_of(struct str graph, char out[KEY_UUID_CHARS])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha1(), NULL) == 1 &&
              EVP_DigestUpdate(ctx, name_space, sizeof(name_space)) == 1 &&
              EVP_DigestUpdate(ctx, graph.p, graph.n) == 1 &&
              EVP_DigestFinal_ex(ctx, hash, NULL) == 1;

    EVP_MD_CTX_free(ctx);
    if (!ok)
        return false;
    key_uuid((struct key){ big_endian(hash), big_endian(hash + 8) }, out);
    out[14] = '5'; /* the version: a name, hashed */
    return true;
}

bool assistant_id_is(struct str id, struct str graph)
{
    char uuid[KEY_UUID_CHARS];

    return str_eq(id, graph) || (id.n == sizeof(uuid) && assistant_id_of(graph, uuid) &&
                                 str_eq(id, str_make(uuid, sizeof(uuid))));
}
