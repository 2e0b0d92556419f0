/* Items: values that graphs and their clients keep across threads.
 *
 * An item belongs to its caller's owner; when a worker writes it for a job, to the job's owner:
 * then the worker must hold the lease. */
#include "store/items.h"

#include "journal/active_job.h"

struct str journal_item_owner(const struct active_job *job)
{
    return str_absent(job->row.owner) ? STR("") : job->row.owner;
}

/* @ret is the item of the request; its texts are borrowed until the request is done. */
static bool item_of(struct journal *j, struct journal_request *req, struct item_row *ret)
{
    *ret = req->item.row;
    if (str_absent(req->job))
        return true;
    struct active_job *job = journal_leased_job(j, req);
    if (job == NULL)
        return false;
    journal_renew(job);
    ret->owner = journal_item_owner(job);
    return true;
}

void journal_item_put(struct journal *j, struct journal_request *req)
{
    struct item_row row;

    if (!item_of(j, req, &row))
        return;
    row.created = row.updated = j->now;
    if (row.ttl_ms == 0)
        row.ttl_ms = j->opt.item_ttl_ms;
    row.expires = row.ttl_ms > 0 ? j->now + row.ttl_ms : 0;
    journal_wrote(j, req, gather_item(j, &row));
}

void journal_item_delete(struct journal *j, struct journal_request *req)
{
    struct item_row row;

    if (item_of(j, req, &row))
        journal_wrote(j, req, gather_item_deletion(j, &row));
}

void journal_item_touch(struct journal *j, struct journal_request *req)
{
    struct item_row row, found;

    if (!item_of(j, req, &row))
        return;
    int err = read_item(j, &row, &found);
    req->item.is_found = err == 0;
    if (err == 0) {
        req->item.row.created = found.created;
        req->item.row.updated = found.updated;
        err = arena_copy(&req->mem, found.value, &req->item.row.value)
                  ? store_batch_item_touch(&j->batch, &row, j->now)
                  : ERR_NOMEM;
    }
    journal_wrote(j, req, err == ERR_NOT_FOUND ? 0 : err);
}
