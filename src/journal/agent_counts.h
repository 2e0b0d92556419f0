/* How much work each agent has, for metrics: the journal's thread writes it a few times a
 * second, and others read it without a request, which would wait while the journal is stuck.
 *
 * Internal to journal/, but for journal_agent_count() in journal.h. */
#ifndef JOURNAL_AGENT_COUNTS_H
#define JOURNAL_AGENT_COUNTS_H

#include "journal/journal.h"

#include <pthread.h>

struct agent_counts {
    pthread_mutex_t lock;
    struct agent_counts_entry *list; /* under lock */
    size_t n;                        /* under lock */
    uint64_t looked_us;
};

void agent_counts_init(struct agent_counts *c);
void agent_counts_done(struct agent_counts *c);
/* On the journal's thread, after a turn. */
void agent_counts_look(struct agent_counts *c, const struct journal *j, uint64_t now_us);
/* Another gateway has the jobs now. */
void agent_counts_clear(struct agent_counts *c);

#endif
