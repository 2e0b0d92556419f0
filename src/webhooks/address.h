/* Addresses that are not of the public internet: a webhook reaches them only if the settings
 * name its host. */
#ifndef WEBHOOKS_ADDRESS_H
#define WEBHOOKS_ADDRESS_H

#include <stdbool.h>

struct sockaddr;

/* Loopback, private, link-local, shared, multicast, reserved or unspecified; an IPv6 address
 * that stands for such an IPv4 address; and every address that is neither IPv4 nor IPv6. */
bool address_is_private(const struct sockaddr *address);

#endif
