/* The inside of the disk (disk.h), for the files that play the store upon it. */
#ifndef SIM_MEMORY_STORE_H
#define SIM_MEMORY_STORE_H

#include "disk.h"
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
    size_t expire_rows;
    disk_committed_cb committed;
    void *arg;
};

struct store {
    struct disk *disk; /* borrowed */
    bool writes;
    char *out; /* owned; the texts that were handed out last */
    size_t n_out;
};

/* Aborts without memory: what the simulator itself needs is there. */
void *disk_must(void *p);
struct str disk_copy_text(struct str s); /* owned */
/* Gives @row texts of its own; row_disown() frees them. */
void disk_own(const struct row_texts *texts, void *row);

/* What was handed out before is rubbish from here on. */
void store_take_back(struct store *s);
/* Does this call fail?  What was handed out is taken back. */
int store_fault(struct store *s, enum disk_op op, struct error *err);
/* Aborts when the store was not used as store.h says. */
void store_demand(bool holds, const char *what);
/* In a transaction, which fails with the call. */
int store_begin_write(struct store *s, enum disk_op op, struct error *err);

void disk_questions_free(struct disk_questions *q);
void disk_questions_copy(struct disk_questions *to, const struct disk_questions *from);
void disk_threads_free(struct disk_threads *t);
void disk_threads_copy(struct disk_threads *to, const struct disk_threads *from);
void disk_runs_free(struct disk_runs *r);
void disk_runs_copy(struct disk_runs *to, const struct disk_runs *from);

#endif
