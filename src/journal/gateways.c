/* Leases of the gateways' own processes: named "gateway:ID:…", and held by no caller.  When the
 * gateway ID is gone, so are they, as a worker that went down with its server.  The list comes
 * again and again: a gateway may join, lease and die between two looks at who is there. */
#include "journal/active_job.h"

#define PREFIX STR("gateway:")

/* A gateway that has just joined may lease before it is in the list that is on its way here. */
enum { JOINING_MS = 2000 };

bool journal_has_gateway(const struct job_row *row)
{
    return str_absent(row->holder) && str_starts(row->request_id, PREFIX);
}

static bool is_there(const struct gateways_request *g, const struct job_row *row)
{
    struct str id = str_skip(row->request_id, PREFIX.n);

    id = str_head(id, str_find(id, ':'));
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->ids[i], id))
            return true;
    return false;
}

void journal_gateways(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i < j->n_all; i++) {
        struct active_job *l = j->all[i];

        if (l->state != JOB_RUNNING || !journal_has_gateway(&l->row) ||
            is_there(&req->gateways, &l->row) || j->now - l->leased_at < JOINING_MS)
            continue;
        l->lost_attempt = l->row.attempt;
        j->is_late = true; /* the next turn reads what it needs first */
    }
    req->code = 0;
}
