/* The manager: leases jobs for every agent, and owns the tasks and pools that run them.
 *
 *     queued, a job's end, every 2 s ──▶ wanted ──▶ LEASE, one at a time per agent
 *                                          │           │ a job: started, and wanted again
 *                                          │           └ none: not wanted
 *                                          └─ a pool without a free slot: COUNT, and it grows
 *
 * Each agent has its own slots and its own pending lease request, so none can starve another.
 *
 * Other threads set a flag (an agent's hint, drain, stop) and post the wake message, unless it
 * is posted already.  Only a cancel or an ask is a message of its own; if there is no memory
 * for it, the next heartbeat brings the news.
 *
 * Stop: no new leases, every task and pool is stopped; when the last is gone and the last lease
 * request answered, the mailbox and the timers are closed, and the loop ends. */
#define _GNU_SOURCE /* environ, pthread_setname_np */
#include "agents/exec.h"

#include "agents/bridge.h"
#include "agents/environment.h"
#include "agents/executor.h"
#include "agents/host.h"
#include "agents/outbox.h"
#include "agents/pool/report.h"
#include "agents/pool/call_router.h"
#include "agents/pool/pool.h"
#include "agents/task.h"
#include "base/container_of.h"
#include "journal/journal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POLL_MS = 2000, DEFAULT_CONCURRENCY = 10, SCRATCH = 64 * 1024 };

/* An agent, and the tasks or the pool that run its jobs. */
struct agent_runner {
    struct exec *exec;
    const struct exec_agent *agent; /* borrowed */
    struct environment env;
    struct journal_request lease;
    struct pool *pool;         /* owned; NULL: a process for each job */
    struct call_router router; /* of the pool */
    struct bridge *bridge;     /* owned; NULL: its jobs are leased here */
    size_t n_works;
    struct task **slots; /* owned; the task in each slot, or NULL; only for kinds whose jobs
                            outlive the server */
    size_t slot;         /* of the pending lease request */
    int64_t shard;       /* with slots: leases jobs of this one */
    bool is_wanted;      /* a job may be waiting */
    bool owes;           /* a leased job was not started and is still to be returned */
    bool ask_first;      /* send a heartbeat first: a cancel may have arrived before the job */
    atomic_bool hint;    /* any thread: exec_queued */
};

struct exec {
    struct host host;
    struct report_reader reader; /* of the host, like the next */
    struct exec_counts counts;
    uv_loop_t loop;
    struct mailbox *box; /* owned */
    uv_timer_t poll;
    struct agent_runner *runners; /* owned */
    size_t n_runners;
    size_t first_runner; /* the runner that leases first next time */
    struct task **works; /* owned; room for the tasks of all agents */
    size_t n_works;
    char worker[96];   /* the worker's name in leases */
    char gateway[40];  /* the id of this gateway among several; or "" */
    uint64_t n_leases; /* how many were asked for in the gateway's name */
    bool is_draining, is_closed;
    /* Any thread: */
    struct loop_message wake;
    atomic_bool wake_posted, drain_asked, stop_asked;
    _Atomic uint64_t written; /* shards whose jobs that outlive a server run here, as bits */
    int64_t n_shards;
    atomic_size_t n_running;
    /* The owner's thread: */
    pthread_t thread;
    bool has_loop, is_started, is_stopped;
    char scratch[SCRATCH];
};

/* --- leases ------------------------------------------------------------------ */

static size_t places(const struct exec_agent *agent)
{
    return agent->concurrency > 0 ? agent->concurrency : DEFAULT_CONCURRENCY;
}

static bool has_place(const struct agent_runner *runner)
{
    return runner->pool != NULL ? pool_has_place(runner->pool)
                                : runner->n_works < places(runner->agent);
}

/* Jobs of this kind outlive the server.  The request id of the lease is the name of the slot,
 * which the next server uses too: so it gets the same lease again. */
static void name_place(struct agent_runner *runner, struct journal_request *req)
{
    char name[160];

    runner->slot = 0;
    while (runner->slots[runner->slot] != NULL)
        runner->slot++;
    int n = snprintf(name, sizeof(name), "%s:%.*s:%zu", agent_kinds[runner->agent->kind].name,
                     STR_ARG(str_head(runner->agent->name, 100)), runner->slot); /* fits */
    if (runner->exec->n_shards > 1)
        (void)snprintf(name + n, sizeof(name) - (size_t)n, ":%lld", (long long)runner->shard);
    req->is_pinned = true;
    req->shard = runner->shard;
    (void)arena_copy(&req->mem, str_of(name), &req->work.request_id); /* without memory: no
                                                                         request id */
}

