/* The journal's inbox and thread: the only place in journal/ where threads meet. */
#ifndef JOURNAL_INBOX_H
#define JOURNAL_INBOX_H

#include "journal/journal.h"

struct inbox;

int inbox_new(struct inbox **ret);
void inbox_free(struct inbox *in);

/* From any thread: a chain of requests. */
void inbox_put(struct inbox *in, struct journal_request *first);

/* The journal's thread: all that came, oldest first, and since when that one has waited. */
struct journal_request *inbox_take(struct inbox *in, uint64_t *ret_since);

/* One more turn, after which all rows are as they are in memory. */
void journal_settle(struct journal *j);
struct inbox *journal_inbox(struct journal *j);
/* How long the last commit took; 0: its store is not behind a network, and gathering is not
 * worth its while. */
uint64_t journal_commit_us(const struct journal *j);
/* The calling thread makes the turns from now on, and uses the store. */
void journal_take_over(struct journal *j);

#endif
