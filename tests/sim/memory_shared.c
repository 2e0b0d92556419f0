/* What a database has for several gateways: a lock that a session holds, a fence, and the
 * answers of operations.  As with PostgreSQL: a gateway whose session was ended notices when it
 * uses it next; if nobody has taken the jobs over, it goes on with a new one. */
#include "memory_store.h"

#include "base/error.h"

#include <stdlib.h>

/* --- sessions ----------------------------------------------------------------- */

static void take_lock(struct memory_store *m)
{
    m->disk->holder = m;
    m->epoch = ++m->disk->epoch;
    m->is_ended = false;
}

struct store *disk_open_shared(struct disk *d)
{
    struct store *s = disk_open(d, true);
    struct memory_store *m = memory_of(s);

    memory_demand(d->holder == NULL, "the lock is taken");
    s->admin = &memory_shared_admin;
    m->is_shared = true;
    take_lock(m);
    return s;
}

bool disk_is_held(const struct disk *d)
{
    return d->holder != NULL;
}

bool disk_holds(const struct disk *d, const struct store *s)
{
    return d->holder == (const struct memory_store *)s && d->holder->epoch == d->epoch;
}

void disk_end_session(struct disk *d, struct store *s)
{
    if (d->holder != memory_of(s))
        return;
    if (d->transaction != TRANSACTION_NONE)
        disk_crash(d);
    d->holder = NULL;
    memory_of(s)->is_ended = true;
}

void memory_leave(struct store *s)
{
    disk_end_session(disk_of(s), s);
}

int memory_session(struct store *s, struct error *err)
{
    struct memory_store *m = memory_of(s);

    if (!m->is_shared || !m->is_ended)
        return 0;
    m->is_fenced |= m->epoch != m->disk->epoch;
    if (m->is_fenced || m->disk->holder != NULL) {
        m->disk->n_faults++;
        return error_set(err, ERR_IO, "the session has ended");
    }
    take_lock(m);
    return 0;
}

/* The answer of a commit that was lost is looked for: nothing was stored. */
int memory_fence(struct store *s, struct error *err)
{
    struct memory_store *m = memory_of(s);

    if (!m->is_shared || (!m->is_ended && m->epoch == m->disk->epoch))
        return 0;
    m->is_fenced |= m->epoch != m->disk->epoch;
    m->disk->n_faults++;
    return error_set(err, ERR_IO, "the fence: another gateway owns the jobs");
}

static bool is_lost(struct store *s)
{
    return memory_of(s)->is_fenced;
}

void disk_on_moment(struct disk *d, disk_moment_cb cb, void *arg)
{
    d->moment = cb;
    d->moment_arg = arg;
}

void disk_moment(struct store *s, enum disk_moment moment)
{
    struct disk *d = disk_of(s);

    if (memory_of(s)->is_shared && d->moment != NULL)
        d->moment(d->moment_arg, s, moment);
}

/* --- operations --------------------------------------------------------------- */

static bool find(const struct disk *d, struct str id, size_t n, size_t *ret)
{
    for (*ret = 0; *ret < n; ++*ret)
        if (str_eq(d->operations[*ret].id, id))
            return true;
    return false;
}

static int operation_put(struct store *s, struct str id, struct str answer, struct error *err)
{
    struct disk *d = disk_of(s);
    int code = memory_begin_write(s, DISK_UPDATE, err);
    size_t i;

    if (code != 0)
        return code;
    if (find(d, id, d->n_operations, &i)) {
        d->transaction = TRANSACTION_FAILED;
        return error_set(err, ERR_IO, "operation %.*s was stored before", STR_ARG(id));
    }
    if (d->n_operations == d->cap_operations) {
        d->cap_operations = d->cap_operations > 0 ? 2 * d->cap_operations : 64;
        d->operations =
            disk_must(realloc(d->operations, d->cap_operations * sizeof(d->operations[0])));
    }
    d->operations[d->n_operations++] =
        (struct disk_operation){ .id = disk_copy_text(id), .answer = disk_copy_text(answer) };
    return 0;
}

static int operation(struct store *s, struct str id, struct str *ret, struct error *err)
{
    struct disk *d = disk_of(s);
    int code = memory_fault(s, DISK_GET, err);
    size_t i;

    if (code != 0)
        return code;
    if (!find(d, id, d->n_operations, &i))
        return error_set(err, ERR_NOT_FOUND, "there is no such operation");
    struct str copy = disk_copy_text(d->operations[i].answer);
    memory_of(s)->out = (char *)(uintptr_t)copy.p;
    memory_of(s)->n_out = copy.n;
    *ret = copy;
    return 0;
}

bool disk_operation(const struct disk *d, struct str id, struct disk_operation *ret)
{
    size_t i;

    if (!find(d, id, d->n_safe_operations, &i))
        return false;
    *ret = d->operations[i];
    ret->is_new = i >= d->n_old_operations;
    return true;
}

void disk_operations_undo(struct disk *d)
{
    while (d->n_operations > d->n_safe_operations) {
        struct disk_operation *o = &d->operations[--d->n_operations];

        free((char *)(uintptr_t)o->id.p);
        free((char *)(uintptr_t)o->answer.p);
    }
}

void disk_operations_keep(struct disk *d)
{
    d->n_old_operations = d->n_safe_operations;
    d->n_safe_operations = d->n_operations;
}

void disk_operations_free(struct disk *d)
{
    d->n_safe_operations = 0;
    disk_operations_undo(d);
    free(d->operations);
}

const struct store_admin memory_shared_admin = { .is_lost = is_lost,
                                                 .operation_put = operation_put,
                                                 .operation = operation };
