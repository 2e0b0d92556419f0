/* An audit of one job's records: are they consistent?
 *
 *     numbers without gaps ── each record as we write it ── one ending, at the end
 *     every start closed ── the fold, rebuilt, agrees ── every dialect can render it
 *
 * It takes the records in order and reports what is wrong.  One thread. */
#ifndef CLI_AUDIT_H
#define CLI_AUDIT_H

#include "base/str.h"

#include <stdint.h>

struct audit;

struct audit_job {
    struct str id, agent, state; /* copied */
    /* 1: all records are there.  Above 1: they have expired, and only the ending is left, from
     * this record on.  0: the same, from whichever record comes first. */
    uint64_t first_seq;
    uint64_t seq; /* the number of its last record */
    bool alone;   /* records have their headers inlined, as the dialect raw sends them */
};

/* One thing that is wrong; @seq is the record's, or 0. */
typedef void (*audit_cb)(void *arg, uint64_t seq, const char *what);

int audit_new(const struct audit_job *job, audit_cb tell, void *arg, struct audit **ret);
void audit_free(struct audit *a);

/* ERR_NOMEM, else 0: faults are reported by callback. */
int audit_take(struct audit *a, uint64_t seq, struct str stored);
int audit_end(struct audit *a);

#endif
