/* Rows of assistants: one for each version; one of them is the current one. */
#include "store/assistants.h"
#include "store/sqlite/sqlite.h"

/* --- writing --------------------------------------------------------------------- */

/* Makes @version the current one; without a version, none. */
static int choose(struct store *s,
                  struct str id,
                  int64_t version,
                  size_t *ret_n,
                  struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_ASSISTANT_CHOOSE);

    bind_int(&b, version);
    bind_text(&b, id);
    return write_run(s, &b, ret_n, err);
}

int sqlite_assistant_insert(struct store *s, const struct assistant_row *row, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_ASSISTANT_INSERT);
    bind_text(&b, row->id);
    bind_int(&b, row->version);
    bind_text(&b, row->owner);
    bind_text(&b, row->graph);
    bind_text(&b, row->name);
    bind_text(&b, row->description);
    bind_text(&b, row->config);
    bind_text(&b, row->context);
    bind_text(&b, row->metadata);
    bind_int(&b, row->created);
    bind_int(&b, row->updated);
    code = write_run(s, &b, NULL, err);
    return code == 0 ? choose(s, row->id, row->version, NULL, err) : code;
}

static int has_version(void *arg, const struct assistant_row *row)
{
    int64_t *version = arg;

    if (row->version == *version)
        *version = 0;
    return *version == 0;
}

int sqlite_assistant_choose(struct store *s, struct str id, int64_t version, struct error *err)
{
    int64_t left = version;
    int code = write_ready(s, err);

    if (code == 0)
        code = sqlite_assistants(s, id, has_version, &left, err);
    if (code == 0 && left != 0)
        return error_set(err, ERR_NOT_FOUND, "the assistant has no version %lld",
                         (long long)version);
    return code == 0 ? choose(s, id, version, NULL, err) : code;
}

int sqlite_assistant_delete(struct store *s, struct str id, struct error *err)
{
    size_t n = 0;
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_ASSISTANT_DELETE);
    bind_text(&b, id);
    code = write_run(s, &b, &n, err);
    return code == 0 && n == 0 ? error_set(err, ERR_NOT_FOUND, "there is no such assistant")
                               : code;
}

/* --- reading --------------------------------------------------------------------- */

static int each(struct store *s,
                struct binder *b,
                store_assistant_cb cb,
                void *arg,
                struct error *err)
{
    int rc = b->rc;

    while (rc == SQLITE_OK && (rc = sqlite3_step(b->stmt)) == SQLITE_ROW) {
        struct assistant_row row = { .id = column_text(b->stmt, 0),
                                     .version = sqlite3_column_int64(b->stmt, 1),
                                     .owner = column_text(b->stmt, 2),
                                     .graph = column_text(b->stmt, 3),
                                     .name = column_text(b->stmt, 4),
                                     .description = column_text(b->stmt, 5),
                                     .config = column_text(b->stmt, 6),
                                     .context = column_text(b->stmt, 7),
                                     .metadata = column_text(b->stmt, 8),
                                     .created = sqlite3_column_int64(b->stmt, 9),
                                     .updated = sqlite3_column_int64(b->stmt, 10) };

        rc = cb(arg, &row) == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b->stmt); /* repeats the error */
    return code;
}

int sqlite_assistants(struct store *s,
                      struct str id,
                      store_assistant_cb cb,
                      void *arg,
                      struct error *err)
{
    struct binder b =
        statement_bind(s, str_absent(id) ? STATEMENT_ASSISTANTS : STATEMENT_ASSISTANT_VERSIONS);

    if (!str_absent(id))
        bind_text(&b, id);
    return each(s, &b, cb, arg, err);
}

int sqlite_assistant(struct store *s,
                     struct str id,
                     store_assistant_cb cb,
                     void *arg,
                     struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_ASSISTANT);

    bind_text(&b, id);
    return each(s, &b, cb, arg, err);
}
