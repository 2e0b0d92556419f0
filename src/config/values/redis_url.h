/* A Redis URL, parsed.  Pure. */
#ifndef CONFIG_VALUES_REDIS_URL_H
#define CONFIG_VALUES_REDIS_URL_H

#include "base/str.h"

#include <stdint.h>

struct error;

struct redis_url {
    char host[256];      /* a name or an address; empty: unix_path */
    char unix_path[108]; /* as in sockaddr_un */
    char user[128];      /* empty: Redis's default user */
    char password[512];  /* empty: none is sent */
    uint16_t port;
    unsigned db;
};

/* "redis://[[user]:password@]host[:port][/db]", or "unix:[[user]:password@]/path[?db=n]"
 * (also "unix://…").  Percent signs in user and password are decoded.  ERR_SYNTAX, with a
 * sentence that never shows the password. */
int redis_url_parse(struct str text, struct redis_url *ret, struct error *err);

#endif
