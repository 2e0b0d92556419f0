/* What the messages of a job have come to, record by record.
 *
 * LangGraph's old stream mode `messages` sends a message whole with every token.  No record has
 * that: the reader's side gathers it from the message's earlier records. The result is the same
 * wherever reading begins. */
#ifndef DIALECT_GATHERED_H
#define DIALECT_GATHERED_H

#include "base/json.h"
#include "base/table.h"
#include "record/record.h"

struct gathered {
    uint64_t seq;          /* the last record that is in it */
    struct table messages; /* id -> struct gathered_message, owned */
    struct json_reader left, right;
};

int gathered_new(struct gathered **ret);
void gathered_free(struct gathered *g);

/* The job's next record. */
int gathered_take(struct gathered *g, const struct record *rec);

/* Appends the message that the record just taken belongs to. */
void gathered_put(struct gathered *g, struct str id, struct buf *b);
/* Appends those messages of @state that the record just taken was the first to have, as a
 * list; returns how many. */
size_t gathered_put_complete(struct gathered *g, struct str state, struct buf *b);

/* The graph's whole state, where @rec has it; else absent. */
struct str gathered_state(const struct record *rec);

#endif
