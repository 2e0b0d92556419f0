/* Assistants: graphs with a configuration and a name, created by clients, in all versions.
 *
 * store.h says who may write, what is borrowed, and for how long. */
#ifndef STORE_ASSISTANTS_H
#define STORE_ASSISTANTS_H

#include "base/must_check.h"
#include "store/store.h"

/* One version of an assistant.  All texts but id, owner, graph, name and description are
 * JSON. */
struct assistant_row {
    struct str id;
    struct str owner; /* empty: none */
    struct str graph;
    struct str name;
    struct str description; /* absent: none */
    struct str config, context, metadata;
    int64_t version;          /* from 1 */
    int64_t created, updated; /* of the assistant; of this version */
};

/* --- inside begin and commit --- */

/* Adds the first or a further version, and makes it the current one.  ERR_REFUSED when it
 * exists. */
MUST_CHECK int store_assistant_insert(struct store *s,
                                      const struct assistant_row *row,
                                      struct error *err);
/* Sets the current version.  ERR_NOT_FOUND. */
MUST_CHECK int store_assistant_choose(struct store *s,
                                      struct str id,
                                      int64_t version,
                                      struct error *err);
/* Deletes all versions.  ERR_NOT_FOUND. */
MUST_CHECK int store_assistant_delete(struct store *s, struct str id, struct error *err);

/* --- in every store --- */

/* The number of its newest version; 0: it does not exist. */
MUST_CHECK int store_assistant_versions(struct store *s,
                                        struct str id,
                                        int64_t *ret,
                                        struct error *err);
typedef int (*store_assistant_cb)(void *arg, const struct assistant_row *row);
/* With an id: all its versions, newest first.  Without: the current versions of all assistants,
 * the last created first.  Stops when the callback returns non-zero. */
MUST_CHECK int store_assistants(struct store *s,
                                struct str id,
                                store_assistant_cb cb,
                                void *arg,
                                struct error *err);
/* The current version, if the assistant exists. */
MUST_CHECK int store_assistant(struct store *s,
                               struct str id,
                               store_assistant_cb cb,
                               void *arg,
                               struct error *err);

#endif
