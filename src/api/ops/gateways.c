/* The gateways that share the database: GET /v1/gateways, and the way in for the others. */
#include "api/api.h"

#include "base/json_format.h"
#include "cluster/cluster.h"

enum { MAX_LIST = 256 * 1024 };

void api_gateways(struct http_request *req)
{
    struct cluster *cluster = app_loop_of(req)->app->cluster;
    struct buf b LOCAL_BUF(MAX_LIST);

    if (cluster != NULL)
        cluster_put_gateways(cluster, &b);
    else
        json_format_plain(&b, "{'id':null,'writer':null,'gateways':[]}");
    api_json(req, 200, &b);
}

/* A gateway that does not write sends its requests to the journal here. */
const struct journal_counts *api_counts(const struct app *app, struct journal_counts *sum)
{
    if (app->cluster == NULL)
        return journal_counts(app->journal);
    cluster_counts(app->cluster, sum);
    return sum;
}

void api_cluster_journal(struct http_request *req)
{
    struct app_loop *l = app_loop_of(req);

    if (l->app->cluster == NULL)
        http_respond_error(req, 404, "this gateway shares its database with no other");
    else
        cluster_serve(l->app->cluster, req, l->box);
}
