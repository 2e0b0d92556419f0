/* Prints what is wrong with a database before a server uses it. */
#ifndef CLI_EXAMINE_H
#define CLI_EXAMINE_H

struct args;

/* Prints what store_examine() finds of the database that @args name; an exit code:
 * EXIT_BAD_NEWS when a server could not work with it. */
int examine_print(const struct args *args);

#endif
