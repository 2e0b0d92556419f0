#include "cli/commands.h"

/* clang-format off */
const struct command *const commands[] = {
    &command_serve,
    &command_dev,
    &command_init,
    &command_config,
    &command_submit,
    &command_tail,
    &command_jobs,
    &command_show,
    &command_state,
    &command_report,
    &command_answer,
    &command_interrupts,
    &command_cancel,
    &command_delete,
    &command_agents,
    &command_gateways,
    &command_token,
    &command_record,
    &command_replay,
    &command_verify,
    &command_db,
    &command_doctor,
    &command_translate,
    &command_dialects,
    &command_demo_agent,
    &command_completion,
    &command_manual,
    NULL,
};
/* clang-format on */
