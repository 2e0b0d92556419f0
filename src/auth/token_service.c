#define _GNU_SOURCE /* pthread_setname_np */
#include "auth/token_service.h"

#include "auth/draft.h"
#include "auth/spec.h"
#include "base/clock.h"
#include "jobs/mac.h"

#include <pthread.h>
#include <stdlib.h>

enum { LOOK_EVERY_MS = 100, SWEEP_EVERY_MS = 60000 };

struct token_service {
    struct token_service_options opt;
    struct store *store;     /* owned */
    struct keyring *given;   /* ref; tokens from the configuration */
    struct token *everybody; /* ref */
    unsigned char ticket_key[SECRET_BYTES];
    unsigned char lease_key[SECRET_BYTES];
    unsigned char process_key[SECRET_BYTES]; /* in memory only */
    int64_t ticket_offset; /* add it to the steady clock to get the clock of tickets */
    int64_t changes;       /* the store's change counter when the ring was made; -1: not yet */
    int64_t seen;       /* the change counter that we have confirmed in the store; -1: none */
    int64_t next_sweep; /* next deletion of expired sessions; on the steady clock */
    bool in_trouble;    /* the trouble was reported */
    atomic_bool locked;
    atomic_uint_least64_t generation;

    pthread_mutex_t lock;
    pthread_cond_t news;
    struct keyring *ring; /* ref; under lock; changed by the service's thread only */
    struct token_request *first, **last; /* under lock */
    bool stopping;                       /* under lock */
    pthread_t thread;
    bool started;
};

static int64_t now_ms(const struct token_service *k)
{
    return k->opt.clock(k->opt.arg);
}

static int64_t steady_ms(const struct token_service *k)
{
    return k->opt.steady != NULL ? k->opt.steady(k->opt.arg) : now_ms(k);
}

/* --- making a ring --------------------------------------------------------------- */

struct token_reading {
    struct token_service *tokens;
    struct keyring *ring; /* being built */
    int err;
};

/* Reuses the existing object, so that everything that holds it sees the change. */
static struct token *known(const struct token_service *k, const struct token_row *row)
{
    struct token *t = k->ring != NULL ? keyring_find(k->ring, row->id) : NULL;

    if (t == NULL || t->is_configured)
        return NULL;
    /* Shown only: `ends`, on the steady clock, was computed when the token was first read, and
     * a change of the wall clock does not move it. */
    atomic_store(&t->expires, row->expires);
    if (row->revoked != 0 && atomic_load(&t->revoked) == 0)
        token_revoke(t, row->revoked);
    return token_ref(t);
}

static int on_row(void *arg, const struct token_row *row)
{
    struct token_reading *r = arg;
    struct token *parent = !str_absent(row->parent) ? keyring_find(r->ring, row->parent) : NULL;
    struct token *t = known(r->tokens, row);

    if (keyring_find(r->ring, row->id) != NULL ||
        (parent == NULL && !str_absent(row->parent))) {
        token_unref(t);
        return 0; /* it is also in the configuration, or it is a session whose token is gone */
    }
    if (t == NULL) {
        r->err = token_new(row, &r->tokens->opt.limits, parent, &t, NULL);
        if (r->err == 0 && row->expires != 0)
            token_end_at(t, row->expires + steady_ms(r->tokens) - now_ms(r->tokens));
    }
    if (r->err == ERR_REFUSED) { /* not written by us: ignore it */
        r->err = 0;
        return 0;
    }
    if (r->err == 0)
        r->err = keyring_add(r->ring, t);
    token_unref(t);
    return r->err;
}

static int add_given(struct token_reading *r)
{
    const struct keyring *given = r->tokens->given;

    for (size_t i = 0; i < given->n && r->err == 0; i++)
        r->err = keyring_add(r->ring, given->all[i]);
    return r->err;
}

/* Revokes tokens that are no longer there. */
static void end_missing(const struct keyring *before, const struct keyring *after, int64_t now)
{
    for (size_t i = 0; before != NULL && i < before->n; i++)
        if (keyring_find(after, str_of(before->all[i]->id)) == NULL)
            token_revoke(before->all[i], now);
}

static void update_lock(struct token_service *k, const struct keyring *ring)
{
    if (k->opt.is_off || (!k->opt.is_required && ring->n == 0))
        return;
    atomic_store(&k->locked, true);
    token_revoke(k->everybody, now_ms(k));
}

/* Replaces the current ring by @ring; takes the reference. */
static void publish(struct token_service *k, struct keyring *ring)
{
    struct keyring *before = k->ring;

    ring->generation = atomic_load(&k->generation) + 1;
    memcpy(ring->ticket_key, k->ticket_key, SECRET_BYTES);
    (void)pthread_mutex_lock(&k->lock);
    k->ring = ring;
    (void)pthread_mutex_unlock(&k->lock);
    atomic_store(&k->generation, ring->generation);
    update_lock(k, ring);
    end_missing(before, ring, now_ms(k));
    keyring_unref(before);
    if (k->opt.changed != NULL)
        k->opt.changed(k->opt.arg);
}

