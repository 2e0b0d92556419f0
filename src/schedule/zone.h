/* Time zones: how far the clocks of a place are from UTC.
 *
 * Read from the system's files (TZif, RFC 9636), because localtime() knows one zone for the
 * whole process.  Times are in seconds: since 1970, or, for the clocks of the place, as if they
 * showed UTC. */
#ifndef SCHEDULE_ZONE_H
#define SCHEDULE_ZONE_H

#include "base/must_check.h"
#include "base/str.h"

#include <stdint.h>

struct error;
struct zone;

/* By its name, such as "Europe/Berlin".  ERR_NOT_FOUND, with a text. */
MUST_CHECK int zone_open(struct str name, struct zone **ret, struct error *err);
/* From the bytes of a file; ERR_TYPE.  For zone_open and tests. */
MUST_CHECK int zone_parse(struct str bytes, struct zone **ret);
void zone_free(struct zone *z); /* may be NULL */

/* Seconds that its clocks are ahead of UTC. */
int64_t zone_offset(const struct zone *z, int64_t utc);
/* When do its clocks show @local?  Returns how often: 0 (they skip it), 1, or 2 (they are set
 * back); ret[0] is the first time, ret[1] the second. */
int zone_times(const struct zone *z, int64_t local, int64_t ret[2]);

#endif
