/* Items of a list that are the same (json_same() says what that is). */
#ifndef JOBS_JSON_TWINS_H
#define JOBS_JSON_TWINS_H

#include <yyjson.h>

/* Has the array @list two items that are the same?  ERR_NOMEM: memory ran out. */
int json_has_twins(yyjson_val *list);

#endif
