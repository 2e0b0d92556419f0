#include "auth/token.h"

#include "auth/access.h"
#include "base/error.h"
#include "jobs/lease.h"
#include "store/store.h"

#include <stdlib.h>

enum { MAX_NAME = 100, MAX_LIST = 4096, SECOND_US = 1000000 };

/* --- construction ---------------------------------------------------------------- */

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return true;
}

static int check(const struct token_row *row, struct error *err)
{
    unsigned access = access_of_scopes(row->scopes);

    if (access == 0)
        return error_set(
            err, ERR_REFUSED,
            "scope: must be read, client, worker, metrics or admin, or several of them with "
            "commas between");
    if (!job_scope_valid_owner(row->owner))
        return error_set(err, ERR_REFUSED,
                         "owner: must be 1 to 64 of letters, digits, '.', '_' and '-'");
    if (row->name.n > MAX_NAME || !is_printable(row->name))
        return error_set(err, ERR_REFUSED, "name: must be at most %d printable characters",
                         MAX_NAME);
    if (row->agents.n > MAX_LIST || row->jobs.n > MAX_LIST || !is_printable(row->agents))
        return error_set(err, ERR_REFUSED, "agents, jobs: at most %d characters", MAX_LIST);
    if (!str_absent(row->jobs) && (access & ACCESS_READ) == 0)
        return error_set(
            err, ERR_REFUSED,
            "jobs: only for read and client; a worker has the jobs that it leases, "
            "which --agents limits");
    if (!str_absent(row->jobs) && (access & ACCESS_ADMIN) != 0)
        return error_set(err, ERR_REFUSED, "jobs: an admin has all of them");
    return 0;
}

/* The jobs that the token may access.  Without a list: a client its own, a reader all. */
static int make_reach(struct token *t, struct error *err)
{
    bool is_client = (t->access & ACCESS_CLIENT) != 0;
    struct job_scope *r = &t->job_scope;
    char list[MAX_LIST + 8];

    if ((t->access & ACCESS_ADMIN) != 0 || (!is_client && str_absent(t->jobs)))
        return job_scope_init(r, STR("all"), t->owner, err);
    if (!is_client)
        return job_scope_init(r, t->jobs, t->owner, err);
    /* A client sees the jobs that it submits. */
    struct str own = STR("own,");
    str_copy(list, own);
    str_copy(list + own.n, t->jobs);
    return job_scope_init(r, str_make(list, own.n + t->jobs.n), t->owner, err);
}

static int copy_texts(struct token *t, const struct token_row *row)
{
    const struct str from[] = { row->name, row->scopes, row->owner, row->jobs, row->agents };
    struct str *const to[] = { &t->name, &t->scopes, &t->owner, &t->jobs, &t->agents };
    size_t n = 1;

    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        n += from[i].n;
    t->texts = malloc(n);
    if (t->texts == NULL)
        return ERR_NOMEM;
    char *at = t->texts;
    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
        str_copy(at, from[i]);
        *to[i] = from[i].p != NULL ? str_make(at, from[i].n) : STR_NONE;
        at += from[i].n;
    }
    return 0;
}

static int64_t limit_of(int64_t own, int64_t servers)
{
    return own >= 0 ? own : servers;
}

static struct token *make(void)
{
    struct token *t = calloc(1, sizeof(*t));

    if (t != NULL) {
        atomic_init(&t->refs, 1);
        atomic_init(&t->ends, INT64_MAX);
    }
    return t;
}

int token_new(const struct token_row *row,
              const struct token_limits *limits,
              struct token *parent,
              struct token **ret,
              struct error *err)
{
    if (row->id.n != SECRET_ID || row->hash.n != SECRET_BYTES)
        return error_set(err, ERR_REFUSED, "not a token");
    int code = check(row, err);
    struct token *t = code == 0 ? make() : NULL;
    if (t == NULL)
        return code != 0 ? code : error_set(err, ERR_NOMEM, "out of memory");
    memcpy(t->id, row->id.p, SECRET_ID);
    memcpy(t->hash, row->hash.p, SECRET_BYTES);
    t->parent = parent != NULL ? token_ref(parent) : NULL;
    t->access = access_of_scopes(row->scopes);
    t->limits = (struct token_limits){ limit_of(row->max_jobs, limits->jobs),
                                       limit_of(row->max_queued, limits->queued),
                                       limit_of(row->max_running, limits->running),
                                       limit_of(row->max_streams, limits->streams),
                                       limit_of(row->max_events, limits->events) };
    t->created = row->created;
    atomic_store(&t->expires, row->expires);
    token_end_at(t, row->expires);
    if (row->revoked != 0)
        token_revoke(t, row->revoked);
    code = copy_texts(t, row);
    code = code == 0 ? make_reach(t, err) : error_set(err, code, "out of memory");
    if (code != 0) {
        token_unref(t);
        return code;
    }
    *ret = t;
    return 0;
}