static int read_ring(struct token_service *k, struct error *err)
{
    struct token_reading r = { .tokens = k };
    int code = keyring_new(&r.ring);

    if (code == 0)
        code = add_given(&r);
    if (code != 0) {
        keyring_unref(r.ring);
        return error_set(err, code, "out of memory");
    }
    code = store_tokens(k->store, on_row, &r, err);
    if (code == 0 && r.err != 0)
        code = error_set(err, r.err, "out of memory");
    if (code != 0) {
        keyring_unref(r.ring);
        return code;
    }
    publish(k, r.ring);
    return 0;
}

/* Reads the tokens if they have changed. */
static int look(struct token_service *k, struct error *err)
{
    int64_t changes = 0;
    /* First: a change during the read is noticed the next time. */
    int code = store_token_changes(k->store, &changes, err);

    if (code == 0 && changes != k->changes)
        code = read_ring(k, err);
    if (code != 0)
        return code;
    k->changes = changes;
    /* The process that made the change waits for this confirmation.  If it cannot be written
     * now, the next poll writes it. */
    if (k->seen != changes && store_tokens_see(k->store, changes, NULL) == 0)
        k->seen = changes;
    return 0;
}

/* --- life ------------------------------------------------------------------------ */

static int add_spec(struct token_service *k,
                    struct str scopes,
                    struct str text,
                    struct error *err)
{
    struct token_row row;
    struct token *t = NULL;
    struct spec mem;
    int code = spec_read(scopes, text, &mem, &row, err);

    if (code == 0)
        code = token_new(&row, &k->opt.limits, NULL, &t, err);
    if (code != 0)
        return code;
    t->is_configured = true;
    code = keyring_add(k->given, t);
    token_unref(t);
    return code == 0 ? 0 : error_set(err, code, "out of memory");
}

static int read_specs(struct token_service *k,
                      const struct token_service_options *o,
                      struct error *err)
{
    struct error why = { 0 };
    const char *subject = "token_admin";
    int code = keyring_new(&k->given);

    if (code == 0 && o->admin != NULL)
        code = add_spec(k, STR("admin"), str_of(o->admin), &why);
    for (char *const *spec = o->specs; code == 0 && spec != NULL && *spec != NULL; spec++) {
        subject = "auth_tokens";
        code = add_spec(k, STR_NONE, str_of(*spec), &why);
    }
    return code == 0 ? 0
                     : error_set(err, code, "%s: %.200s", subject,
                                 why.text[0] != '\0' ? why.text : error_name(code));
}

/* The key in the store, which is created when it is first needed. */
static int read_key(struct token_service *k,
                    struct str name,
                    unsigned char ret[SECRET_BYTES],
                    struct error *err)
{
    unsigned char fresh[SECRET_BYTES];
    int code = secret_random(fresh, err);

    _Static_assert((int)SECRET_BYTES == (int)STORE_SECRET_BYTES, "one is kept in the other");
    _Static_assert((int)SECRET_BYTES == (int)MAC_KEY, "it signs leases");
    if (code == 0)
        code = store_secret(k->store, name, str_make((const char *)fresh, sizeof(fresh)), ret,
                            err);
    secret_forget(fresh, sizeof(fresh));
    return code;
}

static void init_locks(struct token_service *k)
{
    (void)pthread_mutex_init(&k->lock, NULL); /* cannot fail on Linux */
    clock_cond_init(&k->news);
}

int token_service_new(const struct token_service_options *options,
                      struct token_service **ret,
                      struct error *err)
{
    struct token_service *k = calloc(1, sizeof(*k));