/* Says whose process works on the job: it is lost when that gateway is gone. */
static void name_gateway(struct exec *e, struct journal_request *req)
{
    char name[96];

    (void)snprintf(name, sizeof(name), "gateway:%s:exec:%llu", e->gateway,
                   (unsigned long long)e->n_leases++);                /* fits */
    (void)arena_copy(&req->mem, str_of(name), &req->work.request_id); /* or it has no name */
}

static void ask(struct agent_runner *runner, enum journal_op op)
{
    struct exec *e = runner->exec;
    struct journal_request *req = journal_request_begin(&runner->lease, op);

    runner->is_wanted = runner->ask_first = false;
    if (op == JOURNAL_COUNT) {
        req->count.agents = &runner->agent->name;
        req->count.n_agents = 1;
    } else {
        req->work.agents = &runner->agent->name;
        req->work.n_agents = 1;
        req->work.worker = str_of(e->worker);
        if (runner->slots != NULL)
            name_place(runner, req);
        else if (e->gateway[0] != '\0')
            name_gateway(e, req);
    }
    journal_post(e->host.journal, &runner->lease);
}

static bool is_left_to_writer(const struct agent_runner *runner)
{
    return runner->slots != NULL &&
           (atomic_load(&runner->exec->written) >> runner->shard & 1) == 0;
}

static void lease(struct agent_runner *runner)
{
    if (runner->pool != NULL && !runner->exec->is_draining)
        call_router_go_on(&runner->router);
    if (runner->bridge != NULL)
        return;
    if (runner->exec->is_draining || !runner->is_wanted || runner->owes ||
        runner->lease.loop_call.is_pending || is_left_to_writer(runner))
        return;
    if (has_place(runner))
        ask(runner, JOURNAL_LEASE);
    else if (runner->pool != NULL && pool_may_grow(runner->pool))
        ask(runner, JOURNAL_COUNT);
}

static void lease_more(struct exec *e)
{
    for (size_t i = 0; i < e->n_runners; i++)
        lease(&e->runners[(e->first_runner + i) % e->n_runners]);
    e->first_runner++;
}

/* Returns the leased job; its texts are still in the request. */
static void return_job(struct agent_runner *runner)
{
    struct journal_request *req = &runner->lease;

    runner->owes = true;
    journal_request_hand_back(req);
    journal_post(runner->exec->host.journal, &runner->lease);
}

/* --- the end ----------------------------------------------------------------- */

/* Counts jobs and processes, and publishes the number for exec_running. */
static size_t count(struct exec *e)
{
    size_t n = e->n_works;

    counter_set(&e->counts.works, e->n_works);
    for (size_t i = 0; i < e->n_runners; i++)
        n += e->runners[i].pool != NULL ? pool_size(e->runners[i].pool) : 0;
    for (size_t i = 0; i < e->n_runners && e->is_draining; i++)
        n += e->runners[i].bridge != NULL && !bridge_is_over(e->runners[i].bridge);
    atomic_store(&e->n_running, n);
    return n;
}

static void close_kinds(struct exec *e)
{
    for (enum agent_kind kind = 0; kind < AGENT_KIND_MAX; kind++)
        if (executor_kind(kind) != NULL && executor_kind(kind)->close != NULL)
            executor_kind(kind)->close(&e->host);
}

static void close_when_idle(struct exec *e)
{
    if (!e->host.is_stopping || count(e) > 0 || e->is_closed)
        return;
    for (size_t i = 0; i < e->n_runners; i++)
        if (e->runners[i].lease.loop_call.is_pending ||
            (e->runners[i].pool != NULL && !call_router_is_idle(&e->runners[i].router)))
            return;
    e->is_closed = true;
    for (size_t i = 0; i < e->n_runners; i++)
        if (e->runners[i].pool != NULL)
            pool_close(e->runners[i].pool);
        else if (e->runners[i].bridge != NULL)
            bridge_close(e->runners[i].bridge);
    close_kinds(e);
    uv_close((uv_handle_t *)&e->poll, NULL);
    mailbox_close(e->box);
}

