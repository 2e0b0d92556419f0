/* The disk: what survives a crash, and the store on top of it (store.h in memory).
 *
 * Writes go into the jobs at once and into a list of how to undo them; a rollback, a failed
 * commit and a crash run that list backwards.  So between two turns of the journal the jobs
 * are exactly what was committed, which is what readers and the model look at.
 *
 * Texts that are handed out are copies, overwritten and freed at the next call: whoever
 * keeps one too long reads rubbish, and the address sanitizer says so. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "store/store.h"

struct disk;

struct disk_record {
    char *p; /* owned */
    size_t n;
    int64_t batch; /* that ends with it; -1: none */
};

struct disk_job {
    struct disk_job *next;    /* oldest first; also those that are gone */
    struct job_row row;       /* its texts are in `texts` */
    char *texts;              /* owned */
    struct disk_record *recs; /* owned; record i has seq i + 1 */
    size_t n, cap;
    size_t n_expired; /* so many from the front are no longer there */
    bool gone;        /* deleted, or nothing was left of it */
    /* This transaction: */
    bool dirty;
    struct disk_job *next_dirty;
    void *truth; /* the model's */
};

/* Questions, as they are and as they are committed. */
struct disk_questions {
    struct question_row *rows; /* owned, with their texts */
    size_t n;
};

/* The same of threads, and of runs. */
struct disk_threads {
    struct thread_row *rows;
    size_t n;
};

struct disk_runs {
    struct run_row *rows;
    size_t n;
};

enum disk_op {
    DISK_BEGIN,
    DISK_COMMIT,
    DISK_INSERT,
    DISK_UPDATE,
    DISK_DELETE,
    DISK_APPEND,
    DISK_EXPIRE,
    DISK_QUESTION,
    DISK_THREAD,
    DISK_CLOCK,
    DISK_GET, /* from here on: reading */
    DISK_BY_KEY,
    DISK_OPEN_JOBS,
    DISK_RECORDS,
    DISK_RECORD,
    DISK_QUESTIONS,
    DISK_THREADS,
    DISK_NOTED,
    DISK_OP_MAX
};

const char *disk_op_name(enum disk_op op);

/* Called after a commit with all the jobs that it changed. */
typedef void (*disk_committed_cb)(void *arg, struct disk_job *dirty);

struct disk *disk_new(disk_committed_cb committed, void *arg);
void disk_free(struct disk *d);

/* The one that writes, and those that read; each is closed with store_close. */
struct store *disk_open(struct disk *d, bool writes);

struct disk_job *disk_jobs(struct disk *d);
/* As they are committed. */
const struct disk_questions *disk_questions(const struct disk *d);
const struct disk_threads *disk_threads(const struct disk *d);
/* By how much stored times were moved in all. */
int64_t disk_moved(const struct disk *d);
struct disk_job *disk_find(struct disk *d, struct str id); /* NULL: none of that id */

/* --- several gateways --------------------------------------------------------- */

/* The one that writes, as long as its session lasts: it has the lock, and a higher epoch than
 * all before. */
struct store *disk_open_shared(struct disk *d);
/* Ends that session; its gateway does not know yet. */
void disk_end_session(struct disk *d, struct store *s);
/* Does any session have the lock? */
bool disk_is_held(const struct disk *d);
/* Does @s?  Otherwise it must not write. */
bool disk_holds(const struct disk *d, const struct store *s);

/* An operation that was stored, with its answer. */
struct disk_operation {
    struct str id, answer; /* owned */
    bool is_new;           /* by the last commit */
};
/* As they are committed; false: there is none. */
bool disk_operation(const struct disk *d, struct str id, struct disk_operation *ret);

/* Called on the way of a shared store: whoever is called may let others go on meanwhile. */
enum disk_moment { DISK_BEGUN, DISK_COMMITTING, DISK_STORED };
typedef void (*disk_moment_cb)(void *arg, struct store *s, enum disk_moment moment);
void disk_on_moment(struct disk *d, disk_moment_cb cb, void *arg);

/* --- faults ------------------------------------------------------------------- */

/* The @n-th call of @op from now fails once (1: the next one), of the writer or of readers. */
void disk_fail(struct disk *d, bool writer, enum disk_op op, unsigned n);
/* No space: every commit fails until there is some again. */
void disk_set_full(struct disk *d, bool full);
/* Answers with ERR_REFUSED, as store.h says, where the journal is known to ask first: there a
 * simulation takes the call for a mistake and aborts. */
void disk_set_lenient(struct disk *d);
/* No fault is planned any more. */
void disk_heal(struct disk *d);
/* Faults that happened to the writer. */
unsigned disk_faults(const struct disk *d);
unsigned disk_read_faults(const struct disk *d); /* of these, when reading */
/* Transactions that were begun, or were to be. */
unsigned disk_begins(const struct disk *d);
/* At most so many rows go in one store_expire, whatever the caller allows. */
void disk_set_expire_rows(struct disk *d, size_t n);
/* The power goes: what is not committed is gone. */
void disk_crash(struct disk *d);

/* @p; ends the program without memory. */
void *disk_must(void *p);

#endif
