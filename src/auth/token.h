/* A token as the server knows it: what it may, until when, and how much of it is in use.
 *
 * Counted references; what is not atomic never changes.  A token that is revoked or expired is
 * invalid from that moment on, for everything that holds a reference.
 *
 * A session (a cookie's) is a token that stands for another: it has the same rights, and its
 * use counts there. */
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
    int64_t jobs;    /* that have not ended, of its owner */
    int64_t queued;  /* of these, that wait for a worker */
    int64_t running; /* of these, that workers have; more of them wait */
    int64_t streams; /* open at a time */
    int64_t events;  /* a second, from its workers */
};

struct token {
    atomic_uint refs;
    char id[SECRET_ID + 1];
    unsigned char hash[SECRET_BYTES];
    struct token *parent; /* ref; of a session: what it stands for; else NULL */
    unsigned access;      /* ACCESS_… */
    struct str name, scopes, owner, jobs, agents; /* in `texts`; each may be absent */
    char *texts;                                  /* owned */
    struct job_scope job_scope;
    struct token_limits limits;
    int64_t created;              /* milliseconds since 1970 */
    atomic_int_least64_t expires; /* the same; 0: never */
    bool is_configured;           /* it is not in the store */
    bool is_own;      /* a process's that the server has started (process_token.h) */
    int64_t only_key; /* of such a one: the job that it is for; 0: any of its agent */

    atomic_int_least64_t revoked; /* when; 0: not */
    atomic_int_least64_t ends;    /* the first moment at which it is not good */
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
/* For a process of ours: it works for @agent, on the job of that key (0: any) alone. */
MUST_CHECK int token_new_process(struct str agent, int64_t key, struct token **ret);
/* For a server without tokens: everything is allowed.  Owns no jobs. */
MUST_CHECK int token_new_everybody(struct token **ret);
struct token *token_ref(struct token *t);
void token_unref(struct token *t); /* may be NULL */

bool token_is_good(const struct token *t, int64_t now);
/* It is good until then (0: no matter when), on the clock that token_is_good is asked with. */
void token_end_at(struct token *t, int64_t at);
/* Ends it at @at (0: it has ended before anything began). */
void token_revoke(struct token *t, int64_t at);

/* May it submit to that agent, or work for it? */
bool token_has_agent(const struct token *t, struct str agent);

/* Takes one of its streams; false when none is left. */
bool token_take_stream(struct token *t);
void token_give_stream(struct token *t);

/* How long a worker must wait before its next events; 0: it need not. */
int64_t token_events_wait_ms(const struct token *t, int64_t now_us);
/* @n have come in.  A batch may go beyond what is left: the next one waits longer. */
void token_took_events(struct token *t, uint64_t n, int64_t now_us);

#endif
