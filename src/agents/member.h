/* A member: one long-lived process of a pool, and the jobs in it.
 *
 *     STARTING ──"ready"──▶ READY ──retire──▶ RETIRING ──its last job ended──▶ LEAVING ──▶ GONE
 *
 * Only a READY one takes jobs.  Its end in any state but LEAVING is a crash: what was in it is
 * lost, and counts against the jobs' attempts.  What we end is handed back at no cost.
 *
 * Loop thread only. */
#ifndef AGENTS_MEMBER_H
#define AGENTS_MEMBER_H

#include "agents/child.h"
#include "agents/lines.h"
#include "agents/seat.h"
#include "agents/tail.h"

struct environment;
struct exec_agent;
struct host;
struct member;
struct report;

enum member_state {
    MEMBER_STARTING,
    MEMBER_READY,
    MEMBER_RETIRING,
    MEMBER_LEAVING,
    MEMBER_GONE,
    MEMBER_STATE_MAX
};

struct member_events {
    /* Its state or its places have changed. */
    void (*changed)(struct member *m);
    /* It has answered a call.  False when it was not asked. */
    bool (*answered)(struct member *m, const struct report *report);
    /* It has finished a job: it works. */
    void (*worked)(struct member *m);
    /* Once: the process is gone.  @why is for people when that was not our wish, else absent.
     */
    void (*over)(struct member *m, struct str why);
    /* Its memory goes. */
    void (*closed)(struct member *m);
};

struct member_options {
    const struct host *host; /* borrowed; outlives it, like all of these */
    const struct exec_agent *agent;
    const struct environment *env;
    const struct member_events *events;
    void *owner;
};

struct member {
    struct member *next; /* the owner's */
    struct member_options opt;
    enum member_state state;
    struct child child;
    struct lines lines;
    struct tail tail;
    struct seat *seats; /* owned: they go by themselves */
    size_t n_jobs;      /* seats that are not LEFT */
    uint64_t n_taken;
    uint64_t n_bad;    /* lines that were refused */
    const char *fault; /* why we killed it, or NULL */
    uv_timer_t timer;
    int64_t started;  /* on the loop's clock, like the next two */
    int64_t deadline; /* STARTING: to be ready; RETIRING: for its jobs; LEAVING: to SIGTERM */
    int64_t alarm;    /* when the timer rings; INT64_MAX: never */
    int start_error;  /* why there is no process (a libuv code), or 0 */
    unsigned n_open;  /* of: child, timer */
    bool takes_calls; /* it has said so */
    bool is_outdated; /* retires as soon as it is ready */
    bool hands_back;  /* what it does not finish is handed back */
};

/* Starts a process.  No event from inside this call: when there is no process, `over` follows
 * soon.  ERR_NOMEM: there is no member. */
int member_new(const struct member_options *options, struct member **ret);

/* How many more jobs it takes. */
size_t member_places(const struct member *m);
/* Milliseconds since its start. */
int64_t member_age(const struct member *m);

/* Only with a place.  ERR_NOMEM: nothing was taken. */
int member_take(struct member *m, const struct journal_request *lease);
/* NULL when it does not have that job. */
struct seat *member_find(struct member *m, struct str job, int64_t attempt);

/* No more jobs; it ends with the last one, if it has ever been ready. */
void member_outdate(struct member *m);
/* SIGTERM, SIGKILL after the grace time; what it has not finished by then is handed back. */
void member_drain(struct member *m);
/* The same with SIGKILL; what waits to be stored is tried at once, for the last time. */
void member_stop(struct member *m);

#endif
