/* Checkpoints: what a worker's graph saves of a thread and reads again.
 *
 * A write is fenced by the lease of the job that makes it (or the call that it answers), and
 * goes through the journal like its events: what is acknowledged is stored.  Reads go to the
 * store.  A blob is {"type", "data"}: the serialiser's word, and its bytes as base64. */
#include "api/admit.h"
#include "api/lease.h"

#include "base/base64.h"
#include "base/json_match.h"
#include "dialect/render.h"
#include "store/checkpoints.h"

enum {
    MAX_DEPTH = 200, /* of JSON that is not looked into */
    MAX_ID = 200,
    MAX_NS = 4096,
    DEFAULT_LIST = 100,
    MAX_LIST = 1000
};

/* --- reading a body ---------------------------------------------------------------- */

/* A body on its way into rows.  The first thing that is wrong is answered. */
struct reading {
    struct http_request *req;
    struct arena *mem;
    bool failed;
};

static void fail(struct reading *r, const char *what, const char *must)
{
    if (!r->failed)
        http_respond_error(r->req, 422, "\"%s\" must be %s", what, must);
    r->failed = true;
}

static void fail_memory(struct reading *r)
{
    if (!r->failed)
        http_respond_error(r->req, 503, "out of memory");
    r->failed = true;
}

static struct str keep(struct reading *r, struct str text)
{
    struct str kept = STR_NONE;

    if (!arena_copy(r->mem, text, &kept))
        fail_memory(r);
    return kept;
}

static struct str read_text(struct reading *r,
                            const yyjson_val *of,
                            const char *name,
                            size_t least,
                            size_t most)
{
    struct str text = json_text(json_get(of, str_of(name)));

    if (str_absent(text) || text.n < least || text.n > most)
        fail(r, name, least > 0 ? "a text that is not empty, nor too long" : "a text");
    return keep(r, text);
}

/* A text, or @otherwise. */
static struct str read_optional(struct reading *r,
                                const yyjson_val *of,
                                const char *name,
                                struct str otherwise)
{
    yyjson_val *value = json_get(of, str_of(name));

    return json_is_null(value) ? otherwise : read_text(r, of, name, 0, MAX_NS);
}

/* A version is a text or a number; the text of either. */
static struct str version_of(const yyjson_val *v)
{
    return yyjson_is_raw((yyjson_val *)v) ? str_make(unsafe_yyjson_get_raw((yyjson_val *)v),
                                                     unsafe_yyjson_get_len((yyjson_val *)v))
                                          : json_text(v);
}

static void read_blob(struct reading *r,
                      const yyjson_val *of,
                      const char *name,
                      struct typed *ret)
{
    struct str data = json_text(json_at(of, "data"));
    char *bytes = arena_alloc(r->mem, base64_room(data.n) + 1);
    size_t n = 0;

    ret->type = keep(r, json_text(json_at(of, "type")));
    if (bytes == NULL)
        fail_memory(r);
    else if (str_absent(ret->type) || !base64_decode(data, bytes, &n))
        fail(r, name, "{\"type\": a text, \"data\": base64}");
    ret->data = str_make(bytes, n);
}

/* As JSON. */
static struct str keep_json(struct reading *r, const yyjson_val *value)
{
    struct str kept = STR_NONE;

    if (!api_keep_json(r->mem, value, &kept))
        fail_memory(r);
    return kept;
}

/* An object, as JSON; {} when it is not there. */
static struct str read_object(struct reading *r, const yyjson_val *of, const char *name)
{
    yyjson_val *value = json_get(of, str_of(name));

    if (json_is_null(value))
        return STR("{}");
    if (yyjson_is_obj(value))
        return keep_json(r, value);
    fail(r, name, "an object");
    return STR("{}");
}

static struct str read_versions(struct reading *r, const yyjson_val *of)
{
    yyjson_val *versions = json_at(of, "versions"), *key, *value;
    struct str kept;
    struct buf json;
    size_t i, n;

