/* From a line to an event: which source format is it, and who reads it.
 *
 * The outermost object is walked once, for all formats; which members it has tells them
 * apart.  An SSE event name goes first where it means something: stream parts are named
 * by it, and `metadata`, `end` and `error` are sent by the server itself.
 *
 *     "event":"on_…"  with a parent_run_id        a callback
 *                     without name, tags, …       the envelope
 *                     else                        astream_events
 *     "event" or "type":"chain/start"             a callback
 *     "method":"on_…"                             a callback
 *     "mode" and "payload"                        a stream part
 *     "type":"values", … and "data"               a stream part
 *     "type":"tool.start", …                      native
 *     "__interrupt__"                             a stream part
 *     a list                                      a stream part */
#include "ingest/event.h"

#include "ingest/sources.h"
#include "record/record.h"

static const char *const source_names[SOURCE_MAX] = {
    [SOURCE_AUTO] = "auto",         [SOURCE_EVENTS] = "events", [SOURCE_CALLBACK] = "callbacks",
    [SOURCE_ENVELOPE] = "envelope", [SOURCE_MODES] = "modes",   [SOURCE_NATIVE] = "native",
};

static const char *const type_names[RUN_TYPE_MAX] = {
    [RUN_CHAIN] = "chain",         [RUN_PROMPT] = "prompt", [RUN_PARSER] = "parser",
    [RUN_CHAT] = "chat_model",     [RUN_LLM] = "llm",       [RUN_TOOL] = "tool",
    [RUN_RETRIEVER] = "retriever",
};

static const char *const mode_names[PART_MODE_MAX] = {
    [PART_VALUES] = "values", [PART_UPDATES] = "updates", [PART_MESSAGES] = "messages",
    [PART_CUSTOM] = "custom", [PART_TASKS] = "tasks",     [PART_CHECKPOINTS] = "checkpoints",
    [PART_DEBUG] = "debug",   [PART_TOOLS] = "tools",
};

bool event_source_find(struct str name, enum event_source *ret)
{
    for (int i = 0; i < SOURCE_MAX; i++) {
        if (str_eq(name, str_of(source_names[i]))) {
            *ret = (enum event_source)i;
            return true;
        }
    }
    return false;
}

const char *run_type_name(enum run_type type)
{
    return type < RUN_TYPE_MAX ? type_names[type] : "unknown";
}

const char *part_mode_name(enum part_mode mode)
{
    return mode < PART_MODE_MAX ? mode_names[mode] : "unknown";
}

void event_init(struct event *ev)
{
    static const struct event empty = { .step = RECORD_NO_NUMBER,
                                        .count = RECORD_NO_NUMBER,
                                        .elapsed = RECORD_NO_NUMBER };

    *ev = empty;
}

/* --- the outermost object ---------------------------------------------------- */

static void take_4(const char *name, const yyjson_val *v, struct members *m)
{
    if (key_is(name, "data"))
        m->data = v;
    else if (key_is(name, "name"))
        m->name = v;
    else if (key_is(name, "tags"))
        m->tags = v;
    else if (key_is(name, "type"))
        m->type = v;
}

static void take(const yyjson_val *key, const yyjson_val *v, struct members *m)
{
    const char *name = unsafe_yyjson_get_str((yyjson_val *)key);

    switch (unsafe_yyjson_get_len((yyjson_val *)key)) {
    case 2:
        if (key_is(name, "id"))
            m->id = v;
        break;
    case 4:
        take_4(name, v, m);
        break;
    case 5:
        if (key_is(name, "event"))
            m->event = v;
        break;
    case 6:
        if (key_is(name, "run_id"))
            m->run_id = v;
        else if (key_is(name, "method"))
            m->method = v;
        break;
    case 8:
        if (key_is(name, "metadata")) {
            m->metadata = v;
            m->metadata_key = key;
        }
        break;
    case 10:
        if (key_is(name, "parent_ids"))
            m->parent_ids = v;
        break;
    case 13:
        if (key_is(name, "parent_run_id"))
            m->parent_run_id = v;
        break;
    default:
        break;
    }
}

