/* Rows of assistants: one for each version; one of them is the current one. */
#include "store/postgres/postgres.h"

static int choose(struct store *s, struct str id, int64_t version, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_ASSISTANT_CHOOSE);
    params_text(&p, id);
    params_int(&p, version);
    return write_row(&p, err);
}

int postgres_assistant_insert(struct store *s,
                              const struct assistant_row *row,
                              struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_ASSISTANT_INSERT);
    params_text(&p, row->id);
    params_int(&p, row->version);
    params_text(&p, row->owner);
    params_text(&p, row->graph);
    params_text(&p, row->name);
    params_text(&p, row->description);
    params_text(&p, row->config);
    params_text(&p, row->context);
    params_text(&p, row->metadata);
    params_int(&p, row->created);
    params_int(&p, row->updated);
    int code = write_row(&p, err);
    if (code == ERR_NOT_FOUND)
        return error_set(err, ERR_REFUSED, "the assistant has a version %lld already",
                         (long long)row->version);
    return code == 0 ? choose(s, row->id, row->version, err) : code;
}

int postgres_assistant_choose(struct store *s,
                              struct str id,
                              int64_t version,
                              struct error *err)
{
    return not_found(choose(s, id, version, err), "version of the assistant", err);
}

int postgres_assistant_delete(struct store *s, struct str id, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_ASSISTANT_DELETE);
    params_text(&p, id);
    return not_found(write_row(&p, err), "assistant", err);
}

/* --- reading --------------------------------------------------------------------- */

struct assistant_row assistant_row_at(const PGresult *r, int i)
{
    return (struct assistant_row){ .id = cell_text(r, i, 0),
                                   .version = cell_int(r, i, 1),
                                   .owner = cell_text(r, i, 2),
                                   .graph = cell_text(r, i, 3),
                                   .name = cell_text(r, i, 4),
                                   .description = cell_text(r, i, 5),
                                   .config = cell_text(r, i, 6),
                                   .context = cell_text(r, i, 7),
                                   .metadata = cell_text(r, i, 8),
                                   .created = cell_int(r, i, 9),
                                   .updated = cell_int(r, i, 10) };
}

static int give(struct postgres_params *p, store_assistant_cb cb, void *arg, struct error *err)
{
    PGresult *r = NULL;
    int code = rows_get(p, &r, err);

    for (int i = 0; i < PQntuples(r); i++) {
        struct assistant_row row = assistant_row_at(r, i);

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_assistants(struct store *s,
                        struct str id,
                        store_assistant_cb cb,
                        void *arg,
                        struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, str_absent(id) ? SQL_ASSISTANTS : SQL_ASSISTANT_VERSIONS);
    if (!str_absent(id))
        params_text(&p, id);
    return give(&p, cb, arg, err);
}

int postgres_assistant(struct store *s,
                       struct str id,
                       store_assistant_cb cb,
                       void *arg,
                       struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_ASSISTANT);
    params_text(&p, id);
    return give(&p, cb, arg, err);
}
