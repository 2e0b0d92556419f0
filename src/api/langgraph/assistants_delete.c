/* Deletes an assistant.  With delete_threads, first deletes the threads whose last run was of
 * this assistant, one after another, so that an interrupted request can be repeated. */
#include "api/langgraph/assistants.h"

#include "base/error.h"
#include "base/json.h"
#include "jobs/job_scope.h"

/* --- the assistant ------------------------------------------------------------------- */

static void delete_it(struct http_request *req)
{
    struct journal_call *call =
        journal_call_new(req, JOURNAL_ASSISTANT_DELETE, journal_call_answer_empty);

    if (call == NULL)
        return;
    if (arena_copy(&call->journal.mem, http_param(req, "assistant"),
                   &call->journal.assistant.row.id)) {
        journal_call_post(call);
    } else {
        (void)api_no_memory(req);
        journal_call_free(call);
    }
}

/* --- its threads --------------------------------------------------------------------- */

struct thread_id {
    struct thread_id *next;
    struct str id;
};

struct assistant_deletion {
    struct store_query *query;
    struct str assistant;
    struct json_reader reader;
    struct thread_id *first; /* out */
    int err;
};

static bool is_its(struct assistant_deletion *f, const struct thread_row *row)
{
    struct json metadata;

    return job_scope_includes(store_query_job_scope(f->query), row->id, row->owner) &&
           json_read(&f->reader, row->metadata, &metadata, NULL) == 0 &&
           str_eq(json_text(json_at(metadata.root, "assistant_id")), f->assistant);
}

static int on_thread(void *arg, const struct thread_row *row)
{
    struct assistant_deletion *f = arg;

    if (!is_its(f, row))
        return 0;
    struct thread_id *t = arena_alloc(&f->query->mem, sizeof(*t));
    if (t == NULL || !arena_copy(&f->query->mem, row->id, &t->id)) {
        f->err = ERR_NOMEM;
        return 1;
    }
    t->next = f->first;
    f->first = t;
    return 0;
}

static void find_threads(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct assistant_deletion *f = query->data;
    struct error why = { 0 };
    struct assistant_row row;

    if (!assistants_read(query, store, f->assistant, &row)) {
        if (query->status == 404)
            assistants_put_unknown(query);
        return;
    }
    json_reader_init(&f->reader, SIZE_MAX / 64, 256);
    int code = store_threads(store, THREADS_BY_CREATED, true,
                             job_scope_owner(store_query_job_scope(query)), on_thread, f, &why);
    if (code == 0 && f->err != 0)
        code = error_set(&why, f->err, "out of memory");
    if (code != 0)
        store_query_broke(query, &why);
    json_reader_done(&f->reader);
}

static void answer_deleted(struct journal_call *call);

/* Deletes the next thread, or after the last one the assistant.  Takes @found. */
static void delete_next(struct http_request *req, struct store_query *found)
{
    struct assistant_deletion *f = found->data;
    struct thread_id *thread = f->first;
    struct journal_call *call =
        thread != NULL ? journal_call_new(req, JOURNAL_THREAD_DELETE, answer_deleted) : NULL;

    if (call == NULL) {
        store_query_free(found);
        if (thread == NULL)
            delete_it(req);
        return;
    }
    f->first = thread->next;
    call->found = found;
    call->journal.thread = thread->id;
    journal_call_post(call);
}

static void answer_deleted(struct journal_call *call)
{
    struct store_query *found = call->found;

    if (call->journal.code != ERR_NOT_FOUND && journal_call_refused(call))
        return;
    call->found = NULL;
    delete_next(call->req, found);
}

static bool answer_find(struct store_query *query)
{
    delete_next(query->req, query);
    return true;
}

static void delete_with_threads(struct http_request *req)
{
    struct store_query *query =
        store_query_new_with(req, STR(""), find_threads, sizeof(struct assistant_deletion));
    struct assistant_deletion *f = query != NULL ? query->data : NULL;

    if (query == NULL)
        return;
    f->query = query;
    query->answer = answer_find;
    if (arena_copy(&query->mem, http_param(req, "assistant"), &f->assistant)) {
        store_query_post(query);
    } else {
        store_query_free(query);
        (void)api_no_memory(req);
    }
}

void api_assistant_delete(struct http_request *req)
{
    if (!assistants_may_change(req))
        return;
    if (langgraph_flag(req, "delete_threads"))
        delete_with_threads(req);
    else
        delete_it(req);
}
