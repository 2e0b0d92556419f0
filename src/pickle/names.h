/* Which names of Python's a pickle may mention.  Pure. */
#ifndef PICKLE_NAMES_H
#define PICKLE_NAMES_H

#include "base/str.h"

/* False for names that appear in attacks and never in data. */
bool pickle_name_is_harmless(struct str module, struct str name);

#endif
