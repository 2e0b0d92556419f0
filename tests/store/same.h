/* The same random operations on every backend, which must give the same answers.
 *
 * Each backend plays the same sequence by itself: a player draws the next operation from the
 * seed and from a model of what is stored, and writes the operation and its answer into its
 * transcript.  As long as answers are the same, so are the models, and so are the sequences;
 * the first line that differs is the finding.
 *
 *     seed ──▶ player on memory ────▶ transcript ─┐
 *          ──▶ player on SQLite ────▶ transcript ─┼──▶ the same
 *          ──▶ player on PostgreSQL ▶ transcript ─┘
 *
 * A sequence is a row of lives: the store is opened, some transactions are made, and the
 * process that has it ends, by itself or by SIGKILL in the middle of a transaction.
 *
 * Keys are each store's own choice: transcripts name jobs and threads by their ids. */
#ifndef STORE_SAME_H
#define STORE_SAME_H

#include "sim/chance.h"

#include "base/error.h"
#include "store/batch.h"
#include "store/store.h"

enum { N_JOBS = 24, N_THREADS = 6, N_QUESTIONS = 4, N_OPERATIONS = 12, ID_BYTES = 16 };

struct same_job {
    bool is_there, is_final;
    char id[ID_BYTES];
    int64_t key;
    uint64_t seq;
    int64_t batch;
    size_t thread; /* N_THREADS: none */
    uint64_t asked[N_QUESTIONS];
    bool answered[N_QUESTIONS];
    size_t n_questions;
};

struct same_thread {
    bool is_there, is_temporary;
    char id[ID_BYTES];
    int64_t key;
    int64_t n_runs;
};

struct same_model {
    struct same_job jobs[N_JOBS];
    struct same_thread threads[N_THREADS];
    unsigned n_ids;
    int64_t now, token_changes;
    unsigned n_tokens;
};

/* What outlives a process that is killed; in memory that processes share. */
struct same_world {
    struct chance chance;
    struct same_model model, committed;
    unsigned n_operations;
    size_t n;
    char text[8 << 20]; /* the transcript of this life */
};

struct player {
    struct same_world *world;
    struct store *writer, *reader;
    struct store *s; /* the one of the two that this operation uses */
    bool gathers;    /* writes are gathered in the batch */
    struct store_batch batch;
    struct error err;
    unsigned n_played; /* operations of this transaction */
    /* What a gathered batch borrows until it is flushed, of each of them: */
    struct job_row rows[N_OPERATIONS];
    struct checkpoint_row checkpoints[N_OPERATIONS];
    struct channel_row channels[N_OPERATIONS];
    struct write_row writes[N_OPERATIONS];
    char ids[N_OPERATIONS][ID_BYTES];
};

/* Returns false when there is nothing to do it with. */
typedef bool (*same_operation)(struct player *p);
struct same_choice {
    same_operation play;
    unsigned weight;
};

extern const struct same_choice same_writes[];        /* inside a transaction */
extern const struct same_choice same_direct_writes[]; /* not in a gathered batch */
extern const struct same_choice same_reads[];
extern const struct same_choice same_graph_writes[]; /* checkpoints, items, assistants */
extern const struct same_choice same_graph_reads[];
extern const struct same_choice same_tokens[]; /* outside of transactions */

/* --- the transcript ---------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) void say(struct player *p, const char *format, ...);
void say_text(struct player *p, const char *name, struct str text);
void say_answer(struct player *p, int code);
/* The operation is one that only some backends offer; false: this one does not. */
bool say_partial(struct player *p, bool is_offered);
void say_job(struct player *p, const struct job_row *row);
void say_thread(struct player *p, const struct thread_row *row);
void say_run(struct player *p, const struct run_row *row);
void say_question(struct player *p, const struct question_row *row);

/* --- choices ----------------------------------------------------------------------- */

static inline size_t below(struct player *p, size_t n)
{
    return chance_below(&p->world->chance, n);
}

static inline bool one_in(struct player *p, size_t n)
{
    return below(p, n) == 0;
}

static inline struct same_model *model(struct player *p)
{
    return &p->world->model;
}

struct str some_text(struct player *p); /* perhaps absent */
struct str some_json(struct player *p);
int64_t some_time(struct player *p); /* perhaps 0 */
/* NULL: there is none. */
struct same_job *some_job(struct player *p, bool open_only);
struct same_thread *some_thread(struct player *p);

/* One of the list; tries again when there is nothing to do it with. */
void play_one(struct player *p, const struct same_choice *list);
/* The model follows what retention and deletion have left of jobs and threads. */
void look_what_is_left(struct player *p);

/* Either at once, or gathered. */
#define WRITE(p, op, ...)                                      \
    ((p)->gathers ? store_batch_##op(&(p)->batch, __VA_ARGS__) \
                  : store_##op((p)->s, __VA_ARGS__, &(p)->err))

#endif
