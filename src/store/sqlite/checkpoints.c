/* Rows of checkpoints.
 *
 * The bytes of a channel are stored once for all checkpoints that share its version: a thread
 * with a thousand messages and a thousand checkpoints would be a million messages otherwise.
 * Large ones, and large states, are in `large_values`, where copies of the thread share them;
 * triggers delete those that no row names any more (schema.c). */
#include "store/checkpoints.h"
#include "store/sqlite/sqlite.h"

/* --- writing --------------------------------------------------------------------- */

static void bind_typed(struct binder *b, const struct typed *value)
{
    bind_text(b, value->type);
    bind_blob(b, value->data.p != NULL ? value->data : STR("")); /* a NULL pointer would be
                                                                    SQL's NULL */
}

static void bind_run(struct binder *b, const struct checkpoint_row *of)
{
    bind_text(b, str_absent(of->run) ? STR("") : of->run);
}

static void bind_place(struct binder *b, const struct checkpoint_row *of)
{
    bind_text(b, of->thread);
    bind_text(b, of->ns);
    bind_text(b, of->id);
}

int sqlite_checkpoint_put(struct store *s, const struct checkpoint_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CHECKPOINT_PUT);
    bind_place(&b, row);
    bind_text(&b, row->parent);
    bind_typed(&b, &row->value);
    bind_text(&b, row->metadata);
    bind_text(&b, row->versions);
    return write_run(s, &b, NULL, err);
}

/* Where the bytes of a row are: in the row, or in `large_values`. */
struct placed {
    struct str data;
    int64_t large; /* 0: they are `data` */
};

static int place(struct store *s, struct str data, struct placed *ret, struct error *err)
{
    *ret = (struct placed){ .data = data };
    if (data.n < CHECKPOINT_LARGE)
        return 0;
    struct binder b = statement_bind(s, STATEMENT_LARGE_PUT);
    bind_blob(&b, data);
    int code = write_run(s, &b, NULL, err);
    if (code == 0)
        *ret = (struct placed){ STR(""), sqlite3_last_insert_rowid(sqlite_of(s)->db) };
    return code;
}

static void bind_large(struct binder *b, const struct placed *at)
{
    if (at->large != 0)
        bind_int(b, at->large);
    else
        bind_text(b, STR_NONE);
}

int sqlite_channel_put(struct store *s,
                       const struct checkpoint_row *of,
                       const struct channel_row *row,
                       struct error *err)
{
    struct placed at;
    int code = write_ready(s, err);

    if (code == 0)
        code = place(s, row->value.data, &at, err);
    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CHANNEL_PUT);
    bind_text(&b, of->thread);
    bind_text(&b, of->ns);
    bind_text(&b, row->channel);
    bind_text(&b, row->version);
    bind_typed(&b, &(struct typed){ row->value.type, at.data });
    bind_large(&b, &at);
    return write_run(s, &b, NULL, err);
}

int sqlite_write_put(struct store *s,
                     const struct checkpoint_row *of,
                     const struct write_row *row,
                     struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b =
        statement_bind(s, row->idx < 0 ? STATEMENT_WRITE_REPLACE : STATEMENT_WRITE_KEEP);
    bind_place(&b, of);
    bind_text(&b, row->task);
    bind_int(&b, row->idx);
    bind_text(&b, row->path);
    bind_text(&b, row->channel);
    bind_typed(&b, &row->value);
    bind_run(&b, of);
    return write_run(s, &b, NULL, err);
}

int sqlite_state_put(struct store *s,
                     const struct checkpoint_row *of,
                     struct str state,
                     struct error *err)
{
    struct placed at;
    int code = write_ready(s, err);

    if (code == 0)
        code = place(s, state, &at, err);
    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_STATE_DELETE);
    bind_place(&b, of);
    bind_run(&b, of);
    code = write_run(s, &b, NULL, err);
    if (code != 0)
        return code;
    b = statement_bind(s, STATEMENT_STATE_PUT);
    bind_place(&b, of);
    bind_text(&b, at.data);
    bind_run(&b, of);
    bind_large(&b, &at);
    return write_run(s, &b, NULL, err);
}

/* Runs the statements from @first on, one for each table. */
static int run_four(struct store *s,
                    enum statement first,
                    struct str one,
                    struct str other,
                    struct error *err)
{
    int code = write_ready(s, err);

    for (unsigned i = 0; i < 4 && code == 0; i++) {
        struct binder b = statement_bind(s, first + i);

        bind_text(&b, one);
        if (!str_absent(other))
            bind_text(&b, other);
        code = write_run(s, &b, NULL, err);
    }
    return code;
}

int sqlite_thread_forget(struct store *s, struct str thread, struct error *err)
{
    return run_four(s, STATEMENT_CHECKPOINTS_DELETE, thread, STR_NONE, err);
}

int sqlite_thread_copy(struct store *s, struct str from, struct str to, struct error *err)
{
    return run_four(s, STATEMENT_CHECKPOINTS_COPY, to, from, err);
}

/* Deletes writes, states and channels of checkpoints that no longer exist. */
static int sweep(struct store *s, struct str thread, struct error *err)
{
    int code = 0;

    for (unsigned i = 0; i < 3 && code == 0; i++) {
        struct binder b = statement_bind(s, STATEMENT_CHANNELS_SWEEP + i);

        bind_text(&b, thread);
        code = write_run(s, &b, NULL, err);
    }
    return code;
}

