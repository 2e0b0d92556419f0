/* A token as the server knows it: its rights, its validity, and its current usage.
 *
 * Reference-counted; members that are not atomic never change.  A token that is revoked or
 * expired is invalid from that moment on, for everything that holds a reference.
 *
 * A session (of a cookie) is a token that has a parent: it has the parent's rights, and its
 * usage counts for the parent. */
#ifndef AUTH_TOKEN_H
#define AUTH_TOKEN_H

#include "base/must_check.h"
#include "auth/secret.h"
#include "base/str.h"
#include "jobs/job_scope.h"

#include <stdatomic.h>
#include <stdint.h>

struct error;
struct token_row;

/* 0: no limit. */
struct token_limits {
    int64_t jobs;    /* jobs of its owner that have not ended */
    int64_t queued;  /* of these, jobs that wait for a worker */
    int64_t running; /* of these, jobs that workers have; further ones wait */
    int64_t streams; /* open at a time */
    int64_t events;  /* per second, from its workers */
};

struct token {
    atomic_uint refs;
    char id[SECRET_ID + 1];
    unsigned char hash[SECRET_BYTES];
    struct token *parent;                         /* ref; of a session; else NULL */
    unsigned access;                              /* ACCESS_… */
    struct str name, scopes, owner, jobs, agents; /* in `texts`; each may be absent */
    char *texts;                                  /* owned */
    struct job_scope job_scope;
    struct token_limits limits;
    int64_t created;              /* milliseconds since 1970 */
    atomic_int_least64_t expires; /* the same; 0: never */
    bool is_configured;           /* from the configuration, not from the store */
    bool is_own;                  /* of a process that the server started (process_token.h) */
    int64_t only_key;             /* the only job of such a process; 0: any job of its agent */

    atomic_int_least64_t revoked; /* when; 0: not */
    atomic_int_least64_t ends;    /* it is invalid from this time on */
    atomic_uint n_streams;
    atomic_int_least64_t events_us; /* see token_events_wait_ms */
};

/* An invalid row is ERR_REFUSED, with a text for the person who creates the token.
 * Limits that the row leaves to the server are @limits. */
MUST_CHECK int token_new(const struct token_row *row,
                         const struct token_limits *limits,
                         struct token *parent,
                         struct token **ret,
                         struct error *err);
/* For a process of ours: limited to @agent, and to the job with that key (0: any). */
MUST_CHECK int token_new_process(struct str agent, int64_t key, struct token **ret);
/* For what the server does for @owner, such as the runs of its crons: a client's rights, and
 * these limits. */
MUST_CHECK int token_new_for_owner(struct str owner,
                                   const struct token_limits *limits,
                                   struct token **ret);
/* For a server without tokens: has all rights and owns no jobs. */
MUST_CHECK int token_new_everybody(struct token **ret);
/* For callers whom a project's own handlers authenticate: what a client may, for all jobs. */
MUST_CHECK int token_new_guest(struct token **ret);
struct token *token_ref(struct token *t);
void token_unref(struct token *t); /* may be NULL */

bool token_is_good(const struct token *t, int64_t now);
/* Valid until @at (0: no limit), on the clock of token_is_good's @now. */
void token_end_at(struct token *t, int64_t at);
/* Makes it invalid at once, whatever the clock says; @at is the time that is shown (0:
 * none). */
void token_revoke(struct token *t, int64_t at);

/* May it submit jobs to that agent, or work for it? */
bool token_has_agent(const struct token *t, struct str agent);

/* Counts a stream; false when the limit is reached. */
bool token_take_stream(struct token *t);
void token_give_stream(struct token *t);

/* How long a worker must wait before it may send more events; 0: not at all. */
int64_t token_events_wait_ms(const struct token *t, int64_t now_us);
/* Counts @n accepted events.  A batch may exceed the limit: the next one waits longer then. */
void token_took_events(struct token *t, uint64_t n, int64_t now_us);

#endif