static void drain(struct exec *e)
{
    if (e->is_draining)
        return;
    e->is_draining = true;
    for (size_t i = 0; i < e->n_works; i++)
        task_drain(e->works[i]);
    for (size_t i = 0; i < e->n_runners; i++)
        if (e->runners[i].pool != NULL)
            pool_drain(e->runners[i].pool);
        else if (e->runners[i].bridge != NULL)
            bridge_stop(e->runners[i].bridge);
}

/* Tasks that outlive the server are the next writer's. */
static void leave_to_writer(struct exec *e)
{
    for (size_t i = 0; i < e->n_runners; i++)
        for (size_t slot = 0;
             is_left_to_writer(&e->runners[i]) && slot < places(e->runners[i].agent); slot++)
            if (e->runners[i].slots[slot] != NULL)
                task_drain(e->runners[i].slots[slot]); /* frees nothing at once */
}

static void stop(struct exec *e)
{
    if (e->host.is_stopping)
        return;
    e->host.is_stopping = e->is_draining = true;
    for (size_t i = 0; i < e->n_works; i++) /* no task is freed inside of this loop */
        task_stop(e->works[i]);
    for (size_t i = 0; i < e->n_runners; i++)
        if (e->runners[i].pool != NULL)
            pool_stop(e->runners[i].pool);
        else if (e->runners[i].bridge != NULL)
            bridge_stop(e->runners[i].bridge);
}

/* --- jobs -------------------------------------------------------------------- */

static void on_pool_changed(void *arg)
{
    struct agent_runner *runner = arg;
    struct exec *e = runner->exec;

    (void)count(e); /* updates exec_running */
    runner->is_wanted = true;
    lease_more(e);
    close_when_idle(e);
}

static bool on_call_answered(void *arg,
                             const struct pool_process *m,
                             const struct report *report)
{
    struct agent_runner *runner = arg;

    return call_router_answer(&runner->router, m, report);
}

static void on_member_gone(void *arg, const struct pool_process *m)
{
    struct agent_runner *runner = arg;

    call_router_lose(&runner->router, m);
}

static void on_board_idle(void *arg)
{
    struct agent_runner *runner = arg;

    close_when_idle(runner->exec);
}

static void on_work_ended(void *arg, struct task *w)
{
    struct agent_runner *runner = arg;
    struct exec *e = runner->exec;
    size_t at = 0;

    while (e->works[at] != w)
        at++;
    e->works[at] = e->works[--e->n_works];
    runner->n_works--;
    for (size_t i = 0; runner->slots != NULL && i < places(runner->agent); i++)
        if (runner->slots[i] == w)
            runner->slots[i] = NULL;
    on_pool_changed(runner);
}

static int give_to_pool(struct agent_runner *runner)
{
    const struct journal_request *req = &runner->lease;
    int err = pool_take(runner->pool, req);

    if (err == 0 && runner->ask_first)
        (void)pool_ask(runner->pool, req->row->key, req->row->attempt); /* it was just taken:
                                                                           found */
    return err;
}

static int give_to_work(struct agent_runner *runner)
{
    struct exec *e = runner->exec;
    struct task_options options = { .host = &e->host,
                                    .agent = runner->agent,
                                    .env = &runner->env,
                                    .ended = on_work_ended,
                                    .arg = runner };
    struct task *w;
    int err = task_new(&options, &runner->lease, &w);

    if (err != 0)
        return err;
    e->works[e->n_works++] = w;
    runner->n_works++;
    if (runner->slots != NULL)
        runner->slots[runner->slot] = w;
    counter_add(&e->counts.works_started, 1);
    if (runner->ask_first)
        task_ask(w);
    return 0;
}

static void job_came(struct agent_runner *runner)
{
    int err = ERR_CLOSED;

    runner->is_wanted = true;
    if (is_left_to_writer(runner)) {
        (void)count(runner->exec);
        return; /* the next writer's slot of that name gets it */
    }
    if (!runner->exec->is_draining)
        err = runner->pool != NULL ? give_to_pool(runner) : give_to_work(runner);
    if (err != 0)
        return_job(runner);
    (void)count(runner->exec); /* updates exec_running */
}

