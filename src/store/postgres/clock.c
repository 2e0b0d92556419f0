/* Moves stored times when the wall clock is set: deadlines move with the clock, so that they
 * are still as far away. */
#include "store/postgres/postgres.h"

/* Other processes also create tokens: one that was created since the step is already on the new
 * clock. */
enum { NEW_TOKEN_MS = 5000 };

int postgres_note_time(struct store *s, int64_t now, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_TIME_NOTE);
    params_int(&p, now);
    params_int(&p, postgres_of(s)->shard);
    return write_rows(&p, NULL, err);
}

static int move_tokens(struct store *s, int64_t by, int64_t now, struct error *err)
{
    struct postgres_params p;
    size_t n = 0;

    params_init(&p, s, SQL_MOVE_TOKENS);
    params_int(&p, by);
    params_int(&p, now - NEW_TOKEN_MS);
    params_int(&p, now);
    int code = write_rows(&p, &n, err);
    params_init(&p, s, SQL_TOKENS_CHANGED);
    return code == 0 && n > 0 ? write_rows(&p, NULL, err) : code;
}

int postgres_move_times(struct store *s, int64_t by, int64_t now, struct error *err)
{
    struct postgres_params p;
    int code = 0;

    for (int id = SQL_MOVE_OPEN_JOBS; code == 0 && id < SQL_MOVE_TOKENS; id++) {
        if (statement_is_newer(postgres_of(s), (enum postgres_statement)id))
            continue;
        params_init(&p, s, (enum postgres_statement)id);
        params_int(&p, by);
        params_int(&p, postgres_of(s)->shard);
        code = write_rows(&p, NULL, err);
    }
    return code == 0 && postgres_of(s)->shard == 0 ? move_tokens(s, by, now, err) : code;
}

int postgres_time_noted(struct store *s, int64_t *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_TIME_NOTED);
    params_int(&p, postgres_of(s)->shard);
    int code = not_found(row_get(&p, &r, err), "time", err);
    if (code == 0)
        *ret = cell_int(r, 0, 0);
    return code;
}
