/* Rows of operations: what other gateways have asked for, and what they were answered. */
#include "store/postgres/postgres.h"

int postgres_operation_put(struct store *s, struct str id, struct str answer, struct error *err)
{
    struct postgres_params p;

    params_init(&p, s, SQL_OPERATION_PUT);
    params_text(&p, id);
    params_text(&p, answer);
    postgres_of(s)->gathering = true; /* the commit tells whether it failed */
    int code = write_rows(&p, NULL, err);
    postgres_of(s)->gathering = false;
    return code;
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
