/* A team: the pool of one agent, its processes and who of them gets a job.
 *
 *     a job waits, and no member has a place ──▶ another member, up to `size`
 *     a member is gone, and fewer than `warm` are left ──▶ another one, after a pause if it
 *                                                          was not us who ended it
 *
 *     a file that it watches has changed ──▶ other members in the place of all
 *
 * The pauses grow while nothing works, and end with the first job that is finished.
 *
 * Loop thread only. */
#ifndef AGENTS_TEAM_H
#define AGENTS_TEAM_H

#include "base/str.h"

#include <stdint.h>

struct environment;
struct exec_agent;
struct host;
struct journal_request;
struct member;
struct report;
struct team;

struct team_options {
    const struct host *host; /* borrowed; outlives it, like the next two */
    const struct exec_agent *agent;
    const struct environment *env;
    /* There may be a place, or nobody left.  Also from inside of team_stop. */
    void (*changed)(void *arg);
    /* A process has answered a call; false when it was not asked. */
    bool (*answered)(void *arg, const struct member *m, const struct report *report);
    /* A process is gone. */
    void (*gone)(void *arg, const struct member *m);
    void *arg;
};

/* Begins with its warm members when the loop runs. */
int team_new(const struct team_options *options, struct team **ret);
/* After the loop has ended. */
void team_free(struct team *t);

bool team_has_place(const struct team *t);
/* ERR_BUSY: the place has gone, ERR_NOMEM.  Nothing was taken then. */
int team_take(struct team *t, const struct journal_request *lease);
/* Without a place: would more members be started if jobs waited? */
bool team_may_grow(const struct team *t);
/* So many jobs wait. */
void team_need(struct team *t, uint64_t waiting);

/* The process that is asked next; NULL: none takes calls. */
struct member *team_callee(const struct team *t);
/* Starts a process, if there is none. */
void team_wake(struct team *t);

/* False when it does not have that job. */
bool team_cancel(struct team *t, int64_t key, int64_t attempt);
/* A heartbeat now: there may be news. */
bool team_ask(struct team *t, int64_t key, int64_t attempt);

/* Processes that are not gone and jobs that are not. */
size_t team_size(const struct team *t);
/* No more members; see member_drain and member_stop. */
void team_drain(struct team *t);
void team_stop(struct team *t);
/* When its size is 0 after a stop. */
void team_close(struct team *t);

#endif
