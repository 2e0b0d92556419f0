/* A walk over a YAML text, event by event, for readers of a file with a fixed shape.
 *
 * A reader has one function per level of its shape.  Each is called with the first event of
 * its node as the current one, and returns with the last.  A node that the shape does not have
 * is an error where it begins, so neither nesting nor length can cost more than what the shape
 * allows.  Anchors, aliases and tags are refused everywhere. */
#ifndef CONFIG_FILE_WALK_H
#define CONFIG_FILE_WALK_H

#include "base/str.h"

#include <yaml.h>

struct error;

enum { WALK_MAX_BYTES = 1024 * 1024 };

struct walk {
    yaml_parser_t parser;
    yaml_event_t event;    /* the current one; owned */
    struct str text;       /* borrowed, like the next two */
    const char *file_name; /* for errors' texts, and short enough for them */
    struct error *err;
};

/* Called with the document's first event. */
typedef int (*walk_read_cb)(struct walk *w, void *arg);

/* Walks through @text: no document (@read is not called) or one.  @err may be NULL.
 * ERR_TOO_LARGE, ERR_SYNTAX, ERR_REFUSED, ERR_NOMEM, or what @read returns. */
int walk_text(struct str text,
              const char *file_name,
              walk_read_cb read,
              void *arg,
              struct error *err);

int walk_next(struct walk *w);
/* Goes to the next key of a mapping.  *@ret_key is absent at the mapping's end, and valid
 * until the next step. */
int walk_next_key(struct walk *w, struct str *ret_key);
/* The current event is a mapping, or nothing at all (what is in it may be commented out): calls
 * @read for each key, to go to its value and read that.  Else the error is that @what must be
 * @pairs. */
int walk_pairs(struct walk *w,
               const char *what,
               const char *pairs,
               int (*read)(struct walk *w, struct str key, void *arg),
               void *arg);
/* Passes a value of no interest: a scalar, a list of scalars, or pairs of them. */
int walk_skip(struct walk *w);

bool walk_at(const struct walk *w, yaml_event_type_t type);
size_t walk_line(const struct walk *w);
/* The current scalar's text; valid until the next step. */
struct str walk_scalar(const struct walk *w);
/* Is it a scalar without quotes? */
bool walk_is_plain(const struct walk *w);
bool walk_is_null(const struct walk *w);

/* Fills the error: the file's name, then what @format says. */
int walk_fail(struct walk *w, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int walk_no_memory(struct walk *w);
/* Reports the key that is the current event as unknown; @nearest may be NULL. */
int walk_unknown(struct walk *w, const char *what, const char *nearest);

#endif
