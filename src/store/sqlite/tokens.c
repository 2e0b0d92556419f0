/* Rows of tokens, and of their sessions.
 *
 * There are few, and people change them rarely, so every call is a transaction of its own.  It
 * also increments a counter of changes, which tells a server when to read the tokens again. */
#include "store/sqlite/sqlite.h"

#include <assert.h>

/* --- writing --------------------------------------------------------------------- */

/* Ends the transaction: commit with the change counted, or rollback after an error. */
static int finish(struct store *s, int code, struct error *err)
{
    if (code == 0) {
        struct binder b = statement_bind(s, STATEMENT_TOKENS_CHANGED);

        code = write_run(s, &b, NULL, err);
    }
    if (code == 0)
        return sqlite_commit(s, err);
    sqlite_rollback(s);
    return code;
}

int sqlite_token_insert(struct store *s, const struct token_row *row, struct error *err)
{
    assert(row->hash.n == STORE_SECRET_BYTES);
    int code = sqlite_begin(s, err);
    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_TOKEN_INSERT);
    bind_text(&b, row->id);
    bind_text(&b, row->parent);
    bind_blob(&b, row->hash);
    bind_text(&b, row->name);
    bind_text(&b, row->scopes);
    bind_text(&b, row->owner);
    bind_text(&b, row->jobs);
    bind_text(&b, row->agents);
    bind_int(&b, row->max_jobs);
    bind_int(&b, row->max_queued);
    bind_int(&b, row->max_running);
    bind_int(&b, row->max_streams);
    bind_int(&b, row->max_events);
    bind_int(&b, row->created);
    bind_int(&b, row->expires);
    bind_int(&b, row->revoked);
    return finish(s, write_run(s, &b, NULL, err), err);
}

/* Runs a bound statement; ERR_NOT_FOUND when no row was changed. */
static int change_one(struct store *s, struct binder *b, struct str id, struct error *err)
{
    size_t n = 0;
    int code = write_run(s, b, &n, err);

    if (code == 0 && n == 0)
        return error_set(err, ERR_NOT_FOUND, "there is no token \"%.*s\"",
                         STR_ARG(str_head(id, 40)));
    return code;
}

int sqlite_token_revoke(struct store *s, struct str id, int64_t now, struct error *err)
{
    int code = sqlite_begin(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_TOKEN_REVOKE);
    bind_int(&b, now);
    bind_text(&b, id);
    code = change_one(s, &b, id, err);
    if (code == 0) {
        b = statement_bind(s, STATEMENT_SESSIONS_OF);
        bind_text(&b, id);
        code = write_run(s, &b, NULL, err);
    }
    return finish(s, code, err);
}

int sqlite_session_delete(struct store *s, struct str id, struct error *err)
{
    int code = sqlite_begin(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_SESSION_DELETE);
    bind_text(&b, id);
    return finish(s, change_one(s, &b, id, err), err);
}

int sqlite_sessions_expire(struct store *s, int64_t now, struct error *err)
{
    int code = sqlite_begin(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_SESSIONS_EXPIRE);
    bind_int(&b, now);
    return finish(s, write_run(s, &b, NULL, err), err);
}

int sqlite_tokens_see(struct store *s, int64_t n, struct error *err)
{
    int code = sqlite_begin(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_TOKENS_SEE);
    bind_int(&b, n);
    code = write_run(s, &b, NULL, err);
    if (code == 0)
        return sqlite_commit(s, err);
    sqlite_rollback(s);
    return code;
}

static int read_secret(struct store *s, struct str name, unsigned char *ret, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_SECRET);

    bind_text(&b, name);
    int rc = b.rc == SQLITE_OK ? sqlite3_step(b.stmt) : b.rc;
    struct str value = rc == SQLITE_ROW ? column_blob(b.stmt, 0) : STR_NONE;
    int code = rc != SQLITE_ROW                ? fault(s, rc, err)
               : value.n != STORE_SECRET_BYTES ? fault(s, SQLITE_CORRUPT, err)
                                               : 0;
    if (code == 0)
        memcpy(ret, value.p, STORE_SECRET_BYTES);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

int sqlite_secret(struct store *s,
                  struct str name,
                  struct str fresh,
                  unsigned char ret[STORE_SECRET_BYTES],
                  struct error *err)
{
    assert(fresh.n == STORE_SECRET_BYTES);
    int code = sqlite_begin(s, err);
    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_SECRET_INSERT);
    bind_text(&b, name);
    bind_blob(&b, fresh);
    code = write_run(s, &b, NULL, err);
    if (code == 0)
        code = read_secret(s, name, ret, err);
    if (code == 0)
        return sqlite_commit(s, err);
    sqlite_rollback(s);
    return code;
}

/* --- reading --------------------------------------------------------------------- */

/* In the order of TOKEN_COLUMNS. */
static struct token_row token_of(sqlite3_stmt *stmt)
{
    return (struct token_row){
        .id = column_text(stmt, 0),
        .parent = column_text(stmt, 1),
        .hash = column_blob(stmt, 2),
        .name = column_text(stmt, 3),
        .scopes = column_text(stmt, 4),
        .owner = column_text(stmt, 5),
        .jobs = column_text(stmt, 6),
        .agents = column_text(stmt, 7),
        .max_jobs = sqlite3_column_int64(stmt, 8),
        .max_queued = sqlite3_column_int64(stmt, 9),
        .max_running = sqlite3_column_int64(stmt, 10),
        .max_streams = sqlite3_column_int64(stmt, 11),
        .max_events = sqlite3_column_int64(stmt, 12),
        .created = sqlite3_column_int64(stmt, 13),
        .expires = sqlite3_column_int64(stmt, 14),
        .revoked = sqlite3_column_int64(stmt, 15),
    };
}

int sqlite_tokens(struct store *s, store_token_cb cb, void *arg, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_TOKENS);
    int rc;

    while ((rc = sqlite3_step(b.stmt)) == SQLITE_ROW) {
        struct token_row row = token_of(b.stmt);

        if (cb(arg, &row) != 0) {
            rc = SQLITE_DONE;
            break;
        }
    }
    int code = rc == SQLITE_DONE ? 0 : fault(s, rc, err);
    (void)sqlite3_reset(b.stmt); /* repeats the error */
    return code;
}

int sqlite_token_changes(struct store *s, int64_t *ret, struct error *err)
{
    return statement_number(s, STATEMENT_TOKEN_CHANGES, ret, err);
}

int sqlite_tokens_seen(struct store *s, int64_t *ret, struct error *err)
{
    return statement_number(s, STATEMENT_TOKENS_SEEN, ret, err);
}
