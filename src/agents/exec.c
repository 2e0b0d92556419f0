/* The manager: leases for every agent, and the works and pools that do the jobs.
 *
 *     queued, a job's end, every 2 s ──▶ wanted ──▶ LEASE, one at a time per agent
 *                                          │           │ a job: begun, and wanted again
 *                                          │           └ none: not wanted
 *                                          └─ a pool without a place: COUNT, and it grows
 *
 * Each agent has its own places and its own lease under way, so none can starve another.
 *
 * Other threads set a flag (an agent's hint, drain, stop) and post the one wake letter,
 * unless it is under way; only a cancel is a letter of its own.  Without memory for that one
 * the worker hears of it with its next heartbeat.
 *
 * Stop: nothing new, every work and pool is stopped; when the last is gone and the last lease
 * answered, the mailbox and the timers are closed, and the loop ends. */
#define _GNU_SOURCE /* environ, pthread_setname_np */
#include "agents/exec.h"

#include "agents/arq.h"
#include "agents/dialer.h"
#include "agents/environment.h"
#include "agents/host.h"
#include "agents/outbox.h"
#include "agents/report.h"
#include "agents/switchboard.h"
#include "agents/team.h"
#include "agents/work.h"
#include "bus/post.h"
#include "bus/redis.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POLL_MS = 2000, DEFAULT_CONCURRENCY = 10, SCRATCH = 64 * 1024 };

/* An agent and who works for it. */
struct crew {
    struct exec *exec;
    const struct exec_agent *agent; /* borrowed */
    struct environment env;
    struct post lease;
    struct team *team;        /* owned; NULL: a process for each job */
    struct switchboard board; /* of the team */
    size_t n_works;
    struct work **slots; /* owned; of a queue of ARQ: who has which of its places, or NULL */
    size_t slot;         /* for which is asked */
    bool is_wanted;      /* a job may be waiting */
    bool owes;           /* a job that was not started is still to be handed back */
    bool ask_first;      /* there may be news for the job under way */
    atomic_bool hint;    /* any thread: exec_queued */
};

