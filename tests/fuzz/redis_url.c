/* Any text as the URL of a Redis server: what is taken names a host or a socket, and every
 * refusal has a sentence. */
#include "fuzz.h"

#include "base/error.h"
#include "config/values/redis_url.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis_url u;
    struct error err = { 0 };
    bool ok = redis_url_parse(str_make((const char *)data, size), &u, &err) == 0;

    if (ok ? (u.host[0] == '\0') == (u.unix_path[0] == '\0') : err.text[0] == '\0')
        abort();
    if (ok && u.host[0] != '\0' && u.port == 0)
        abort();
    return 0;
}
