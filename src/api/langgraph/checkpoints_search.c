/* Reads checkpoints: one, or a thread's list, with their channels and writes.
 *
 * A worker may read only the thread of its job, or of the call that it answers: the journal
 * checks the fence, as before a write, and then the store is read.  An administrator needs no
 * fence. */
#include "api/admit.h"
#include "api/worker/lease.h"
#include "api/reading.h"

#include "auth/access.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/json_match.h"
#include "dialect/render.h"
#include "store/checkpoints.h"

enum { MAX_DEPTH = 200, DEFAULT_LIST = 100, MAX_LIST = 1000 };

/* What a query searches for. */
struct checkpoint_search {
    struct checkpoint_filter filter;
    struct str metadata; /* JSON: what it must contain; absent: anything */
    size_t limit;
    bool is_list;
};

struct found_checkpoint {
    struct store_query *query;
    struct store *store;
    const struct checkpoint_search *search;
    struct json_reader one, other; /* for the metadata */
    size_t n;
    int err;
    struct error why;
};

static void put_typed(struct buf *b, const struct typed *value)
{
    json_add_str(b, "type", value->type);
    json_add_parts(b, "data");
    base64_put(b, value->data);
    json_end_parts(b);
    json_end(b);
}

static int put_channel(void *arg, const struct channel_row *row)
{
    struct buf *b = arg;

    json_put_key(b, row->channel);
    json_begin(b);
    json_add_str(b, "version", row->version);
    put_typed(b, &row->value);
    return b->error;
}

static int put_write(void *arg, const struct write_row *row)
{
    struct buf *b = arg;

    json_begin(json_next(b));
    json_add_str(b, "task", row->task);
    json_add_text(b, "path", row->path);
    json_add_int(b, "idx", row->idx);
    json_add_text(b, "channel", row->channel);
    put_typed(b, &row->value);
    return b->error;
}

static int put_checkpoint(struct found_checkpoint *f, const struct checkpoint_row *row)
{
    struct buf *b = &f->query->out;

    json_begin(b);
    json_add_str(b, "ns", row->ns);
    json_add_text(b, "id", row->id);
    json_add_text(b, "parent", row->parent);
    json_add_object(b, "checkpoint");
    put_typed(b, &row->value);
    json_add_raw(b, "metadata", row->metadata);
    json_add_object(b, "blobs");
    int err = b->error != 0 ? b->error : store_channels(f->store, row, put_channel, b, &f->why);
    json_end(b);
    json_add_array(b, "writes");
    if (err == 0 && b->error == 0)
        err = store_writes(f->store, row, put_write, b, &f->why);
    json_end_list(b);
    return err;
}

static bool is_wanted(struct found_checkpoint *f, const struct checkpoint_row *row)
{
    struct json whole, part;

    return str_absent(f->search->metadata) ||
           (json_read(&f->one, row->metadata, &whole, NULL) == 0 &&
            json_read(&f->other, f->search->metadata, &part, NULL) == 0 &&
            json_contains(whole.root, part.root));
}

static int on_checkpoint(void *arg, const struct checkpoint_row *row)
{
    struct found_checkpoint *f = arg;

    if (!is_wanted(f, row))
        return 0;
    f->n++;
    if (f->search->is_list)
        json_next(&f->query->out);
    f->err = put_checkpoint(f, row);
    return f->err != 0 || f->n == f->search->limit;
}

static void run_search(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct found_checkpoint f = { .query = query, .store = store, .search = query->data };
    struct buf *b = &query->out;

    json_reader_init(&f.one, SIZE_MAX / 64, MAX_DEPTH);
    json_reader_init(&f.other, SIZE_MAX / 64, MAX_DEPTH);
    if (f.search->is_list)
        json_begin_list(b, "checkpoints");
    else
        buf_lit(b, "{" JSON_KEY("checkpoint"));
    int err = store_checkpoints(store, &f.search->filter, on_checkpoint, &f, &f.why);
    if (err == 0)
        err = f.err;
    if (f.search->is_list)
        json_end_array(b);
    else if (f.n == 0)
        buf_lit(b, "null");
    json_end(b);
    if (err != 0)
        store_query_broke(query, &f.why);
    json_reader_done(&f.one);
    json_reader_done(&f.other);
}

static bool read_search(struct store_query *query, const yyjson_val *of)
{
    struct checkpoint_search *s = query->data;
    struct checkpoint_filter *f = &s->filter;
    struct reading r = { .req = query->req, .mem = &query->mem };
    int64_t limit = json_int(json_at(of, "limit"), s->is_list ? DEFAULT_LIST : 1);

    f->thread = reading_keep(&r, http_param(r.req, "thread"));
    f->ns = reading_optional(&r, of, "ns", s->is_list ? STR_NONE : STR(""));
    f->id = reading_optional(&r, of, "id", STR_NONE);
    f->before = reading_optional(&r, of, "before", STR_NONE);
    s->limit = limit < 1 ? 1 : limit > MAX_LIST ? MAX_LIST : (size_t)limit;
    if (!json_is_null(json_at(of, "filter")))
        s->metadata = reading_object(&r, of, "filter");
    return !r.failed;
}

/* --- the fence -------------------------------------------------------------------- */

/* The fence is valid: read the store. */
static void answer_fenced(struct journal_call *call)
{
    struct store_query *query = call->found;

    if (journal_call_refused(call))
        return;
    call->found = NULL;
    query->req = call->req;
    store_query_post(query);
}

static bool is_free(struct http_request *req)
{
    return (api_token(req)->access & ACCESS_ADMIN) != 0 && http_query(req, "job").n == 0 &&
           http_query(req, "call").n == 0;
}

static bool read_fenced(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *j = &call->journal;
    struct json body;

    return api_read_body(call->req, reader, buf_text(&call->body), &body) &&
           read_search(call->found, body.root) && lease_read_fence(call) &&
           (arena_copy(&j->mem, http_param(call->req, "thread"), &j->thread) ||
            api_no_memory(call->req));
}

static void search(struct http_request *req, bool is_list)
{
    struct store_query *query =
        store_query_new_with(req, STR(""), run_search, sizeof(struct checkpoint_search));
    struct checkpoint_search *s = query != NULL ? query->data : NULL;

    if (query == NULL)
        return;
    s->is_list = is_list;
    if (is_free(req)) {
        store_query_read(query, MAX_DEPTH, read_search);
        return;
    }
    struct journal_call *call = journal_call_new(req, JOURNAL_CHECKPOINTS_HOLD, answer_fenced);
    if (call == NULL) {
        store_query_free(query);
        return;
    }
    call->found = query;
    journal_call_read(call, MAX_DEPTH, read_fenced);
}

void api_checkpoint_get(struct http_request *req)
{
    search(req, false);
}

void api_checkpoints_list(struct http_request *req)
{
    search(req, true);
}
