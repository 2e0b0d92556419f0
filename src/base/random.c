#include "base/random.h"

#include <sys/random.h>

bool random_uuid(char out[KEY_UUID_CHARS])
{
    struct key random;

    /* getrandom() returns so few bytes all at once, or none. */
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return false;
    key_uuid(random, out);
    out[14] = '4'; /* the version: random */
    return true;
}

bool random_uuid_at(int64_t ms, char out[KEY_UUID_CHARS])
{
    struct key random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return false;
    random.a = (uint64_t)ms << 16 | (random.a & 0xFFFF);
    key_uuid(random, out);
    out[14] = '7'; /* the version: time, then random */
    return true;
}
