/* A journal over SQLite, with a table of operations that counts the calls of a turn (begin,
 * read, flush, commit) and has no others; and requests for it. */
#ifndef TURN_SCENE_H
#define TURN_SCENE_H

#include "ingest/agent.h"
#include "journal/counts.h"
#include "journal/journal.h"
#include "store/backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define QUESTION "{\"type\":\"graph.interrupt\",\"id\":\"q\",\"value\":{\"ask\":\"?\"}}\n"
#define PROGRESS "{\"type\":\"job.update\",\"message\":\"m\"}\n"

struct calls {
    unsigned begins, reads, flushes, commits, keys;
};

struct scene {
    struct store *store;
    const struct store_ops *real;
    struct store_ops counted;
    struct calls calls;
    bool is_over; /* the turn has committed: what comes is not the requests' */
    struct journal *journal;
    struct agent *settings;
    struct journal_agent agents[2]; /* the second is fed from a channel */
};

static struct scene scene;

/* --- the store that counts ------------------------------------------------------------ */

/* While a call is under way, the backend may use what it likes. */
#define COUNTED(member, call)                 \
    do {                                      \
        scene.calls.member += !scene.is_over; \
        s->ops = scene.real;                  \
        int code = call;                      \
        s->ops = &scene.counted;              \
        return code;                          \
    } while (0)

static inline int count_begin(struct store *s, struct error *err)
{
    COUNTED(begins, store_begin(s, err));
}

static inline int count_commit(struct store *s, struct error *err)
{
    COUNTED(commits, store_commit(s, err));
}

static inline int count_flush(struct store *s, struct store_batch *b, struct error *err)
{
    COUNTED(flushes, store_flush(s, b, err));
}

static inline int count_read(struct store *s,
                             const struct store_want *wants,
                             size_t n,
                             store_found_cb cb,
                             void *arg,
                             struct error *err)
{
    COUNTED(reads, store_read(s, wants, n, cb, arg, err));
}

static inline int count_keys(struct store *s,
                             enum store_keys kind,
                             size_t n,
                             int64_t *ret,
                             struct error *err)
{
    COUNTED(keys, store_take_keys(s, kind, n, ret, err));
}

/* From here on, any other call of the store ends the test. */
static inline void begin_counting(void)
{
    scene.calls = (struct calls){ 0 };
    scene.is_over = false;
    scene.counted = (struct store_ops){ .begin = count_begin,
                                        .read = count_read,
                                        .flush = count_flush,
                                        .commit = count_commit,
                                        .take_keys = count_keys };
    scene.store->ops = &scene.counted;
}

/* The turn's requests are answered after its commit and before retention. */
static inline void end_counting(void)
{
    scene.is_over = true;
    scene.store->ops = scene.real;
}

/* --- the journal ---------------------------------------------------------------------- */

static inline int64_t clock_of(void *arg)
{
    (void)arg;
    return 1700000000000;
}

static inline void on_queued(void *arg, struct str agent)
{
    (void)arg;
    (void)agent;
}

static inline void start_journal(void)
{
    struct journal_options options = { .store = scene.store,
                                       .clock = clock_of,
                                       .agents = scene.agents,
                                       .n_agents = 2,
                                       .max_calls = 1000,
                                       .default_expiry_seconds = 1000,
                                       .events = { .queued = on_queued } };
    struct error why;

    assert_int_equal(journal_new(&options, &scene.journal, &why), 0);
    assert_int_equal(journal_recover(scene.journal, NULL, 0, &why), 0);
}

static inline int set_up(void **state)
{
    struct store_options files = { .url = ":memory:" };
    struct error why;

    assert_int_equal(store_open(&files, &scene.store, &why), 0);
    scene.real = scene.store->ops;
    assert_int_equal(agent_new(STR("a"), &scene.settings), 0);
    scene.agents[0] = scene.agents[1] = (struct journal_agent){
        .name = STR("a"), .settings = scene.settings, .lease_ms = 60000, .attempts = 3
    };
    scene.agents[1].name = STR("fed");
    scene.agents[1].fed = FED_ALONE;
    start_journal();
    *state = &scene;
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    journal_free(scene.journal);
    store_close(scene.store);
    agent_free(scene.settings);
    return 0;
}

