/* Items of a list that are the same (json_same() says what that is). */
#ifndef SCHEMA_DUPLICATES_H
#define SCHEMA_DUPLICATES_H

#include <yyjson.h>

/* Has the array @list two items that are the same?  ERR_NOMEM: memory ran out. */
int json_has_duplicates(yyjson_val *list);

#endif
