/* Commands that read a thread's checkpoints. */
#include "api/langgraph/commands.h"

#include "base/error.h"
#include "base/json_format.h"
#include "store/checkpoints.h"

/* The namespace of @params as checkpoints name it: segments with bars between. */
static bool read_namespace(struct arena *mem, const yyjson_val *params, struct str *ret)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    json_each(segment, json_at(params, "namespace")) {
        if (b.n > 0)
            buf_char(&b, '|');
        buf_str(&b, json_text(segment));
    }
    *ret = STR("");
    return b.n == 0 || (b.error == 0 && arena_copy(mem, buf_text(&b), ret));
}

static bool is_asked(const yyjson_val *keys, struct str key)
{
    json_each(one, keys)
        if (str_eq(json_text(one), key))
            return true;
    return !yyjson_is_arr((yyjson_val *)(uintptr_t)keys);
}

struct state_result {
    struct buf *out;
    const yyjson_val *keys; /* of the values; NULL: all */
    bool is_found;
};

static int put_state(void *arg, const struct checkpoint_row *of, struct str state)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct state_result *r = arg;
    struct json json;

    r->is_found = true;
    json_begin(r->out);
    json_key(r->out, "values");
    json_begin(r->out);
    if (json_read(&reader, state, &json, NULL) == 0) {
        json_each_member(key, value, json_at(json.root, "values")) {
            if (!is_asked(r->keys, json_text(key)))
                continue;
            json_put_key(r->out, json_text(key));
            json_put_value(r->out, value);
        }
    }
    json_end(r->out);
    json_format(r->out, ",'checkpoint':{'id':%s,'ns':%s}}", of->id, of->ns);
    return 1;
}

void thread_command_state_get(struct store_query *query,
                              struct store *store,
                              const struct thread_command *c,
                              struct str thread)
{
    struct checkpoint_filter filter = { .thread = thread };
    struct state_result result = { .out = &query->out, .keys = json_at(c->params, "keys") };
    struct error err = { 0 };

    if (!read_namespace(&query->mem, c->params, &filter.ns) ||
        store_states(store, &filter, put_state, &result, &err) != 0)
        store_query_broke(query, &err);
    else if (!result.is_found)
        json_format_plain(&query->out, "{'values':{}}");
}

/* --- state.listCheckpoints ------------------------------------------------------------------
 */

struct checkpoint_list {
    struct buf *out;
    int64_t limit, n;
};

static int put_summary(void *arg, const struct checkpoint_row *of, struct str state)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct checkpoint_list *list = arg;
    struct json json;

    if (list->n == list->limit)
        return 1;
    if (json_read(&reader, state, &json, NULL) != 0)
        return 0;
    yyjson_val *metadata = json_at(json.root, "metadata");
    json_begin(json_next(list->out));
    json_add_str(list->out, "id", of->id);
    json_add_str(list->out, "timestamp",
                 json_is_null(json_at(json.root, "created_at"))
                     ? STR("")
                     : json_text(json_at(json.root, "created_at")));
    json_add_int(list->out, "step", json_int(json_at(metadata, "step"), 0));
    if (metadata != NULL) {
        json_key(list->out, "metadata");
        json_put_value(list->out, metadata);
    }
    json_end(list->out);
    list->n++;
    return 0;
}

void thread_command_list_checkpoints(struct store_query *query,
                                     struct store *store,
                                     const struct thread_command *c,
                                     struct str thread)
{
    struct checkpoint_filter filter = { .thread = thread,
                                        .before = json_text(json_at(c->params, "before")) };
    struct checkpoint_list list = { .out = &query->out,
                                    .limit = json_int(json_at(c->params, "limit"), 10) };
    struct error err = { 0 };

    json_begin(&query->out);
    json_key(&query->out, "checkpoints");
    json_begin_array(&query->out);
    if (!read_namespace(&query->mem, c->params, &filter.ns) ||
        store_states(store, &filter, put_summary, &list, &err) != 0)
        store_query_broke(query, &err);
    json_end_array(&query->out);
    json_end(&query->out);
}

/* --- state.fork -----------------------------------------------------------------------------
 */

static int on_found(void *arg, const struct checkpoint_row *of, struct str state)
{
    bool *is_found = arg;

    (void)of, (void)state;
    *is_found = true;
    return 1;
}

void thread_command_find_checkpoint(struct store_query *query,
                                    struct store *store,
                                    const struct thread_command *c,
                                    struct str thread)
{
    struct command_thread *t = query->data;
    struct checkpoint_filter filter = { .thread = thread,
                                        .ns = STR(""),
                                        .id = json_text(json_at(c->params, "checkpoint_id")) };
    struct error err = { 0 };

    if (!str_empty(filter.id) &&
        store_states(store, &filter, on_found, &t->has_checkpoint, &err) != 0)
        store_query_broke(query, &err);
}
