/* The writes of a turn: gathered in one store_batch, and flushed at the end of the turn.
 *
 *     request ──gather──▶ batch ──journal_flush──▶ store
 *                  │
 *                  └──▶ known.h: the turn sees its own writes
 *
 * Writes that no later request of the turn can read go into the batch directly (store/batch.h).
 *
 * Internal to journal/; the journal's thread only. */
#ifndef JOURNAL_GATHER_H
#define JOURNAL_GATHER_H

#include "store/assistants.h"
#include "store/crons.h"
#include "store/items.h"
#include "store/store.h"
#include "store/webhooks.h"

struct journal;

/* Writes the batch so far; an error fails the turn. */
int journal_flush(struct journal *j);
/* Before the turn: reserves keys for the rows that it may create. */
int gather_take_keys(struct journal *j);
/* After a failed turn and after store_expire(): job keys of a remote store are no longer valid.
 */
void gather_drop_keys(struct journal *j);

/* Each adds a write to the batch and updates the known rows.  The texts of new jobs and runs
 * are borrowed until the end of the turn. */
int gather_job(struct journal *j, struct job_row *row); /* new: sets its key */
/* @thread: the key of its thread, or 0. */
int gather_job_deletion(struct journal *j, struct str id, int64_t key, int64_t thread);
int gather_run(struct journal *j, const struct run_row *row);
int gather_question(struct journal *j, const struct question_row *row);
int gather_answer(struct journal *j,
                  int64_t job,
                  uint64_t seq,
                  struct str answer,
                  struct str by);
int gather_resumed(struct journal *j, int64_t job, uint64_t seq);
int gather_new_thread(struct journal *j, struct thread_row *row); /* sets its key */
int gather_thread(struct journal *j, const struct thread_row *row);
int gather_thread_values(struct journal *j, int64_t key, struct str values);
int gather_thread_deletion(struct journal *j, int64_t key);
/* Deletes all checkpoints of the thread; or those of one run. */
int gather_thread_forgetting(struct journal *j, struct str id);
int gather_run_forgetting(struct journal *j, struct str thread, struct str run);
/* The texts are borrowed until the end of the turn. */
int gather_item(struct journal *j, const struct item_row *row);
int gather_item_deletion(struct journal *j, const struct item_row *row);
int gather_assistant(struct journal *j, const struct assistant_row *row); /* a version */
int gather_assistant_choice(struct journal *j, struct str id, int64_t version);
int gather_assistant_deletion(struct journal *j, struct str id);
/* The same for crons. */
int gather_new_cron(struct journal *j, const struct cron_row *row);
int gather_cron(struct journal *j, const struct cron_row *row);
int gather_cron_tick(struct journal *j, struct str id, int64_t due, int64_t next);
int gather_cron_deletion(struct journal *j, struct str id);
int gather_webhook(struct journal *j, const struct webhook_row *row); /* a change */

#endif