static void members_read(const yyjson_val *object, struct members *m)
{
    const yyjson_val *end = next_value(object);

    *m = (struct members){ 0 };
    if (!unsafe_yyjson_is_obj((yyjson_val *)object))
        return;
    for (const yyjson_val *key = object + 1; key < end; key = next_value(key + 1))
        take(key, key + 1, m);
}

/* --- detection --------------------------------------------------------------- */

/* Lines named by "event". */
static enum event_source detect_event(const struct members *m, struct str event)
{
    if (m->parent_run_id != NULL || !str_starts(event, STR("on_")))
        return SOURCE_CALLBACK;
    /* Every event of LangChain has all three of these, the envelope has none. */
    if (m->name == NULL && m->tags == NULL && m->metadata == NULL)
        return SOURCE_ENVELOPE;
    return SOURCE_EVENTS;
}

/* Lines named by "type". */
static enum event_source detect_type(const struct source_line *in, struct str type)
{
    enum part_mode mode;

    if (str_starts(type, STR("on_")) || str_has(type, '/'))
        return SOURCE_CALLBACK;
    if (part_mode_find(type, &mode) && in->top.data != NULL)
        return SOURCE_MODES;
    return SOURCE_NATIVE;
}

static int unknown(const struct source_line *in)
{
    const yyjson_val *root = in->json->root;

    if (json_at(root, "seq") != NULL && json_at(root, "kind") != NULL)
        return error_set(
            in->err, ERR_TYPE,
            "this is a stored spoolwire record (\"seq\", \"kind\"), not a worker's "
            "event: feed the worker's own output instead");
    if (json_at(root, "tasks") != NULL && json_at(root, "next") != NULL)
        return error_set(in->err, ERR_TYPE,
                         "this is a state snapshot (get_state), not an event of a stream");
    return error_set(
        in->err, ERR_TYPE,
        "no known event: no \"event\", \"type\", \"method\" or \"mode\"; with "
        "graph.stream ask for several modes (stream_mode=[\"updates\",\"messages\"]), "
        "so that each part says which it is");
}

static int detect(const struct source_line *in, enum event_source *ret)
{
    const struct members *m = &in->top;
    const yyjson_val *root = in->json->root;
    struct str event = json_text(m->event), type = json_text(m->type);

    if (!str_absent(event))
        *ret = detect_event(m, event);
    else if (yyjson_is_arr(in->json->root))
        *ret = SOURCE_MODES;
    else if (is_v3(in))
        return refuse_v3(in);
    else if (json_at(root, "seq") != NULL && json_at(root, "kind") != NULL)
        return unknown(in);
    else if (!str_absent(type))
        *ret = detect_type(in, type);
    else if (str_starts(json_text(m->method), STR("on_")))
        *ret = SOURCE_CALLBACK;
    else if (json_at(root, "mode") != NULL && json_at(root, "payload") != NULL)
        *ret = SOURCE_MODES;
    else if (json_at(root, "__interrupt__") != NULL)
        *ret = SOURCE_MODES;
    else if (yyjson_is_obj(in->json->root) && str_has(in->sse_event, '.'))
        *ret = SOURCE_NATIVE; /* its type is the SSE event name */
    else
        return unknown(in);
    return 0;
}

/* What the SSE event name alone decides: *ret_done when the event is complete, else the
 * source, SOURCE_AUTO when it says nothing. */
