/* Checkpoints are read again: one, or those of a thread, with their channels and writes.
 *
 * A worker reads what its job, or the call that it answers, is about: the journal looks at the
 * fence, as it does before a write, and then the store is read.  An administrator needs none.
 */
#include "api/admit.h"
#include "api/lease.h"
#include "api/reading.h"

#include "auth/access.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/json_match.h"
#include "dialect/render.h"
#include "store/checkpoints.h"

enum { MAX_DEPTH = 200, DEFAULT_LIST = 100, MAX_LIST = 1000 };

/* What a look looks for. */
struct search {
    struct checkpoint_filter filter;
    struct str metadata; /* JSON: what it must contain; absent: anything */
    size_t limit;
    bool is_list;
};

struct found {
    struct look *look;
    struct store *store;
    const struct search *search;
    struct json_reader one, other; /* for the metadata */
    size_t n;
    int err;
    struct error why;
};

static void put_typed(struct buf *b, const struct typed *value)
{
    buf_lit(b, "\"type\":");
    json_put_str(b, value->type);
    buf_lit(b, ",\"data\":\"");
    base64_put(b, value->data);
    buf_lit(b, "\"}");
}

static int put_channel(void *arg, const struct channel_row *row)
{
    struct buf *b = arg;

    if (b->p[b->n - 1] != '{')
        buf_char(b, ',');
    json_put_str(b, row->channel);
    buf_lit(b, ":{\"version\":");
    json_put_str(b, row->version);
    buf_char(b, ',');
    put_typed(b, &row->value);
    return b->error;
}

static int put_write(void *arg, const struct write_row *row)
{
    struct buf *b = arg;

    if (b->p[b->n - 1] != '[')
        buf_char(b, ',');
    buf_lit(b, "{\"task\":");
    json_put_str(b, row->task);
    render_text(b, "path", row->path);
    render_number(b, "idx", row->idx);
    render_text(b, "channel", row->channel);
    buf_char(b, ',');
    put_typed(b, &row->value);
    return b->error;
}

static int put_checkpoint(struct found *f, const struct checkpoint_row *row)
{
    struct buf *b = &f->look->out;

    buf_lit(b, "{\"ns\":");
    json_put_str(b, row->ns);
    render_text(b, "id", row->id);
    render_text(b, "parent", row->parent);
    buf_lit(b, ",\"checkpoint\":{");
    put_typed(b, &row->value);
    render_json(b, "metadata", row->metadata);
    buf_lit(b, ",\"blobs\":{");
    int err = b->error != 0 ? b->error : store_channels(f->store, row, put_channel, b, &f->why);
    buf_lit(b, "},\"writes\":[");
    if (err == 0 && b->error == 0)
        err = store_writes(f->store, row, put_write, b, &f->why);
    buf_lit(b, "]}");
    return err;
}

static bool is_wanted(struct found *f, const struct checkpoint_row *row)
{
    struct json whole, part;

    return str_absent(f->search->metadata) ||
           (json_read(&f->one, row->metadata, &whole, NULL) == 0 &&
            json_read(&f->other, f->search->metadata, &part, NULL) == 0 &&
            json_contains(whole.root, part.root));
}

static int on_checkpoint(void *arg, const struct checkpoint_row *row)
{
    struct found *f = arg;

    if (!is_wanted(f, row))
        return 0;
    if (f->n++ > 0)
        buf_char(&f->look->out, ',');
    f->err = put_checkpoint(f, row);
    return f->err != 0 || f->n == f->search->limit;
}

static void run_search(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct found f = { .look = look, .store = store, .search = look->data };
    struct buf *b = &look->out;

    json_reader_init(&f.one, SIZE_MAX / 64, MAX_DEPTH);
    json_reader_init(&f.other, SIZE_MAX / 64, MAX_DEPTH);
    if (f.search->is_list)
        buf_lit(b, "{\"checkpoints\":[");
    else
        buf_lit(b, "{\"checkpoint\":");
    int err = store_checkpoints(store, &f.search->filter, on_checkpoint, &f, &f.why);
    if (err == 0)
        err = f.err;
    if (f.search->is_list)
        buf_char(b, ']');
    else if (f.n == 0)
        buf_lit(b, "null");
    buf_char(b, '}');
    if (err != 0)
        look_broke(look, &f.why);
    json_reader_done(&f.one);
    json_reader_done(&f.other);
}

static bool read_search(struct look *look, const yyjson_val *of)
{
    struct search *s = look->data;
    struct checkpoint_filter *f = &s->filter;
    struct reading r = { .req = look->req, .mem = &look->mem };
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

static int write_nothing(struct journal_request *req,
                         struct store *store,
                         int64_t now,
                         struct error *why)
{
    (void)req;
    (void)store;
    (void)now;
    (void)why;
    return 0;
}

/* The caller holds what it asks for: now it is read. */
static void answer_fenced(struct call *call)
{
    struct look *look = call->found;

    if (call_refused(call))
        return;
    call->found = NULL;
    look->req = call->req;
    look_post(look);
}

static bool is_free(struct http_request *req)
{
    return (api_token(req)->access & ACCESS_ADMIN) != 0 && http_query(req, "job").n == 0 &&
           http_query(req, "call").n == 0;
}

static bool read_fenced(struct call *call, struct json_reader *reader)
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
    struct look *look = look_new_with(req, STR(""), run_search, sizeof(struct search));
    struct search *s = look != NULL ? look->data : NULL;

    if (look == NULL)
        return;
    s->is_list = is_list;
    if (is_free(req)) {
        look_read(look, MAX_DEPTH, read_search);
        return;
    }
    struct call *call = call_new_write(req, write_nothing, 1, answer_fenced);
    if (call == NULL) {
        look_free(look);
        return;
    }
    call->found = look;
    call_read(call, MAX_DEPTH, read_fenced);
}

void api_checkpoint_get(struct http_request *req, void *arg)
{
    (void)arg;
    search(req, false);
}

void api_checkpoints_list(struct http_request *req, void *arg)
{
    (void)arg;
    search(req, true);
}
