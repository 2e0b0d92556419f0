/* Creates and changes assistants.  Each change makes a version; any version can be chosen as
 * the current one. */
#include "journal/assistants.h"

#include "jobs/job_scope.h"
#include "base/json_merge.h"
#include "journal/active_job.h"
#include "store/rows.h"

/* --- finding an assistant ---------------------------------------------------- */

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

static int not_found(struct error *why, struct str id)
{
    return error_set(why, ERR_NOT_FOUND,
                     "No assistant found for \"%.*s\". Make sure the "
                     "assistant ID is for a valid assistant or a valid graph ID.",
                     STR_ARG(str_head(id, 80)));
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
        return not_found(why, id);
    return code != 0 ? code : f.code;
}

/* The assistant that the request names, with its texts in the request's memory. */
static int take(struct journal_request *req, int err, struct assistant_row *row)
{
    if (err == 0 && !assistant_is_visible(req->job_scope, row))
        err = ERR_NOT_FOUND;
    if (err == 0 && !row_copy(&req->mem, &assistant_texts, row))
        err = ERR_NOMEM;
    return err == ERR_NOT_FOUND ? error_set(&req->why, err, "Assistant not found") : err;
}

static int find(struct journal *j, struct journal_request *req, struct assistant_row *ret)
{
    return take(req, read_assistant(j, req->assistant.row.id, ret), ret);
}

/* --- requests ---------------------------------------------------------------- */

static int create(struct journal *j, struct journal_request *req)
{
    struct assistant_row *row = &req->assistant.row;
    struct assistant_row there;
    int err = read_assistant(j, row->id, &there);

    if (err == 0 && req->assistant.if_absent) {
        err = take(req, 0, &there);
        *row = err == 0 ? there : *row;
        return err;
    }
    if (err == 0)
        return error_set(&req->why, ERR_REFUSED, "Assistant already exists");
    if (err != ERR_NOT_FOUND)
        return err;
    row->version = 1;
    row->created = row->updated = j->now;
    return gather_assistant(j, row);
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
    struct assistant_row row, newest;
    int err = find(j, req, &row);

    if (err == 0)
        err = read_assistant_version(j, over->id, 0, &newest);
    if (err == 0 && !str_absent(over->metadata))
        err = json_merge_copy(&req->mem, row.metadata, over->metadata, &row.metadata);
    if (err != 0)
        return err;
    row.graph = or_else(over->graph, row.graph);
    row.name = or_else(over->name, row.name);
    row.description = or_else(over->description, row.description);
    row.config = or_else(over->config, row.config);
    row.context = or_else(over->context, row.context);
    row.version = newest.version + 1;
    row.updated = j->now;
    req->assistant.row = row;
    return gather_assistant(j, &row);
}

void journal_assistant_patch(struct journal *j, struct journal_request *req)
{
    journal_wrote(j, req, patch(j, req));
}

static int choose(struct journal *j, struct journal_request *req)
{
    int64_t version = req->assistant.row.version;
    struct assistant_row row, chosen;
    int err = find(j, req, &row);

    if (err != 0)
        return err;
    err = read_assistant_version(j, row.id, version, &chosen);
    if (err == ERR_NOT_FOUND)
        return error_set(&req->why, ERR_NOT_FOUND, "the assistant has no version %lld",
                         (long long)version);
    if (err == 0)
        err = take(req, 0, &chosen);
    if (err == 0)
        err = gather_assistant_choice(j, row.id, version);
    if (err == 0)
        req->assistant.row = chosen;
    return err;
}

void journal_assistant_choose(struct journal *j, struct journal_request *req)
{
    journal_wrote(j, req, choose(j, req));
}

void journal_assistant_delete(struct journal *j, struct journal_request *req)
{
    struct assistant_row row;
    int err = find(j, req, &row);

    journal_wrote(j, req, err == 0 ? gather_assistant_deletion(j, row.id) : err);
}
