/* A lease: what a worker shows to prove that it holds a job, and what the job's row says to it.
 *
 *     8.1.5f0c…         the job's key, which is never given to another job, the attempt, and
 *                       the server's signature of both and the job's id
 *     8.1.5f0c….7e21    bound to an executor: the one process that may use it.  Its id is
 *                       signed as well
 *
 * The same job, attempt and executor always have the same lease, so that a worker that asks
 * again gets what it got before.  Leases of earlier versions had no signature ("8.1"): none is
 * held any more.
 *
 * Pure but for OpenSSL. */
#ifndef JOBS_LEASE_H
#define JOBS_LEASE_H

#include "base/buf.h"
#include "jobs/mac.h"

#include <stdint.h>

struct job_row;

enum { EXECUTOR_MAX = 64 /* bytes */ };

/* A text that looks like a lease. */
struct lease_text {
    int64_t key, attempt;
    struct str mac;      /* absent: of an earlier version */
    struct str executor; /* absent: it is bound to none */
};

/* Letters, digits, - and _, and not too long? */
bool executor_is_valid(struct str id);
/* @executor: absent: bound to none. */
void lease_put(struct buf *b,
               const unsigned char secret[MAC_KEY],
               struct str job,
               int64_t key,
               int64_t attempt,
               struct str executor);
/* False: @text is none. */
bool lease_read_text(struct str text, struct lease_text *ret);
/* Has the server given it for @job?  0; ERR_REFUSED: it has not; ERR_NOMEM. */
int lease_check(const struct lease_text *lease,
                const unsigned char secret[MAC_KEY],
                struct str job);

/* --- who shows it -------------------------------------------------------------- */

/* The holder of leases that were given while the server asked nobody for a token.  No owner of
 * a token has this name. */
#define LEASE_ANYBODY "*"

struct lease_caller {
    struct str holder; /* the owner of its token, or LEASE_ANYBODY; absent: the server itself */
    struct str agents; /* that it may work for, with commas between; absent: all */
    int64_t only_key;  /* the one job that it may work on; 0: any */
    bool is_admin;     /* whoever holds it, unless that is the server */
};

/* A lease as a request shows it. */
struct lease_shown {
    int64_t key; /* 0: it is forged */
    int64_t attempt;
    bool is_unsigned; /* of an earlier version */
};

enum lease_verdict {
    LEASE_HELD,
    LEASE_LOST,   /* it was given once, and is no longer current */
    LEASE_FOREIGN /* the caller may not see the job */
};

/* May it work on jobs of @agent that @holder has leased? */
bool lease_is_callers(const struct lease_caller *c, struct str holder, struct str agent);
/* Of the job that is called what the lease was shown for. */
enum lease_verdict lease_judge(const struct lease_caller *c,
                               const struct lease_shown *shown,
                               const struct job_row *row);

/* Is @name one of @list, which has commas between?  An absent list has all. */
bool agents_have(struct str list, struct str name);

#endif
