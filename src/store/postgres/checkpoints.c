/* Rows of checkpoints.
 *
 * The bytes of a channel are stored once for all checkpoints that share its version.  Large
 * ones, and large states, are in `large_values`, where copies of the thread share them;
 * triggers delete those that no row names any more (schema.c).  A schema from before has all in
 * the rows. */
#include "store/postgres/postgres.h"

#include "base/json.h"

enum { METADATA_DEPTH = 512 };

/* --- writing --------------------------------------------------------------------- */

static void put_typed(struct postgres_params *p, const struct typed *value)
{
    params_text(p, value->type);
    params_text(p, value->data.p != NULL ? value->data : STR("")); /* a NULL pointer would be
                                                                      SQL's NULL */
}

static void put_run(struct postgres_params *p, const struct checkpoint_row *of)
{
    params_text(p, str_absent(of->run) ? STR("") : of->run);
}

static void start_at(struct postgres_params *p,
                     struct store *s,
                     enum postgres_statement id,
                     const struct checkpoint_row *of)
{
    params_init(p, s, id);
    params_text(p, of->thread);
    params_text(p, of->ns);
    params_text(p, of->id);
}

/* The run that saved it, from the metadata.  Not parsed in SQL: PostgreSQL refuses JSON with
 * escapes that its texts cannot contain. */
static struct str run_of(struct json_reader *reader, struct str metadata)
{
    struct json j;

    return json_read(reader, metadata, &j, NULL) == 0 ? json_text(json_at(j.root, "run_id"))
                                                      : STR_NONE;
}

int postgres_checkpoint_put(struct store *s,
                            const struct checkpoint_row *row,
                            struct error *err)
{
    struct json_reader reader;
    struct postgres_params p;

    json_reader_init(&reader, SIZE_MAX / 4, METADATA_DEPTH);
    start_at(&p, s, SQL_CHECKPOINT_PUT, row);
    params_text(&p, row->parent);
    put_typed(&p, &row->value);
    params_text(&p, row->metadata);
    params_text(&p, row->versions);
    params_text(&p, run_of(&reader, row->metadata));
    int code = write_rows(&p, NULL, err);
    json_reader_done(&reader);
    return code;
}

static bool is_large(struct store *s, struct str data)
{
    return data.n >= CHECKPOINT_LARGE && postgres_of(s)->version >= SCHEMA_WITH_LARGE;
}

int postgres_channel_put(struct store *s,
                         const struct checkpoint_row *of,
                         const struct channel_row *row,
                         struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, is_large(s, row->value.data) ? SQL_CHANNEL_PUT_LARGE : SQL_CHANNEL_PUT);
    params_text(&p, of->thread);
    params_text(&p, of->ns);
    params_text(&p, row->channel);
    params_text(&p, row->version);
    put_typed(&p, &row->value);
    return write_rows(&p, NULL, err);
}

int postgres_write_put(struct store *s,
                       const struct checkpoint_row *of,
                       const struct write_row *row,
                       struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, row->idx < 0 ? SQL_WRITE_REPLACE : SQL_WRITE_KEEP, of);
    params_text(&p, row->task);
    params_int(&p, row->idx);
    params_text(&p, row->path);
    params_text(&p, row->channel);
    put_typed(&p, &row->value);
    put_run(&p, of);
    return write_rows(&p, NULL, err);
}

int postgres_state_put(struct store *s,
                       const struct checkpoint_row *of,
                       struct str state,
                       struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, is_large(s, state) ? SQL_STATE_PUT_LARGE : SQL_STATE_PUT, of);
    params_text(&p, state);
    put_run(&p, of);
    return write_rows(&p, NULL, err);
}

/* Runs @n statements from @first on, one for each table, with one or two texts as
 * parameters. */
static int run_several(struct store *s,
                       enum postgres_statement first,
                       unsigned n,
                       struct str one,
                       struct str other,
                       struct error *err)
{
    struct postgres_params p;
    int code = 0;

    for (unsigned i = 0; i < n && code == 0; i++) {
        params_init(&p, s, first + i);
        params_text(&p, one);
        if (!str_absent(other))
            params_text(&p, other);
        code = write_rows(&p, NULL, err);
    }
    return code;
}

int postgres_thread_forget(struct store *s, struct str thread, struct error *err)
{
    return run_several(s, SQL_CHECKPOINTS_DELETE, 4, thread, STR_NONE, err);
}

int postgres_thread_copy(struct store *s, struct str from, struct str to, struct error *err)
{
    return run_several(s, SQL_CHECKPOINTS_COPY, 4, to, from, err);
}

/* Deletes writes, states and channels of checkpoints that no longer exist. */
static int sweep(struct store *s, struct str thread, struct error *err)
{
    return run_several(s, SQL_CHANNELS_SWEEP, 3, thread, STR_NONE, err);
}

