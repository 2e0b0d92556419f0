/* Pull workers, good and bad.
 *
 * A worker leases a job, sends its script in batches with a producer sequence, and says how
 * it ended.  Replies get lost: then the same batch is sent again, with the same number.  It
 * may fall silent until its lease has run out, hand the job back, ignore a cancellation, or
 * go on with a job that is no longer its own. */
#include "model.h"
#include "script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FLIGHT = 4 };

struct worker {
    char name[16];
    struct call *lease;              /* being asked for */
    struct call *late;               /* a lease that the server is going to give back */
    struct call *word;               /* heartbeat, finish or return that is waited for */
    struct call *flight[MAX_FLIGHT]; /* batches that are waited for, oldest first */
    size_t n_flight;
    struct batch *unsure[MAX_FLIGHT]; /* batches to be sent again, oldest first */
    size_t n_unsure;
    bool busy; /* it has a job */
    char job[ID_BYTES];
    int64_t key, attempt, seq;
    char request_id[ID_BYTES]; /* of a lease whose answer was lost; or empty */
    struct script script;
    int64_t sleeps_until;
    bool told;   /* of the cancellation */
    bool zombie; /* it was fenced, and does not care */
    unsigned zombie_steps;
    bool exec;           /* it dies with the server */
    struct server *home; /* which it talks to; NULL: none yet */
    unsigned server;     /* its number */
};

void workers_init(struct sim *s)
{
    s->workers = calloc(MAX_WORKERS, sizeof(*s->workers));
    if (s->workers == NULL)
        abort();
    for (size_t i = 0; i < MAX_WORKERS; i++)
        (void)snprintf(s->workers[i].name, sizeof(s->workers[i].name), "worker-%zu", i);
}

/* --- forgetting ------------------------------------------------------------------- */

static void drop(struct call **c)
{
    if (*c == NULL)
        return;
    if ((*c)->done)
        call_free(*c);
    else
        call_forget(*c);
    *c = NULL;
}

static void drop_job(struct worker *w)
{
    drop(&w->word);
    for (size_t i = 0; i < w->n_flight; i++)
        drop(&w->flight[i]);
    w->n_flight = w->n_unsure = 0;
    w->busy = w->told = w->zombie = false;
}

void workers_done(struct sim *s)
{
    for (size_t i = 0; i < MAX_WORKERS; i++) {
        drop_job(&s->workers[i]);
        drop(&s->workers[i].lease);
        drop(&s->workers[i].late);
    }
    calls_sweep(s);
    free(s->workers);
}

/* Several gateways: it stays with one, while that lives and mostly. */
static struct server *home_of(struct sim *s, struct worker *w)
{
    bool is_there = w->home != NULL && sim_is_same(s, w->home, w->server);

    if (!is_there ||
        (!w->exec && w->n_flight == 0 && s->p.n_gateways > 0 && chance_of(&s->chance, 50))) {
        w->home = sim_some_server(s);
        w->server = w->home->instance;
    }
    return w->home;
}

void workers_lose_server(struct sim *s)
{
    for (size_t i = 0; i < MAX_WORKERS; i++) {
        struct worker *w = &s->workers[i];

        if (s->p.n_gateways > 0 && w->home != s->server)
            continue;
        if (w->exec)
            drop_job(w);
        if (w->lease != NULL && w->lease->done && w->lease->req.row != NULL &&
            sim_is_dead(s, w->lease->req.row->agent))
            w->lease->lost = true;
    }
}

bool workers_idle(const struct sim *s)
{
    for (size_t i = 0; i < MAX_WORKERS; i++)
        if (s->workers[i].busy || s->workers[i].lease != NULL)
            return false;
    return true;
}

/* --- leases ----------------------------------------------------------------------- */

static void choose_agents(struct sim *s, struct call *c)
{
    size_t first = chance_below(&s->chance, s->p.n_agents);
    struct str *agents = arena_alloc(&c->req.mem, MAX_AGENTS * sizeof(*agents));

    if (agents == NULL)
        abort();
    c->req.work.n_agents = (size_t)chance_between(&s->chance, 1, (int64_t)s->p.n_agents);
    for (size_t i = 0; i < c->req.work.n_agents; i++)
        agents[i] = s->agents[(first + i) % s->p.n_agents].name;
    if (chance_of(&s->chance, 5))
        agents[0] = STR("nobody");
    c->req.work.agents = agents;
    if (s->p.n_gateways == 0)
        return;
    /* A gateway's own process asks for one agent, a worker for those of nobody's. */
    if (sim_is_dead(s, agents[0])) {
        c->req.work.n_agents = 1;
        return;
    }
    c->req.caller.holder = STR(LEASE_ANYBODY);
    for (size_t i = 1; i < c->req.work.n_agents; i++)
        if (sim_is_dead(s, agents[i]))
            c->req.work.n_agents = i;
}

