/* Runs every case of the contract on every backend.  Adding a backend is a line in `backends`.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "contract.h"

#include "postgres_place.h"
#include "sim/disk.h"

/* --- the memory store of the simulator ------------------------------------------------- */

static void on_committed(void *arg, struct disk_job *dirty)
{
    (void)arg, (void)dirty;
}

static int memory_open(struct fixture *f, struct store **ret, struct error *err)
{
    (void)err;
    if (f->own == NULL) {
        f->own = disk_new(on_committed, NULL);
        disk_set_lenient(f->own);
    }
    *ret = disk_open(f->own, true);
    return 0;
}

static int memory_open_reader(struct fixture *f, struct store **ret, struct error *err)
{
    (void)err;
    *ret = disk_open(f->own, false);
    return 0;
}

static void memory_done(struct fixture *f)
{
    disk_free(f->own);
}

static const struct backend memory_backend = { .name = "memory",
                                               .open = memory_open,
                                               .open_reader = memory_open_reader,
                                               .done = memory_done,
                                               .in_turns = true,
                                               .is_partial = true };

/* --- PostgreSQL, when there is a server: see store/postgres/run ------------------------- */

static int postgres_open(struct fixture *f, struct store **ret, struct error *err)
{
    struct store_options o = options(f);

    if (f->own == NULL && !postgres_make_place(f->path))
        return error_set(err, ERR_IO, "the server cannot be used");
    f->own = f;
    return store_open(&o, ret, err);
}

static int postgres_open_reader(struct fixture *f, struct store **ret, struct error *err)
{
    struct store_options o = options(f);

    return store_open_reader(&o, ret, err);
}

static void postgres_done(struct fixture *f)
{
    (void)f;
    postgres_drop_place();
}

static const struct backend postgres_backend = { .name = "postgres",
                                                 .open = postgres_open,
                                                 .open_reader = postgres_open_reader,
                                                 .done = postgres_done };

static const struct backend *const backends[] = { &sqlite_backend, &memory_backend };

/* --- the tables ------------------------------------------------------------------------ */

/* Names what the backend leaves out; only one that says so may. */
static void its_table_is_complete(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;

#define LOOK(op)                          \
    if (f->w->ops->op == NULL && ++n > 0) \
        print_message("# %s does not offer store_" #op "\n", f->backend->name);
    STORE_OPS(LOOK)
#undef LOOK
    assert_true(n == 0 || f->backend->is_partial);
    assert_true(store_max_seq(f->w) >= 1000000);
}

static void the_maintenance_that_is_not_offered_is_refused(void **state)
{
    struct fixture *f = *state;
    struct store_disk disk;
    struct breadcrumb crumb;
    char identity[STORE_IDENTITY_BYTES];
    struct error why = { 0 };

    if (f->w->admin != NULL) {
        assert_false(f->backend->is_partial);
        return; /* a backend's own tests try what it offers */
    }
    refused(store_vacuum(f->w, err), ERR_REFUSED);
    refused(store_backup(f->w, "/nowhere/x", err), ERR_REFUSED);
    refused(store_disk(f->r, &disk, err), ERR_REFUSED);
    refused(store_identity(f->w, identity, err), ERR_REFUSED);
    refused(store_breadcrumb(f->w, &crumb, err), ERR_REFUSED);
    assert_int_equal(store_check(f->r, NULL, NULL, &why), ERR_REFUSED);
    assert_non_null(strstr(why.text, "does not offer check"));
    assert_false(store_is_lost(f->w));
}

static const struct contract_case contract_tables[] = {
    CASE(its_table_is_complete),
    CASE(the_maintenance_that_is_not_offered_is_refused),
    { .name = NULL },
};

static const struct contract_case *const groups[] = { contract_tables,      contract_jobs,
                                                      contract_questions,   contract_threads,
                                                      contract_checkpoints, contract_items,
                                                      contract_webhooks };

enum { MAX_CASES = 400, N_GROUPS = sizeof(groups) / sizeof(groups[0]) };

/* The table of a backend, from a store that is opened for it. */
static const struct store_ops *ops_of(const struct backend *backend)
{
    void *state = (void *)(uintptr_t)backend;

    if (setup(&state) != 0)
        abort();
    const struct store_ops *ops = ((struct fixture *)state)->w->ops;
    (void)teardown(&state); /* the tables are const, and stay */
    return ops;
}

static bool is_absent(const struct store_ops *ops, const struct contract_case *c)
{
    void (*op)(void) = NULL;

    if (c->need != NULL)
        memcpy(&op, (const char *)ops + c->need_at, sizeof(op));
    return c->need != NULL && op == NULL;
}

/* Says why the case is not run on the backend, if it is not. */
static bool is_skipped(const struct backend *backend,
                       const struct store_ops *ops,
                       const struct contract_case *c)
{
    if (is_absent(ops, c))
        printf("# not run on %s, which has no %s: %s\n", backend->name, c->need, c->name);
    else if (c->beside && backend->in_turns)
        printf("# not run on %s, which has no readers beside a transaction: %s\n",
               backend->name, c->name);
    else
        return false;
    return true;
}

static size_t add(struct CMUnitTest *tests, const struct backend *backend)
{
    const struct store_ops *ops = ops_of(backend);
    size_t n = 0;

    for (size_t g = 0; g < N_GROUPS; g++)
        for (const struct contract_case *c = groups[g]; c->name != NULL; c++) {
            char *name = is_skipped(backend, ops, c) ? NULL : malloc(200);

            if (name == NULL)
                continue;
            (void)snprintf(name, 200, "%s: %s", backend->name, c->name);
            tests[n++] = (struct CMUnitTest){ name, c->run, setup, teardown,
                                              (void *)(uintptr_t)backend };
        }
    return n;
}

int main(void)
{
    static struct CMUnitTest tests[MAX_CASES];
    size_t n = 0;

    if (postgres_database() != NULL)
        n = add(tests, &postgres_backend);
    else
        for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
            n += add(tests + n, backends[i]);
    int failed = _cmocka_run_group_tests("contract", tests, n, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)tests[i].name);
    return failed;
}
