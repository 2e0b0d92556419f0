#include "api/journal_batch.h"

static void send_all(struct journal_batch *p)
{
    if (p->first == NULL)
        return;
    journal_post(p->journal, p->first);
    p->first = NULL;
    p->last = &p->first;
}

static void on_check(uv_check_t *check)
{
    send_all(check->data);
}

static void on_prepare(uv_prepare_t *prepare)
{
    send_all(prepare->data);
}

void journal_batch_init(struct journal_batch *p, uv_loop_t *loop, struct journal *journal)
{
    *p = (struct journal_batch){ .journal = journal };
    p->last = &p->first;
    p->check.data = p->prepare.data = p;
    (void)uv_check_init(loop, &p->check); /* none of these can fail */
    (void)uv_prepare_init(loop, &p->prepare);
    (void)uv_check_start(&p->check, on_check);
    (void)uv_prepare_start(&p->prepare, on_prepare);
}

void journal_batch_put(struct journal_batch *p, struct journal_request *req)
{
    req->next = NULL;
    *p->last = req;
    p->last = &req->next;
}

void journal_batch_close(struct journal_batch *p)
{
    send_all(p);
    uv_close((uv_handle_t *)&p->check, NULL);
    uv_close((uv_handle_t *)&p->prepare, NULL);
}
