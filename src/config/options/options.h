/* Options: two const tables, and what can be done with any line of them.
 *
 * A line says what an option is called, what it holds and where, its default and bounds,
 * and what it means; from that come the file's keys, the environment's variables, the
 * flags, --help and the reference.  Members of objects are written here and nowhere else. */
#ifndef CONFIG_OPTIONS_OPTIONS_H
#define CONFIG_OPTIONS_OPTIONS_H

#include "base/str.h"

#include <stdint.h>

struct buf;
struct error;
struct suggestion;

enum option_type {
    OPTION_TEXT,    /* char *; NULL: empty */
    OPTION_STR,     /* struct str, with a NUL behind it */
    OPTION_LISTEN,  /* char *, one that listen_parse reads */
    OPTION_SIZE,    /* size_t, bytes */
    OPTION_COUNT,   /* unsigned */
    OPTION_NUMBER,  /* int64_t */
    OPTION_MS,      /* int64_t */
    OPTION_SECONDS, /* int64_t; bounds in milliseconds */
    OPTION_BOOL,    /* bool */
    OPTION_CHOICE,  /* an enum, in the order of the words of `value` */
    OPTION_NAMES,   /* char **; the texts are not empty */
    OPTION_WORDS,   /* char **; in a file only, as a list */
    OPTION_PAIRS,   /* char **, each NAME=value; in a file only, as a mapping */
};

enum {
    OPTION_NO_FILE = 1 << 0,  /* a flag and a variable only */
    OPTION_RELOADS = 1 << 1,  /* may change while the server runs */
    OPTION_PERSONAL = 1 << 2, /* of one agent, never of "*" */
    OPTION_SECRET = 1 << 3,   /* never shown */
    OPTION_URL = 1 << 4,      /* the values in its query are never shown */
};

struct option {
    const char *name;
    enum option_type type;
    unsigned flags;
    size_t member;       /* offset in its object */
    const char *initial; /* the default, as it would be written; NULL: empty */
    int64_t min, max;    /* of a number, of a text's bytes, of how many there are in a list */
    const char *value;   /* for --help: what stands behind the flag */
    const char *help;
};

struct option_table {
    const struct option *options;
    size_t n;
};

enum { SERVER_OPTIONS_MAX = 99, AGENT_OPTIONS_MAX = 57 };

extern const struct option_table server_options; /* of struct server_config */
extern const struct option_table agent_options;  /* of struct config_agent */

/* Options whose names begin with the same word and a dot are a group, and stand together in a
 * file: pool.size and pool.warm are "pool: {size: 4, warm: 2}".  Empty: in none. */
struct str option_group(const struct option *o);
/* The first of a group, which "pool: 4" means too; NULL when there is no such group. */
const struct option *options_first_of(const struct option_table *table, struct str group);

/* One that may stand in a file, by its name there; NULL when there is none of that name. */
const struct option *options_find(const struct option_table *table,
                                  struct str group,
                                  struct str name);
void options_suggest(const struct option_table *table,
                     struct str group,
                     struct suggestion *suggestion);

/* Sets all to their defaults; ERR_NOMEM.  @object is zeroed, or was set before. */
int options_reset(const struct option_table *table, void *object);
/* Frees what they hold. */
void options_clear(const struct option_table *table, void *object);

/* Sets one from a text; of names, several with commas or white space between.  Errors begin
 * with @subject, which names the option the way it was written; they never show the value,
 * which may be secret.  ERR_TYPE, ERR_REFUSED (out of bounds), ERR_NOMEM. */
int option_set(const struct option *o,
               void *object,
               struct str text,
               const char *subject,
               struct error *err);
/* Adds to a list; option_clear begins it. */
int option_add(const struct option *o,
               void *object,
               struct str item,
               const char *subject,
               struct error *err);
/* Adds all names of a text, which option_set would put in the place of those before. */
int option_extend(const struct option *o,
                  void *object,
                  struct str text,
                  const char *subject,
                  struct error *err);
void option_clear(const struct option *o, void *object);
int option_copy(const struct option *o, const void *from, void *to);
/* "<subject> must be <what it must be>". */
int option_refuse(const struct option *o, int code, const char *subject, struct error *err);

/* Has it no value at all? */
bool option_is_empty(const struct option *o, const void *object);
/* Is it true, or of another type than OPTION_BOOL and not empty? */
bool option_is_on(const struct option *o, const void *object);
/* Appends its value, as a file would have it or plain; the values of pairs are masked. */
void option_print(const struct option *o, const void *object, bool file, struct buf *out);
/* Does JSON need quotes around what option_print() prints? */
bool option_is_quoted(const struct option *o);
bool option_same(const struct option *o, const void *a, const void *b);

/* "a size from 1K to 1G" */
void option_describe(const struct option *o, struct buf *out);

#endif
