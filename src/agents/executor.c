#include "agents/executor.h"

#define LINE(constant, name, ...) [AGENT_##constant] = &executor_##name,

static const struct executor_kind *const kinds[AGENT_KIND_MAX] = { AGENT_KINDS_HERE(LINE) };

const struct executor_kind *executor_kind(enum agent_kind kind)
{
    return kinds[kind];
}
