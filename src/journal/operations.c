/* Operations: requests of other gateways that must not be done twice.
 *
 * When a gateway dies between the commit and its answer, the request is sent again to the next
 * one.  So the turn that does it stores its id and its answer, and a repeat gets the same
 * answer. What is the same done twice needs none of it: a batch with a number, a lease with a
 * request id, a job with an idempotency key, and what only reads or replaces. */
#include "journal/active_job.h"

struct operation {
    struct operation *next;
    struct str id, answer;
};

static bool happens_once(const struct journal_request *req)
{
    switch (req->op) {
    case JOURNAL_SUBMIT:
        return str_absent(req->submit.idempotency_key);
    case JOURNAL_APPEND:
        return req->append.producer_seq < 0;
    case JOURNAL_CANCEL:
    case JOURNAL_DELETE:
    case JOURNAL_RELEASE:
    case JOURNAL_ANSWER_QUESTION:
    case JOURNAL_PAUSE:
    case JOURNAL_RESUME:
    case JOURNAL_EXPIRE:
    case JOURNAL_FEED:
    case JOURNAL_FINISH:
    case JOURNAL_RETURN:
    case JOURNAL_LOSE:
    case JOURNAL_THREAD_CREATE:
    case JOURNAL_THREAD_PATCH:
    case JOURNAL_THREAD_COPY:
    case JOURNAL_THREAD_DELETE:
    case JOURNAL_THREAD_THIN:
    case JOURNAL_ASSISTANT_CREATE:
    case JOURNAL_ASSISTANT_PATCH:
    case JOURNAL_ASSISTANT_CHOOSE:
    case JOURNAL_ASSISTANT_DELETE:
    case JOURNAL_CRON_CREATE:
    case JOURNAL_CRON_PATCH:
    case JOURNAL_CRON_DELETE:
        return true;
    case JOURNAL_WEBHOOK:
        return req->webhook.change == WEBHOOK_RESEND;
    case JOURNAL_RUN_READ:
    case JOURNAL_LEASE:
    case JOURNAL_HEARTBEAT:
    case JOURNAL_COUNT:
    case JOURNAL_WORKERS:
    case JOURNAL_AGENTS:
    case JOURNAL_REPORT:
    case JOURNAL_CALL:
    case JOURNAL_TAKE:
    case JOURNAL_ANSWER_CALL:
    case JOURNAL_CHECKPOINT_PUT:
    case JOURNAL_CHECKPOINT_WRITES:
    case JOURNAL_CHECKPOINT_STATE:
    case JOURNAL_CHECKPOINTS_HOLD:
    case JOURNAL_CHECKPOINTS_DELETE:
    case JOURNAL_ITEM_PUT:
    case JOURNAL_ITEM_DELETE:
    case JOURNAL_ITEM_TOUCH:
    case JOURNAL_CRON_SKIP:
    case JOURNAL_MARK_PUBLISHED:
    case JOURNAL_GATEWAYS:
    case JOURNAL_WAITERS:
    case JOURNAL_SETTINGS:
    case JOURNAL_OP_MAX:
        break;
    }
    return false;
}

static bool is_operation(const struct journal_request *req)
{
    return !str_absent(req->operation) && happens_once(req);
}

static int add(struct journal *j, struct str id, struct str answer, struct operation **list)
{
    struct operation *o = arena_alloc(&j->mem, sizeof(*o));

    if (o == NULL || !arena_copy(&j->mem, answer, &o->answer))
        return ERR_NOMEM;
    o->id = id;
    o->next = *list;
    *list = o;
    return 0;
}

int operations_read(struct journal *j, const struct journal_request *list)
{
    int err = 0;

    j->operations = j->repeated = NULL;
    for (; list != NULL && err == 0; list = list->next) {
        struct str answer;

        if (!list->is_repeat || !is_operation(list))
            continue;
        err = store_operation(j->opt.store, list->operation, &answer, &j->failure);
        if (err == 0)
            err = add(j, list->operation, answer, &j->repeated);
        else if (err == ERR_NOT_FOUND)
            err = 0;
    }
    return err;
}

static const struct operation *find(const struct operation *list, struct str id)
{
    while (list != NULL && !str_eq(list->id, id))
        list = list->next;
    return list;
}

bool operations_repeated(struct journal *j, struct journal_request *req)
{
    if (!req->is_repeat || !is_operation(req))
        return false;
    const struct operation *o = find(j->repeated, req->operation);
    if (o == NULL)
        o = find(j->operations, req->operation); /* both came in this turn */
    if (o == NULL)
        return false;
    int err = j->opt.read_answer(o->answer, req);
    if (err != 0)
        journal_broke(j, req, err);
    return true;
}

void operations_keep(struct journal *j, struct journal_request *req)
{
    if (req->code != 0 || j->opt.put_answer == NULL || !is_operation(req))
        return;
    struct buf answer LOCAL_BUF(SIZE_MAX / 4);
    j->opt.put_answer(&answer, req);
    int err = answer.error != 0 ? answer.error
                                : add(j, req->operation, buf_text(&answer), &j->operations);
    if (err != 0)
        journal_broke(j, req, err);
}

int operations_store(struct journal *j)
{
    int err = 0;

    for (const struct operation *o = j->operations; o != NULL && err == 0; o = o->next)
        err = store_operation_put(j->opt.store, o->id, o->answer, &j->failure);
    return err;
}
