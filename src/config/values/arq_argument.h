/* How settings name the arguments of an ARQ function: `job_id`, `agent`, `attempt`, `input`,
 * `input.KEY`, `resume` (answers by question; None at the start), `answer` (the only one).
 * `name=argument` is passed by keyword.  Pure. */
#ifndef CONFIG_VALUES_ARQ_ARGUMENT_H
#define CONFIG_VALUES_ARQ_ARGUMENT_H

#include "base/str.h"

bool arq_argument_is_valid(struct str word);

/* What is behind `name=`, and the name; absent: it is passed by its place. */
struct str arq_argument_split(struct str word, struct str *ret_name);

#endif
