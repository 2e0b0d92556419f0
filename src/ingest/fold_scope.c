/* Scopes: namespaces of a run in which something has happened.
 *
 * A subgraph has a namespace below the one of its graph, `researcher:1`, and LangGraph.js
 * counts what a node's model says to a namespace of the node.  Readers of the thread-scoped
 * protocol are told when a namespace begins and ends.  It begins with the first task, tool or
 * message in it (`opens`: with how many namespaces around it), and ends with the result of the
 * task of its name in the graph around (`closes`).  What is still open then ends with the job
 * (`open`).
 *
 * A named agent that a tool call has started says which call that was (`cause`): the task that
 * runs the tool has the call as its input, and its id is in the namespace. */
#include "ingest/fold_state.h"

#include "base/error.h"

/* --- what is open ------------------------------------------------------------------------- */

static struct scope *find(const struct fold *f, struct str ns)
{
    return table_get(&f->seen, fold_key(f, SEEN_SCOPE, ns));
}

static bool is_open(const struct fold *f, struct str ns)
{
    const struct scope *scope = find(f, ns);

    return scope != NULL && scope->is_open;
}

int64_t fold_scopes_to_open(const struct fold *f, struct str ns)
{
    int64_t n = 0;

    while (ns.n > 0 && !is_open(f, ns)) {
        ns = record_outer_ns(ns);
        n++;
    }
    return n > 0 ? n : RECORD_NO_NUMBER;
}

struct str fold_scope_of_task(struct fold *f, struct str ns, const yyjson_val *task, int *err)
{
    struct str id = json_text(json_at(task, "id")), name = json_text(json_at(task, "name"));

    if (str_empty(id) || str_empty(name) || *err != 0)
        return STR_NONE;
    buf_clear(&f->tmp);
    buf_str(&f->tmp, ns);
    if (ns.n > 0)
        buf_char(&f->tmp, '|');
    buf_str(&f->tmp, name);
    buf_char(&f->tmp, ':');
    buf_str(&f->tmp, id);
    struct str scope = fold_tmp(f, err);
    if (*err != 0 || !is_open(f, scope))
        return STR_NONE;
    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    json_put_str(json_next(&f->tmp), scope);
    json_end_array(&f->tmp);
    return fold_tmp(f, err);
}

static struct str list_of(struct fold *f, bool is_due, int *err)
{
    size_t n = 0;

    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    for (const struct scope *s = f->scopes; s != NULL; s = s->next) {
        if (is_due ? !s->is_due : !s->is_open)
            continue;
        json_put_str(json_next(&f->tmp), s->ns);
        n++;
    }
    json_end_array(&f->tmp);
    return n > 0 ? fold_tmp(f, err) : STR_NONE;
}

struct str fold_open_scopes(struct fold *f, int *err)
{
    return list_of(f, false, err);
}

struct str fold_due_scopes(struct fold *f, int *err)
{
    return list_of(f, true, err);
}

/* --- the tool calls of tasks -------------------------------------------------------------- */

/* A task for one call has {"tool_call":{"id":…},…} as its input, or a list of calls. */
struct str fold_call_of_task(const yyjson_val *task)
{
    const yyjson_val *input = json_at(task, "input");
    struct str id = json_text(json_at(json_at(input, "tool_call"), "id"));

    if (!str_absent(id) || !yyjson_is_arr((yyjson_val *)(uintptr_t)input))
        return id;
    json_each(call, input) {
        id = json_text(json_at(call, "id"));
        if (!str_absent(id) && json_at(call, "args") != NULL)
            return id;
    }
    return STR_NONE;
}

struct str fold_cause_of_scope(const struct fold *f, struct str ns)
{
    struct str outer = record_outer_ns(ns);
    struct str segment = str_skip(ns, outer.n > 0 ? outer.n + 1 : 0);
    struct str task = str_skip(segment, str_find(segment, ':') + 1);
    const struct str *call = table_get(&f->seen, fold_key(f, SEEN_TASK, task));

    return task.n > 0 && call != NULL ? *call : STR_NONE;
}

/* --- applying ------------------------------------------------------------------------------
 */

static int open_scope(struct fold *f, struct str ns)
{
    struct scope *scope = find(f, ns);

    if (scope == NULL) {
        scope = arena_alloc(&f->keep, sizeof(*scope));
        if (scope == NULL || !arena_copy(&f->keep, ns, &scope->ns))
            return ERR_NOMEM;
        scope->next = f->scopes;
        f->scopes = scope;
    }
    scope->is_open = true;
    scope->is_due = false;
    return fold_mark(f, fold_key(f, SEEN_SCOPE, ns), scope);
}

static int keep_call(struct fold *f, const struct record *rec)
{
    struct json json;
    struct str *call;
    int err = json_read(&f->reader, rec->data, &json, NULL);

    if (err != 0)
        return err == ERR_NOMEM ? err : 0;
    struct str task = json_text(json_at(json.root, "id"));
    if (str_empty(task))
        return 0;
    call = arena_alloc(&f->keep, sizeof(*call));
    if (call == NULL || !arena_copy(&f->keep, rec->call, call))
        return ERR_NOMEM;
    return fold_mark(f, fold_key(f, SEEN_TASK, task), call);
}

static int close_scopes(struct fold *f, const struct record *rec)
{
    struct json json;
    int err = json_read(&f->reader, rec->closes, &json, NULL);

    if (err != 0)
        return err == ERR_NOMEM ? err : 0;
    json_each(ns, json.root) {
        struct scope *scope = find(f, json_text(ns));

        if (scope == NULL)
            continue;
        scope->is_open = false;
        scope->is_due = rec->owes;
    }
    return 0;
}

static int open_scopes(struct fold *f, const struct record *rec)
{
    struct str ns = record_graph_ns(&rec->info);
    int err = 0;

    for (int64_t i = 0; err == 0 && i < rec->opens && ns.n > 0; i++) {
        err = open_scope(f, ns);
        ns = record_outer_ns(ns);
    }
    return err;
}

/* The info of a record that opens nothing may be gone: a run.info replaces the header whose
 * texts it has borrowed. */
int fold_apply_scopes(struct fold *f, const struct record *rec)
{
    int err = rec->opens > 0 ? open_scopes(f, rec) : 0;

    if (err == 0 && !str_absent(rec->closes))
        err = close_scopes(f, rec);
    if (err == 0 && rec->kind == REC_STATE_TASKS && !str_absent(rec->call))
        err = keep_call(f, rec);
    return err;
}
