#include "jobs/run_status.h"

struct str run_status(const struct job_row *row)
{
    bool late =
        str_is(row->error_type, "RunDeadline") || str_is(row->error_type, "QueueDeadline");

    return str_is(row->state, "queued")      ? STR("pending")
           : str_is(row->state, "succeeded") ? STR("success")
           : str_is(row->state, "cancelled") ? STR("interrupted")
           : !str_is(row->state, "failed")   ? STR("running")
           : late                            ? STR("timeout")
                                             : STR("error");
}
