/* Checkpoints: what a graph has saved of a thread, as opaque bytes and as JSON.
 *
 *     checkpoint   (thread, ns, id): its bytes, and the version of each channel
 *     channel      (thread, ns, channel, version): a value, shared by the checkpoints that
 *                  have that version
 *     write        (thread, ns, checkpoint, task, idx; run): what a task has given before
 *                  the next checkpoint is there
 *     state        (thread, ns, id; run): the same as JSON, for those who are no graph
 *
 * What another run has written in the place of a write or a state hides it, as long as that run
 * is not forgotten.
 *
 * A thread is only a name here.  Ids of checkpoints grow with time: the greatest is the newest.
 * As store.h says: who may write, what is borrowed, and for how long. */
#ifndef STORE_CHECKPOINTS_H
#define STORE_CHECKPOINTS_H

#include "base/must_check.h"
#include "store/store.h"

/* Bytes as the graph's serialiser gave them, and its name for their form. */
struct typed {
    struct str type, data;
};

struct checkpoint_row {
    struct str thread, ns, id;
    struct str parent; /* absent: none */
    struct typed value;
    struct str metadata; /* JSON */
    struct str versions; /* JSON: {channel: version, …}, all that have a value */
    struct str run;      /* who writes; absent: no run */
};

struct channel_row {
    struct str channel, version;
    struct typed value;
};

struct write_row {
    struct str task, path, channel;
    int64_t idx;
    struct typed value;
};

/* Which of them, newest first. */
struct checkpoint_filter {
    struct str thread;
    struct str ns;     /* absent: all */
    struct str id;     /* only this; absent: all */
    struct str before; /* only older ones; absent: all */
};

/* --- inside begin and commit --- */

/* In the place of one with the same id. */
MUST_CHECK int store_checkpoint_put(struct store *s,
                                    const struct checkpoint_row *row,
                                    struct error *err);
MUST_CHECK int store_channel_put(struct store *s,
                                 const struct checkpoint_row *of, /* thread and ns */
                                 const struct channel_row *row,
                                 struct error *err);
/* A write that is there stays, unless its idx is negative: those are replaced. */
MUST_CHECK int store_write_put(struct store *s,
                               const struct checkpoint_row *of, /* thread, ns, id and run */
                               const struct write_row *row,
                               struct error *err);
/* In the place of one that is there.  Its checkpoint may come later. */
MUST_CHECK int store_state_put(struct store *s,
                               const struct checkpoint_row *of, /* thread, ns, id and run */
                               struct str state,
                               struct error *err);
/* All of a thread. */
MUST_CHECK int store_thread_forget(struct store *s, struct str thread, struct error *err);
/* What a run has saved of a thread: checkpoints whose metadata say so (`run_id`), and its
 * writes and states of others. */
MUST_CHECK int store_run_forget(struct store *s,
                                struct str thread,
                                struct str run,
                                struct error *err);
/* All of a thread but the newest in each ns. */
MUST_CHECK int store_thread_thin(struct store *s, struct str thread, struct error *err);
/* Into a thread that has nothing. */
MUST_CHECK int store_thread_copy(struct store *s,
                                 struct str from,
                                 struct str to,
                                 struct error *err);

/* --- for every store --- */

typedef int (*store_checkpoint_cb)(void *arg, const struct checkpoint_row *row);
/* Until the callback returns non-zero, as the others. */
MUST_CHECK int store_checkpoints(struct store *s,
                                 const struct checkpoint_filter *filter,
                                 store_checkpoint_cb cb,
                                 void *arg,
                                 struct error *err);
typedef int (*store_channel_cb)(void *arg, const struct channel_row *row);
/* In the versions that @of has. */
MUST_CHECK int store_channels(struct store *s,
                              const struct checkpoint_row *of,
                              store_channel_cb cb,
                              void *arg,
                              struct error *err);
typedef int (*store_write_cb)(void *arg, const struct write_row *row);
/* By task and idx. */
MUST_CHECK int store_writes(struct store *s,
                            const struct checkpoint_row *of,
                            store_write_cb cb,
                            void *arg,
                            struct error *err);
typedef int (*store_state_cb)(void *arg, const struct checkpoint_row *of, struct str state);
/* Only of checkpoints that are there; of these without value and versions. */
MUST_CHECK int store_states(struct store *s,
                            const struct checkpoint_filter *filter,
                            store_state_cb cb,
                            void *arg,
                            struct error *err);

#endif
