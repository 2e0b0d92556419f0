/* Regular expressions of JSON Schema: ECMA-262 in Unicode mode, matching anywhere in a text.
 *
 * PCRE2 does the matching.  Syntax that ECMA-262 spells differently is translated, and syntax
 * that it does not have is refused, so that a pattern means the same here as in a browser. */
#ifndef SCHEMA_REGEX_H
#define SCHEMA_REGEX_H

#include "base/str.h"

#include <stdint.h>

enum { REGEX_MAX_BYTES = 4096 }; /* of a pattern */

struct error;

enum regex_result { REGEX_NO, REGEX_YES, REGEX_TOO_SLOW, REGEX_NO_MEMORY };

/* Can @pattern be used?  If not, @err says why. */
bool regex_check(struct str pattern, struct error *err);

/* @work limits the search, in characters examined, about; on return it is the rest.
 * REGEX_TOO_SLOW: it was not enough.  A pattern that cannot be used matches nothing. */
enum regex_result regex_search(struct str pattern, struct str text, int64_t *work);

#endif