int sqlite_run_forget(struct store *s, struct str thread, struct str run, struct error *err)
{
    int code = write_ready(s, err);

    for (unsigned i = 0; i < 3 && code == 0; i++) {
        struct binder b = statement_bind(s, STATEMENT_CHECKPOINTS_OF_RUN_DELETE + i);

        bind_text(&b, thread);
        bind_text(&b, run);
        code = write_run(s, &b, NULL, err);
    }
    return code == 0 ? sweep(s, thread, err) : code;
}

int sqlite_thread_thin(struct store *s, struct str thread, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_CHECKPOINTS_OLD_DELETE);
    bind_text(&b, thread);
    code = write_run(s, &b, NULL, err);
    return code == 0 ? sweep(s, thread, err) : code;
}

int checkpoints_forget_job(struct store *s, int64_t key, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_JOB_ID);

    bind_int(&b, key);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    int code = rc == SQLITE_ROW    ? sqlite_thread_forget(s, column_text(b.stmt, 0), err)
               : rc == SQLITE_DONE ? 0
                                   : write_failed(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

/* --- reading --------------------------------------------------------------------- */

/* Resets the statement; @rc is the result of its last step. */
static int end_reading(struct store *s, struct binder *b, int rc, struct error *err)
{
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);

    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

static struct typed typed_of(sqlite3_stmt *stmt, int column)
{
    return (struct typed){ column_text(stmt, column), column_blob(stmt, column + 1) };
}

/* The three statements that select checkpoints, from @first on: by id, in a ns, in all. */
static struct binder bind_filter(struct store *s,
                                 enum statement first,
                                 const struct checkpoint_filter *f)
{
    unsigned which = str_absent(f->ns) ? 2 : str_absent(f->id) ? 1 : 0;
    struct binder b = statement_bind(s, first + which);

    bind_text(&b, f->thread);
    if (which < 2)
        bind_text(&b, f->ns);
    bind_text(&b, which == 0 ? f->id : f->before);
    return b;
}

int sqlite_checkpoints(struct store *s,
                       const struct checkpoint_filter *filter,
                       store_checkpoint_cb cb,
                       void *arg,
                       struct error *err)
{
    struct binder b = bind_filter(s, STATEMENT_CHECKPOINT, filter);
    int rc = b.rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct checkpoint_row row = { .thread = filter->thread,
                                      .ns = column_text(b.stmt, 0),
                                      .id = column_text(b.stmt, 1),
                                      .parent = column_text(b.stmt, 2),
                                      .value = typed_of(b.stmt, 3),
                                      .metadata = column_text(b.stmt, 5),
                                      .versions = column_text(b.stmt, 6) };

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    return end_reading(s, &b, rc, err);
}

int sqlite_channels(struct store *s,
                    const struct checkpoint_row *of,
                    store_channel_cb cb,
                    void *arg,
                    struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_CHANNELS);

    bind_text(&b, of->versions);
    bind_text(&b, of->thread);
    bind_text(&b, of->ns);
    int rc = b.rc;
    while (rc == SQLITE_OK && (rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct channel_row row = { .channel = column_text(b.stmt, 0),
                                   .version = column_text(b.stmt, 1),
                                   .value = typed_of(b.stmt, 2) };

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    return end_reading(s, &b, rc, err);
}

int sqlite_writes(struct store *s,
                  const struct checkpoint_row *of,
                  store_write_cb cb,
                  void *arg,
                  struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_WRITES);

    bind_place(&b, of);
    int rc = b.rc;
    while (rc == SQLITE_OK && (rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct write_row row = { .task = column_text(b.stmt, 0),
                                 .idx = sqlite3_column_int64(b.stmt, 1),
                                 .path = column_text(b.stmt, 2),
                                 .channel = column_text(b.stmt, 3),
                                 .value = typed_of(b.stmt, 4) };

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    return end_reading(s, &b, rc, err);
}

static int each_state(struct store *s,
                      struct binder *b,
                      struct str thread,
                      store_state_cb cb,
                      void *arg,
                      struct error *err)
{
    int rc = b->rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b->stmt)) == SQLITE_ROW) {
        struct checkpoint_row of = { .thread = thread,
                                     .ns = column_text(b->stmt, 0),
                                     .id = column_text(b->stmt, 1),
                                     .parent = column_text(b->stmt, 2),
                                     .metadata = column_text(b->stmt, 3) };

        rc = cb(arg, &of, column_text(b->stmt, 4)) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    return end_reading(s, b, rc, err);
}

int sqlite_states(struct store *s,
                  const struct checkpoint_filter *filter,
                  store_state_cb cb,
                  void *arg,
                  struct error *err)
{
    struct binder b = bind_filter(s, STATEMENT_STATE, filter);

    return each_state(s, &b, filter->thread, cb, arg, err);
}

int sqlite_states_after(struct store *s,
                        const struct checkpoint_row *of,
                        store_state_cb cb,
                        void *arg,
                        struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_STATES_AFTER);

    bind_place(&b, of);
    return each_state(s, &b, of->thread, cb, arg, err);
}
