/* Assistants: graphs with a configuration, that somebody has made and named, in all versions.
 *
 * As store.h says: who may write, what is borrowed, and for how long. */
#ifndef STORE_ASSISTANTS_H
#define STORE_ASSISTANTS_H

#include "base/must_check.h"
#include "store/store.h"

/* One version of an assistant.  Texts but id, owner, graph, name and description are JSON. */
struct assistant_row {
    struct str id;
    struct str owner; /* empty: nobody's */
    struct str graph;
    struct str name;
    struct str description; /* absent: none */
    struct str config, context, metadata;
    int64_t version;          /* from 1 */
    int64_t created, updated; /* the assistant's; this version's */
};

/* --- inside begin and commit --- */

/* As the version that counts, the first or one more.  ERR_REFUSED when it is there. */
MUST_CHECK int store_assistant_insert(struct store *s,
                                      const struct assistant_row *row,
                                      struct error *err);
/* The version that counts from now on.  ERR_NOT_FOUND. */
MUST_CHECK int store_assistant_choose(struct store *s,
                                      struct str id,
                                      int64_t version,
                                      struct error *err);
/* All versions.  ERR_NOT_FOUND. */
MUST_CHECK int store_assistant_delete(struct store *s, struct str id, struct error *err);

/* --- for every store --- */

/* The number of its newest version; 0: there is none. */
MUST_CHECK int store_assistant_versions(struct store *s,
                                        struct str id,
                                        int64_t *ret,
                                        struct error *err);
typedef int (*store_assistant_cb)(void *arg, const struct assistant_row *row);
/* With an id: all its versions, newest first.  Without: those that count of all assistants, the
 * last made first.  Until the callback returns non-zero. */
MUST_CHECK int store_assistants(struct store *s,
                                struct str id,
                                store_assistant_cb cb,
                                void *arg,
                                struct error *err);
/* The version of it that counts, if it is there. */
MUST_CHECK int store_assistant(struct store *s,
                               struct str id,
                               store_assistant_cb cb,
                               void *arg,
                               struct error *err);

#endif
