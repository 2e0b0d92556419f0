/* A call router: the calls to one pool.
 *
 *     a call waits, and a process takes calls ──▶ TAKE ──▶ a line to the process
 *     its answer ──▶ ANSWER.  If the process ends first, the call is returned for another
 * process.
 *
 * A call is a short request and takes no job slot.  If there is no process, one is started.
 *
 * Loop thread only. */
#ifndef AGENTS_POOL_CALL_ROUTER_H
#define AGENTS_POOL_CALL_ROUTER_H

#include "journal/journal.h"

struct host;
struct pending_call;
struct pool_process;
struct report;
struct pool;

struct call_router {
    const struct host *host; /* borrowed; outlives it, like the next two */
    const struct str *agent;
    struct pool *pool;
    void (*idle)(void *arg); /* the last call has ended */
    void *arg;
    struct journal_request take;
    struct pending_call *open; /* owned: calls that a process has, or whose answer is being
                                  delivered */
    bool is_wanted;            /* a call may be waiting */
};

/* @agent is borrowed as well. */
void call_router_init(struct call_router *b,
                      const struct host *host,
                      struct mailbox *box,
                      const struct str *agent,
                      struct pool *pool,
                      void (*idle)(void *arg),
                      void *arg);
void call_router_done(struct call_router *b);

/* Asks the journal for a call, if one may be waiting and a process can take it. */
void call_router_go_on(struct call_router *b);
/* A process has answered a call.  False when it did not have that call. */
bool call_router_answer(struct call_router *b,
                        const struct pool_process *m,
                        const struct report *report);
/* A process has ended. */
void call_router_lose(struct call_router *b, const struct pool_process *m);
bool call_router_is_idle(const struct call_router *b);

#endif
