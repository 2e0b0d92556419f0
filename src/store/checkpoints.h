/* Checkpoints: the states of a thread that a graph has saved, as opaque bytes and as JSON.
 *
 *     checkpoint   (thread, ns, id): its bytes, and the version of each channel
 *     channel      (thread, ns, channel, version): a value, shared by the checkpoints that
 *                  have that version
 *     write        (thread, ns, checkpoint, task, idx; run): the output of a task before
 *                  the next checkpoint exists
 *     state        (thread, ns, id; run): the same as JSON, for clients
 *
 * If several runs have saved the same write or state, the last one counts, until its run is
 * forgotten (store_run_forget).
 *
 * A thread is only a name here.  Ids of checkpoints increase with time: the greatest is the
 * newest.  store.h says who may write, what is borrowed, and for how long. */
#ifndef STORE_CHECKPOINTS_H
#define STORE_CHECKPOINTS_H

#include "base/must_check.h"
#include "store/store.h"

/* From so many bytes on, a channel's value or a state is shared by the copies of its thread, so
 * that a copy costs rows, not bytes. */
enum { CHECKPOINT_LARGE = 2048 };

/* Bytes of the graph's serialiser, and its name for their format. */
struct typed {
    struct str type, data;
};

struct checkpoint_row {
    struct str thread, ns, id;
    struct str parent; /* absent: none */
    struct typed value;
    struct str metadata; /* JSON */
    struct str versions; /* JSON: {channel: version, …} of all channels with a value */
    struct str run;      /* the run that writes; absent: none */
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

/* Selects checkpoints, newest first. */
struct checkpoint_filter {
    struct str thread;
    struct str ns;     /* absent: all */
    struct str id;     /* only this; absent: all */
    struct str before; /* only older ones; absent: all */
};

/* --- inside begin and commit --- */

/* Replaces one with the same id. */
MUST_CHECK int store_checkpoint_put(struct store *s,
                                    const struct checkpoint_row *row,
                                    struct error *err);
MUST_CHECK int store_channel_put(struct store *s,
                                 const struct checkpoint_row *of, /* thread and ns */
                                 const struct channel_row *row,
                                 struct error *err);
/* Keeps an existing write, unless its idx is negative: those are replaced. */
MUST_CHECK int store_write_put(struct store *s,
                               const struct checkpoint_row *of, /* thread, ns, id and run */
                               const struct write_row *row,
                               struct error *err);
/* Replaces an existing one.  May be stored before its checkpoint. */
MUST_CHECK int store_state_put(struct store *s,
                               const struct checkpoint_row *of, /* thread, ns, id and run */
                               struct str state,
                               struct error *err);
/* Deletes all of a thread. */
MUST_CHECK int store_thread_forget(struct store *s, struct str thread, struct error *err);
/* Deletes what a run has saved of a thread: checkpoints with its `run_id` in their metadata,
 * and its writes and states of other checkpoints. */
MUST_CHECK int store_run_forget(struct store *s,
                                struct str thread,
                                struct str run,
                                struct error *err);
/* Deletes all of a thread but the newest checkpoint in each ns. */
MUST_CHECK int store_thread_thin(struct store *s, struct str thread, struct error *err);
/* Copies to a thread that has none.  What either of them changes or deletes later, the other
 * keeps. */
MUST_CHECK int store_thread_copy(struct store *s,
                                 struct str from,
                                 struct str to,
                                 struct error *err);

/* --- in every store --- */

typedef int (*store_checkpoint_cb)(void *arg, const struct checkpoint_row *row);
/* Stops when the callback returns non-zero; so do the next functions. */
MUST_CHECK int store_checkpoints(struct store *s,
                                 const struct checkpoint_filter *filter,
                                 store_checkpoint_cb cb,
                                 void *arg,
                                 struct error *err);
typedef int (*store_channel_cb)(void *arg, const struct channel_row *row);
/* The channels in the versions of @of. */
MUST_CHECK int store_channels(struct store *s,
                              const struct checkpoint_row *of,
                              store_channel_cb cb,
                              void *arg,
                              struct error *err);
typedef int (*store_write_cb)(void *arg, const struct write_row *row);
/* Ordered by task and idx. */
MUST_CHECK int store_writes(struct store *s,
                            const struct checkpoint_row *of,
                            store_write_cb cb,
                            void *arg,
                            struct error *err);
typedef int (*store_state_cb)(void *arg, const struct checkpoint_row *of, struct str state);
/* Only of checkpoints that exist; their rows come without value and versions. */
MUST_CHECK int store_states(struct store *s,
                            const struct checkpoint_filter *filter,
                            store_state_cb cb,
                            void *arg,
                            struct error *err);
/* The same of the checkpoints that were made from @of, oldest first. */
MUST_CHECK int store_states_after(struct store *s,
                                  const struct checkpoint_row *of, /* thread, ns and id */
                                  store_state_cb cb,
                                  void *arg,
                                  struct error *err);

#endif
