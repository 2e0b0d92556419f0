/* The name of a job's channel, with the job's id somewhere in it: "jobs:{job_id}:events".
 * Pure. */
#ifndef CONFIG_VALUES_CHANNEL_H
#define CONFIG_VALUES_CHANNEL_H

#include "base/str.h"

struct buf;
struct error;

struct channel {
    struct str before, after; /* the id; borrowed */
};

/* ERR_SYNTAX unless {job_id} stands in @pattern exactly once. */
int channel_parse(struct str pattern, struct channel *ret, struct error *err);

static inline bool channel_eq(const struct channel *a, const struct channel *b)
{
    return str_eq(a->before, b->before) && str_eq(a->after, b->after);
}

/* Appends the name of @job's channel. */
void channel_put(const struct channel *c, struct str job, struct buf *out);
/* Appends a pattern for PSUBSCRIBE that finds the channels of all jobs. */
void channel_put_glob(const struct channel *c, struct buf *out);
/* Whose channel is @name?  False when it is none of these. */
bool channel_find_job(const struct channel *c, struct str name, struct str *ret);

#endif
