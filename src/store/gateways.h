/* The gateways that share a database: who they are, which one writes, and what they tell each
 * other.
 *
 *     gateways_beat   once a second: I am there; who else is?
 *     gateways_tell   a hint for all others
 *     gateways_wait   hints of others
 *
 * A connection of its own, of one thread.  For backends that more than one gateway may use at a
 * time (store_is_shared). */
#ifndef STORE_GATEWAYS_H
#define STORE_GATEWAYS_H

#include "store/store.h"

struct gateways;

enum { GATEWAY_ID_BYTES = 40, GATEWAY_MAX_HINT = 7900 };

/* One gateway. */
struct gateway_row {
    struct str id;         /* random, from its start to its end */
    struct str url;        /* where others reach it */
    struct str version;    /* of the program */
    int64_t started;       /* milliseconds since 1970 */
    int64_t beat;          /* how often it has said that it is there */
    int64_t newest_schema; /* of the versions of the schema that it understands */
    uint64_t shards;       /* those whose lock it has, as bits */
    bool is_connected; /* PostgreSQL has a session of it, besides one that waits for the lock:
                          it  does not notice that its client is gone */
    bool is_self;
};

/* May several gateways use the database at @url at a time? */
bool store_is_shared(const char *url);

/* Enters this gateway, with a new id.  The tables must be there. */
MUST_CHECK int gateways_open(const struct store_options *options,
                             const struct gateway_row *self,
                             struct gateways **ret,
                             struct error *err);
/* Removes this gateway from the list. */
void gateways_close(struct gateways *g);

typedef void (*gateway_cb)(void *arg, const struct gateway_row *row);
/* Says that this gateway is there, and gives all.  Connects again when that is needed.  After
 * an error nobody has heard it. */
MUST_CHECK int gateways_beat(struct gateways *g, gateway_cb cb, void *arg, struct error *err);
/* All others are told @text: UTF-8 without NUL, of at most GATEWAY_MAX_HINT bytes. */
MUST_CHECK int gateways_tell(struct gateways *g, struct str text, struct error *err);
/* The schema of the database, as the last beat has seen it, and the newest one that this
 * program knows. */
struct gateways_schema {
    int64_t version, newest;
};
void gateways_schema(const struct gateways *g, struct gateways_schema *ret);
/* Removes a gateway from the list that has died, unless it has beaten since. */
MUST_CHECK int gateways_forget(struct gateways *g,
                               const struct gateway_row *row,
                               struct error *err);
/* PostgreSQL ends all sessions of that gateway that could write. */
MUST_CHECK int gateways_end(struct gateways *g, struct str id, struct error *err);

/* @text absent: the connection was lost for a while, and hints with it. */
typedef void (*gateway_hint_cb)(void *arg, struct str text);
/* Until a hint of another has come, gateways_wake() was called, or @ms have passed. */
void gateways_wait(struct gateways *g, int64_t ms, gateway_hint_cb cb, void *arg);
/* From any thread. */
void gateways_wake(struct gateways *g);

#endif
