#include "console/asset.h"

const struct asset *asset_find(struct str name)
{
    for (const struct asset *a = assets; a->name != NULL; a++)
        if (str_eq(name, str_of(a->name)))
            return a;
    return NULL;
}