static inline void on_done(struct loop_call *call)
{
    (void)call;
    end_counting();
}

static inline bool is_answered(const struct journal_request *req)
{
    return !req->loop_call.is_pending;
}

static const struct str only_agent = STR("a");

static inline void init(struct journal_request *req, enum journal_op op)
{
    journal_request_init(req, NULL, NULL, on_done);
    (void)journal_request_begin(req, op);
}

/* "name7", in the request's memory. */
static inline struct str name(struct journal_request *req, const char *word, size_t i)
{
    char text[32];
    struct str copy = STR_NONE;
    int n = snprintf(text, sizeof(text), "%s%zu", word, i);

    assert_true(arena_copy(&req->mem, str_make(text, (size_t)n), &copy));
    return copy;
}

static inline void run_turn(struct journal_request *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        journal_post(scene.journal, &all[i]);
    assert_true(journal_turn(scene.journal));
    end_counting();
}

static inline void done_all(struct journal_request *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        arena_done(&all[i].mem);
}

static inline void do_one(struct journal_request *req)
{
    run_turn(req, 1);
    assert_int_equal(req->code, 0);
}

/* --- requests ------------------------------------------------------------------------- */

static inline void submit(struct journal_request *req, const char *word, size_t i)
{
    init(req, JOURNAL_SUBMIT);
    req->submit = (struct submit_request){ .id = name(req, word, i),
                                           .agent = only_agent,
                                           .input = STR("{}"),
                                           .idempotency_key = name(req, word, i + 1000),
                                           .request_hash = STR("h") };
}

static inline void submit_run(struct journal_request *req, const char *word, size_t i)
{
    submit(req, word, i);
    req->submit.idempotency_key = STR_NONE;
    req->thread = name(req, "thread-", i);
    req->submit.makes_thread = true;
    req->submit.run = (struct run_row){ .assistant = STR("a"),
                                        .metadata = STR("{}"),
                                        .kwargs = STR("{}"),
                                        .strategy = STR("enqueue") };
}

static inline void lease(struct journal_request *req)
{
    init(req, JOURNAL_LEASE);
    req->work.agents = &only_agent;
    req->work.n_agents = 1;
}

/* Of a job that is held: its id is @word and a number, its key @key. */
static inline void of_worker(struct journal_request *req,
                             enum journal_op op,
                             const char *word,
                             size_t i,
                             int64_t key)
{
    init(req, op);
    req->job = name(req, word, i);
    req->lease = (struct lease_shown){ .key = key, .attempt = 1 };
}

static inline void of_job(struct journal_request *req,
                          enum journal_op op,
                          const char *word,
                          size_t i)
{
    init(req, op);
    req->job = name(req, word, i);
}

/* A job that a worker has; gives its key. */
static inline int64_t make_running(const char *word, size_t i, bool is_run)
{
    struct journal_request made, leased;

    if (is_run)
        submit_run(&made, word, i);
    else
        submit(&made, word, i);
    do_one(&made);
    lease(&leased);
    do_one(&leased);
    assert_true(str_eq(leased.row->id, made.row->id));
    int64_t key = leased.row->key;
    done_all(&made, 1);
    done_all(&leased, 1);
    return key;
}

static inline void make_waiting(size_t i)
{
    int64_t key = make_running("waiting-", i, false);
    struct journal_request req;

    of_worker(&req, JOURNAL_APPEND, "waiting-", i, key);
    req.append = (struct append_request){ .bytes = STR(QUESTION), .producer_seq = -1 };
    do_one(&req);
    assert_int_equal(req.append.taken.accepted, 1);
    done_all(&req, 1);
    of_worker(&req, JOURNAL_FINISH, "waiting-", i, key);
    req.finish.interrupted = true;
    do_one(&req);
    assert_true(str_is(req.row->state, "waiting"));
    done_all(&req, 1);
}

static inline void make_ended(size_t i)
{
    struct journal_request req;

    of_worker(&req, JOURNAL_FINISH, "ended-", i, make_running("ended-", i, false));
    do_one(&req);
    done_all(&req, 1);
}

static inline void make_queued(size_t i)
{
    struct journal_request req;

    submit(&req, "queued-", i);
    do_one(&req);
    done_all(&req, 1);
}

#endif
