/* All commands, in the order in which --help lists them. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command *const commands[]; /* up to NULL */

extern const struct command command_serve;
extern const struct command command_dev;
extern const struct command command_init;
extern const struct command command_config;
extern const struct command command_submit;
extern const struct command command_tail;
extern const struct command command_interrupts;
extern const struct command command_jobs;
extern const struct command command_show;
extern const struct command command_state;
extern const struct command command_report;
extern const struct command command_answer;
extern const struct command command_cancel;
extern const struct command command_delete;
extern const struct command command_agents;
extern const struct command command_gateways;
extern const struct command command_webhooks;
extern const struct command command_dask;
extern const struct command command_ticket;
extern const struct command command_token;
extern const struct command command_verify;
extern const struct command command_db;
extern const struct command command_doctor;
extern const struct command command_record;
extern const struct command command_replay;
extern const struct command command_translate;
extern const struct command command_dialects;
extern const struct command command_demo_agent;
extern const struct command command_completion;
extern const struct command command_manual;

#endif
