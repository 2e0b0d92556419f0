/* Calls: short questions to workers.
 *
 *     caller ──CALL──▶ waits ──▶ a lease that waits takes it ──▶ worker ──ANSWER──▶ caller
 *
 * Calls are not stored and not part of the turn's transaction: a pending call is lost when the
 * server stops, and its caller's connection ends.  A call that no worker takes in time is
 * unserved; one that is taken and not answered times out.  A call that did not reach its worker
 * waits again: the connection was closed, or the worker asks again with the same request_id.
 *
 * A call with `keeps` set changes nothing, so it can be repeated.  When the worker that took it
 * stays silent, maybe because it died, the next worker gets it too, and the first answer
 * counts.  That answer is cached, and used when nobody answers the next such call.  This is not
 * done for processes of pools: they run or are being started, and return calls when they end,
 * so their answers are always fresh. */
#include "journal/active_job.h"

enum {
    PATIENCE_MS = 2000, /* wait for a worker, when there is a cached answer */
    SILENCE_MS = 3000   /* without an answer, until another worker gets the call too */
};

static struct call_cache_question question_of(const struct journal_request *call)
{
    return (struct call_cache_question){ call->call.agent, call->call.name, call->call.params };
}

static void unlink_call(struct journal *j, struct journal_request *call)
{
    struct journal_request **at = &j->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    j->n_calls--;
}

static void tell(struct journal *j, const struct journal_request *call)
{
    const struct journal_events *events = &j->opt.events;

    if (events->queued != NULL)
        events->queued(events->arg, call->call.agent);
}

/* May the caller see it?  If not, the request is refused. */
static bool is_reached(struct journal *j, struct journal_request *req, struct str id)
{
    req->job = id;
    return journal_find_job(j, req) != NULL || req->code == ERR_CLOSED ||
           req->code == ERR_ELSEWHERE; /* to be seen is enough */
}

static bool is_thread_reached(struct journal *j, struct journal_request *req, struct str id)
{
    struct thread_row row;

    if (is_reached(j, req, id))
        return true;
    return req->code == ERR_NOT_FOUND &&
           (journal_thread_of(j, req, id, &row) || req->code == ERR_ELSEWHERE);
}

static bool may_name_all(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i < req->call.n_named; i++)
        if (!(req->call.named[i].is_thread ? is_thread_reached(j, req, req->call.named[i].id)
                                           : is_reached(j, req, req->call.named[i].id)))
            return false;
    return true;
}

bool journal_call(struct journal *j, struct journal_request *req)
{
    if (!may_name_all(j, req))
        return false;
    if (j->n_calls >= j->opt.max_calls) {
        refuse(req, ERR_BUSY, "too many calls wait for workers (max_calls)");
        return false;
    }
    req->call.deadline = j->now + req->call.wait_ms;
    req->next = NULL;
    struct journal_request **last = &j->calls;
    while (*last != NULL)
        last = &(*last)->next;
    *last = req;
    j->n_calls++;
    tell(j, req);
    return true;
}

/* --- the worker's side ------------------------------------------------------- */

static bool is_takers(const struct journal_request *call, const struct journal_request *req)
{
    return lease_is_callers(&req->caller, call->call.taker, call->call.agent);
}

/* The call @id that the caller of @req has taken. */
static struct journal_request *find(struct journal *j,
                                    struct str id,
                                    const struct journal_request *req)
{
    for (struct journal_request *c = j->calls; c != NULL; c = c->next)
        if (c->call.is_taken && !c->call.is_answered && str_eq(c->call.id, id) &&
            is_takers(c, req))
            return c;
    return NULL;
}

const struct journal_request *journal_taken_call(struct journal *j,
                                                 struct str id,
                                                 const struct journal_request *req)
{
    return find(j, id, req);
}

static void wait_again(struct journal *j, struct journal_request *call)
{
    call->call.is_taken = false;
    tell(j, call);
}

void journal_lost_call(struct journal *j, const struct journal_request *lease)
{
    for (struct journal_request *c = j->calls; c != NULL; c = c->next)
        if (c->call.is_taken && !c->call.is_answered && c->call.request_id.n > 0 &&
            str_eq(c->call.request_id, lease->work.request_id) && is_takers(c, lease))
            wait_again(j, c);
}

void journal_answer(struct journal *j, struct journal_request *req)
{
    struct journal_request *c = find(j, req->answer.id, req);

    if (c == NULL) {
        refuse(req, ERR_NOT_FOUND, "nobody waits for an answer to this call");
        return;
    }
    if (req->answer.output.p == NULL && req->answer.error.p == NULL) {
        if (req->answer.number == c->call.number)
            wait_again(j, c); /* else another worker has taken it meanwhile */
        return;
    }
    if (!arena_copy(&c->mem, req->answer.output, &c->call.output) ||
        !arena_copy(&c->mem, req->answer.error, &c->call.error)) {
        refuse(req, ERR_BUSY, "out of memory");
        return;
    }
    c->call.is_answered = true;
    if (c->call.keeps && c->call.number != 0)
        call_cache_put(&j->kept, question_of(c),
                       str_absent(c->call.error) ? c->call.output : STR_NONE);
}