static void on_lease_answered(struct loop_call *call)
{
    struct agent_runner *runner = call->owner;
    struct journal_request *req = &runner->lease;
    struct exec *e = runner->exec;

    if (req->op == JOURNAL_RETURN)
        runner->owes = req->code == ERR_BUSY; /* the poll timer tries again */
    else if (req->op == JOURNAL_COUNT)
        pool_need(runner->pool, req->code == 0 ? req->count.n_waiting : 0);
    else if (req->code == 0)
        job_came(runner);
    if (!call->is_pending && !runner->owes) {
        arena_done(&req->mem); /* frees the input, which may be large */
        lease_more(e);
    }
    close_when_idle(e);
}

/* --- other threads ----------------------------------------------------------- */

static void wake(struct exec *e)
{
    if (!atomic_exchange(&e->wake_posted, true))
        (void)mailbox_post(e->box, &e->wake); /* closed: the loop has ended */
}

static void on_wake(struct loop_message *message)
{
    struct exec *e = container_of(message, struct exec, wake);

    atomic_store(&e->wake_posted, false); /* first: flags set from here on post it again */
    for (size_t i = 0; i < e->n_runners; i++)
        if (atomic_exchange(&e->runners[i].hint, false))
            e->runners[i].is_wanted = e->runners[i].router.is_wanted = true;
    leave_to_writer(e);
    if (atomic_load(&e->drain_asked))
        drain(e);
    if (atomic_load(&e->stop_asked))
        stop(e);
    lease_more(e);
    close_when_idle(e);
}

void exec_queued(struct exec *e, struct str agent)
{
    for (size_t i = 0; i < e->n_runners; i++)
        if (str_eq(e->runners[i].agent->name, agent)) {
            atomic_store(&e->runners[i].hint, true);
            wake(e);
        }
}

void exec_set_shards(struct exec *e, uint64_t written)
{
    atomic_store(&e->written, written);
    wake(e);
}

void exec_drain(struct exec *e)
{
    atomic_store(&e->drain_asked, true);
    wake(e);
}

const struct exec_counts *exec_counts(const struct exec *e)
{
    return &e->counts;
}

size_t exec_running(const struct exec *e)
{
    return atomic_load(&e->n_running);
}

struct job_event {
    struct loop_message message;
    struct exec *exec;
    bool is_cancel;
    int64_t key, attempt;
};

/* Passes the event to the task or pool job; false when this server does not run that job. */
static bool tell(struct exec *e, const struct job_event *n)
{
    for (size_t i = 0; i < e->n_works; i++)
        if (task_is(e->works[i], n->key, n->attempt)) {
            (n->is_cancel ? task_cancel : task_ask)(e->works[i]);
            return true;
        }
    for (size_t i = 0; i < e->n_runners; i++)
        if (e->runners[i].pool != NULL &&
            (n->is_cancel ? pool_cancel : pool_ask)(e->runners[i].pool, n->key, n->attempt))
            return true;
    return false;
}

static void on_news(struct loop_message *message)
{
    struct job_event *n = container_of(message, struct job_event, message);
    struct exec *e = n->exec;

    if (!tell(e, n))
        for (size_t i = 0; i < e->n_runners; i++) /* the cancel may arrive before the job itself
                                                   */
            e->runners[i].ask_first = e->runners[i].lease.loop_call.is_pending;
    free(n);
}

/* Without memory the news come with the next heartbeat. */
static void post_news(struct exec *e, bool is_cancel, int64_t key, int64_t attempt)
{
    struct job_event *n = malloc(sizeof(*n));

    if (n == NULL)
        return;
    *n =
        (struct job_event){ .exec = e, .is_cancel = is_cancel, .key = key, .attempt = attempt };
    n->message.deliver = on_news;
    if (mailbox_post(e->box, &n->message) != 0)
        free(n);
}

void exec_cancel(struct exec *e, int64_t key, int64_t attempt)
{
    post_news(e, true, key, attempt);
}

void exec_ask(struct exec *e, int64_t key, int64_t attempt)
{
    post_news(e, false, key, attempt);
}

/* --- the thread -------------------------------------------------------------- */

static void on_poll(uv_timer_t *timer)
{
    struct exec *e = timer->data;

    for (size_t i = 0; i < e->n_runners; i++) {
        struct agent_runner *runner = &e->runners[i];

        runner->is_wanted = runner->router.is_wanted = true;
        if (runner->owes && !runner->lease.loop_call.is_pending)
            return_job(runner);
    }
    lease_more(e);
}