/* As agents/exec.c names it. */
static void name_exec(struct sim *s, struct call *c)
{
    char name[ID_BYTES];

    (void)snprintf(name, sizeof(name), "gateway:g%u:exec:%u", c->home->instance,
                   ++s->n_requests);
    c->req.work.request_id = call_text(c, name);
}

/* A process of the server does not outlive it: it never asks twice. */
static bool may_ask_again(const struct sim *s, const struct call *c)
{
    for (size_t i = 0; i < c->req.work.n_agents; i++)
        if (sim_is_dead(s, c->req.work.agents[i]))
            return false;
    return true;
}

/* The server notices that nobody has heard its answer. */
static void give_back(struct sim *s, struct worker *w)
{
    struct call *c = w->late;

    if (c == NULL)
        return;
    w->late = NULL;
    if (c->done || !sim_is_same(s, c->home, c->server)) { /* that server is gone */
        call_free(c);
        return;
    }
    sim_note(s, "the lease of %.*s, attempt %" PRId64 ", is given back", STR_ARG(c->req.job),
             c->req.lease.attempt);
    call_post(c);
    call_forget(c);
}

static void ask(struct sim *s, struct worker *w)
{
    struct call *c = call_new(s, JOURNAL_LEASE, NULL);

    w->exec = false;
    c->home = home_of(s, w);
    choose_agents(s, c);
    if (w->request_id[0] == '\0' && may_ask_again(s, c) && chance_of(&s->chance, 600))
        (void)snprintf(w->request_id, sizeof(w->request_id), "request-%u", ++s->n_requests);
    if (w->request_id[0] != '\0' && may_ask_again(s, c))
        c->req.work.request_id = call_text(c, w->request_id);
    if (s->p.n_gateways > 0 && !may_ask_again(s, c))
        name_exec(s, c);
    c->req.work.worker = call_text(c, w->name);
    c->req.work.wait_ms = chance_of(&s->chance, 600) ? chance_between(&s->chance, 1, 20000) : 0;
    sim_note(s, "%s asks for a job%s%.*s, waits %" PRId64 " ms", w->name,
             c->req.work.request_id.p != NULL ? " as " : "", STR_ARG(c->req.work.request_id),
             c->req.work.wait_ms);
    w->lease = c;
    call_post(c);
    if (chance_of(&s->chance, 700))
        give_back(s, w);
}

static void prepare_return(struct sim *s, struct worker *w)
{
    const struct journal_request *lease = &w->lease->req;
    char job[ID_BYTES];

    (void)snprintf(job, sizeof(job), "%.*s", STR_ARG(lease->row->id));
    w->late = call_new(s, JOURNAL_RETURN, job);
    w->late->home = w->lease->home;
    w->late->server = w->lease->server;
    w->late->req.caller.holder = lease->caller.holder;
    w->late->req.lease.key = lease->row->key;
    w->late->req.lease.attempt = lease->row->attempt;
    w->late->req.handed_back.number = lease->work.number;
}

static void lose_lease(struct sim *s, struct worker *w)
{
    bool same_server = sim_is_same(s, w->lease->home, w->lease->server);

    if (w->lease->req.code == 0 && same_server && w->late == NULL && chance_of(&s->chance, 500))
        prepare_return(s, w);
    if (chance_of(&s->chance, 500))
        give_back(s, w); /* at once, or after it has asked again */
    if (chance_of(&s->chance, 200))
        w->request_id[0] = '\0'; /* it has forgotten that it asked */
}

static void take_lease(struct sim *s, struct worker *w)
{
    const struct journal_request *r = &w->lease->req;

    if (w->lease->lost)
        lose_lease(s, w);
    else if (r->code != ERR_BUSY)
        w->request_id[0] = '\0';
    if (!w->lease->lost && r->code == 0) {
        (void)snprintf(w->job, sizeof(w->job), "%.*s", STR_ARG(r->row->id));
        w->key = r->row->key;
        w->attempt = r->row->attempt;
        w->exec = sim_is_dead(s, r->row->agent);
        w->busy = true;
        w->seq = r->row->producer_seq + 1;
        script_init(&w->script, &s->chance, w->job, w->attempt, s->p.big);
        w->script.curious = s->p.curious;
        sim_note(s, "%s has %s, attempt %" PRId64, w->name, w->job, w->attempt);
    }
    drop(&w->lease);
}

