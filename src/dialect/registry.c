/* Finds the dialects of dialect/list.h, and renders with any of them. */
#include "dialect/dialect.h"
#include "dialect/gathered.h"

#define DIALECT_ADDRESS(name, kind) &dialect_##name,
static const struct dialect *const dialects[DIALECT_COUNT] = { DIALECT_LIST(DIALECT_ADDRESS) };

const struct dialect *dialect_at(size_t i)
{
    return i < DIALECT_COUNT ? dialects[i] : NULL;
}

const struct dialect *dialect_published_at(size_t i)
{
    for (size_t at = 0; at < DIALECT_COUNT; at++) {
        if (dialects[at]->names_itself && i-- == 0)
            return dialects[at];
    }
    return NULL;
}

const struct dialect *dialect_find(struct str name)
{
    for (size_t i = 0; i < DIALECT_COUNT; i++) {
        if (str_eq(name, str_of(dialects[i]->name)))
            return dialects[i];
    }
    return NULL;
}

/* Never deliver half a payload. */
static int check(struct frames *out, int err)
{
    if (err == 0)
        err = frames_error(out);
    if (err != 0)
        out->n = 0;
    return err;
}

int dialect_render(const struct dialect *d,
                   const struct record *rec,
                   const struct variant *variant,
                   struct frames *out)
{
    frames_clear(out, variant);
    int err = out->gathered != NULL ? gathered_take(out->gathered, rec) : 0;
    if (err == 0 && (unsigned)rec->kind < REC_KIND_MAX && d->on[rec->kind] != NULL)
        d->on[rec->kind](rec, out);
    return check(out, err);
}

int dialect_render_connection(const struct dialect *d,
                              const struct connection_frame *what,
                              const struct variant *variant,
                              struct frames *out)
{
    frames_clear(out, variant);
    if (d->connection[what->kind] != NULL)
        d->connection[what->kind](what, out);
    return check(out, 0);
}