static enum event_source detect_sse(const struct source_line *in,
                                    struct event *ev,
                                    bool *ret_done)
{
    struct str name = in->sse_event;
    enum part_mode mode;

    if (str_is(name, "events"))
        return SOURCE_EVENTS;
    if (str_is(name, "error")) {
        modes_read_error(in, ev);
        *ret_done = true;
    }
    if (str_is(name, "metadata") || str_is(name, "end"))
        *ret_done = true; /* with ev->kind EVENT_NOTHING */
    name = str_head(name, str_find(name, '|'));
    if (part_mode_find(name, &mode) || str_starts(name, STR("messages/")))
        return SOURCE_MODES;
    return SOURCE_AUTO;
}

/* --- reading ----------------------------------------------------------------- */

static int read_as(enum event_source source, const struct source_line *in, struct event *ev)
{
    ev->source = source;
    if (source != SOURCE_MODES && !yyjson_is_obj(in->json->root))
        return error_set(in->err, ERR_TYPE, "a JSON object was expected");
    switch (source) {
    case SOURCE_EVENTS:
        return events_read(in, ev);
    case SOURCE_CALLBACK:
        return callbacks_read(in, ev);
    case SOURCE_ENVELOPE:
        return envelope_read(in, ev);
    case SOURCE_MODES:
        return modes_read(in, ev);
    case SOURCE_NATIVE:
        return native_read(in, ev);
    case SOURCE_AUTO:
    case SOURCE_MAX:
        break;
    }
    return error_set(in->err, ERR_TYPE, "no such source format");
}

/* An SSE message as one line of JSON: {"id":"5","event":"messages","data":[…]}. */
static bool is_wrapped(const struct source_line *in)
{
    struct str event = json_text(in->top.event);

    return str_absent(in->sse_event) && in->top.data != NULL && in->top.name == NULL &&
           in->top.run_id == NULL && !str_absent(event) && !str_starts(event, STR("on_")) &&
           (str_find(event, '/') == event.n || str_starts(event, STR("messages/")));
}

static int read_line(const struct source_line *in, enum event_source from, struct event *ev)
{
    enum event_source named = SOURCE_AUTO;
    bool done = false;

    if (!str_empty(in->sse_event))
        named = detect_sse(in, ev, &done);
    if (done) {
        ev->source = from != SOURCE_AUTO ? from : SOURCE_MODES;
        return 0;
    }
    if (named == SOURCE_MODES && from != SOURCE_AUTO && from != SOURCE_MODES)
        return error_set(
            in->err, ERR_TYPE,
            "an SSE event of this name is a stream part: read it with --from auto");
    if (from == SOURCE_AUTO)
        from = named;
    if (from == SOURCE_AUTO) {
        int err = detect(in, &from);
        if (err != 0)
            return err;
    }
    return read_as(from, in, ev);
}

/* An id without a character names nothing. */
static void drop_empty_ids(struct event *ev)
{
    if (ev->run.n == 0)
        ev->run = STR_NONE;
    if (ev->parent.n == 0)
        ev->parent = STR_NONE;
}

int event_read(const struct json *line,
               struct str sse_event,
               enum event_source from,
               struct buf *scratch,
               struct event *ret,
               struct error *err)
{
    struct source_line in;
    struct json inner;

    in.json = line;
    in.sse_event = sse_event;
    in.scratch = scratch;
    in.err = err;
    event_init(ret);
    buf_clear(scratch);
    /* More than all that can be put together from this line: what was handed out must
     * not move when more is appended. */
    if (!buf_reserve(scratch, 3 * line->line.n + 512))
        return error_set(err, scratch->error, "%s", error_name(scratch->error));
    members_read(line->root, &in.top);
    if (is_wrapped(&in)) {
        inner = *line;
        inner.root = (yyjson_val *)(uintptr_t)in.top.data;
        in.sse_event = json_text(in.top.event);
        in.json = &inner;
        members_read(inner.root, &in.top);
    }
    int code = read_line(&in, from, ret);
    drop_empty_ids(ret);
    if (code == 0 && scratch->error != 0)
        return error_set(err, scratch->error, "%s", error_name(scratch->error));
    return code;
}
