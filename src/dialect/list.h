/* All dialects, in the order of every list that shows them.
 *
 * A line has the dialect's name, which is also that of its variable (dialect_NAME), and whether
 * its payloads carry their event's name: those of a TYPED dialect do, so they can be published
 * to Redis as they are.  The tests compare it with the dialect's `names_itself`. */
#ifndef DIALECT_LIST_H
#define DIALECT_LIST_H

#define DIALECT_LIST(X)  \
    X(agent, TYPED)      \
    X(envelope, TYPED)   \
    X(messages, UNTYPED) \
    X(nodes, TYPED)      \
    X(aiq, TYPED)        \
    X(raw, TYPED)

#define DIALECT_ONE(name, kind) +1
enum { DIALECT_COUNT = 0 DIALECT_LIST(DIALECT_ONE) };

/* "|agent|envelope|nodes|…" of those that can be published, as an option's words. */
#define DIALECT_TYPED(name) "|" #name
#define DIALECT_UNTYPED(name)
#define DIALECT_WORD(name, kind) DIALECT_##kind(name)
#define DIALECT_PUBLISHED        DIALECT_LIST(DIALECT_WORD)

#endif
