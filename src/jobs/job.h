/* A job's states: one table of allowed moves, one function that makes them.
 *
 *     queued ──lease──▶ running ──question──▶ waiting ──answer──▶ queued
 *        │  ▲             │                      │  ▲
 *        │  └─────────────┼────────resume────────┤  │
 *        ├────────────────┼────────pause─────────┼──┘
 *        └───────┬────────┴──────────┬───────────┘
 *                ▼                   ▼
 *            cancelled      succeeded | failed
 *
 * A cancel request is a remembered fact, not a state. */
#ifndef JOBS_JOB_H
#define JOBS_JOB_H

#include "base/str.h"

enum job_state {
    JOB_QUEUED,
    JOB_RUNNING,
    JOB_WAITING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_STATE_MAX
};

#define JOB_ID_RULE "1 to 64 of letters, digits, _ and -"
enum { JOB_ID_MAX = 64 }; /* bytes */
bool job_id_valid(struct str id);

const char *job_state_name(enum job_state state);
bool job_state_find(struct str name, enum job_state *ret);
bool job_state_is_final(enum job_state state);
/* May a job go from @from to @to? */
bool job_state_may(enum job_state from, enum job_state to);

#endif
