#include "journal/request.h"

#include "base/table.h"

#include <assert.h>

void journal_request_init(struct journal_request *req,
                          struct mailbox *home,
                          void *owner,
                          void (*answered)(struct loop_call *call))
{
    *req = (struct journal_request){ .loop_call = {
                                         .home = home, .owner = owner, .answered = answered } };
    arena_init(&req->mem);
}

void journal_request_done(struct journal_request *req)
{
    assert(!req->loop_call.is_pending);
    arena_done(&req->mem);
}

int64_t journal_shard_of_new(struct str text, int64_t n_shards)
{
    return (int64_t)(key_stable(JOURNAL_SPACE_IDS, text).a % (uint64_t)n_shards);
}

bool journal_worker_copy(struct arena *mem,
                         const struct journal_worker *w,
                         struct journal_worker *ret)
{
    struct str *agents = arena_alloc(mem, (w->n_agents + 1) * sizeof(*agents));
    bool ok = agents != NULL && arena_copy(mem, w->worker, &ret->worker) &&
              arena_copy(mem, w->job, &ret->job);

    for (size_t i = 0; ok && i < w->n_agents; i++)
        ok = arena_copy(mem, w->agents[i], &agents[i]);
    ret->agents = agents;
    ret->n_agents = w->n_agents;
    ret->attempt = w->attempt;
    ret->lease_until = w->lease_until;
    ret->seen = w->seen;
    return ok;
}

struct journal_request *journal_request_begin(struct journal_request *req, enum journal_op op)
{
    assert(!req->loop_call.is_pending);
    arena_reset(&req->mem);
    *req = (struct journal_request){ .op = op, .loop_call = req->loop_call, .mem = req->mem };
    if (op == JOURNAL_APPEND)
        req->append.producer_seq = -1;
    return req;
}

void journal_request_answer(struct journal_request *req)
{
    req->next = NULL;
    if (req->router == NULL || !req->router->answered(req->router, req))
        loop_call_answer(&req->loop_call);
}

void journal_request_hand_back(struct journal_request *req)
{
    struct str call = req->work.call.id;
    uint64_t number = req->work.number;

    if (req->op != JOURNAL_LEASE)
        return;
    req->operation = STR_NONE; /* that was the question for work */
    req->is_repeat = false;
    req->op = str_absent(call) ? JOURNAL_RETURN : JOURNAL_ANSWER_CALL;
    if (!str_absent(call)) {
        req->answer = (struct answer_request){ .id = call, .number = number };
        return;
    }
    req->job = req->row->id;
    req->lease = (struct lease_shown){ req->row->key, req->row->attempt, false };
    req->handed_back.number = number;
}
