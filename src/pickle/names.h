/* Which names of Python's a pickle may mention.  Pure. */
#ifndef PICKLE_NAMES_H
#define PICKLE_NAMES_H

#include "base/str.h"

/* False for what nobody's data is made of, and every attack is. */
bool pickle_name_is_harmless(struct str module, struct str name);

#endif
