/* What must hold for every job, whatever its worker has sent.
 *
 * Each property is a function of one test; it returns NULL or what does not hold. */
#ifndef SUPPORT_PROPERTIES_H
#define SUPPORT_PROPERTIES_H

#include "support/play.h"

/* How the jobs are set up: other cards and panels, other limits. */
struct setting {
    const char *name;
    struct str agent;
    size_t field_limit; /* bytes; 0: the default */
};

/* One job: a recording, played once, with its records and frames at hand. */
struct test {
    const struct setting *setting;
    struct recording in;
    struct play play;     /* the whole of it, once */
    struct loaded loaded; /* its records, read back from what was stored */
    size_t *n_after;      /* records after each message */
    size_t pick;          /* 0: look everywhere; else at one place, which it chooses */
    char detail[400];     /* of the last failure */
};

struct property {
    const char *name;
    const char *(*holds)(struct test *t);
    bool once;     /* it looks at nothing that a setting changes */
    bool sensible; /* it holds for what real workers send, not for whatever can be sent */
};

enum { N_PROPERTIES = 13 };
extern const struct property properties[N_PROPERTIES];

/* Plays @in, which the test takes over.  NULL, or what is wrong; then test_done() all the same.
 */
const char *test_init(struct test *t, struct recording in, const struct setting *setting);
void test_done(struct test *t);

#endif
