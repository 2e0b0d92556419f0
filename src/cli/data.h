/* The database that `serve` would use with the same settings, for commands that open it
 * themselves (COMMAND_DATA: --data, --store, --config, and the variables). */
#ifndef CLI_DATA_H
#define CLI_DATA_H

#include "store/store.h"

struct args;

/* Each prints its errors, and returns EXIT_OK or an exit code. */

/* To read, also beside a server. */
int data_open_reader(const struct args *args, struct store **ret);
/* To write; refused while a server has it. */
int data_open(const struct args *args, struct store **ret);
/* What store_examine() finds. */
int data_examine(const struct args *args, store_examine_cb cb, void *arg);
/* For tokens: to write, and to make it when it is not there; beside the server that has it
 * (*@ret_served). */
int data_open_tokens(const struct args *args, struct store **ret, bool *ret_served);

#endif
