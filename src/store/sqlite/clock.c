/* Moves stored times when the wall clock is set.
 *
 * Stored times are on the wall clock, because people and other programs read them.  When the
 * clock is set, deadlines move with it, so that they are still as far away. */
#include "store/sqlite/sqlite.h"

/* Other processes also create tokens: one that was created since the step is already on the new
 * clock. */
enum { NEW_TOKEN_MS = 5000 };

int sqlite_note_time(struct store *s, int64_t now, struct error *err)
{
    int code = write_ready(s, err);

    if (code != 0)
        return code;
    struct binder b = statement_bind(s, STATEMENT_TIME_NOTE);
    bind_int(&b, now);
    return write_run(s, &b, NULL, err);
}

static int move_tokens(struct store *s, int64_t by, int64_t now, struct error *err)
{
    struct binder b = statement_bind(s, STATEMENT_MOVE_TOKENS);
    size_t n = 0;

    bind_int(&b, by);
    bind_int(&b, now - NEW_TOKEN_MS);
    bind_int(&b, now);
    int code = write_run(s, &b, &n, err);
    return code == 0 && n > 0 ? statement_run(s, STATEMENT_TOKENS_CHANGED, err) : code;
}

int sqlite_move_times(struct store *s, int64_t by, int64_t now, struct error *err)
{
    int code = write_ready(s, err);

    for (int id = STATEMENT_MOVE_OPEN_JOBS; code == 0 && id < STATEMENT_MOVE_TOKENS; id++) {
        struct binder b = statement_bind(s, (enum statement)id);

        bind_int(&b, by);
        code = write_run(s, &b, NULL, err);
    }
    return code == 0 ? move_tokens(s, by, now, err) : code;
}

int sqlite_time_noted(struct store *s, int64_t *ret, struct error *err)
{
    return statement_number(s, STATEMENT_TIME_NOTED, ret, err);
}
