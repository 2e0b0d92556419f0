/* What every backend of the store must do, as cases that know only store.h.
 *
 * A case gets a fixture with a database of its own, open for a writer and a reader.  A case
 * says what it needs that a backend may leave out; where it is left out the case is not run,
 * and the output says so. */
#ifndef STORE_CONTRACT_H
#define STORE_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "store_fixture.h"

#include "store/backend.h"

struct contract_case {
    const char *name; /* NULL: the end of a list */
    void (*run)(void **state);
    const char *need; /* the operation that it needs; NULL: none that may be absent */
    size_t need_at;   /* in struct store_ops */
    bool beside;      /* needs readers beside a transaction */
};

/* clang-format off */
#define CASE(test)           { #test, test, NULL, 0, false }
#define CASE_NEEDS(test, op) { #test, test, "store_" #op, offsetof(struct store_ops, op), false }
#define CASE_BESIDE(test)    { #test, test, NULL, 0, true }
/* clang-format on */

extern const struct contract_case contract_jobs[];
extern const struct contract_case contract_questions[];
extern const struct contract_case contract_threads[];
extern const struct contract_case contract_checkpoints[];
extern const struct contract_case contract_items[];
extern const struct contract_case contract_webhooks[];

/* The one that writes, in a transaction that is never committed. */
static inline struct store *begun(void **state)
{
    struct fixture *f = *state;

    ok(store_begin(f->w, err));
    return f->w;
}

#endif
