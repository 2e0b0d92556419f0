/* The programs that run the kits: Python and Node. */
#ifndef CLI_INTERPRETER_H
#define CLI_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>

/* A Python of a virtual environment (the active one, else that of @folder), else the one in
 * PATH.  False: there is none. */
bool interpreter_python(const char *folder, char *ret, size_t size);
/* A program in PATH. */
bool interpreter_find(const char *name, char *ret, size_t size);

#endif