    if (versions == NULL)
        return STR("{}");
    buf_init(&json, SIZE_MAX / 4);
    buf_char(&json, '{');
    yyjson_obj_foreach(versions, i, n, key, value)
    {
        if (str_absent(version_of(value)))
            fail(r, "versions", "an object of texts or numbers by channel");
        if (i > 0)
            buf_char(&json, ',');
        json_put_str(&json, json_text(key));
        buf_char(&json, ':');
        json_put_str(&json, version_of(value));
    }
    buf_char(&json, '}');
    if (json.error != 0)
        fail_memory(r);
    kept = keep(r, buf_text(&json));
    buf_done(&json);
    return kept;
}

static void read_place(struct reading *r, const yyjson_val *of, struct checkpoint_row *ret)
{
    ret->ns = read_optional(r, of, "ns", STR(""));
    ret->id = read_text(r, of, "id", 1, MAX_ID);
}

/* --- writing ----------------------------------------------------------------------- */

/* What a request writes. */
struct plan {
    struct checkpoint_row of;
    struct channel_row *channels;
    size_t n_channels;
    struct write_row *writes;
    size_t n_writes;
    struct str state;
    /* Of the state, for the thread: */
    struct str values, interrupts;
    bool is_waiting;
};

/* The plan of a call, with its thread; the fence is read, too.  NULL: answered. */
static struct plan *plan_of(struct call *call)
{
    struct journal_request *j = &call->journal;
    struct str thread = http_param(call->req, "thread");
    struct plan *plan = j->data;

    if (!job_id_valid(thread)) {
        http_respond_error(call->req, 422,
                           "the thread must be 1 to 64 of letters, digits, _ and -");
        return NULL;
    }
    if (!arena_copy(&j->mem, thread, &j->thread)) {
        (void)api_no_memory(call->req);
        return NULL;
    }
    plan->of.thread = j->thread;
    return lease_read_fence(call) ? plan : NULL;
}

static int write_checkpoint(struct journal_request *req,
                            struct store *store,
                            int64_t now,
                            struct error *why)
{
    const struct plan *plan = req->data;
    int code = store_checkpoint_put(store, &plan->of, why);

    (void)now;
    for (size_t i = 0; i < plan->n_channels && code == 0; i++)
        code = store_channel_put(store, &plan->of, &plan->channels[i], why);
    return code;
}

static int write_writes(struct journal_request *req,
                        struct store *store,
                        int64_t now,
                        struct error *why)
{
    const struct plan *plan = req->data;
    int code = 0;

    (void)now;
    for (size_t i = 0; i < plan->n_writes && code == 0; i++)
        code = store_write_put(store, &plan->of, &plan->writes[i], why);
    return code;
}

/* A state that was changed by a call is the thread's; that of a run is told by its events. */
static int show_in_thread(struct store *store,
                          const struct plan *plan,
                          int64_t now,
                          struct error *why)
{
    struct thread_row row;
    int code = store_thread_get(store, plan->of.thread, &row, why);

    if (code != 0)
        return code == ERR_NOT_FOUND ? 0 : code;
    int64_t key = row.key;
    if (!str_is(row.status, "busy"))
        row.status = plan->is_waiting ? STR("interrupted") : STR("idle");
    row.interrupts = plan->interrupts;
    row.error = STR_NONE;
    row.updated = now;
    code = store_thread_update(store, &row, why);
    return code == 0 ? store_thread_values(store, key, plan->values, now, why) : code;
}

static int write_state(struct journal_request *req,
                       struct store *store,
                       int64_t now,
                       struct error *why)
{
    const struct plan *plan = req->data;
    int code = store_state_put(store, &plan->of, plan->state, why);

    return code == 0 && !str_absent(req->call.id) && plan->of.ns.n == 0
               ? show_in_thread(store, plan, now, why)
               : code;
}

