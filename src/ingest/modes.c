/* LangGraph's stream modes: what graph.stream yields, one part a line.
 *
 *     {"namespace":[…],"mode":"values","payload":…}
 *     {"type":"values","ns":[…],"data":…}            langgraph's version="v2" parts
 *     [mode, payload]    [namespace, mode, payload]
 *     event: values|writer:1   data: payload         LangGraph Server, LangGraph.js
 *     [message, metadata]                            mode messages alone, by its shape
 *     {"__interrupt__":[…]}                          mode updates alone, or a state
 *     [namespace, "custom:NAME", payload]            what a stream transformer has sent on its
 *                                                    channel NAME
 *
 * The payload of a messages part is a message and its metadata; the metadata's namespace
 * is the better one (Python strips a segment from the part's own). */
#include "ingest/sources.h"
#include "record/record.h"

bool part_mode_find(struct str s, enum part_mode *ret)
{
    for (int i = 0; i < PART_MODE_MAX; i++) {
        const char *name = part_mode_name((enum part_mode)i);

        *ret = (enum part_mode)i;
        if (s.n > 0 && s.p[0] == name[0] && str_eq(s, str_of(name)))
            return true;
    }
    *ret = str_absent(part_channel(s)) ? PART_MODE_MAX : PART_CUSTOM;
    return *ret == PART_CUSTOM;
}

struct str part_channel(struct str mode)
{
    struct str prefix = STR("custom:");

    return mode.n > prefix.n && str_starts(mode, prefix) ? str_skip(mode, prefix.n) : STR_NONE;
}

static bool is_list_of(const yyjson_val *v, size_t n)
{
    return yyjson_is_arr((yyjson_val *)v) && unsafe_yyjson_get_len((yyjson_val *)v) == n;
}

static const yyjson_val *item(const yyjson_val *list, size_t i)
{
    return yyjson_arr_get((yyjson_val *)list, i);
}

/* What mode `messages` yields: a message and its metadata. */
static bool is_message_pair(const yyjson_val *v)
{
    return is_list_of(v, 2) && message_is(item(v, 0)) &&
           json_at(item(v, 1), "langgraph_node") != NULL;
}

/* A list of segments joined by '|', or a text that is joined already. */
static int read_ns(const struct source_line *in, const yyjson_val *ns, struct event *ev)
{
    size_t from = in->scratch->n, i, n;
    yyjson_val *segment;

    if (json_is_null(ns) || yyjson_is_str((yyjson_val *)ns)) {
        ev->ns = json_text(ns);
        return 0;
    }
    if (!yyjson_is_arr((yyjson_val *)ns))
        return error_set(in->err, ERR_TYPE, "the namespace must be a list of strings");
    yyjson_arr_foreach((yyjson_val *)ns, i, n, segment)
    {
        if (!unsafe_yyjson_is_str(segment))
            return error_set(in->err, ERR_TYPE, "the namespace must be a list of strings");
        if (i > 0)
            buf_char(in->scratch, '|');
        buf_str(in->scratch, json_text(segment));
    }
    ev->ns = n == 0 ? STR("") : buf_since(in->scratch, from);
    return 0;
}

static int read_messages(const struct source_line *in, struct event *ev)
{
    const yyjson_val *meta = item(ev->data, 1), *tags;
    struct str ns = ev->ns;

    if (!is_list_of(ev->data, 2) || !yyjson_is_obj((yyjson_val *)meta))
        return error_set(in->err, ERR_TYPE,
                         "the payload of a messages part must be [message, metadata]");
    message_read(item(ev->data, 0), in->scratch, &ev->message);
    if (ev->message.cls == MESSAGE_NONE)
        return error_set(in->err, ERR_TYPE,
                         "the first item of a messages part is no message: send it as "
                         "langchain_core.load.dumpd or model_dump() writes it");
    ev->has_message = true;
    ev->lossy = ev->message.lossy;
    read_meta(meta, NULL, ev);
    ev->outer = !str_absent(ns) && ns.n < ev->ns.n && str_eq(ns, record_outer_ns(ev->ns));
    if (str_absent(ev->ns))
        ev->ns = ns;
    tags = json_at(meta, "tags");
    if (yyjson_is_arr((yyjson_val *)tags))
        ev->tags = tags;
    return 0;
}

