/* Assistants are made and changed.  Each change is a version; any of them can be made the one
 * that counts. */
#include "journal/assistants.h"

#include "jobs/job_scope.h"
#include "base/json_merge.h"
#include "journal/active_job.h"
#include "store/rows.h"

/* --- to find one ------------------------------------------------------------- */

bool assistant_is_visible(const struct job_scope *scope, const struct assistant_row *row)
{
    return job_scope_includes(scope, row->id, row->owner.n > 0 ? row->owner : STR_NONE);
}

struct assistant_lookup {
    struct arena *mem;
    const struct job_scope *scope;
    struct assistant_row *ret;
    int code;
};

static int on_found(void *arg, const struct assistant_row *row)
{
    struct assistant_lookup *f = arg;

    if (!assistant_is_visible(f->scope, row))
        return 1;
    *f->ret = *row;
    f->code = row_copy(f->mem, &assistant_texts, f->ret) ? 0 : ERR_NOMEM;
    return 1;
}

int assistant_find(struct store *store,
                   struct str id,
                   const struct job_scope *scope,
                   struct arena *mem,
                   struct assistant_row *ret,
                   struct error *why)
{
    struct assistant_lookup f = { mem, scope, ret, ERR_NOT_FOUND };
    int code = store_assistant(store, id, on_found, &f, why);

    if (code == 0 && f.code == ERR_NOT_FOUND)
        return error_set(why, ERR_NOT_FOUND,
                         "No assistant found for \"%.*s\". Make sure the "
                         "assistant ID is for a valid assistant or a valid graph ID.",
                         STR_ARG(str_head(id, 80)));
    return code != 0 ? code : f.code;
}

/* The one that the request names. */
static int find(struct journal *j, struct journal_request *req, struct assistant_row *ret)
{
    int err = read_in_turn(j);

    if (err != 0)
        return err;
    return assistant_find(j->opt.store, req->assistant.row.id, req->job_scope, &req->mem, ret,
                          &req->why);
}

/* --- requests ---------------------------------------------------------------- */

static int create(struct journal *j, struct journal_request *req)
{
    struct assistant_row *row = &req->assistant.row;
    struct assistant_row there;
    int64_t version = 0;
    int err = read_in_turn(j);

    if (err == 0)
        err = store_assistant_versions(j->opt.store, row->id, &version, &req->why);
    if (err == 0 && version > 0 && req->assistant.if_absent) {
        err = find(j, req, &there);
        *row = err == 0 ? there : *row;
        return err;
    }
    if (err == 0 && version > 0)
        return error_set(&req->why, ERR_REFUSED, "Assistant already exists");
    row->version = 1;
    row->created = row->updated = j->now;
    return err == 0 ? store_assistant_insert(j->opt.store, row, &req->why) : err;
}

void journal_assistant_create(struct journal *j, struct journal_request *req)
{
    journal_wrote(j, req, create(j, req));
}

static struct str or_else(struct str text, struct str other)
{
    return str_absent(text) ? other : text;
}

static int patch(struct journal *j, struct journal_request *req)
{
    const struct assistant_row *over = &req->assistant.row;
    struct assistant_row row;
    int64_t version = 0;
    int err = find(j, req, &row);

    if (err == 0)
        err = store_assistant_versions(j->opt.store, over->id, &version, &req->why);
    if (err == 0 && !str_absent(over->metadata))
        err = json_merge_copy(&req->mem, row.metadata, over->metadata, &row.metadata);
    if (err != 0)
        return err;
    row.graph = or_else(over->graph, row.graph);
    row.name = or_else(over->name, row.name);
    row.description = or_else(over->description, row.description);
    row.config = or_else(over->config, row.config);
    row.context = or_else(over->context, row.context);
    row.version = version + 1;
    row.updated = j->now;
    req->assistant.row = row;
    return store_assistant_insert(j->opt.store, &row, &req->why);
}

void journal_assistant_patch(struct journal *j, struct journal_request *req)
{
    journal_wrote(j, req, patch(j, req));
}

void journal_assistant_choose(struct journal *j, struct journal_request *req)
{
    struct assistant_row row;
    int err = find(j, req, &row);

    if (err == 0)
        err =
            store_assistant_choose(j->opt.store, row.id, req->assistant.row.version, &req->why);
    if (err == 0)
        err = find(j, req, &req->assistant.row);
    journal_wrote(j, req, err);
}

void journal_assistant_delete(struct journal *j, struct journal_request *req)
{
    struct assistant_row row;
    int err = find(j, req, &row);

    journal_wrote(j, req,
                  err == 0 ? store_assistant_delete(j->opt.store, row.id, &req->why) : err);
}
