/* Rows of operations: what other gateways have asked for, and what they were answered.
 *
 * Those of a turn are sent in one statement before its commit, as the chunks of its records are
 * (records.c): a turn has one for each request of another gateway. */
#include "store/postgres/postgres.h"

void operations_init(struct postgres_operations *o)
{
    array_init(&o->id, ARRAY_BYTEA);
    array_init(&o->answer, ARRAY_BYTEA);
}

void operations_done(struct postgres_operations *o)
{
    array_done(&o->id);
    array_done(&o->answer);
}

void operations_clear(struct postgres_operations *o)
{
    array_clear(&o->id);
    array_clear(&o->answer);
}

int operations_send(struct postgres_store *s, struct error *err)
{
    struct postgres_operations *o = &s->operations;
    struct postgres_params p;

    if (o->id.n == 0)
        return 0;
    params_init(&p, &s->base, SQL_OPERATIONS_PUT);
    bool ok = params_array(&p, &o->id) && params_array(&p, &o->answer);
    s->gathering = true; /* the commit tells whether it failed */
    int code =
        ok ? write_rows(&p, NULL, err) : error_set(err, ERR_NOMEM, "no memory for operations");
    s->gathering = false;
    operations_clear(o);
    return code;
}

int postgres_operation_put(struct store *s, struct str id, struct str answer, struct error *err)
{
    struct postgres_operations *o = &postgres_of(s)->operations;

    (void)err; /* operations_send() says it */
    array_text(&o->id, id);
    array_text(&o->answer, answer);
    return 0;
}

int postgres_operation(struct store *s, struct str id, struct str *ret, struct error *err)
{
    struct postgres_params p;
    PGresult *r = NULL;

    params_init(&p, s, SQL_OPERATION);
    params_text(&p, id);
    int code = row_get(&p, &r, err);
    if (code == 0)
        *ret = cell_text(r, 0, 0);
    return code;
}
