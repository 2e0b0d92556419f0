/* The columns of a job, and the texts of every kind of row: lists for all code that stores,
 * copies or frees rows. */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include "base/must_check.h"
#include "base/str.h"

#include <stddef.h>

struct arena;

/* The columns of a job, with a macro for each type.  Key, input, seq, first_seq and
 * producer_seq are not in the lists, because each is handled separately. */
/* clang-format off */
#define JOB_FIXED(TEXT, INT)                                                           \
    TEXT(id) TEXT(agent) TEXT(owner) TEXT(idempotency_key) INT(created) INT(max_running) \
    INT(published) INT(thread) INT(ordinal) INT(unsigned_attempt)
#define JOB_INDEXED(TEXT, INT)                                                         \
    TEXT(state) INT(finished) INT(expiry_seconds)
#define JOB_PLAIN(TEXT, INT)                                                           \
    TEXT(worker) TEXT(holder) TEXT(error) TEXT(error_type) TEXT(outcome)               \
    TEXT(request_hash) TEXT(request_id)                                                \
    INT(attempt) INT(attempts_left) INT(updated) INT(started) INT(lease_until)         \
    INT(queue_deadline) INT(run_deadline) INT(run_seconds) INT(cancel_requested)       \
    INT(pause_requested) INT(resumed) INT(answer_by) INT(not_before) INT(values_seq)
/* clang-format on */

enum { ROW_TEXTS_MAX = 13 };

/* The offsets of the texts in a kind of row. */
struct row_texts {
    size_t n;
    size_t at[ROW_TEXTS_MAX]; /* offsets of `struct str` */
};

extern const struct row_texts job_texts;
extern const struct row_texts question_texts; /* without those of its job */
extern const struct row_texts thread_texts;
extern const struct row_texts run_texts;
extern const struct row_texts assistant_texts;
extern const struct row_texts cron_texts;
extern const struct row_texts webhook_texts;

/* The text number @i of a row of this kind. */
static inline struct str *row_text(const struct row_texts *texts, void *row, size_t i)
{
    return (struct str *)(void *)((char *)row + texts->at[i]);
}

/* Copies the texts of @row, which are borrowed, to @mem.  False: out of memory. */
MUST_CHECK bool row_copy(struct arena *mem, const struct row_texts *texts, void *row);
/* Gives @row its own copies of its texts, each in a NUL-terminated block.  ERR_NOMEM: it has
 * none. */
MUST_CHECK int row_own(const struct row_texts *texts, void *row);
/* Frees texts that it owns. */
void row_disown(const struct row_texts *texts, void *row);

#endif
