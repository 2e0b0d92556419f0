/* Finds equal items of a list (equal as json_same() defines it). */
#ifndef SCHEMA_DUPLICATES_H
#define SCHEMA_DUPLICATES_H

#include <yyjson.h>

/* Has the array @list two equal items?  ERR_NOMEM: memory ran out. */
int json_has_duplicates(yyjson_val *list);

#endif
