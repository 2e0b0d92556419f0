/* Checkpoints: what a worker's graph saves of a thread and reads again.
 *
 * A write is fenced by the lease of the job that makes it (or the call that it answers), and
 * goes through the journal like its events: what is acknowledged is stored.  Reads go to the
 * store.  A blob is {"type", "data"}: the serialiser's word, and its bytes as base64. */
#include "api/worker/lease.h"
#include "api/reading.h"

#include "base/base64.h"
#include "store/checkpoints.h"

enum {
    MAX_DEPTH = 200, /* of JSON that is not looked into */
    MAX_ID = 200
};

/* --- reading a body ---------------------------------------------------------------- */

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

    ret->type = reading_keep(r, json_text(json_at(of, "type")));
    if (bytes == NULL)
        reading_fail_memory(r);
    else if (str_absent(ret->type) || !base64_decode(data, bytes, &n))
        reading_fail(r, name, "{\"type\": a text, \"data\": base64}");
    ret->data = str_make(bytes, n);
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
            reading_fail(r, "versions", "an object of texts or numbers by channel");
        if (i > 0)
            buf_char(&json, ',');
        json_put_str(&json, json_text(key));
        buf_char(&json, ':');
        json_put_str(&json, version_of(value));
    }
    buf_char(&json, '}');
    if (json.error != 0)
        reading_fail_memory(r);
    kept = reading_keep(r, buf_text(&json));
    buf_done(&json);
    return kept;
}

static void read_place(struct reading *r, const yyjson_val *of, struct checkpoint_row *ret)
{
    ret->ns = reading_optional(r, of, "ns", STR(""));
    ret->id = reading_text(r, of, "id", 1, MAX_ID);
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
static struct plan *plan_of(struct journal_call *call)
{
    struct journal_request *j = &call->journal;
    struct str thread = http_param(call->req, "thread");
    struct plan *plan = j->data;

    if (!job_id_valid(thread)) {
        http_respond_error(call->req, 422, "the thread must be " JOB_ID_RULE);
        return NULL;
    }
    if (!arena_copy(&j->mem, thread, &j->thread)) {
        (void)api_no_memory(call->req);
        return NULL;
    }
    if (!lease_read_fence(call))
        return NULL;
    plan->of.thread = j->thread;
    plan->of.run = j->job;
    return plan;
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

static void answer_id(struct journal_call *call)
{
    const struct plan *plan = call->journal.data;

    if (journal_call_refused(call))
        return;
    buf_lit(&call->out, "{\"id\":");
    json_put_str(&call->out, plan->of.id);
    buf_char(&call->out, '}');
    api_json(call->req, 200, &call->out);
}

static void answer_stored(struct journal_call *call)
{
    if (!journal_call_refused(call))
        http_respond(call->req, 200, "application/json", STR("{}"));
}

/* What every body begins with; NULL: answered. */
static struct plan *begin(struct journal_call *call,
                          struct json_reader *reader,
                          struct reading *r,
                          struct json *ret)
{
    struct plan *plan = plan_of(call);

    *r = (struct reading){ .req = call->req, .mem = &call->journal.mem };
    return plan != NULL && api_read_body(call->req, reader, buf_text(&call->body), ret) ? plan
                                                                                        : NULL;
}

static void read_channels(struct reading *r, const yyjson_val *of, struct plan *plan)
{
    yyjson_val *blobs = json_at(of, "blobs"), *key, *value;
    size_t i, n;

    if (!json_is_null(blobs) && !yyjson_is_obj(blobs))
        reading_fail(r, "blobs", "an object by channel");
    plan->channels =
        arena_alloc(r->mem, (yyjson_obj_size(blobs) + 1) * sizeof(*plan->channels));
    if (plan->channels == NULL)
        reading_fail_memory(r);
    if (plan->channels == NULL || blobs == NULL)
        return;
    yyjson_obj_foreach(blobs, i, n, key, value)
    {
        struct channel_row *row = &plan->channels[plan->n_channels++];

        row->channel = reading_keep(r, json_text(key));
        row->version = reading_keep(r, version_of(json_at(value, "version")));
        if (str_absent(row->version))
            reading_fail(r, "version", "a text or a number, for each blob");
        read_blob(r, value, "blobs", &row->value);
    }
}

static bool read_checkpoint(struct journal_call *call, struct json_reader *reader)
{
    struct json j;
    struct reading r;
    struct plan *plan = begin(call, reader, &r, &j);

    if (plan == NULL)
        return false;
    read_place(&r, j.root, &plan->of);
    plan->of.parent = reading_optional(&r, j.root, "parent", STR_NONE);
    read_blob(&r, json_at(j.root, "checkpoint"), "checkpoint", &plan->of.value);
    plan->of.metadata = reading_object(&r, j.root, "metadata");
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
        reading_fail(r, "idx", "a whole number, for each write");
    ret->channel = reading_text(r, of, "channel", 0, READING_MAX_TEXT);
    read_blob(r, of, "writes", &ret->value);
}

static bool read_writes(struct journal_call *call, struct json_reader *reader)
{
    yyjson_val *list, *value;
    struct json j;
    size_t i, n;
    struct reading r;
    struct plan *plan = begin(call, reader, &r, &j);

    if (plan == NULL)
        return false;
    list = json_at(j.root, "writes");
    read_place(&r, j.root, &plan->of);
    struct str task = reading_text(&r, j.root, "task", 1, MAX_ID);
    struct str path = reading_optional(&r, j.root, "path", STR(""));
    if (!yyjson_is_arr(list))
        reading_fail(&r, "writes", "a list");
    plan->writes = arena_alloc(r.mem, (yyjson_arr_size(list) + 1) * sizeof(*plan->writes));
    if (plan->writes == NULL)
        reading_fail_memory(&r);
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
        reading_fail_memory(r);
    kept = reading_keep(r, buf_text(&json));
    buf_done(&json);
    return kept;
}

static bool read_state(struct journal_call *call, struct json_reader *reader)
{
    struct json j;
    struct reading r;
    struct plan *plan = begin(call, reader, &r, &j);

    if (plan == NULL)
        return false;
    read_place(&r, j.root, &plan->of);
    if (!yyjson_is_obj(json_at(j.root, "state")))
        reading_fail(&r, "state", "an object");
    plan->state = reading_object(&r, j.root, "state");
    if (!r.failed && !str_absent(call->journal.call.id)) {
        const yyjson_val *state = json_at(j.root, "state");

        if (!json_is_null(json_at(state, "values")))
            plan->values = reading_keep_json(&r, json_at(state, "values"));
        plan->interrupts = read_interrupts(&r, json_at(state, "tasks"));
        plan->is_waiting = yyjson_arr_size(json_at(state, "next")) > 0;
    }
    return !r.failed;
}

static bool read_nothing(struct journal_call *call, struct json_reader *reader)
{
    (void)reader;
    return plan_of(call) != NULL;
}

static void post(struct http_request *req,
                 journal_write_cb write,
                 bool (*read)(struct journal_call *, struct json_reader *),
                 void (*answer)(struct journal_call *))
{
    struct journal_call *call = journal_call_new_write(req, write, sizeof(struct plan), answer);

    if (call != NULL)
        journal_call_read(call, MAX_DEPTH, read);
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
    post(req, write_nothing_left, read_nothing, journal_call_answer_empty);
}
