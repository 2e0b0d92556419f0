/* A permit to read a stream: while it is held, it counts as one of its token's streams.
 *
 * It is valid until its token or ticket expires or is revoked; the stream checks it from time
 * to time. */
#ifndef AUTH_PERMIT_H
#define AUTH_PERMIT_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct permit;
struct job_scope;
struct visitor;

/* ERR_LIMIT: its token has as many streams as allowed; ERR_NOMEM. */
MUST_CHECK int permit_new(const struct visitor *v, struct permit **ret);
void permit_free(struct permit *p); /* may be NULL */

/* The jobs that may be read; without a permit NULL: all. */
const struct job_scope *permit_job_scope(const struct permit *p);
/* Is it still valid?  Without a permit: always true. */
bool permit_holds(const struct permit *p, int64_t now);
/* When it expires, on the steady clock; INT64_MAX: never, as far as is known. */
int64_t permit_until(const struct permit *p);

#endif