static int read_part(const struct source_line *in,
                     struct str mode,
                     const yyjson_val *payload,
                     struct event *ev)
{
    char word[QUOTED_BYTES];

    if (!part_mode_find(mode, &ev->mode))
        return error_set(in->err, ERR_TYPE, "unknown stream mode \"%s\"", quoted(mode, word));
    if (payload == NULL)
        return error_set(in->err, ERR_TYPE, "a stream part without its payload");
    ev->kind = EVENT_PART;
    ev->data = payload;
    ev->name = part_channel(mode);
    if (ev->mode == PART_MESSAGES)
        return read_messages(in, ev);
    return 0;
}

static int read_list(const struct source_line *in, const yyjson_val *list, struct event *ev)
{
    const yyjson_val *ns = NULL;
    struct str mode = json_text(item(list, 0));
    int err;

    if (is_message_pair(list))
        return read_part(in, STR("messages"), list, ev);
    if (is_list_of(list, 3)) {
        ns = item(list, 0);
        mode = json_text(item(list, 1));
    } else if (is_list_of(list, 2) && is_message_pair(item(list, 1))) {
        ns = item(list, 0);
        mode = STR("messages");
    }
    if (str_absent(mode) || (!is_list_of(list, 2) && !is_list_of(list, 3)))
        return error_set(
            in->err, ERR_TYPE,
            "a list must be [mode, payload] or [namespace, mode, payload]; ask for "
            "several modes (stream_mode=[\"updates\",\"messages\"]) to get these");
    err = read_ns(in, ns, ev);
    if (err != 0)
        return err;
    return read_part(in, mode, yyjson_arr_get_last((yyjson_val *)list), ev);
}

/* Named by the SSE event: `values`, `messages|writer:1`, `messages/partial`. */
static int read_named(const struct source_line *in, struct event *ev)
{
    size_t bar = str_find(in->sse_event, '|');
    struct str mode = str_head(in->sse_event, bar);

    if (str_is(mode, "messages/metadata"))
        return 0;
    if (str_starts(mode, STR("messages/")))
        return error_set(in->err, ERR_REFUSED,
                         "messages/partial and messages/complete repeat the text so far with "
                         "every event: ask for stream_mode \"messages-tuple\" instead");
    if (bar < in->sse_event.n)
        ev->ns = str_skip(in->sse_event, bar + 1);
    return read_part(in, mode, in->json->root, ev);
}

static int read_object(const struct source_line *in, struct event *ev)
{
    const yyjson_val *root = in->json->root, *mode = json_at(root, "mode");
    const yyjson_val *payload = mode != NULL ? json_at(root, "payload") : in->top.data;
    struct str word;

    if (mode == NULL && in->top.type == NULL && json_at(root, "__interrupt__") != NULL) {
        bool alone = unsafe_yyjson_get_len((yyjson_val *)root) == 1;

        return read_part(in, alone ? STR("updates") : STR("values"), root, ev);
    }
    int err = mode != NULL ? need_text(in, mode, "mode", &word)
                           : need_text(in, in->top.type, "type", &word);
    if (err == 0)
        err = read_ns(in, either(json_at(root, "namespace"), json_at(root, "ns")), ev);
    return err != 0 ? err : read_part(in, word, payload, ev);
}

int modes_read(const struct source_line *in, struct event *ev)
{
    struct str sse = str_head(in->sse_event, str_find(in->sse_event, '|'));
    enum part_mode ignored;

    if (is_v3(in))
        return refuse_v3(in);
    if (!str_empty(sse) && (part_mode_find(sse, &ignored) || str_starts(sse, STR("messages/"))))
        return read_named(in, ev);
    if (yyjson_is_arr(in->json->root))
        return read_list(in, in->json->root, ev);
    return read_object(in, ev);
}

void modes_read_error(const struct source_line *in, struct event *ev)
{
    ev->kind = EVENT_JOB_END;
    ev->end = JOB_END_FAILED;
    read_error(in->json->root, in->scratch, ev);
}