static int write_nothing_left(struct journal_request *req,
                              struct store *store,
                              int64_t now,
                              struct error *why)
{
    (void)now;
    return store_thread_forget(store, req->thread, why);
}

static void answer_id(struct call *call)
{
    const struct plan *plan = call->journal.data;

    if (call_refused(call))
        return;
    buf_lit(&call->out, "{\"id\":");
    json_put_str(&call->out, plan->of.id);
    buf_char(&call->out, '}');
    api_json(call->req, 200, &call->out);
}

static void answer_stored(struct call *call)
{
    if (!call_refused(call))
        http_respond(call->req, 200, "application/json", STR("{}"));
}

static void read_channels(struct reading *r, const yyjson_val *of, struct plan *plan)
{
    yyjson_val *blobs = json_at(of, "blobs"), *key, *value;
    size_t i, n;

    if (!json_is_null(blobs) && !yyjson_is_obj(blobs))
        fail(r, "blobs", "an object by channel");
    plan->channels =
        arena_alloc(r->mem, (yyjson_obj_size(blobs) + 1) * sizeof(*plan->channels));
    if (plan->channels == NULL)
        fail_memory(r);
    if (plan->channels == NULL || blobs == NULL)
        return;
    yyjson_obj_foreach(blobs, i, n, key, value)
    {
        struct channel_row *row = &plan->channels[plan->n_channels++];

        row->channel = keep(r, json_text(key));
        row->version = keep(r, version_of(json_at(value, "version")));
        if (str_absent(row->version))
            fail(r, "version", "a text or a number, for each blob");
        read_blob(r, value, "blobs", &row->value);
    }
}

