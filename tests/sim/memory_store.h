/* The inside of the disk (disk.h), for the files that play the store upon it. */
#ifndef SIM_MEMORY_STORE_H
#define SIM_MEMORY_STORE_H

#include "disk.h"

#include "store/backend.h"
#include "store/rows.h"

enum undo_kind { UNDO_INSERT, UNDO_ROW, UNDO_APPEND, UNDO_GONE, UNDO_EXPIRED };

struct undo {
    enum undo_kind kind;
    struct disk_job *job;
    struct job_row row; /* UNDO_ROW: as it was; its texts are in `texts` */
    char *texts;        /* owned */
    size_t n;           /* UNDO_EXPIRED: as it was */
};

enum transaction { TRANSACTION_NONE, TRANSACTION_OPEN, TRANSACTION_FAILED };

struct disk {
    struct disk_job *jobs, **last;
    struct disk_job *dirty;
    struct disk_questions questions, safe_questions;
    struct disk_threads threads, safe_threads;
    struct disk_runs runs, safe_runs;
    int64_t moved, safe_moved;
    int64_t noted, safe_noted;
    int64_t last_thread;
    int64_t last_key;
    struct undo *undo; /* owned */
    size_t n_undo, cap_undo;
    enum transaction transaction;
    unsigned planned[2][DISK_OP_MAX]; /* [writer][op]: calls until it fails; 0: it does not */
    unsigned n_faults, n_read_faults, n_begins;
    bool full;
    bool lenient; /* see disk_set_lenient */
    /* memory_shared.c */
    int64_t epoch;
    struct memory_store *holder;       /* has the lock; NULL: nobody */
    struct disk_operation *operations; /* owned */
    size_t n_operations, n_safe_operations, cap_operations;
    size_t n_old_operations; /* before the last commit */
    disk_moment_cb moment;
    void *moment_arg;
    size_t expire_rows;
    disk_committed_cb committed;
    void *arg;
};

struct memory_store {
    struct store base;
    struct disk *disk; /* borrowed */
    bool writes;
    /* Of several gateways: see memory_shared.c. */
    bool is_shared, is_ended, is_fenced;
    int64_t epoch;
    char *out; /* owned; the texts that were handed out last */
    size_t n_out;
};

static inline struct memory_store *memory_of(struct store *s)
{
    return (struct memory_store *)s;
}

static inline struct disk *disk_of(struct store *s)
{
    return memory_of(s)->disk;
}

/* clang-format off */
#define MEMORY_OP(name) STORE_DECLARE(memory, name)
STORE_JOB_OPS(MEMORY_OP)
STORE_QUESTION_OPS(MEMORY_OP)
STORE_THREAD_OPS(MEMORY_OP)
#undef MEMORY_OP
/* clang-format on */
/* Nothing is ever saved here, so there is nothing to forget, to copy or to list. */
STORE_DECLARE(memory, thread_forget)
STORE_DECLARE(memory, crons_forget)
STORE_DECLARE(memory, webhook_insert)
STORE_DECLARE(memory, webhook_end)
STORE_DECLARE(memory, webhook_forget)
STORE_DECLARE(memory, run_forget)
STORE_DECLARE(memory, thread_copy)
STORE_DECLARE(memory, states)

/* --- of several gateways: memory_shared.c --------------------------------------- */

extern const struct store_admin memory_shared_admin;
/* Its session has ended: connects again, if nobody else has the jobs. */
int memory_session(struct store *s, struct error *err);
/* Before a commit: may it?  The fence of a store that several gateways share. */
int memory_fence(struct store *s, struct error *err);
void memory_leave(struct store *s);
void disk_moment(struct store *s, enum disk_moment moment);
void disk_operations_undo(struct disk *d);
void disk_operations_keep(struct disk *d);
void disk_operations_free(struct disk *d);

struct str disk_copy_text(struct str s); /* owned */
/* Gives @row texts of its own; row_disown() frees them. */
void disk_own(const struct row_texts *texts, void *row);

/* The row as it was stored, and what the chunks behind it know better; returns the block that
 * has its texts. */
/* A copy of @from whose texts are in one block, which is returned. */
char *disk_copy_row(const struct job_row *from, struct job_row *to, size_t *ret_n);
char *disk_copy_job(const struct disk_job *job, struct job_row *ret, size_t *ret_n);
/* Hands out such a copy, which is gone afterwards. */
int disk_give(const struct disk_job *job, store_job_cb cb, void *arg);
struct disk_job *disk_find_key(struct disk *d, int64_t key); /* NULL: none */

/* What was handed out before is rubbish from here on. */
void memory_take_back(struct store *s);
/* Does this call fail?  What was handed out is taken back. */
int memory_fault(struct store *s, enum disk_op op, struct error *err);
/* Aborts when the store was not used as store.h says. */
void memory_demand(bool holds, const char *what);
/* In a transaction, which fails with the call. */
int memory_begin_write(struct store *s, enum disk_op op, struct error *err);

/* Its run, and its thread if that was made for it, go with the job. */
void disk_forget_run(struct disk *d, const struct job_row *job);
/* How its run was to be made goes with its input. */
void disk_forget_kwargs(struct disk *d, int64_t job);
/* So do its questions. */
void disk_forget_questions(struct disk *d, int64_t job);

void disk_questions_free(struct disk_questions *q);
void disk_questions_copy(struct disk_questions *to, const struct disk_questions *from);
void disk_threads_free(struct disk_threads *t);
void disk_threads_copy(struct disk_threads *to, const struct disk_threads *from);
void disk_runs_free(struct disk_runs *r);
void disk_runs_copy(struct disk_runs *to, const struct disk_runs *from);

#endif
