/* Substitution in values: ${VARIABLE} and @file.
 *
 * "$${" gives a literal "${", and "@@" at the beginning a literal "@".  The text of a variable
 * or file is not substituted again. */
#ifndef CONFIG_FILE_RESOLVE_H
#define CONFIG_FILE_RESOLVE_H

#include "base/str.h"

struct buf;
struct error;

enum {
    RESOLVE_MAX = 64 * 1024, /* bytes of a value */
    RESOLVE_VARIABLES = 1 << 0,
    RESOLVE_FILE = 1 << 1
};

/* NULL when there is no such variable; @envp may be NULL. */
const char *resolve_variable(char *const *envp, struct str name);

/* Appends @text to @out, with variables and files substituted.  Errors begin with @subject.
 * ERR_NOT_FOUND (no such variable), ERR_SYNTAX, ERR_IO, ERR_TOO_LARGE, ERR_NOMEM. */
int resolve_value(struct str text,
                  unsigned what,
                  char *const *envp,
                  const char *subject,
                  struct buf *out,
                  struct error *err);

/* Appends what is in a file, up to @out's limit; ERR_IO, ERR_TOO_LARGE, ERR_NOMEM, with a
 * text such as "<path>: No such file or directory" after "<subject>: " unless that is NULL. */
int resolve_read_file(const char *path,
                      const char *subject,
                      struct buf *out,
                      struct error *err);

#endif
