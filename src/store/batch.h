/* A store batch: all writes of one turn of the journal, in order, passed to the store at once.
 *
 *     turn ──gather──▶ batch ──store_flush──▶ backend ──store_commit──▶ stored
 *
 * Gathering changes memory only, so no write can depend on an answer of the store: keys are
 * reserved before (store_take_keys), and the caller has checked that ids are free.  SQLite
 * executes the batch statement by statement; a backend behind a network can send it as one
 * message.
 *
 * A batch keeps its memory from turn to turn. */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/must_check.h"
#include "store/assistants.h"
#include "store/checkpoints.h"
#include "store/crons.h"
#include "store/items.h"
#include "store/store.h"
#include "store/webhooks.h"

struct store_write;

struct store_batch {
    struct arena mem;           /* rows, and copied texts */
    struct store_write *writes; /* owned */
    size_t n, cap;
    struct buf records; /* the lines of all its record chunks */
};

void store_batch_init(struct store_batch *b);
void store_batch_done(struct store_batch *b);
/* Discards the writes. */
void store_batch_clear(struct store_batch *b);

/* Executes all writes, inside begin and commit, and clears the batch.  After an error the
 * transaction cannot be committed, and the batch is cleared as well. */
MUST_CHECK int store_flush(struct store *s, struct store_batch *b, struct error *err);
/* For a backend: the same, one write after another through store.h. */
MUST_CHECK int store_flush_each(struct store *s, struct store_batch *b, struct error *err);

/* --- gathering: each returns 0 or ERR_NOMEM ------------------------------------------------
 */

/* Each is like the function of the same name in store.h.  Updating or deleting a row that does
 * not exist is not an error, except for jobs. */

/* Texts are borrowed until the flush.  The row must have its key. */
MUST_CHECK int store_batch_job_insert(struct store_batch *b, const struct job_row *row);
MUST_CHECK int store_batch_run_insert(struct store_batch *b, const struct run_row *row);
/* Nothing, if it is gone. */
MUST_CHECK int store_batch_run_read(struct store_batch *b, int64_t job);
/* The row itself is borrowed until the flush. */
MUST_CHECK int store_batch_job_update(struct store_batch *b, const struct job_row *row);
MUST_CHECK int store_batch_job_delete(struct store_batch *b, int64_t key);
MUST_CHECK int store_batch_job_published(struct store_batch *b, int64_t key, int64_t published);
MUST_CHECK int store_batch_suspect(struct store_batch *b,
                                   int64_t job,
                                   int64_t crashed,
                                   int64_t set_aside);
/* The records whose lines were appended to @b->records from offset @from on. */
MUST_CHECK int store_batch_append(struct store_batch *b,
                                  int64_t key,
                                  uint64_t last,
                                  size_t from,
                                  int64_t batch);
MUST_CHECK int store_batch_note_time(struct store_batch *b, int64_t now);

/* Texts are copied. */
MUST_CHECK int store_batch_question_insert(struct store_batch *b,
                                           const struct question_row *row);
MUST_CHECK int store_batch_question_answer(struct store_batch *b,
                                           int64_t job,
                                           uint64_t seq,
                                           struct str answer,
                                           struct str by,
                                           int64_t now);
MUST_CHECK int store_batch_questions_resumed(struct store_batch *b, int64_t job, uint64_t seq);
MUST_CHECK int store_batch_thread_insert(struct store_batch *b, const struct thread_row *row);
MUST_CHECK int store_batch_thread_update(struct store_batch *b, const struct thread_row *row);
MUST_CHECK int store_batch_thread_values(struct store_batch *b,
                                         int64_t key,
                                         struct str values,
                                         int64_t now);
MUST_CHECK int store_batch_thread_delete(struct store_batch *b, int64_t key);
MUST_CHECK int store_batch_thread_forget(struct store_batch *b, struct str thread);
MUST_CHECK int store_batch_thread_copy(struct store_batch *b, struct str from, struct str to);
MUST_CHECK int store_batch_run_forget(struct store_batch *b, struct str thread, struct str run);
MUST_CHECK int store_batch_thread_thin(struct store_batch *b, struct str thread);

/* Checkpoints, items and assistants.  The rows and their texts are borrowed until the flush,
 * except for the rows of items and assistants, which are copied. */
MUST_CHECK int store_batch_checkpoint_put(struct store_batch *b,
                                          const struct checkpoint_row *row);
MUST_CHECK int store_batch_channel_put(struct store_batch *b,
                                       const struct checkpoint_row *of,
                                       const struct channel_row *row);
MUST_CHECK int store_batch_write_put(struct store_batch *b,
                                     const struct checkpoint_row *of,
                                     const struct write_row *row);
MUST_CHECK int store_batch_state_put(struct store_batch *b,
                                     const struct checkpoint_row *of,
                                     struct str state);
MUST_CHECK int store_batch_item_put(struct store_batch *b, const struct item_row *row);
MUST_CHECK int store_batch_item_delete(struct store_batch *b, const struct item_row *row);
MUST_CHECK int store_batch_item_touch(struct store_batch *b,
                                      const struct item_row *row,
                                      int64_t now);
MUST_CHECK int store_batch_assistant_insert(struct store_batch *b,
                                            const struct assistant_row *row);
MUST_CHECK int store_batch_assistant_choose(struct store_batch *b,
                                            struct str id,
                                            int64_t version);
MUST_CHECK int store_batch_assistant_delete(struct store_batch *b, struct str id);
/* The same for crons. */
MUST_CHECK int store_batch_cron_insert(struct store_batch *b, const struct cron_row *row);
MUST_CHECK int store_batch_cron_update(struct store_batch *b, const struct cron_row *row);
MUST_CHECK int store_batch_cron_tick(struct store_batch *b,
                                     struct str id,
                                     int64_t due,
                                     int64_t next,
                                     int64_t now);
MUST_CHECK int store_batch_cron_delete(struct store_batch *b, struct str id);
MUST_CHECK int store_batch_crons_forget(struct store_batch *b,
                                        struct str thread,
                                        struct str assistant);
/* The same for deliveries. */
MUST_CHECK int store_batch_webhook_insert(struct store_batch *b, const struct webhook_row *row);
MUST_CHECK int store_batch_webhook_end(struct store_batch *b, const struct webhook_end *end);
MUST_CHECK int store_batch_webhook_move(struct store_batch *b, const struct webhook_row *row);
MUST_CHECK int store_batch_webhook_forget(struct store_batch *b, int64_t job);

#endif
