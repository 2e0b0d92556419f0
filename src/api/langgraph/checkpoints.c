/* Checkpoints: a worker's graph saves the state of a thread, and reads it again.
 *
 * A write must present a fence: the lease of the job that writes (or the id of the call that it
 * answers).  It goes through the journal like events, so that an acknowledged write is stored.
 * Reads go to the store.  A blob is {"type", "data"}: the serialiser's name, and its bytes as
 * base64. */
#include "api/worker/lease.h"
#include "api/reading.h"

#include "base/base64.h"
#include "store/checkpoints.h"

enum {
    MAX_DEPTH = 200, /* of JSON that is not interpreted */
    MAX_ID = 200
};

/* --- reading a body ---------------------------------------------------------------- */

/* The text of a version, which is a string or a number. */
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
    yyjson_val *versions = json_at(of, "versions");
    struct buf json LOCAL_BUF(SIZE_MAX / 4);

    if (versions == NULL)
        return STR("{}");
    json_begin(&json);
    json_each_member(key, value, versions) {
        if (str_absent(version_of(value)))
            reading_fail(r, "versions", "an object of texts or numbers by channel");
        json_put_key(&json, json_text(key));
        json_put_str(&json, version_of(value));
    }
    json_end(&json);
    if (json.error != 0)
        reading_fail_memory(r);
    return reading_keep(r, buf_text(&json));
}

static void read_place(struct reading *r, const yyjson_val *of, struct checkpoint_row *ret)
{
    ret->ns = reading_optional(r, of, "ns", STR(""));
    ret->id = reading_text(r, of, "id", 1, MAX_ID);
}

/* --- writing ----------------------------------------------------------------------- */

/* Begins a checkpoint request: sets its thread and fence.  NULL: answered. */
static struct checkpoint_request *begin_fenced(struct journal_call *call)
{
    struct journal_request *j = &call->journal;
    struct str thread = http_param(call->req, "thread");
    struct checkpoint_request *c = &j->checkpoint;

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
    return c;
}

static void answer_id(struct journal_call *call)
{
    const struct checkpoint_request *c = &call->journal.checkpoint;

    if (journal_call_refused(call))
        return;
    json_begin(&call->out);
    json_add_str(&call->out, "id", c->of.id);
    json_end(&call->out);
    api_json(call->req, 200, &call->out);
}

static void answer_stored(struct journal_call *call)
{
    if (!journal_call_refused(call))
        http_respond(call->req, 200, "application/json", STR("{}"));
}

/* Reads the members that every body has; NULL: answered. */
static struct checkpoint_request *begin(struct journal_call *call,
                                        struct json_reader *reader,
                                        struct reading *r,
                                        struct json *ret)
{
    struct checkpoint_request *c = begin_fenced(call);

    *r = (struct reading){ .req = call->req, .mem = &call->journal.mem };
    return c != NULL && api_read_body(call->req, reader, buf_text(&call->body), ret) ? c : NULL;
}

static void read_channels(struct reading *r, const yyjson_val *of, struct checkpoint_request *c)
{
    yyjson_val *blobs = json_at(of, "blobs");

    if (!json_is_null(blobs) && !yyjson_is_obj(blobs))
        reading_fail(r, "blobs", "an object by channel");
    c->channels = arena_alloc(r->mem, (yyjson_obj_size(blobs) + 1) * sizeof(*c->channels));
    if (c->channels == NULL)
        reading_fail_memory(r);
    if (c->channels == NULL || blobs == NULL)
        return;
    json_each_member(key, value, blobs) {
        struct channel_row *row = &c->channels[c->n_channels++];

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
    struct checkpoint_request *c = begin(call, reader, &r, &j);

    if (c == NULL)
        return false;
    read_place(&r, j.root, &c->of);
    c->of.parent = reading_optional(&r, j.root, "parent", STR_NONE);
    read_blob(&r, json_at(j.root, "checkpoint"), "checkpoint", &c->of.value);
    c->of.metadata = reading_object(&r, j.root, "metadata");
    c->of.versions = read_versions(&r, j.root);
    read_channels(&r, j.root, c);
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
    yyjson_val *list;
    struct json j;
    struct reading r;
    struct checkpoint_request *c = begin(call, reader, &r, &j);

    if (c == NULL)
        return false;
    list = json_at(j.root, "writes");
    read_place(&r, j.root, &c->of);
    struct str task = reading_text(&r, j.root, "task", 1, MAX_ID);
    struct str path = reading_optional(&r, j.root, "path", STR(""));
    if (!yyjson_is_arr(list))
        reading_fail(&r, "writes", "a list");
    c->writes = arena_alloc(r.mem, (yyjson_arr_size(list) + 1) * sizeof(*c->writes));
    if (c->writes == NULL)
        reading_fail_memory(&r);
    json_each(value, list)
        if (!r.failed)
            read_write(&r, value, task, path, &c->writes[c->n_writes++]);
    return !r.failed;
}

/* {task: [interrupt, …], …} of the tasks that have interrupts. */
static struct str read_interrupts(struct reading *r, const yyjson_val *tasks)
{
    struct buf json LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&json);
    json_each(task, tasks) {
        yyjson_val *interrupts = json_at(task, "interrupts");

        if (yyjson_arr_size(interrupts) == 0 || str_absent(json_text(json_at(task, "id"))))
            continue;
        json_put_key(&json, json_text(json_at(task, "id")));
        json_put_value(&json, interrupts);
    }
    json_end(&json);
    if (json.error != 0)
        reading_fail_memory(r);
    return reading_keep(r, buf_text(&json));
}

static bool read_state(struct journal_call *call, struct json_reader *reader)
{
    struct json j;
    struct reading r;
    struct checkpoint_request *c = begin(call, reader, &r, &j);

    if (c == NULL)
        return false;
    read_place(&r, j.root, &c->of);
    if (!yyjson_is_obj(json_at(j.root, "state")))
        reading_fail(&r, "state", "an object");
    c->state = reading_object(&r, j.root, "state");
    if (!r.failed && !str_absent(call->journal.checkpoint.call)) {
        const yyjson_val *state = json_at(j.root, "state");

        if (!json_is_null(json_at(state, "values")))
            c->values = reading_keep_json(&r, json_at(state, "values"));
        c->interrupts = read_interrupts(&r, json_at(state, "tasks"));
        c->is_waiting = yyjson_arr_size(json_at(state, "next")) > 0;
    }
    return !r.failed;
}

static bool read_nothing(struct journal_call *call, struct json_reader *reader)
{
    (void)reader;
    return begin_fenced(call) != NULL;
}

static void post(struct http_request *req,
                 enum journal_op op,
                 bool (*read)(struct journal_call *, struct json_reader *),
                 void (*answer)(struct journal_call *))
{
    struct journal_call *call = journal_call_new(req, op, answer);

    if (call != NULL)
        journal_call_read(call, MAX_DEPTH, read);
}

void api_checkpoint_put(struct http_request *req)
{
    post(req, JOURNAL_CHECKPOINT_PUT, read_checkpoint, answer_id);
}

void api_checkpoint_writes(struct http_request *req)
{
    post(req, JOURNAL_CHECKPOINT_WRITES, read_writes, answer_stored);
}

void api_checkpoint_state(struct http_request *req)
{
    post(req, JOURNAL_CHECKPOINT_STATE, read_state, answer_stored);
}

void api_checkpoints_delete(struct http_request *req)
{
    post(req, JOURNAL_CHECKPOINTS_DELETE, read_nothing, journal_call_answer_empty);
}
