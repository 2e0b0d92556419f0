#include "webhooks/address.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct range4 {
    uint32_t first;
    unsigned bits;
};

/* IANA's special-purpose registry of IPv4: all that is not globally reachable, and multicast.
 */
static const struct range4 ranges4[] = {
    { 0x00000000, 8 },  /* this network */
    { 0x0A000000, 8 },  /* private */
    { 0x64400000, 10 }, /* shared: 100.64 */
    { 0x7F000000, 8 },  /* loopback */
    { 0xA9FE0000, 16 }, /* link-local: 169.254, with the clouds' metadata */
    { 0xAC100000, 12 }, /* private: 172.16 */
    { 0xC0000000, 24 }, /* protocol assignments: 192.0.0 */
    { 0xC0000200, 24 }, /* documentation */
    { 0xC0586300, 24 }, /* 6to4 relays, no longer used */
    { 0xC0A80000, 16 }, /* private: 192.168 */
    { 0xC6120000, 15 }, /* benchmarks */
    { 0xC6336400, 24 }, /* documentation */
    { 0xCB007100, 24 }, /* documentation */
    { 0xE0000000, 4 },  /* multicast */
    { 0xF0000000, 4 },  /* reserved, and broadcast */
};

static bool is_private4(uint32_t a)
{
    for (size_t i = 0; i < sizeof(ranges4) / sizeof(ranges4[0]); i++)
        if ((a ^ ranges4[i].first) >> (32 - ranges4[i].bits) == 0)
            return true;
    return false;
}

static uint32_t number_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool begins(const unsigned char a[16], const unsigned char *prefix, size_t bits)
{
    return memcmp(a, prefix, bits / 8) == 0 &&
           (bits % 8 == 0 || (a[bits / 8] ^ prefix[bits / 8]) >> (8 - bits % 8) == 0);
}

/* Global unicast is 2000::/3; of that, what stands for an IPv4 address is judged as that. */
static bool is_private6(const unsigned char a[16])
{
    static const unsigned char mapped[12] = { [10] = 0xFF, [11] = 0xFF };
    static const unsigned char nat64[12] = { 0x00, 0x64, 0xFF, 0x9B };
    static const unsigned char global[1] = { 0x20 };
    static const unsigned char assignments[3] = { 0x20, 0x01, 0x00 }; /* Teredo among them */
    static const unsigned char documentation[4] = { 0x20, 0x01, 0x0D, 0xB8 };
    static const unsigned char documentation2[3] = { 0x3F, 0xFF, 0x00 };
    static const unsigned char six_to_four[2] = { 0x20, 0x02 };

    if (begins(a, mapped, 96) || begins(a, nat64, 96))
        return is_private4(number_at(a + 12));
    if (begins(a, six_to_four, 16))
        return is_private4(number_at(a + 2));
    return !begins(a, global, 3) || begins(a, assignments, 23) ||
           begins(a, documentation, 32) || begins(a, documentation2, 20);
}

bool address_is_private(const struct sockaddr *address)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;

    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof(in));
        return is_private4(ntohl(in.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6)
        return true;
    memcpy(&in6, address, sizeof(in6));
    return is_private6(in6.sin6_addr.s6_addr);
}