    if (k == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    k->opt = *options;
    k->ticket_offset = now_ms(k) - steady_ms(k);
    k->opt.admin = NULL; /* borrowed for this call only */
    k->opt.specs = NULL;
    k->last = &k->first;
    k->changes = k->seen = -1;
    init_locks(k);
    int code = token_new_everybody(&k->everybody) == 0
                   ? store_open_beside(&options->store, &k->store, err)
                   : error_set(err, ERR_NOMEM, "out of memory");
    if (code == 0)
        code = read_specs(k, options, err);
    if (code == 0)
        code = secret_random(k->process_key, err);
    if (code == 0)
        code = read_key(k, STR("ticket"), k->ticket_key, err);
    if (code == 0)
        code = read_key(k, STR("lease"), k->lease_key, err);
    if (code == 0)
        code = look(k, err);
    if (code != 0) {
        token_service_free(k);
        return code;
    }
    *ret = k;
    return 0;
}

void token_service_free(struct token_service *k)
{
    if (k == NULL)
        return;
    keyring_unref(k->ring);
    keyring_unref(k->given);
    token_unref(k->everybody);
    store_close(k->store);
    secret_forget(k->ticket_key, sizeof(k->ticket_key));
    secret_forget(k->lease_key, sizeof(k->lease_key));
    secret_forget(k->process_key, sizeof(k->process_key));
    (void)pthread_cond_destroy(&k->news);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

bool token_service_is_locked(const struct token_service *k)
{
    return atomic_load(&k->locked);
}

uint64_t token_service_generation(const struct token_service *k)
{
    return atomic_load_explicit(&k->generation, memory_order_acquire);
}

struct keyring *token_service_ring(struct token_service *k)
{
    (void)pthread_mutex_lock(&k->lock);
    struct keyring *ring = keyring_ref(k->ring);
    (void)pthread_mutex_unlock(&k->lock);
    return ring;
}

const unsigned char *token_service_process_key(const struct token_service *k)
{
    return k->process_key;
}

const unsigned char *token_service_lease_key(const struct token_service *k)
{
    return k->lease_key;
}

struct token *token_service_everybody(struct token_service *k)
{
    return k->everybody;
}

int64_t token_service_ticket_life_ms(const struct token_service *k)
{
    return k->opt.ticket_life_ms;
}

int64_t token_service_ticket_offset(const struct token_service *k)
{
    return k->ticket_offset;
}

/* --- the thread ------------------------------------------------------------------ */

static int create_token(struct token_service *k, struct token_request *req)
{
    struct token *parent = keyring_find(k->ring, req->row.parent);
    struct token *t = NULL;

    /* Refuses a row that could not be read back. */
    int code = token_new(&req->row, &k->opt.limits, parent, &t, &req->why);
    token_unref(t);
    return code == 0 ? store_token_insert(k->store, &req->row, &req->why) : code;
}

static int revoke_token(struct token_service *k, struct token_request *req)
{
    const struct token *t = keyring_find(k->ring, req->row.id);

    if (t != NULL && t->is_configured)
        return error_set(&req->why, ERR_REFUSED,
                         "the token is in the server's configuration: remove it there, and "
                         "restart the server");
    return store_token_revoke(k->store, req->row.id, now_ms(k), &req->why);
}

static void serve(struct token_service *k, struct token_request *req)
{
    int code = req->op == TOKEN_CREATE ? create_token(k, req)
               : req->op == TOKEN_REVOKE
                   ? revoke_token(k, req)
                   : store_session_delete(k->store, req->row.id, &req->why);

    if (code == 0)
        code = look(k, &req->why);
    req->code = code;
    loop_call_answer(req->call);
}

static bool has_expired_session(const struct keyring *ring, int64_t now)
{
    for (size_t i = 0; i < ring->n; i++)
        if (ring->all[i]->parent != NULL && ring->all[i]->expires <= now)
            return true;
    return false;
}

static int sweep(struct token_service *k, struct error *err)
{
    int64_t now = now_ms(k), steady = steady_ms(k);

    if (steady < k->next_sweep)
        return 0;
    k->next_sweep = steady + SWEEP_EVERY_MS;
    return has_expired_session(k->ring, now) ? store_sessions_expire(k->store, now, err) : 0;
}

static void look_around(struct token_service *k)
{
    struct error why;
    int code = sweep(k, &why);

    if (code == 0)
        code = look(k, &why);
    if (code != 0 && !k->in_trouble && k->opt.trouble != NULL)
        k->opt.trouble(k->opt.arg, &why);
    k->in_trouble = code != 0;
}

static uint64_t next_look(void)
{
    return clock_monotonic_us() + (uint64_t)LOOK_EVERY_MS * 1000;
}

/* Waits for requests until @at_us, and takes all of them; false when the thread should end. */
static bool wait_for(struct token_service *k, uint64_t at_us, struct token_request **ret)
{
    bool in_time = true;

    (void)pthread_mutex_lock(&k->lock);
    while (k->first == NULL && !k->stopping && in_time)
        in_time = clock_wait(&k->news, &k->lock, at_us);
    *ret = k->first;
    k->first = NULL;
    k->last = &k->first;
    bool going = !k->stopping || *ret != NULL;
    (void)pthread_mutex_unlock(&k->lock);
    return going;
}

static void *run(void *arg)
{
    struct token_service *k = arg;
    uint64_t at_us = next_look();
    struct token_request *list;

    store_take(k->store);
    while (wait_for(k, at_us, &list)) {
        if (clock_monotonic_us() >= at_us) { /* polls even if requests keep arriving */
            look_around(k);
            at_us = next_look();
        }
        while (list != NULL) {
            struct token_request *req = list;

            list = req->next;
            serve(k, req);
        }
    }
    return NULL;
}

int token_service_start(struct token_service *k, struct error *err)
{
    if (pthread_create(&k->thread, NULL, run, k) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the thread that keeps the tokens");
    (void)pthread_setname_np(k->thread, "tokens"); /* shown in ps and debuggers */
    k->started = true;
    return 0;
}

void token_service_stop(struct token_service *k)
{
    if (!k->started)
        return;
    (void)pthread_mutex_lock(&k->lock);
    k->stopping = true;
    (void)pthread_mutex_unlock(&k->lock);
    (void)pthread_cond_signal(&k->news);
    (void)pthread_join(k->thread, NULL);
    k->started = false;
}

void token_service_post(struct token_service *k, struct token_request *req)
{
    req->next = NULL;
    loop_call_start(req->call);
    (void)pthread_mutex_lock(&k->lock);
    *k->last = req;
    k->last = &req->next;
    (void)pthread_mutex_unlock(&k->lock);
    (void)pthread_cond_signal(&k->news);
}
