#include "jobs/job.h"

#define TO(state) (1u << (state))

static const struct {
    const char *name;
    unsigned moves;
} states[JOB_STATE_MAX] = {
    [JOB_QUEUED] = { "queued",
                     TO(JOB_RUNNING) | TO(JOB_WAITING) | TO(JOB_FAILED) | TO(JOB_CANCELLED) },
    [JOB_RUNNING] = { "running", TO(JOB_QUEUED) | TO(JOB_WAITING) | TO(JOB_SUCCEEDED) |
                                     TO(JOB_FAILED) | TO(JOB_CANCELLED) },
    [JOB_WAITING] = { "waiting", TO(JOB_QUEUED) | TO(JOB_RUNNING) | TO(JOB_SUCCEEDED) |
                                     TO(JOB_FAILED) | TO(JOB_CANCELLED) },
    [JOB_SUCCEEDED] = { "succeeded", 0 },
    [JOB_FAILED] = { "failed", 0 },
    [JOB_CANCELLED] = { "cancelled", 0 },
};

const char *job_state_name(enum job_state state)
{
    return state < JOB_STATE_MAX ? states[state].name : "unknown";
}

bool job_state_find(struct str name, enum job_state *ret)
{
    for (unsigned i = 0; i < JOB_STATE_MAX; i++) {
        if (str_eq(name, str_of(states[i].name))) {
            *ret = (enum job_state)i;
            return true;
        }
    }
    return false;
}

bool job_state_is_final(enum job_state state)
{
    return states[state].moves == 0;
}

bool job_state_may(enum job_state from, enum job_state to)
{
    return (states[from].moves & TO(to)) != 0;
}

bool job_id_valid(struct str id)
{
    if (id.n == 0 || id.n > JOB_ID_MAX)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return true;
}
