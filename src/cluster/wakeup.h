/* Wake-ups: what a commit changed, as a text for other gateways.
 *
 *     J key seq state flags attempt ts job agent owner    a job
 *     Q … state expires id question                       a question of it
 *     A agent                                             work waits
 *     W shard                                             another gateway writes it now
 *     L                                                   hints were lost: look at the store
 *
 * One line each; texts as LENGTH:BYTES, absent ones as "-".  Pure. */
#ifndef CLUSTER_WAKEUP_H
#define CLUSTER_WAKEUP_H

#include "base/buf.h"
#include "hub/notifier.h"

enum wakeup_kind { WAKEUP_JOB, WAKEUP_QUESTION, WAKEUP_AGENT, WAKEUP_WRITER, WAKEUP_LOST };

struct wakeup {
    enum wakeup_kind kind;
    struct change change;         /* JOB, QUESTION; AGENT: `agent` alone */
    bool is_cancelled, is_paused; /* JOB: newly */
    int64_t shard;                /* WRITER */
};

void wakeup_put(struct buf *b, const struct wakeup *h);
/* Where in a line of WAKEUP_JOB that begins at @from the seq stands, which has a fixed length.
 */
void wakeup_set_seq(struct buf *b, size_t from, uint64_t seq);
/* Takes the first line from *@text.  False: there is none that can be read. */
bool wakeup_take(struct str *text, struct wakeup *ret);

#endif