static bool read_checkpoint(struct call *call, struct json_reader *reader)
{
    struct reading r = { .req = call->req, .mem = &call->journal.mem };
    struct plan *plan = plan_of(call);
    struct json j;

    if (plan == NULL || !api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    read_place(&r, j.root, &plan->of);
    plan->of.parent = read_optional(&r, j.root, "parent", STR_NONE);
    read_blob(&r, json_at(j.root, "checkpoint"), "checkpoint", &plan->of.value);
    plan->of.metadata = read_object(&r, j.root, "metadata");
    plan->of.versions = read_versions(&r, j.root);
    read_channels(&r, j.root, plan);
    return !r.failed;
}

static void read_write(struct reading *r,
                       const yyjson_val *of,
                       struct str task,
                       struct str path,
                       struct write_row *ret)
{
    *ret = (struct write_row){ .task = task, .path = path };
    ret->idx = json_int(json_at(of, "idx"), INT64_MIN);
    if (ret->idx == INT64_MIN)
        fail(r, "idx", "a whole number, for each write");
    ret->channel = read_text(r, of, "channel", 0, MAX_NS);
    read_blob(r, of, "writes", &ret->value);
}

static bool read_writes(struct call *call, struct json_reader *reader)
{
    struct reading r = { .req = call->req, .mem = &call->journal.mem };
    struct plan *plan = plan_of(call);
    yyjson_val *list, *value;
    struct json j;
    size_t i, n;

    if (plan == NULL || !api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    list = json_at(j.root, "writes");
    read_place(&r, j.root, &plan->of);
    struct str task = read_text(&r, j.root, "task", 1, MAX_ID);
    struct str path = read_optional(&r, j.root, "path", STR(""));
    if (!yyjson_is_arr(list))
        fail(&r, "writes", "a list");
    plan->writes = arena_alloc(r.mem, (yyjson_arr_size(list) + 1) * sizeof(*plan->writes));
    if (plan->writes == NULL)
        fail_memory(&r);
    yyjson_arr_foreach(list, i, n, value)
    {
        if (!r.failed)
            read_write(&r, value, task, path, &plan->writes[plan->n_writes++]);
    }
    return !r.failed;
}

/* {task: [interrupt, …], …} of the tasks that have some. */
static struct str read_interrupts(struct reading *r, const yyjson_val *tasks)
{
    struct str kept;
    yyjson_val *task;
    struct buf json;
    size_t i, n;

    buf_init(&json, SIZE_MAX / 4);
    buf_char(&json, '{');
    yyjson_arr_foreach((yyjson_val *)tasks, i, n, task)
    {
        yyjson_val *interrupts = json_at(task, "interrupts");

        if (yyjson_arr_size(interrupts) == 0 || str_absent(json_text(json_at(task, "id"))))
            continue;
        if (json.n > 1)
            buf_char(&json, ',');
        json_put_str(&json, json_text(json_at(task, "id")));
        buf_char(&json, ':');
        json_put_value(&json, interrupts);
    }
    buf_char(&json, '}');
    if (json.error != 0)
        fail_memory(r);
    kept = keep(r, buf_text(&json));
    buf_done(&json);
    return kept;
}

static bool read_state(struct call *call, struct json_reader *reader)
{
    struct reading r = { .req = call->req, .mem = &call->journal.mem };
    struct plan *plan = plan_of(call);
    struct json j;

    if (plan == NULL || !api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    read_place(&r, j.root, &plan->of);
    if (!yyjson_is_obj(json_at(j.root, "state")))
        fail(&r, "state", "an object");
    plan->state = read_object(&r, j.root, "state");
    if (!r.failed && !str_absent(call->journal.call.id)) {
        const yyjson_val *state = json_at(j.root, "state");

        if (!json_is_null(json_at(state, "values")))
            plan->values = keep_json(&r, json_at(state, "values"));
        plan->interrupts = read_interrupts(&r, json_at(state, "tasks"));
        plan->is_waiting = yyjson_arr_size(json_at(state, "next")) > 0;
    }
    return !r.failed;
}

static bool read_nothing(struct call *call, struct json_reader *reader)
{
    (void)reader;
    return plan_of(call) != NULL;
}

static void post(struct http_request *req,
                 journal_write_cb write,
                 bool (*read)(struct call *, struct json_reader *),
                 void (*answer)(struct call *))
{
    struct call *call = call_new_write(req, write, sizeof(struct plan), answer);

    if (call != NULL)
        call_read(call, MAX_DEPTH, read);
}

void api_checkpoint_put(struct http_request *req, void *arg)
{
    (void)arg;
    post(req, write_checkpoint, read_checkpoint, answer_id);
}

void api_checkpoint_writes(struct http_request *req, void *arg)
{
    (void)arg;
    post(req, write_writes, read_writes, answer_stored);
}

void api_checkpoint_state(struct http_request *req, void *arg)
{
    (void)arg;
    post(req, write_state, read_state, answer_stored);
}

void api_checkpoints_delete(struct http_request *req, void *arg)
{
    (void)arg;
    post(req, write_nothing_left, read_nothing, call_answer_empty);
}

/* --- looking ----------------------------------------------------------------------- */

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

    f->thread = keep(&r, http_param(r.req, "thread"));
    f->ns = read_optional(&r, of, "ns", s->is_list ? STR_NONE : STR(""));
    f->id = read_optional(&r, of, "id", STR_NONE);
    f->before = read_optional(&r, of, "before", STR_NONE);
    s->limit = limit < 1 ? 1 : limit > MAX_LIST ? MAX_LIST : (size_t)limit;
    if (!json_is_null(json_at(of, "filter")))
        s->metadata = read_object(&r, of, "filter");
    return !r.failed;
}

static void search(struct http_request *req, bool is_list)
{
    struct look *look = look_new_with(req, STR(""), run_search, sizeof(struct search));
    struct search *s = look != NULL ? look->data : NULL;

    if (look == NULL)
        return;
    s->is_list = is_list;
    look_read(look, MAX_DEPTH, read_search);
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
