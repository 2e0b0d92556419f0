/* Which jobs somebody may see and touch.  Pure.
 *
 * Written as a list with commas between:
 *
 *     all          every job
 *     own          those of one's own owner
 *     owner:NAME   those of another
 *     ID, PREFIX*  by the job's id */
#ifndef JOBS_REACH_H
#define JOBS_REACH_H

#include "base/str.h"

struct error;

enum { REACH_MAX_RULES = 64 };

enum reach_kind { REACH_OWNER, REACH_ID, REACH_PREFIX };

struct reach_rule {
    enum reach_kind kind;
    struct str text;
};

struct reach {
    bool all;
    size_t n;
    struct reach_rule *rules; /* owned, with its texts behind it */
};

/* 1 to 64 of letters, digits, '.', '_' and '-'. */
bool reach_valid_owner(struct str owner);

/* @own is what `own` means.  ERR_REFUSED (the text says what is wrong), ERR_NOMEM. */
int reach_init(struct reach *r, struct str list, struct str own, struct error *err);
void reach_done(struct reach *r);

/* @owner is the job's, absent when it has none.  NULL for @r: the server itself, who may. */
bool reach_includes(const struct reach *r, struct str job, struct str owner);

/* The owner whose jobs these are, when it is that simple; else absent. */
struct str reach_owner(const struct reach *r);

#endif
