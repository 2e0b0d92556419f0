/* Names, gathered one by one from a walk: the bytes of all, and where each ends. */
#ifndef CONFIG_FILE_NAMES_H
#define CONFIG_FILE_NAMES_H

#include "base/buf.h"

struct walk;

enum { NAMES_MAX = 256, NAMES_MAX_BYTES = 200 /* of one */ };

struct names {
    struct buf bytes;
    size_t ends[NAMES_MAX];
    size_t n;
};

void names_init(struct names *names);
void names_done(struct names *names);

/* Adds the current event, which must be a name.  @what names the items in the error when there
 * are too many. */
int names_add(struct names *names, struct walk *w, size_t max, const char *what);
struct str names_at(const struct names *names, size_t i);
bool names_have(const struct names *names, struct str name);

#endif