int postgres_run_forget(struct store *s, struct str thread, struct str run, struct error *err)
{
    int code = run_several(s, SQL_CHECKPOINTS_OF_RUN_DELETE, 3, thread, run, err);

    return code == 0 ? sweep(s, thread, err) : code;
}

int postgres_thread_thin(struct store *s, struct str thread, struct error *err)
{
    int code = run_several(s, SQL_CHECKPOINTS_OLD_DELETE, 1, thread, STR_NONE, err);

    return code == 0 ? sweep(s, thread, err) : code;
}

/* --- reading --------------------------------------------------------------------- */

/* A reader that has connected before the schema had large values connects again as soon as it
 * has them: its statements would find empty rows. */
static int renew(struct store *store, struct error *err)
{
    struct postgres_store *s = postgres_of(store);
    PGresult *r = NULL;
    int code = connection_ready(s, err);

    if (code != 0 || s->role != STORE_READER || s->version >= SCHEMA_WITH_LARGE)
        return code;
    code = run_text(s, "SELECT version::int8 FROM spoolwire", &r, err);
    if (code == 0 && cell_int(r, 0, 0) != s->version)
        connection_close(s);
    PQclear(r);
    return code;
}

static struct typed typed_of(const PGresult *r, int i, int column)
{
    return (struct typed){ cell_text(r, i, column), cell_text(r, i, column + 1) };
}

/* The three statements that select checkpoints, from @first on: by id, in a ns, in all. */
static void start_filter(struct postgres_params *p,
                         struct store *s,
                         enum postgres_statement first,
                         const struct checkpoint_filter *f)
{
    unsigned which = str_absent(f->ns) ? 2 : str_absent(f->id) ? 1 : 0;

    params_init(p, s, first + which);
    params_text(p, f->thread);
    if (which < 2)
        params_text(p, f->ns);
    params_text(p, which == 0 ? f->id : f->before);
}

int postgres_checkpoints(struct store *s,
                         const struct checkpoint_filter *filter,
                         store_checkpoint_cb cb,
                         void *arg,
                         struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    start_filter(&p, s, SQL_CHECKPOINT, filter);
    int code = rows_get(&p, &r, err);
    for (int i = 0; i < PQntuples(r); i++) {
        struct checkpoint_row row = { .thread = filter->thread,
                                      .ns = cell_text(r, i, 0),
                                      .id = cell_text(r, i, 1),
                                      .parent = cell_text(r, i, 2),
                                      .value = typed_of(r, i, 3),
                                      .metadata = cell_text(r, i, 5),
                                      .versions = cell_text(r, i, 6) };

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_channels(struct store *s,
                      const struct checkpoint_row *of,
                      store_channel_cb cb,
                      void *arg,
                      struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    int code = renew(s, err);
    params_init(&p, s, SQL_CHANNELS);
    params_text(&p, of->versions);
    params_text(&p, of->thread);
    params_text(&p, of->ns);
    if (code == 0)
        code = rows_get(&p, &r, err);
    for (int i = 0; i < PQntuples(r); i++) {
        struct channel_row row = { .channel = cell_text(r, i, 0),
                                   .version = cell_text(r, i, 1),
                                   .value = typed_of(r, i, 2) };

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_writes(struct store *s,
                    const struct checkpoint_row *of,
                    store_write_cb cb,
                    void *arg,
                    struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    start_at(&p, s, SQL_WRITES, of);
    int code = rows_get(&p, &r, err);
    for (int i = 0; i < PQntuples(r); i++) {
        struct write_row row = { .task = cell_text(r, i, 0),
                                 .idx = cell_int(r, i, 1),
                                 .path = cell_text(r, i, 2),
                                 .channel = cell_text(r, i, 3),
                                 .value = typed_of(r, i, 4) };

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

static int each_state(struct postgres_params *p,
                      struct str thread,
                      store_state_cb cb,
                      void *arg,
                      struct error *err)
{
    PGresult *r = NULL;
    int code = renew(&p->s->base, err);

    if (code == 0)
        code = rows_get(p, &r, err);
    for (int i = 0; i < PQntuples(r); i++) {
        struct checkpoint_row of = { .thread = thread,
                                     .ns = cell_text(r, i, 0),
                                     .id = cell_text(r, i, 1),
                                     .parent = cell_text(r, i, 2),
                                     .metadata = cell_text(r, i, 3) };

        if (cb(arg, &of, cell_text(r, i, 4)) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_states(struct store *s,
                    const struct checkpoint_filter *filter,
                    store_state_cb cb,
                    void *arg,
                    struct error *err)
{
    struct postgres_params p;

    start_filter(&p, s, SQL_STATE, filter);
    return each_state(&p, filter->thread, cb, arg, err);
}

int postgres_states_after(struct store *s,
                          const struct checkpoint_row *of,
                          store_state_cb cb,
                          void *arg,
                          struct error *err)
{
    struct postgres_params p;

    start_at(&p, s, SQL_STATES_AFTER, of);
    return each_state(&p, of->thread, cb, arg, err);
}
