/* Which jobs somebody may see and touch.  Pure.
 *
 * Written as a list with commas between:
 *
 *     all          every job
 *     own          those of one's own owner
 *     owner:NAME   those of another
 *     ID, PREFIX*  by the job's id */
#ifndef JOBS_JOB_SCOPE_H
#define JOBS_JOB_SCOPE_H

#include "base/must_check.h"
#include "base/str.h"

struct error;

enum { JOB_SCOPE_MAX_RULES = 64 };

enum job_scope_kind { JOB_SCOPE_OWNER, JOB_SCOPE_ID, JOB_SCOPE_PREFIX };

struct job_scope_rule {
    enum job_scope_kind kind;
    struct str text;
};

struct job_scope {
    bool all;
    size_t n;
    struct job_scope_rule *rules; /* ref, with their texts behind them */
};

/* 1 to 64 of messages, digits, '.', '_' and '-'. */
bool job_scope_valid_owner(struct str owner);

/* @own is what `own` means.  ERR_REFUSED (the text says what is wrong), ERR_NOMEM. */
MUST_CHECK int job_scope_init(struct job_scope *r,
                              struct str list,
                              struct str own,
                              struct error *err);
void job_scope_done(struct job_scope *r);
/* Another one that says the same, for another thread or a longer life; to be done with too.
 * NULL for @from: all jobs. */
void job_scope_share(struct job_scope *r, const struct job_scope *from);

/* @owner is the job's, absent when it has none.  NULL for @r: the server itself, who may. */
bool job_scope_includes(const struct job_scope *r, struct str job, struct str owner);

/* The owner whose jobs these are, when it is that simple; else absent. */
struct str job_scope_owner(const struct job_scope *r);

#endif