static void wait_for_lease(struct sim *s, struct worker *w)
{
    if (w->lease->done) {
        take_lease(s, w);
    } else if (chance_of(&s->chance, s->draining ? 500 : 30)) {
        sim_note(s, "%s no longer wants a job", w->name);
        journal_withdraw(&w->lease->req);
        if (chance_of(&s->chance, 500))
            drop(&w->lease); /* and does not wait for the answer */
    }
}

/* --- batches ---------------------------------------------------------------------- */

static struct batch *make_batch(struct sim *s, struct worker *w)
{
    struct batch *b = model_batch(s->model);
    int64_t n = chance_between(&s->chance, 0, 8);

    memcpy(b->job, w->job, sizeof(b->job));
    b->key = w->key;
    b->attempt = w->attempt;
    b->seq = w->seq++;
    script_marker(&b->bytes, b->number, false);
    while (n-- > 0 && script_line(&w->script, &b->bytes))
        ;
    script_marker(&b->bytes, b->number, true);
    if (w->script.over && w->script.says_end) {
        b->has_end = true;
        script_end_word(&w->script, &b->bytes);
    }
    return b;
}

static struct call *post_batch(struct sim *s, struct worker *w, struct batch *b)
{
    struct call *c = call_new(s, JOURNAL_APPEND, w->job);

    c->home = home_of(s, w);
    if (s->p.n_gateways > 0 && !w->exec)
        c->req.caller.holder = STR(LEASE_ANYBODY);
    c->req.lease.key = b->key;
    c->req.lease.attempt = b->attempt;
    c->req.append.producer_seq = b->seq;
    c->req.append.bytes = buf_text(&b->bytes);
    c->batch = b;
    sim_note(s, "%s sends batch %" PRIu64 " (seq %" PRId64 "%s) of %s, attempt %" PRId64,
             w->name, b->number, b->seq, b->has_end ? ", ends" : "", w->job, b->attempt);
    call_post(c);
    return c;
}

static void send_batch(struct sim *s, struct worker *w)
{
    struct batch *b = w->n_unsure > 0 ? w->unsure[0] : make_batch(s, w);

    if (w->n_unsure > 0)
        memmove(w->unsure, w->unsure + 1, --w->n_unsure * sizeof(w->unsure[0]));
    w->flight[w->n_flight++] = post_batch(s, w, b);
    if (chance_of(&s->chance, 50))
        call_forget(post_batch(s, w, b)); /* some proxy sends it twice */
}

/* --- words ------------------------------------------------------------------------ */

static void say(struct sim *s, struct worker *w, enum journal_op op)
{
    struct call *c = call_new(s, op, w->job);

    c->home = home_of(s, w);
    if (s->p.n_gateways > 0 && !w->exec)
        c->req.caller.holder = STR(LEASE_ANYBODY);
    c->req.lease.key = w->key;
    c->req.lease.attempt = w->attempt;
    sim_note(s, "%s says %s about %s, attempt %" PRId64, w->name,
             op == JOURNAL_HEARTBEAT ? "heartbeat"
             : op == JOURNAL_FINISH  ? "finish"
             : op == JOURNAL_LOSE    ? "lost"
                                     : "return",
             w->job, w->attempt);
    w->word = c;
    if (op == JOURNAL_FINISH) {
        size_t how = chance_below(&s->chance, 100);

        if (w->script.curious && w->script.asked && how < 75)
            how = 75;
        c->req.finish.end = how < 55   ? JOB_END_SUCCEEDED
                            : how < 75 ? JOB_END_FAILED
                                       : JOB_END_NONE;
        c->req.finish.interrupted = how >= 75 && how < 88;
        c->req.finish.end_of_stream = how >= 88 && how < 96;
        if (how >= 96)
            c->req.finish.end = JOB_END_CANCELLED;
        if (c->req.finish.end == JOB_END_FAILED)
            c->req.finish.error = STR("no luck");
    }
    if (op == JOURNAL_LOSE) {
        c->req.finish.error = STR(WORKER_LOST_TEXT);
        c->req.finish.error_type = STR(WORKER_LOST_TYPE);
    }
    call_post(c);
}

