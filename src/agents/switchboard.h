/* A switchboard: the calls to one pool.
 *
 *     a call waits, and a process takes calls ──▶ TAKE ──▶ a line to the process
 *     its answer ──▶ ANSWER.  Its end without one: the call is handed back, for the next.
 *
 * A call is a short question beside jobs and takes no place of one.  Without a process one is
 * started.
 *
 * Loop thread only. */
#ifndef AGENTS_SWITCHBOARD_H
#define AGENTS_SWITCHBOARD_H

#include "bus/post.h"

struct host;
struct inquiry;
struct member;
struct report;
struct team;

struct switchboard {
    const struct host *host; /* borrowed; outlives it, like the next two */
    const struct str *agent;
    struct team *team;
    void (*idle)(void *arg); /* the last call is over */
    void *arg;
    struct post take;
    struct inquiry *open; /* owned: those that a process has, or whose answer is under way */
    bool is_wanted;       /* a call may be waiting */
};

/* @agent is borrowed, too. */
void switchboard_init(struct switchboard *b,
                      const struct host *host,
                      struct mailbox *box,
                      const struct str *agent,
                      struct team *team,
                      void (*idle)(void *arg),
                      void *arg);
void switchboard_done(struct switchboard *b);

/* Asks for a call, if one may be waiting and somebody can take it. */
void switchboard_go_on(struct switchboard *b);
/* A process has answered.  False when nobody has asked it that. */
bool switchboard_answer(struct switchboard *b,
                        const struct member *m,
                        const struct report *report);
/* A process is gone. */
void switchboard_lose(struct switchboard *b, const struct member *m);
bool switchboard_is_idle(const struct switchboard *b);

#endif
