#include "journal/request.h"

void journal_request_init(struct journal_request *req, enum journal_op op)
{
    *req = (struct journal_request){ .op = op, .mem = req->mem };
    if (op == JOURNAL_APPEND)
        req->append.producer_seq = -1;
}

void journal_request_hand_back(struct journal_request *req)
{
    struct str call = req->work.call.id;
    uint64_t number = req->work.number;

    if (req->op != JOURNAL_LEASE)
        return;
    req->op = str_absent(call) ? JOURNAL_RETURN : JOURNAL_ANSWER_CALL;
    if (!str_absent(call)) {
        req->answer = (struct answer_request){ .id = call, .number = number };
        return;
    }
    req->job = req->row->id;
    req->lease = (struct lease_shown){ req->row->key, req->row->attempt, false };
    req->handed_back.number = number;
}
