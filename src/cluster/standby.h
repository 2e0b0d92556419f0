/* The standby: waits for the lock of the jobs, opens the journal, and closes it again.
 *
 *     store_open waits for the lock ──▶ journal_open ──▶ this gateway writes
 *         ▲                                                      │
 *         └── journal_close, store_close ◀── the store is lost ◀─┘
 *
 * After a lost connection the standby gives the writer some seconds to lock again: when
 * PostgreSQL was restarted, the jobs stay where they are.
 *
 * A thread of its own, since waiting for the lock, and recovery, take their time. */
#ifndef CLUSTER_STANDBY_H
#define CLUSTER_STANDBY_H

#include "journal/journal.h"

struct standby;

struct standby_options {
    struct store_options store; /* `gateway` is this one's id */
    struct journal *journal;    /* borrowed; closed */
    const struct str *dead;     /* borrowed: see journal_recover() */
    size_t n_dead;
    /* From the thread: the journal is open; or it is about to be closed, and requests must go
     * elsewhere from now on. */
    void (*moved)(void *arg, bool is_writer);
    /* From the thread, when that is done, or has failed; @why, or absent. */
    void (*done)(void *arg, bool is_writer, struct str why);
    /* From the thread, or standby_start(): see store_unmigrated(). */
    void (*unmigrated)(void *arg, struct str why);
    void *arg;
};

/* Tries to lock at once.  ERR_BUSY is none of its errors: another gateway has the lock.
 * @options without `journal`. */
MUST_CHECK int standby_new(const struct standby_options *options,
                           struct standby **ret,
                           struct error *err);
void standby_set_journal(struct standby *s, struct journal *journal);
/* Before standby_start(): does it have the lock? */
bool standby_has_lock(const struct standby *s);
/* With the lock, the journal is open afterwards, and `moved` was called. */
MUST_CHECK int standby_start(struct standby *s, struct error *err);
/* Gives the lock away, and does not ask for it again. */
void standby_leave(struct standby *s);
/* Gives the lock to whoever waits for it, and waits for it again. */
void standby_give(struct standby *s);
/* Opens the store again, if it is open: the schema can be brought to the newest version. */
void standby_reopen(struct standby *s);
/* Ends the thread; the journal stays as it is. */
void standby_stop(struct standby *s);
/* After the journal was freed: closes its store. */
void standby_free(struct standby *s);

/* From any thread: JOURNAL_SETTINGS are a gateway's own, and kept while it does not write. */
void standby_apply_settings(struct standby *s, struct journal_request *req);

#endif