int token_new_process(struct str agent, int64_t key, struct token **ret)
{
    struct token_row row = { .scopes = STR("worker"), .agents = agent };
    struct token *t = make();

    if (t == NULL || copy_texts(t, &row) != 0) {
        token_unref(t);
        return ERR_NOMEM;
    }
    memset(t->id, '0', SECRET_ID);
    t->access = access_of_scopes(t->scopes);
    t->is_own = true;
    t->only_key = key;
    *ret = t;
    return 0;
}

int token_new_for_owner(struct str owner, const struct token_limits *limits, struct token **ret)
{
    struct token_row row = { .scopes = STR("client"), .owner = owner };
    struct token *t = make();

    if (t != NULL)
        t->access = access_of_scopes(row.scopes);
    if (t == NULL || copy_texts(t, &row) != 0 || make_reach(t, NULL) != 0) {
        token_unref(t);
        return ERR_NOMEM;
    }
    memset(t->id, '0', SECRET_ID);
    t->limits = *limits;
    *ret = t;
    return 0;
}

int token_new_everybody(struct token **ret)
{
    struct token *t = make();

    if (t == NULL)
        return ERR_NOMEM;
    memset(t->id, '0', SECRET_ID);
    t->access = ACCESS_ALL;
    t->job_scope.all = true;
    t->scopes = STR("admin");
    *ret = t;
    return 0;
}

int token_new_guest(struct token **ret)
{
    int code = token_new_everybody(ret);

    if (code == 0) {
        (*ret)->access = ACCESS_READ | ACCESS_CLIENT | ACCESS_ITEMS;
        (*ret)->scopes = STR("client");
    }
    return code;
}

struct token *token_ref(struct token *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void token_unref(struct token *t)
{
    if (t == NULL || atomic_fetch_sub(&t->refs, 1) > 1)
        return;
    token_unref(t->parent);
    job_scope_done(&t->job_scope);
    free(t->texts);
    free(t);
}

/* --- validity -------------------------------------------------------------------- */

bool token_is_good(const struct token *t, int64_t now)
{
    return now < atomic_load_explicit(&t->ends, memory_order_relaxed) &&
           (t->parent == NULL || token_is_good(t->parent, now));
}

void token_end_at(struct token *t, int64_t at)
{
    if (at != 0 && atomic_load(&t->revoked) == 0)
        atomic_store(&t->ends, at);
}

void token_revoke(struct token *t, int64_t at)
{
    atomic_store(&t->revoked, at);
    atomic_store(&t->ends, 0); /* 0, so that it is invalid even if the clock was set back */
}

bool token_has_agent(const struct token *t, struct str agent)
{
    return agents_have(t->agents, agent);
}

/* --- usage ----------------------------------------------------------------------- */

/* The token whose usage counts: a session counts for its parent. */
static struct token *account_of(struct token *t)
{
    return t->parent != NULL ? t->parent : t;
}

bool token_take_stream(struct token *t)
{
    struct token *account = account_of(t);
    unsigned before = atomic_fetch_add(&account->n_streams, 1);

    if (account->limits.streams == 0 || before < (uint64_t)account->limits.streams)
        return true;
    (void)atomic_fetch_sub(&account->n_streams, 1);
    return false;
}

void token_give_stream(struct token *t)
{
    (void)atomic_fetch_sub(&account_of(t)->n_streams, 1);
}

/* Rate limit.  `events_us` is the time at which all accepted events would have arrived at
 * exactly the allowed rate.  For a worker within the rate it is at most now; a burst of one
 * second is allowed. */
int64_t token_events_wait_ms(const struct token *t, int64_t now_us)
{
    const struct token *account = t->parent != NULL ? t->parent : t;
    int64_t ahead = atomic_load(&account->events_us) - now_us - SECOND_US;

    return account->limits.events > 0 && ahead > 0 ? ahead / 1000 + 1 : 0;
}

void token_took_events(struct token *t, uint64_t n, int64_t now_us)
{
    struct token *account = account_of(t);
    int64_t rate = account->limits.events;

    if (rate == 0 || n == 0)
        return;
    int64_t cost = (int64_t)(n < INT32_MAX ? n : INT32_MAX) * SECOND_US / rate;
    int64_t before = atomic_load(&account->events_us);
    int64_t after;
    do {
        after = (before > now_us ? before : now_us) + cost;
    } while (!atomic_compare_exchange_weak(&account->events_us, &before, after));
}
