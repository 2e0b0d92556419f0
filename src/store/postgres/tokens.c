/* Rows of tokens, and of their sessions.
 *
 * There are few, and people change them rarely, so every call is a transaction of its own.  It
 * also increments a counter of changes, which tells a server when to read the tokens again. */
#include "store/postgres/postgres.h"

#include <assert.h>

/* --- writing --------------------------------------------------------------------- */

/* Ends the transaction: commit, or rollback after an error. */
static int end(struct store *s, int code, struct error *err)
{
    if (code == 0)
        return postgres_commit(s, err);
    postgres_rollback(s);
    return code;
}

/* The same, and counts the change. */
static int end_change(struct store *s, int code, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_TOKENS_CHANGED);
    return end(s, code == 0 ? write_rows(&p, NULL, err) : code, err);
}

int postgres_token_insert(struct store *s, const struct token_row *row, struct error *err)
{
    struct postgres_params p;

    assert(row->hash.n == STORE_SECRET_BYTES);
    int code = postgres_begin(s, err);
    if (code != 0)
        return code;
    params_init(&p, s, SQL_TOKEN_INSERT);
    params_text(&p, row->id);
    params_text(&p, row->parent);
    params_text(&p, row->hash);
    params_text(&p, row->name);
    params_text(&p, row->scopes);
    params_text(&p, row->owner);
    params_text(&p, row->jobs);
    params_text(&p, row->agents);
    params_int(&p, row->max_jobs);
    params_int(&p, row->max_queued);
    params_int(&p, row->max_running);
    params_int(&p, row->max_streams);
    params_int(&p, row->max_events);
    params_int(&p, row->created);
    params_int(&p, row->expires);
    params_int(&p, row->revoked);
    code = write_row(&p, err);
    if (code == ERR_NOT_FOUND)
        code = error_set(err, ERR_REFUSED, "another token has the id \"%.*s\"",
                         STR_ARG(str_head(row->id, 40)));
    return end_change(s, code, err);
}

/* Runs it; ERR_NOT_FOUND when no row was changed. */
static int change_one(struct postgres_params *p, struct str id, struct error *err)
{
    int code = write_row(p, err);

    return code == ERR_NOT_FOUND
               ? error_set(err, code, "there is no token \"%.*s\"", STR_ARG(str_head(id, 40)))
               : code;
}

int postgres_token_revoke(struct store *s, struct str id, int64_t now, struct error *err)
{
    struct postgres_params p;
    int code = postgres_begin(s, err);

    if (code != 0)
        return code;
    params_init(&p, s, SQL_TOKEN_REVOKE);
    params_int(&p, now);
    params_text(&p, id);
    code = change_one(&p, id, err);
    params_init(&p, s, SQL_SESSIONS_OF);
    params_text(&p, id);
    return end_change(s, code == 0 ? write_rows(&p, NULL, err) : code, err);
}

int postgres_session_delete(struct store *s, struct str id, struct error *err)
{
    struct postgres_params p;
    int code = postgres_begin(s, err);

    if (code != 0)
        return code;
    params_init(&p, s, SQL_SESSION_DELETE);
    params_text(&p, id);
    return end_change(s, change_one(&p, id, err), err);
}

int postgres_sessions_expire(struct store *s, int64_t now, struct error *err)
{
    struct postgres_params p;
    int code = postgres_begin(s, err);

    if (code != 0)
        return code;
    params_init(&p, s, SQL_SESSIONS_EXPIRE);
    params_int(&p, now);
    return end_change(s, write_rows(&p, NULL, err), err);
}

int postgres_tokens_see(struct store *s, int64_t n, struct error *err)
{
    struct postgres_params p;
    int code = postgres_begin(s, err);

    if (code != 0)
        return code;
    params_init(&p, s, SQL_TOKENS_SEE);
    params_int(&p, n);
    return end(s, write_rows(&p, NULL, err), err);
}

static int read_secret(struct store *s, struct str name, unsigned char *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_SECRET);
    params_text(&p, name);
    int code = not_found(row_get(&p, &r, err), "secret", err);
    if (code == 0 && PQgetlength(r, 0, 0) != STORE_SECRET_BYTES)
        code = error_set(err, ERR_IO, "the secret \"%.*s\" in %s is damaged: restore a backup",
                         STR_ARG(str_head(name, 40)), postgres_of(s)->name);
    if (code == 0)
        memcpy(ret, PQgetvalue(r, 0, 0), STORE_SECRET_BYTES);
    return code;
}

int postgres_secret(struct store *s,
                    struct str name,
                    struct str fresh,
                    unsigned char ret[STORE_SECRET_BYTES],
                    struct error *err)
{
    struct postgres_params p;

    assert(fresh.n == STORE_SECRET_BYTES);
    int code = postgres_begin(s, err);
    if (code != 0)
        return code;
    params_init(&p, s, SQL_SECRET_INSERT);
    params_text(&p, name);
    params_text(&p, fresh);
    code = write_rows(&p, NULL, err);
    if (code == 0)
        code = read_secret(s, name, ret, err);
    return end(s, code, err);
}

/* --- reading --------------------------------------------------------------------- */

/* In the order of TOKEN_COLUMNS. */
static struct token_row token_of(const PGresult *r, int i)
{
    return (struct token_row){
        .id = cell_text(r, i, 0),
        .parent = cell_text(r, i, 1),
        .hash = cell_text(r, i, 2),
        .name = cell_text(r, i, 3),
        .scopes = cell_text(r, i, 4),
        .owner = cell_text(r, i, 5),
        .jobs = cell_text(r, i, 6),
        .agents = cell_text(r, i, 7),
        .max_jobs = cell_int(r, i, 8),
        .max_queued = cell_int(r, i, 9),
        .max_running = cell_int(r, i, 10),
        .max_streams = cell_int(r, i, 11),
        .max_events = cell_int(r, i, 12),
        .created = cell_int(r, i, 13),
        .expires = cell_int(r, i, 14),
        .revoked = cell_int(r, i, 15),
    };
}

int postgres_tokens(struct store *s, store_token_cb cb, void *arg, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_TOKENS);
    int code = rows_get(&p, &r, err);
    for (int i = 0; i < PQntuples(r); i++) {
        struct token_row row = token_of(r, i);

        if (cb(arg, &row) != 0)
            break;
    }
    PQclear(r);
    return code;
}

int postgres_token_changes(struct store *s, int64_t *ret, struct error *err)
{
    return number_get(s, SQL_TOKEN_CHANGES, ret, err);
}

int postgres_tokens_seen(struct store *s, int64_t *ret, struct error *err)
{
    return number_get(s, SQL_TOKENS_SEEN, ret, err);
}