static bool is_for(const struct journal_request *call, const struct journal_request *lease)
{
    for (size_t i = 0; i < lease->work.n_agents; i++)
        if (str_eq(lease->work.agents[i], call->call.agent))
            return true;
    return false;
}

/* The caller keeps its texts until it is answered; the lease request gets copies. */
static bool give(struct journal *j, struct journal_request *call, struct journal_request *lease)
{
    struct arena *mem = &lease->mem;
    struct taken_call *out = &lease->work.call;

    if (!arena_copy(mem, call->call.id, &out->id) ||
        !arena_copy(mem, call->call.name, &out->name) ||
        !arena_copy(mem, call->call.params, &out->params) ||
        !arena_copy(mem, call->call.agent, &out->agent) ||
        !arena_copy(&call->mem, lease->caller.holder, &call->call.taker) ||
        !arena_copy(&call->mem, lease->work.request_id, &call->call.request_id))
        return false;
    lease->code = 0;
    call->call.number = lease->work.number;
    call->call.is_taken = true;
    call->call.taken = j->now;
    return true;
}

static bool may_be_given(const struct journal *j, const struct journal_request *call)
{
    bool is_silent =
        call->call.keeps && call->call.number != 0 && j->now >= call->call.taken + SILENCE_MS;

    return !call->withdrawn && !call->call.is_answered && (!call->call.is_taken || is_silent);
}

bool journal_has_call_for(const struct journal *j, const struct journal_request *lease)
{
    for (const struct journal_request *c = lease->work.takes_calls ? j->calls : NULL; c != NULL;
         c = c->next)
        if (may_be_given(j, c) && is_for(c, lease))
            return true;
    return false;
}

bool journal_take(struct journal *j, struct journal_request *req)
{
    req->next = j->takers;
    j->takers = req;
    return true;
}

static bool serve(struct journal *j, struct journal_request *lease)
{
    if (!lease->work.takes_calls || lease->withdrawn)
        return false;
    for (struct journal_request *c = j->calls; c != NULL; c = c->next)
        if (may_be_given(j, c) && is_for(c, lease))
            return give(j, c, lease);
    return false;
}

/* --- the end of a turn ------------------------------------------------------- */

static bool answer_again(struct journal *j, struct journal_request *c)
{
    struct str kept = c->call.keeps ? call_cache_get(&j->kept, question_of(c)) : STR_NONE;

    return !str_absent(kept) && arena_copy(&c->mem, kept, &c->call.output);
}

static bool is_due(const struct journal *j, const struct journal_request *c)
{
    bool is_kept = c->call.keeps && !str_absent(call_cache_get(&j->kept, question_of(c)));
    int64_t patience = is_kept && !c->call.is_taken ? PATIENCE_MS : c->call.wait_ms;

    return c->call.is_answered || c->withdrawn || j->now >= c->call.deadline ||
           j->now >= c->call.deadline - c->call.wait_ms + patience;
}

static void end_call(struct journal *j, struct journal_request *c)
{
    if (c->call.is_answered)
        c->code = 0;
    else if (answer_again(j, c))
        c->code = 0;
    else if (c->call.is_taken)
        refuse(c, ERR_BUSY, "the worker did not answer in time");
    else
        refuse(c, ERR_BUSY, "no worker of this agent was idle in time");
}

static void serve_takers(struct journal *j, struct journal_request **answered)
{
    while (j->takers != NULL) {
        struct journal_request *taker = j->takers;

        j->takers = taker->next;
        if (!serve(j, taker))
            refuse(taker, ERR_NOT_FOUND, "no call is waiting");
        taker->next = *answered;
        *answered = taker;
    }
}

static void serve_leases(struct journal *j, struct journal_request **answered)
{
    for (struct journal_request *c = j->calls; c != NULL; c = c->next) {
        struct journal_request *lease =
            may_be_given(j, c) ? waiting_for_call(j, c->call.agent) : NULL;

        if (lease == NULL || !give(j, c, lease))
            continue;
        waiting_remove(j, lease);
        lease->next = *answered;
        *answered = lease;
    }
}

void journal_serve_calls(struct journal *j, struct journal_request **answered)
{
    serve_takers(j, answered);
    serve_leases(j, answered);
    for (struct journal_request *c = j->calls, *next; c != NULL; c = next) {
        next = c->next;
        if (!is_due(j, c))
            continue;
        end_call(j, c);
        unlink_call(j, c);
        c->next = *answered;
        *answered = c;
    }
}
