/* A process that lives as long as this one: its standard input ends when this process does, in
 * whatever way, and then it exits. */
#ifndef CLI_ATTENDANT_H
#define CLI_ATTENDANT_H

struct error;

/* Starts @argv in @folder; what it prints goes to standard error.  ERR_IO. */
int attendant_start(const char *folder, char *const argv[], struct error *err);

#endif
