/* Which members of langgraph.json are known here. */
#ifndef CLI_PROJECT_MEMBERS_H
#define CLI_PROJECT_MEMBERS_H

#include "base/json.h"
#include "base/str.h"

/* Null, {} and [] ask for nothing. */
bool project_is_set(yyjson_val *value);

/* Calls @cb with the path of each member that is not, such as "store.ttl.color".  What asks for
 * nothing is passed over. */
void project_members_unknown(yyjson_val *root,
                             void (*cb)(void *arg, struct str path),
                             void *arg);

#endif