struct exec {
    struct host host;
    struct report_reader reader; /* the host's, like the next */
    struct exec_counts counts;
    struct arq_line arq;
    uv_loop_t loop;
    struct mailbox *box; /* owned */
    uv_timer_t poll;
    struct crew *crews; /* owned */
    size_t n_crews;
    size_t first_crew;   /* to lease next time */
    struct work **works; /* owned; room for as many as all crews may have */
    size_t n_works;
    char worker[96]; /* what leases are signed with */
    bool is_draining, is_closed;
    /* Any thread: */
    struct letter wake;
    atomic_bool wake_posted, drain_asked, stop_asked;
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

static bool has_place(const struct crew *crew)
{
    return crew->team != NULL ? team_has_place(crew->team)
                              : crew->n_works < places(crew->agent);
}

/* What goes on without us is asked for by the name of its place, which the next server has
 * too: it gets the same lease again. */
static void name_place(struct crew *crew, struct journal_request *req)
{
    char name[160];

    crew->slot = 0;
    while (crew->slots[crew->slot] != NULL)
        crew->slot++;
    (void)snprintf(name, sizeof(name), "arq:%.*s:%zu",
                   STR_ARG(str_head(crew->agent->name, 100)), crew->slot); /* fits */
    (void)arena_copy(&req->mem, str_of(name), &req->request_id); /* or it has no name */
}

static void ask(struct crew *crew, enum journal_op op)
{
    struct exec *e = crew->exec;
    struct journal_request *req = post_begin(&crew->lease, op);

    if (op == JOURNAL_LEASE && crew->slots != NULL)
        name_place(crew, req);

    crew->is_wanted = crew->ask_first = false;
    req->agents = &crew->agent->name;
    req->n_agents = 1;
    req->worker = str_of(e->worker);
    post_send(&crew->lease, e->host.journal);
}

static void lease(struct crew *crew)
{
    if (crew->team != NULL && !crew->exec->is_draining)
        switchboard_go_on(&crew->board);
    if (crew->exec->is_draining || !crew->is_wanted || crew->owes || crew->lease.is_flying)
        return;
    if (has_place(crew))
        ask(crew, JOURNAL_LEASE);
    else if (crew->team != NULL && team_may_grow(crew->team))
        ask(crew, JOURNAL_COUNT);
}

static void lease_more(struct exec *e)
{
    for (size_t i = 0; i < e->n_crews; i++)
        lease(&e->crews[(e->first_crew + i) % e->n_crews]);
    e->first_crew++;
}

/* The leased job again: its texts are still in the request. */
static void hand_back(struct crew *crew)
{
    struct journal_request *req = &crew->lease.req;

    crew->owes = true;
    req->op = JOURNAL_RETURN;
    req->job = req->row.id;
    req->key = req->row.key;
    req->attempt = req->row.attempt;
    post_send(&crew->lease, crew->exec->host.journal);
}

/* --- the end ----------------------------------------------------------------- */

/* What is here, for exec_running too. */
static size_t count(struct exec *e)
{
    size_t n = e->n_works;

    counter_set(&e->counts.works, e->n_works);
    for (size_t i = 0; i < e->n_crews; i++)
        n += e->crews[i].team != NULL ? team_size(e->crews[i].team) : 0;
    atomic_store(&e->n_running, n);
    return n;
}

static void close_when_idle(struct exec *e)
{
    if (!e->host.is_stopping || count(e) > 0 || e->is_closed)
        return;
    for (size_t i = 0; i < e->n_crews; i++)
        if (e->crews[i].lease.is_flying ||
            (e->crews[i].team != NULL && !switchboard_is_idle(&e->crews[i].board)))
            return;
    e->is_closed = true;
    for (size_t i = 0; i < e->n_crews; i++)
        if (e->crews[i].team != NULL)
            team_close(e->crews[i].team);
    if (e->host.dialer != NULL)
        dialer_close(e->host.dialer);
    if (e->arq.redis != NULL)
        redis_close(e->arq.redis, NULL, NULL);
    uv_close((uv_handle_t *)&e->poll, NULL);
    mailbox_close(e->box);
}

static void drain(struct exec *e)
{
    if (e->is_draining)
        return;
    e->is_draining = true;
    for (size_t i = 0; i < e->n_works; i++)
        work_drain(e->works[i]);
    for (size_t i = 0; i < e->n_crews; i++)
        if (e->crews[i].team != NULL)
            team_drain(e->crews[i].team);
}

static void stop(struct exec *e)
{
    if (e->host.is_stopping)
        return;
    e->host.is_stopping = e->is_draining = true;
    for (size_t i = 0; i < e->n_works; i++) /* none goes away inside of this */
        work_stop(e->works[i]);
    for (size_t i = 0; i < e->n_crews; i++)
        if (e->crews[i].team != NULL)
            team_stop(e->crews[i].team);
}

/* --- jobs -------------------------------------------------------------------- */

static void on_team_changed(void *arg)
{
    struct crew *crew = arg;
    struct exec *e = crew->exec;

    (void)count(e); /* for exec_running */
    crew->is_wanted = true;
    lease_more(e);
    close_when_idle(e);
}

static bool on_call_answered(void *arg, const struct member *m, const struct report *report)
{
    struct crew *crew = arg;

    return switchboard_answer(&crew->board, m, report);
}

static void on_member_gone(void *arg, const struct member *m)
{
    struct crew *crew = arg;

    switchboard_lose(&crew->board, m);
}

static void on_board_idle(void *arg)
{
    struct crew *crew = arg;

    close_when_idle(crew->exec);
}

static void on_work_ended(void *arg, struct work *w)
{
    struct crew *crew = arg;
    struct exec *e = crew->exec;
    size_t at = 0;

    while (e->works[at] != w)
        at++;
    e->works[at] = e->works[--e->n_works];
    crew->n_works--;
    for (size_t i = 0; crew->slots != NULL && i < places(crew->agent); i++)
        if (crew->slots[i] == w)
            crew->slots[i] = NULL;
    on_team_changed(crew);
}

static int give_to_team(struct crew *crew)
{
    const struct journal_request *req = &crew->lease.req;
    int err = team_take(crew->team, req);

    if (err == 0 && crew->ask_first)
        (void)team_ask(crew->team, req->row.key, req->row.attempt); /* it has just come */
    return err;
}

static int give_to_work(struct crew *crew)
{
    struct exec *e = crew->exec;
    struct work_options options = { .host = &e->host,
                                    .agent = crew->agent,
                                    .env = &crew->env,
                                    .ended = on_work_ended,
                                    .arg = crew };
    struct work *w;
    int err = work_new(&options, &crew->lease.req, &w);

    if (err != 0)
        return err;
    e->works[e->n_works++] = w;
    crew->n_works++;
    if (crew->slots != NULL)
        crew->slots[crew->slot] = w;
    counter_add(&e->counts.works_started, 1);
    if (crew->ask_first)
        work_ask(w);
    return 0;
}

static void job_came(struct crew *crew)
{
    int err = ERR_CLOSED;

    crew->is_wanted = true;
    if (!crew->exec->is_draining)
        err = crew->team != NULL ? give_to_team(crew) : give_to_work(crew);
    if (err != 0)
        hand_back(crew);
    (void)count(crew->exec); /* for exec_running */
}

static void on_lease_answered(struct post *p)
{
    struct crew *crew = p->owner;
    struct exec *e = crew->exec;

    if (p->req.op == JOURNAL_RETURN)
        crew->owes = p->req.code == ERR_BUSY; /* the poll tries again */
    else if (p->req.op == JOURNAL_COUNT)
        team_need(crew->team, p->req.code == 0 ? p->req.accepted : 0);
    else if (p->req.code == 0)
        job_came(crew);
    if (!p->is_flying && !crew->owes) {
        arena_done(&p->req.mem); /* the input may have been large */
        lease_more(e);
    }
    close_when_idle(e);
}

/* --- other threads ----------------------------------------------------------- */

static void wake(struct exec *e)
{
    if (!atomic_exchange(&e->wake_posted, true))
        (void)mailbox_post(e->box, &e->wake); /* closed: there is nobody to wake */
}

static void on_wake(struct letter *letter)
{
    struct exec *e = (struct exec *)(void *)((char *)letter - offsetof(struct exec, wake));

    atomic_store(&e->wake_posted, false); /* first: what is set from here on wakes again */
    for (size_t i = 0; i < e->n_crews; i++)
        if (atomic_exchange(&e->crews[i].hint, false))
            e->crews[i].is_wanted = e->crews[i].board.is_wanted = true;
    if (atomic_load(&e->drain_asked))
        drain(e);
    if (atomic_load(&e->stop_asked))
        stop(e);
    lease_more(e);
    close_when_idle(e);
}

void exec_queued(struct exec *e, struct str agent)
{
    for (size_t i = 0; i < e->n_crews; i++)
        if (str_eq(e->crews[i].agent->name, agent)) {
            atomic_store(&e->crews[i].hint, true);
            wake(e);
            return;
        }
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

struct news {
    struct letter letter;
    struct exec *exec;
    bool is_cancel;
    int64_t key, attempt;
};

/* False when nobody here has that job. */
static bool tell(struct exec *e, const struct news *n)
{
    for (size_t i = 0; i < e->n_works; i++)
        if (work_is(e->works[i], n->key, n->attempt)) {
            (n->is_cancel ? work_cancel : work_ask)(e->works[i]);
            return true;
        }
    for (size_t i = 0; i < e->n_crews; i++)
        if (e->crews[i].team != NULL &&
            (n->is_cancel ? team_cancel : team_ask)(e->crews[i].team, n->key, n->attempt))
            return true;
    return false;
}

static void on_news(struct letter *letter)
{
    struct news *n = (struct news *)(void *)((char *)letter - offsetof(struct news, letter));
    struct exec *e = n->exec;

    if (!tell(e, n))
        for (size_t i = 0; i < e->n_crews; i++) /* the news may be ahead of the job itself */
            e->crews[i].ask_first = e->crews[i].lease.is_flying;
    free(n);
}

/* Without memory it comes with the next heartbeat. */
static void post_news(struct exec *e, bool is_cancel, int64_t key, int64_t attempt)
{
    struct news *n = malloc(sizeof(*n));

    if (n == NULL)
        return;
    *n = (struct news){ .exec = e, .is_cancel = is_cancel, .key = key, .attempt = attempt };
    n->letter.deliver = on_news;
    if (mailbox_post(e->box, &n->letter) != 0)
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

    for (size_t i = 0; i < e->n_crews; i++) {
        struct crew *crew = &e->crews[i];

        crew->is_wanted = crew->board.is_wanted = true;
        if (crew->owes && !crew->lease.is_flying)
            hand_back(crew);
    }
    lease_more(e);
}

static void *run(void *arg)
{
    struct exec *e = arg;
    sigset_t pipes;

    /* A worker may be gone when we write to it. */
    (void)sigemptyset(&pipes);
    (void)sigaddset(&pipes, SIGPIPE); /* a valid number */
    (void)pthread_sigmask(SIG_BLOCK, &pipes, NULL);
    (void)uv_run(&e->loop, UV_RUN_DEFAULT); /* until every handle is closed */
    return NULL;
}

int exec_start(struct exec *e, char *const *more, struct error *err)
{
    for (size_t i = 0; i < e->n_crews; i++)
        for (char *const *entry = more; entry != NULL && *entry != NULL; entry++)
            if (environment_add(&e->crews[i].env, *entry) != 0)
                return error_set(err, ERR_NOMEM, "out of memory");
    if (pthread_create(&e->thread, NULL, run, e) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the thread of exec agents");
    (void)pthread_setname_np(e->thread, "exec"); /* only for people */
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

static int add_team(struct crew *crew)
{
    struct team_options options = { .host = &crew->exec->host,
                                    .agent = crew->agent,
                                    .env = &crew->env,
                                    .changed = on_team_changed,
                                    .answered = on_call_answered,
                                    .gone = on_member_gone,
                                    .arg = crew };
    int err = team_new(&options, &crew->team);

    if (err == 0)
        switchboard_init(&crew->board, options.host, crew->exec->box, &crew->agent->name,
                         crew->team, on_board_idle, crew);
    return err;
}

static int add_crews(struct exec *e, const struct exec_options *options, struct error *err)
{
    size_t n_places = 0;

    e->crews = calloc(options->n + 1, sizeof(*e->crews));
    for (size_t i = 0; i < options->n && e->crews != NULL; i++) {
        const struct exec_agent *agent = &options->agents[i];
        struct crew *crew = &e->crews[i];

        bool has_command = agent->argv != NULL && agent->argv[0] != NULL;

        if (!has_command && agent->http.url == NULL && agent->arq.function == NULL)
            return error_set(err, ERR_TYPE, "agent %.*s: no command to run",
                             STR_ARG(str_head(agent->name, 80)));
        if (environment_init(&crew->env, options->mark, environ, agent->env) != 0)
            return error_set(err, ERR_NOMEM, "out of memory");
        crew->exec = e;
        crew->agent = agent;
        crew->is_wanted = true; /* what waited before we came */
        post_init(&crew->lease, e->box, crew, on_lease_answered);
        e->n_crews = i + 1;
        if (agent->arq.function != NULL)
            crew->slots = calloc(places(agent) + 1, sizeof(*crew->slots));
        if (agent->arq.function != NULL && crew->slots == NULL)
            return error_set(err, ERR_NOMEM, "out of memory");
        if (agent->pool.size > 0 && add_team(crew) != 0)
            return error_set(err, ERR_NOMEM, "out of memory");
        n_places += agent->pool.size > 0 ? 0 : places(agent);
    }
    e->works = calloc(n_places + 1, sizeof(*e->works));
    return e->crews != NULL && e->works != NULL ? 0
                                                : error_set(err, ERR_NOMEM, "out of memory");
}

static int add_dialer(struct exec *e, const struct exec_options *options, struct error *err)
{
    bool is_needed = false;

    for (size_t i = 0; i < options->n; i++)
        is_needed |= options->agents[i].http.url != NULL;
    if (is_needed)
        e->host.dialer = dialer_new(&e->loop);
    return !is_needed || e->host.dialer != NULL
               ? 0
               : error_set(err, ERR_NOMEM, "agents with a url need libcurl.so.4");
}

static void on_redis(void *arg, bool connected, struct str why)
{
    const struct exec *e = arg;
    char text[240];

    (void)snprintf(text, sizeof(text), "spoolwire: Redis is %s%.*s",
                   connected ? "there" : "away: ", STR_ARG(str_head(why, 200)));
    host_log(&e->host, STR_NONE, STR("arq"), str_of(text));
}

static int add_arq(struct exec *e, const struct exec_options *options, struct error *err)
{
    struct redis_options redis = {
        .url = options->redis, .name = "spoolwire-arq", .state = on_redis, .arg = e
    };
    bool is_needed = false;

    for (size_t i = 0; i < options->n; i++)
        is_needed |= options->agents[i].arq.function != NULL;
    if (!is_needed)
        return 0;
    e->host.arq = &e->arq;
    return redis_open(&e->loop, &redis, &e->arq.redis) == 0
               ? 0
               : error_set(err, ERR_NOMEM, "out of memory for a connection to Redis");
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
                             .marks = options->marks,
                             .reader = &e->reader };
    report_reader_init(&e->reader, OUTBOX_MAX_LINE);
    e->wake.deliver = on_wake;
    sign(e);
    int code = open_loop(e, options->poll_ms > 0 ? options->poll_ms : POLL_MS, err);
    if (code == 0)
        code = add_crews(e, options, err);
    if (code == 0)
        code = add_dialer(e, options, err);
    if (code == 0)
        code = add_arq(e, options, err);
    if (code != 0) {
        exec_free(e);
        return code;
    }
    e->host.box = e->box;
    wake(e); /* what waited before we came */
    *ret = e;
    return 0;
}

void exec_free(struct exec *e)
{
    if (e == NULL)
        return;
    if (e->box != NULL)
        exec_stop(e);
    for (size_t i = 0; i < e->n_crews; i++) {
        post_done(&e->crews[i].lease);
        environment_done(&e->crews[i].env);
        if (e->crews[i].team != NULL)
            switchboard_done(&e->crews[i].board);
        team_free(e->crews[i].team);
        free(e->crews[i].slots);
    }
    mailbox_free(e->box);
    if (e->has_loop)
        (void)uv_loop_close(&e->loop); /* 0: every handle is closed */
    report_reader_done(&e->reader);
    free(e->crews);
    free(e->works);
    free(e);
}