static void fall_silent(struct sim *s, struct worker *w)
{
    const struct truth *t = model_truth(s->model, str_of(w->job));
    int64_t lease_ms = t != NULL ? t->agent->lease_ms : 1000;

    w->sleeps_until = s->now + chance_between(&s->chance, lease_ms / 2, lease_ms * 3);
    sim_note(s, "%s falls silent for %" PRId64 " ms", w->name, w->sleeps_until - s->now);
}

/* --- replies ---------------------------------------------------------------------- */

/* The job is not (or no longer) its own. */
static void fenced(struct sim *s, struct worker *w)
{
    if (w->zombie)
        return;
    if (!s->draining && chance_of(&s->chance, 300)) {
        sim_note(s, "%s is fenced from %s and goes on", w->name, w->job);
        w->zombie = true;
        w->zombie_steps = (unsigned)chance_between(&s->chance, 1, 8);
        return;
    }
    drop_job(w);
}

static void take_batch_reply(struct sim *s, struct worker *w)
{
    struct call *c = w->flight[0];
    struct batch *b = c->batch;
    int code = c->req.code;
    bool lost = c->lost;

    w->told |= !lost && code == 0 && c->req.cancel;
    drop(&w->flight[0]);
    memmove(w->flight, w->flight + 1, --w->n_flight * sizeof(struct call *));
    if (lost || code == ERR_BUSY)
        w->unsure[w->n_unsure++] = b;
    else if (code != 0)
        fenced(s, w);
    else if (b->has_end)
        drop_job(w);
}

/* Everything after a batch that was not taken is sent again too, in its order. */
static void take_batch_replies(struct sim *s, struct worker *w)
{
    size_t n = w->n_flight;

    for (size_t i = 0; i < n; i++)
        if (!w->flight[i]->done)
            return; /* all of them together: replies come in order on one connection */
    bool clean = true;
    while (n-- > 0 && w->n_flight > 0) {
        struct call *c = w->flight[0];

        clean = clean && !c->lost && c->req.code == 0;
        if (!clean && (c->lost || c->req.code == 0))
            c->lost = true;
        take_batch_reply(s, w);
    }
}

static void take_word_reply(struct sim *s, struct worker *w)
{
    enum journal_op op = w->word->req.op;
    int code = w->word->req.code;
    bool lost = w->word->lost;

    w->told |= !lost && code == 0 && w->word->req.cancel;
    drop(&w->word);
    if (lost || code == ERR_BUSY) {
        if (op != JOURNAL_HEARTBEAT)
            say(s, w, op);
    } else if (code != 0) {
        fenced(s, w);
    } else if (op != JOURNAL_HEARTBEAT) {
        drop_job(w);
    }
}

/* --- what it does next ------------------------------------------------------------- */

static void work(struct sim *s, struct worker *w)
{
    size_t what = chance_below(&s->chance, 1000);
    bool may_send = w->n_unsure > 0 || !w->script.over;
    bool waits = w->n_flight > 0;

    if (s->p.pipelining && may_send && w->n_flight + w->n_unsure < MAX_FLIGHT)
        waits = false;
    if (waits || (w->n_flight > 0 && !may_send))
        return;
    if (!s->draining && what < s->p.silent_permille)
        fall_silent(s, w);
    else if (w->told && what < 400)
        say(s, w, JOURNAL_FINISH);
    else if (what < 820 && may_send)
        send_batch(s, w);
    else if (what < 900 || w->n_flight > 0)
        say(s, w, JOURNAL_HEARTBEAT);
    else if (what < 915)
        say(s, w, JOURNAL_RETURN);
    else if (what < 920)
        say(s, w, JOURNAL_LOSE);
    else if (!may_send || what < 930)
        say(s, w, JOURNAL_FINISH);
}

static void work_on(struct sim *s, struct worker *w)
{
    if (w->zombie && w->zombie_steps-- == 0)
        drop_job(w);
    else
        work(s, w);
}

void worker_step(struct sim *s, size_t i)
{
    struct worker *w = &s->workers[i];

    if (s->draining)
        give_back(s, w);
    if (w->lease != NULL)
        wait_for_lease(s, w);
    else if (!w->busy && !s->draining)
        ask(s, w);
    if (!w->busy || s->now < w->sleeps_until)
        return;
    if (w->n_flight > 0)
        take_batch_replies(s, w);
    if (w->busy && w->word != NULL && w->word->done)
        take_word_reply(s, w);
    if (w->busy && w->word == NULL)
        work_on(s, w);
}
