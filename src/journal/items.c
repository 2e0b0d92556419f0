/* Items: what graphs and their clients keep across threads.
 *
 * An item is its caller's, or, when a worker writes it for a job, the job's owner's: then the
 * worker must hold the job. */
#include "store/items.h"

#include "journal/active_job.h"

/* @ret is the item of the request, whose texts are borrowed until the request is done. */
static bool item_of(struct journal *j, struct journal_request *req, struct item_row *ret)
{
    *ret = req->item.row;
    if (str_absent(req->job))
        return true;
    struct active_job *l = journal_leased_job(j, req);
    if (l == NULL)
        return false;
    journal_renew(l);
    ret->owner = str_absent(l->row.owner) ? STR("") : l->row.owner;
    return true;
}

void journal_item_put(struct journal *j, struct journal_request *req)
{
    struct item_row row;

    if (!item_of(j, req, &row))
        return;
    row.created = row.updated = j->now;
    row.expires = row.ttl_ms > 0 ? j->now + row.ttl_ms : 0;
    journal_wrote(j, req, store_batch_item_put(&j->batch, &row));
}

void journal_item_delete(struct journal *j, struct journal_request *req)
{
    struct item_row row;

    if (item_of(j, req, &row))
        journal_wrote(j, req, store_batch_item_delete(&j->batch, &row));
}

struct item_answer {
    struct journal_request *req;
    int err;
};

static int on_item(void *arg, const struct item_row *row)
{
    struct item_answer *a = arg;
    struct item_request *item = &a->req->item;

    item->row.created = row->created;
    item->row.updated = row->updated;
    item->is_found = arena_copy(&a->req->mem, row->value, &item->row.value);
    a->err = item->is_found ? 0 : ERR_NOMEM;
    return 0;
}

void journal_item_touch(struct journal *j, struct journal_request *req)
{
    struct item_answer answer = { req, 0 };
    struct item_row row;

    if (!item_of(j, req, &row))
        return;
    int err = read_in_turn(j);
    if (err == 0)
        err = store_item_touch(j->opt.store, &row, j->now, &req->why);
    if (err == 0)
        err = store_item(j->opt.store, &row, j->now, on_item, &answer, &req->why);
    journal_wrote(j, req, err == 0 ? answer.err : err);
}
