/* The journal's inbox and thread: with agent_counts.h the only place in journal/ that uses
 * locks. */
#ifndef JOURNAL_INBOX_H
#define JOURNAL_INBOX_H

#include "journal/journal.h"

struct inbox;

int inbox_new(struct inbox **ret);
void inbox_free(struct inbox *in);

/* From any thread: a chain of requests.  False: it is closed, and they are the caller's. */
bool inbox_put(struct inbox *in, struct journal_request *first);

/* From any thread: while it is closed, inbox_put() gives the chain back to be forwarded
 * (false). Closing gives what was not taken yet. */
void inbox_open(struct inbox *in);
struct journal_request *inbox_close(struct inbox *in);
bool inbox_is_open(struct inbox *in);

/* On the journal's thread: all requests, oldest first, and when that one arrived. */
struct journal_request *inbox_take(struct inbox *in, uint64_t *ret_since);

/* Makes a last turn, which stores all rows that are out of date. */
void journal_settle(struct journal *j);
/* From another thread: a turn that waits for the database gives up soon. */
void journal_hurry(struct journal *j);
/* Drops all that is in memory, and the store. */
void journal_forget(struct journal *j);
struct inbox *journal_inbox(struct journal *j);
/* How long the last commit took; 0: the store is local, and gathering does not pay. */
uint64_t journal_commit_us(const struct journal *j);
/* A turn follows soon: PostgreSQL may begin with it while more requests arrive. */
void journal_expect(struct journal *j);
/* The calling thread makes the turns from now on, and owns the store. */
void journal_take_over(struct journal *j);

#endif
