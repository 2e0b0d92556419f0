#include "cli/commands.h"

const struct command *const commands[] = {
    &command_serve,     &command_submit,   &command_tail,       &command_show, &command_cancel,
    &command_translate, &command_dialects, &command_demo_agent, NULL,
};