static void *run(void *arg)
{
    struct exec *e = arg;
    sigset_t pipes;

    /* A worker may have exited when we write to it. */
    (void)sigemptyset(&pipes);
    (void)sigaddset(&pipes, SIGPIPE); /* a valid number */
    (void)pthread_sigmask(SIG_BLOCK, &pipes, NULL);
    (void)uv_run(&e->loop, UV_RUN_DEFAULT); /* until every handle is closed */
    return NULL;
}

int exec_start(struct exec *e, char *const *more, struct error *err)
{
    for (size_t i = 0; i < e->n_runners; i++)
        for (char *const *entry = more; entry != NULL && *entry != NULL; entry++)
            if (environment_add(&e->runners[i].env, *entry) != 0)
                return error_set(err, ERR_NOMEM, "out of memory");
    if (pthread_create(&e->thread, NULL, run, e) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the thread of exec agents");
    (void)pthread_setname_np(e->thread, "exec"); /* shown in ps and debuggers */
    e->is_started = true;
    return 0;
}

void exec_stop(struct exec *e)
{
    if (e->is_stopped)
        return;
    e->is_stopped = true;
    atomic_store(&e->stop_asked, true);
    wake(e);
    if (e->is_started)
        (void)pthread_join(e->thread, NULL);
    else
        (void)uv_run(&e->loop, UV_RUN_DEFAULT); /* only closes what is open */
}

/* --- making and freeing ------------------------------------------------------ */

static int add_pool(struct agent_runner *runner)
{
    struct pool_options options = { .host = &runner->exec->host,
                                    .agent = runner->agent,
                                    .env = &runner->env,
                                    .changed = on_pool_changed,
                                    .answered = on_call_answered,
                                    .gone = on_member_gone,
                                    .arg = runner };
    int err = pool_new(&options, &runner->pool);

    if (err == 0)
        call_router_init(&runner->router, options.host, runner->exec->box, &runner->agent->name,
                         runner->pool, on_board_idle, runner);
    return err;
}

static void on_bridge_over(void *arg)
{
    struct agent_runner *runner = arg;

    (void)count(runner->exec); /* updates exec_running */
    close_when_idle(runner->exec);
}

static int add_bridge(struct agent_runner *runner)
{
    struct bridge_options options = { .host = &runner->exec->host,
                                      .agent = runner->agent,
                                      .env = &runner->env,
                                      .over = on_bridge_over,
                                      .arg = runner };

    return bridge_new(&options, &runner->bridge);
}

static int add_runner(struct exec *e,
                      const struct exec_options *options,
                      const struct exec_agent *agent,
                      int64_t shard,
                      struct error *err)
{
    const struct agent_kind_traits *kind = &agent_kinds[agent->kind];
    bool has_command = agent->argv != NULL && agent->argv[0] != NULL;
    struct agent_runner *runner = &e->runners[e->n_runners];

    if (kind->has_processes && !has_command)
        return error_set(err, ERR_TYPE, "agent %.*s: no command to run",
                         STR_ARG(str_head(agent->name, 80)));
    if (environment_init(&runner->env, options->mark, environ, agent->env) != 0)
        return error_set(err, ERR_NOMEM, "out of memory");
    runner->exec = e;
    runner->agent = agent;
    runner->shard = shard;
    runner->is_wanted = true; /* jobs may wait already */
    journal_request_init(&runner->lease, e->box, runner, on_lease_answered);
    e->n_runners++;
    if (kind->outlives_server)
        runner->slots = calloc(places(agent) + 1, sizeof(*runner->slots));
    if (kind->outlives_server && runner->slots == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    if (agent->kind == AGENT_POOL && add_pool(runner) != 0)
        return error_set(err, ERR_NOMEM, "out of memory");
    if (kind->has_bridge && add_bridge(runner) != 0)
        return error_set(err, ERR_NOMEM, "out of memory");
    return 0;
}

/* Jobs that outlive a server have a runner for each shard: its writer runs them. */
static int64_t runners_of(const struct exec *e, const struct exec_agent *agent)
{
    return agent_kinds[agent->kind].outlives_server ? e->n_shards : 1;
}

static int add_runners(struct exec *e, const struct exec_options *options, struct error *err)
{
    size_t n_places = 0, n_runners = 0;
    int code = 0;

    for (size_t i = 0; i < options->n; i++) {
        size_t n = (size_t)runners_of(e, &options->agents[i]);

        n_runners += n;
        n_places += options->agents[i].kind == AGENT_POOL ? 0 : n * places(&options->agents[i]);
    }
    e->runners = calloc(n_runners + 1, sizeof(*e->runners));
    e->works = calloc(n_places + 1, sizeof(*e->works));
    if (e->runners == NULL || e->works == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < options->n; i++)
        for (int64_t k = 0; code == 0 && k < runners_of(e, &options->agents[i]); k++)
            code = add_runner(e, options, &options->agents[i], k, err);
    return code;
}

/* Opens what the agents of each kind share. */
static int open_kinds(struct exec *e, const struct exec_options *options, struct error *err)
{
    bool is_open[AGENT_KIND_MAX] = { false };
    int code = 0;

    for (size_t i = 0; i < options->n && code == 0; i++) {
        enum agent_kind kind = options->agents[i].kind;

        if (executor_kind(kind) != NULL && executor_kind(kind)->open != NULL && !is_open[kind])
            code = executor_kind(kind)->open(&e->host, options, err);
        is_open[kind] = true;
    }
    return code;
}

static int open_loop(struct exec *e, uint64_t poll_ms, struct error *err)
{
    int code = uv_loop_init(&e->loop);

    if (code == 0) {
        e->has_loop = true;
        code = mailbox_new(&e->loop, &e->box);
    }
    if (code != 0)
        return error_set(err, ERR_NOMEM, "cannot make a loop: %s", uv_strerror(code));
    (void)uv_timer_init(&e->loop, &e->poll); /* neither can fail */
    (void)uv_timer_start(&e->poll, on_poll, poll_ms, poll_ms);
    e->poll.data = e;
    return 0;
}

static void sign(struct exec *e)
{
    char host[64];
    size_t n = sizeof(host);

    if (uv_os_gethostname(host, &n) != 0)
        host[0] = '\0';
    (void)snprintf(e->worker, sizeof(e->worker), "exec:%s:%ld", host, (long)getpid());
}

int exec_new(const struct exec_options *options, struct exec **ret, struct error *err)
{
    struct exec *e = calloc(1, sizeof(*e));

    if (e == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    e->host = (struct host){ .loop = &e->loop,
                             .journal = options->journal,
                             .lease_key = options->lease_key,
                             .process_key = options->process_key,
                             .log = options->log,
                             .arg = options->arg,
                             .heartbeat_ms = options->heartbeat_ms,
                             .scratch = uv_buf_init(e->scratch, SCRATCH),
                             .counts = &e->counts,
                             .barriers = options->barriers,
                             .reader = &e->reader };
    report_reader_init(&e->reader, OUTBOX_MAX_LINE);
    e->wake.deliver = on_wake;
    e->n_shards = options->n_shards > 0 ? options->n_shards : 1;
    atomic_store(&e->written, UINT64_MAX);
    if (options->gateway != NULL)
        (void)snprintf(e->gateway, sizeof(e->gateway), "%s", options->gateway);
    sign(e);
    int code = open_loop(e, options->poll_ms > 0 ? options->poll_ms : POLL_MS, err);
    if (code == 0)
        code = add_runners(e, options, err);
    if (code == 0)
        code = open_kinds(e, options, err);
    if (code != 0) {
        exec_free(e);
        return code;
    }
    e->host.box = e->box;
    wake(e); /* jobs may wait already */
    *ret = e;
    return 0;
}

void exec_free(struct exec *e)
{
    if (e == NULL)
        return;
    if (e->box != NULL)
        exec_stop(e);
    for (size_t i = 0; i < e->n_runners; i++) {
        journal_request_done(&e->runners[i].lease);
        environment_done(&e->runners[i].env);
        if (e->runners[i].pool != NULL)
            call_router_done(&e->runners[i].router);
        pool_free(e->runners[i].pool);
        bridge_free(e->runners[i].bridge);
        free(e->runners[i].slots);
    }
    mailbox_free(e->box);
    if (e->has_loop)
        (void)uv_loop_close(&e->loop); /* 0: every handle is closed */
    report_reader_done(&e->reader);
    free(e->runners);
    free(e->works);
    free(e);
}
