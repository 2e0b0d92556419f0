#include "config/agent_kind.h"

#define LINE(constant, word, chosen_by, said, ...) \
    [AGENT_##constant] = { .name = #word, .option = chosen_by, .phrase = said, __VA_ARGS__ },

/* clang-format off */
const struct agent_kind_traits agent_kinds[AGENT_KIND_MAX] = {
    AGENT_KINDS_HERE(LINE)
    AGENT_KINDS_ELSEWHERE(LINE)
};
/* clang-format on */
