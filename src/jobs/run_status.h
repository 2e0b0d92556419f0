/* The state of a job in LangGraph's words for runs. */
#ifndef JOBS_RUN_STATUS_H
#define JOBS_RUN_STATUS_H

#include "store/store.h"

/* One of: pending running error success timeout interrupted */
struct str run_status(const struct job_row *row);

#endif
