/* Messages: one pass over an object finds the members of every encoding at once; which
 * of them are there says which encoding it is.
 *
 *   {"lc":1,"type":"constructor","id":[…,"AIMessageChunk"],"kwargs":{fields}}
 *   {"type":"ai","data":{fields}}
 *   {"text":…,"message":{any of these},"generation_info":…}
 *   {"type":"ai", fields}
 *   {"text":…}                    a completion model's generation
 *   "content='…' id='…'"          Python's str(), lossy
 *   "text"
 *
 * Only the classes that LangChain has count as messages: a user's own {"type","content"}
 * or {"type","data"} object must pass through untouched. */
#include "ingest/message.h"

#include "base/utf8.h"
#include "ingest/repr.h"
#include "ingest/sources.h"

/* The members that tell the encodings apart. */
struct message_shape {
    const yyjson_val *lc;
    const yyjson_val *type;
    const yyjson_val *id;
    const yyjson_val *kwargs;
    const yyjson_val *data;
    const yyjson_val *text;
    const yyjson_val *repr;
    const yyjson_val *message;
    const yyjson_val *content;
    const yyjson_val *generation_info;
    const yyjson_val *escaped; /* "__lc_escaped__" */
};

static void shape_take_4(const char *name, const yyjson_val *v, struct message_shape *s)
{
    if (key_is(name, "type"))
        s->type = v;
    else if (key_is(name, "data"))
        s->data = v;
    else if (key_is(name, "text"))
        s->text = v;
    else if (key_is(name, "repr"))
        s->repr = v;
}

static void shape_take(const char *name, size_t n, const yyjson_val *v, struct message_shape *s)
{
    switch (n) {
    case 2:
        if (key_is(name, "id"))
            s->id = v;
        else if (key_is(name, "lc"))
            s->lc = v;
        break;
    case 4:
        shape_take_4(name, v, s);
        break;
    case 6:
        if (key_is(name, "kwargs"))
            s->kwargs = v;
        break;
    case 7:
        if (key_is(name, "content"))
            s->content = v;
        else if (key_is(name, "message"))
            s->message = v;
        break;
    case 14:
        if (key_is(name, "generationInfo"))
            s->generation_info = v;
        else if (key_is(name, "__lc_escaped__"))
            s->escaped = v;
        break;
    case 15:
        if (key_is(name, "generation_info"))
            s->generation_info = v;
        break;
    default:
        break;
    }
}

/* @object must be one. */
static void shape_read(const yyjson_val *object, struct message_shape *s)
{
    const yyjson_val *end = next_value(object);

    *s = (struct message_shape){ 0 };
    for (const yyjson_val *key = object + 1; key < end; key = next_value(key + 1))
        shape_take(unsafe_yyjson_get_str((yyjson_val *)key),
                   unsafe_yyjson_get_len((yyjson_val *)key), key + 1, s);
}

static bool is_object(const yyjson_val *v)
{
    return yyjson_is_obj((yyjson_val *)v);
}

/* @v when it is of that type and not empty, else NULL. */
static const yyjson_val *filled(const yyjson_val *v, yyjson_type type)
{
    return unsafe_yyjson_get_type((yyjson_val *)v) == type &&
                   unsafe_yyjson_get_len((yyjson_val *)v) > 0
               ? v
               : NULL;
}

/* --- classes ----------------------------------------------------------------- */

static const struct class_name {
    struct str name; /* of the class */
    struct str type; /* in flat form */
    enum message_class cls;
} class_names[] = {
    { { "AIMessage", 9 }, { "ai", 2 }, MESSAGE_AI },
    { { "HumanMessage", 12 }, { "human", 5 }, MESSAGE_HUMAN },
    { { "ToolMessage", 11 }, { "tool", 4 }, MESSAGE_TOOL },
    { { "SystemMessage", 13 }, { "system", 6 }, MESSAGE_SYSTEM },
    { { "FunctionMessage", 15 }, { "function", 8 }, MESSAGE_OTHER },
    { { "RemoveMessage", 13 }, { "remove", 6 }, MESSAGE_OTHER },
    { { "ChatMessage", 11 }, { "chat", 4 }, MESSAGE_OTHER },
    { { "DeveloperMessage", 16 }, { "developer", 9 }, MESSAGE_OTHER },
    { { "GenericMessage", 14 }, { "generic", 7 }, MESSAGE_OTHER },
};

static const struct class_name *class_search(struct str name, bool *ret_chunk)
{
    *ret_chunk = str_ends(name, STR("MessageChunk"));
    if (*ret_chunk)
        name.n -= sizeof("Chunk") - 1;
    for (size_t i = 0; i < sizeof(class_names) / sizeof(*class_names); i++) {
        const struct class_name *c = &class_names[i];

        if (str_eq(name, c->name) || str_eq(name, c->type))
            return c;
    }
    return NULL;
}

/* The class of that name or type, NULL when it is no message's. */
static inline const struct class_name *class_find(struct str name, bool *ret_chunk)
{
    if (!str_is(name, "AIMessageChunk"))
        return class_search(name, ret_chunk);
    *ret_chunk = true; /* the fast path: nearly all names are this one */
    return &class_names[0];
}

static bool is_generation(struct str class)
{
    return str_is(class, "Generation") || str_is(class, "GenerationChunk") ||
           str_is(class, "ChatGeneration") || str_is(class, "ChatGenerationChunk");
}

/* Is it the number 1?  Numbers are kept as text. */
static bool is_one(const yyjson_val *v)
{
    return unsafe_yyjson_is_raw((yyjson_val *)v) &&
           unsafe_yyjson_get_len((yyjson_val *)v) == 1 &&
           unsafe_yyjson_get_raw((yyjson_val *)v)[0] == '1';
}

static bool is_lc(const struct message_shape *s)
{
    return s->lc != NULL && is_one(s->lc);
}

static bool is_constructor(const struct message_shape *s)
{
    return is_lc(s) && str_is(json_text(s->type), "constructor") && is_object(s->kwargs);
}

/* The class in ["langchain_core","messages","AIMessageChunk"]. */
static struct str class_in_id(const struct message_shape *s)
{
    return yyjson_is_arr((yyjson_val *)s->id)
               ? json_text(yyjson_arr_get_last((yyjson_val *)s->id))
               : STR_NONE;
}

/* {"type":"ai","data":{"content":…}} */
static const struct class_name *class_of_pair(const struct message_shape *s, bool *ret_chunk)
{
    return is_object(s->data) && json_at(s->data, "content") != NULL
               ? class_find(json_text(s->type), ret_chunk)
               : NULL;
}

/* A chat model's generation, which holds a message. */
static bool wraps_message(const struct message_shape *s)
{
    return is_object(s->message) &&
           (yyjson_is_str((yyjson_val *)s->text) || is_generation(json_text(s->type)));
}

static bool is_plain_generation(const struct message_shape *s)
{
    struct str type = json_text(s->type);

    return yyjson_is_str((yyjson_val *)s->text) && s->content == NULL &&
           (s->type == NULL || is_generation(type));
}

/* --- text -------------------------------------------------------------------- */

/* Text in pieces: one piece is borrowed, several are put together in the scratch. */
struct pieces {
    struct str only;
    size_t from; /* in the scratch */
    size_t n_bytes;
    size_t n;
};

/* Appends @s; a surrogate pair split between two pieces becomes one character again. */
static void put_piece(struct buf *scratch, struct str s)
{
    uint32_t high = utf8_half_last(buf_text(scratch)), low = utf8_half_first(s);
    char point[4];

    if (utf8_is_high(high) && utf8_is_low(low)) {
        buf_cut(scratch, scratch->n - 3);
        buf_put(scratch, point,
                utf8_put(point, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
        s = str_skip(s, 3);
    }
    buf_str(scratch, s);
}

static void pieces_add(struct pieces *t, struct str s, struct buf *scratch)
{
    if (str_empty(s))
        return;
    if (t->n++ == 0) {
        t->only = s;
        return;
    }
    if (t->n == 2) {
        t->from = scratch->n;
        buf_str(scratch, t->only);
    }
    put_piece(scratch, s);
    t->n_bytes = scratch->n - t->from;
}

/* Only when nothing is appended to the scratch any more: it may move until then. */
static struct str pieces_text(const struct pieces *t, const struct buf *scratch)
{
    if (t->n == 0 || (t->n > 1 && scratch->error != 0))
        return STR("");
    return t->n == 1 ? t->only : str_make(scratch->p + t->from, t->n_bytes);
}

/* Python's .text: the strings, and the text of the blocks of type "text". */
static void add_text(const yyjson_val *content, struct pieces *t, struct buf *scratch)
{
    json_each(block, content) {
        if (unsafe_yyjson_is_str(block))
            pieces_add(t, json_text(block), scratch);
        else if (str_is(json_text(json_at(block, "type")), "text"))
            pieces_add(t, json_text(json_at(block, "text")), scratch);
    }
}

/* OpenAI's {"type":"reasoning","summary":[{"type":"summary_text","text":…}]}. */
static void add_summary(const yyjson_val *summary, struct pieces *t, struct buf *scratch)
{
    if (!yyjson_is_arr((yyjson_val *)summary))
        return;
    json_each(part, summary)
        pieces_add(t, json_text(json_at(part, "text")), scratch);
}

static void add_reasoning(const yyjson_val *content, struct pieces *t, struct buf *scratch)
{
    json_each(block, content) {
        struct str type = json_text(json_at(block, "type"));

        if (str_is(type, "thinking")) {
            pieces_add(t, json_text(json_at(block, "thinking")), scratch);
        } else if (str_is(type, "reasoning")) {
            pieces_add(t, json_text(json_at(block, "reasoning")), scratch);
            add_summary(json_at(block, "summary"), t, scratch);
        } else if (str_is(type, "reasoning_content")) { /* Bedrock */
            pieces_add(t, json_text(json_at(json_at(block, "reasoning_content"), "text")),
                       scratch);
        }
    }
}

/* --- reading ----------------------------------------------------------------- */

/* Does it say why the model stopped? */
static bool says_finish(const yyjson_val *v)
{
    if (!is_object(v))
        return false;
    json_each_member(key, why, v) {
        struct str k = json_text(key);

        if ((str_is(k, "finish_reason") || str_is(k, "stop_reason") ||
             str_is(k, "finishReason") || str_is(k, "stopReason") ||
             str_is(k, "done_reason")) &&
            !str_empty(json_text(why)))
            return true;
    }
    return false;
}

static void read_blocks(const yyjson_val *content, struct buf *scratch, struct message *ret)
{
    struct pieces text = { 0 }, reasoning = { 0 };

    ret->content = content;
    add_text(content, &text, scratch);
    add_reasoning(content, &reasoning, scratch);
    ret->text = pieces_text(&text, scratch);
    if (reasoning.n > 0)
        ret->reasoning = pieces_text(&reasoning, scratch);
}

/* One field of a message. */
static void read_field(const char *name,
                       size_t n,
                       const yyjson_val *v,
                       struct buf *scratch,
                       struct message *ret)
{
    switch (n) {
    case 2:
        if (key_is(name, "id"))
            ret->id = json_text(v);
        break;
    case 4:
        if (key_is(name, "name"))
            ret->name = json_text(v);
        break;
    case 6:
        if (key_is(name, "status"))
            ret->status = json_text(v);
        break;
    case 7:
        if (!key_is(name, "content"))
            break;
        if (unsafe_yyjson_is_str((yyjson_val *)v))
            ret->text = json_text(v);
        else if (unsafe_yyjson_is_arr((yyjson_val *)v))
            read_blocks(v, scratch, ret);
        break;
    case 10:
        if (key_is(name, "tool_calls"))
            ret->calls = filled(v, YYJSON_TYPE_ARR);
        break;
    case 12:
        if (key_is(name, "tool_call_id"))
            ret->call = json_text(v);
        break;
    case 14:
        if (key_is(name, "usage_metadata"))
            ret->usage = unsafe_yyjson_is_obj((yyjson_val *)v) ? v : NULL;
        break;
    case 16:
        if (key_is(name, "tool_call_chunks")) {
            ret->call_chunks = filled(v, YYJSON_TYPE_ARR);
            /* JavaScript servers call a chunk "ai"; only chunks have this member. */
            ret->chunk = ret->chunk || ret->cls == MESSAGE_AI;
        }
        break;
    case 17:
        if (key_is(name, "response_metadata"))
            ret->response = filled(v, YYJSON_TYPE_OBJ);
        else if (key_is(name, "additional_kwargs"))
            ret->extra = filled(v, YYJSON_TYPE_OBJ);
        break;
    default:
        break;
    }
}

/* @object holds the fields of a message of that class. */
static void read_fields(const yyjson_val *object,
                        const struct class_name *class,
                        bool chunk,
                        struct buf *scratch,
                        struct message *ret)
{
    const yyjson_val *end = next_value(object);

    ret->cls = class->cls;
    ret->chunk = chunk;
    for (const yyjson_val *key = object + 1; key < end; key = next_value(key + 1))
        read_field(unsafe_yyjson_get_str((yyjson_val *)key),
                   unsafe_yyjson_get_len((yyjson_val *)key), key + 1, scratch, ret);
    if (ret->response != NULL)
        ret->finish = says_finish(ret->response);
    if (ret->extra != NULL && str_absent(ret->reasoning)) {
        struct str reasoning = json_text(json_at(ret->extra, "reasoning_content"));

        ret->reasoning = str_empty(reasoning) ? STR_NONE : reasoning;
    }
}

static void read_generation(const struct message_shape *s, struct message *ret)
{
    struct str text = json_text(s->text);

    if (str_absent(text))
        return;
    *ret = (struct message){ .cls = MESSAGE_GENERATION,
                             .text = text,
                             .finish = says_finish(s->generation_info) };
}

/* The kwargs of a constructor whose members stand in the order in which everyone writes
 * them, {"lc","type","id","kwargs"}, and its class; NULL when it is anything else.  Nearly
 * all tokens are this, so they pay for no more than a look at the four. */
static const yyjson_val *constructor_kwargs(const yyjson_val *v, struct str *ret_class)
{
    /* Four members are eight values at least, so v + 8 is still inside of it. */
    if (unsafe_yyjson_get_len((yyjson_val *)v) != 4 || !str_is(json_text(v + 1), "lc") ||
        !is_one(v + 2) || !str_is(json_text(v + 3), "type") ||
        !str_is(json_text(v + 4), "constructor") || !str_is(json_text(v + 5), "id") ||
        !unsafe_yyjson_is_arr((yyjson_val *)(v + 6)))
        return NULL;
    const yyjson_val *key = next_value(v + 6);
    if (!str_is(json_text(key), "kwargs") || !unsafe_yyjson_is_obj((yyjson_val *)(key + 1)))
        return NULL;
    *ret_class = json_text(yyjson_arr_get_last((yyjson_val *)(v + 6)));
    return key + 1;
}

static void read_object(const yyjson_val *v, struct buf *scratch, struct message *ret);

static void read_lc(const struct message_shape *s, struct buf *scratch, struct message *ret)
{
    bool chunk;
    struct str name = class_in_id(s);
    const struct class_name *class = class_find(name, &chunk);

    if (is_constructor(s) && class != NULL)
        read_fields(s->kwargs, class, chunk, scratch, ret);
    else if (is_constructor(s) && is_generation(name))
        read_object(s->kwargs, scratch, ret);
    else if (class != NULL)
        (void)repr_message(json_text(s->repr), scratch, ret); /* on failure cls stays
                                                                 MESSAGE_NONE */
}

static void read_shape(const yyjson_val *v, struct buf *scratch, struct message *ret)
{
    struct message_shape s;
    bool chunk;
    const struct class_name *class;

    shape_read(v, &s);
    if (is_lc(&s)) {
        read_lc(&s, scratch, ret);
    } else if ((class = class_of_pair(&s, &chunk)) != NULL) {
        read_fields(s.data, class, chunk, scratch, ret);
    } else if (wraps_message(&s)) {
        read_object(s.message, scratch, ret);
        if (ret->cls == MESSAGE_NONE)
            read_generation(&s, ret);
        ret->finish = ret->finish || says_finish(s.generation_info);
    } else if (s.content != NULL && (class = class_find(json_text(s.type), &chunk)) != NULL) {
        read_fields(v, class, chunk, scratch, ret);
    } else if (is_plain_generation(&s)) {
        read_generation(&s, ret);
    }
}

static void read_object(const yyjson_val *v, struct buf *scratch, struct message *ret)
{
    bool chunk;
    struct str name;
    const yyjson_val *kwargs = constructor_kwargs(v, &name);
    const struct class_name *class = kwargs != NULL ? class_find(name, &chunk) : NULL;

    if (class != NULL)
        read_fields(kwargs, class, chunk, scratch, ret);
    else
        read_shape(v, scratch, ret);
}

void message_fill(const yyjson_val *v, struct buf *scratch, struct message *ret)
{
    ret->text = STR("");
    if (v == NULL)
        return;
    if (unsafe_yyjson_is_obj((yyjson_val *)v)) {
        read_object(v, scratch, ret);
    } else if (unsafe_yyjson_is_str((yyjson_val *)v) &&
               !repr_message(json_text(v), scratch, ret)) {
        ret->cls = MESSAGE_GENERATION;
        ret->text = json_text(v);
        ret->lossy = str_starts(ret->text, STR("content="));
    }
}

void message_read(const yyjson_val *v, struct buf *scratch, struct message *ret)
{
    *ret = (struct message){ 0 };
    message_fill(v, scratch, ret);
}

bool message_is(const yyjson_val *v)
{
    struct message_shape s;
    bool chunk;

    if (!is_object(v))
        return false;
    shape_read(v, &s);
    if (is_lc(&s))
        return is_constructor(&s) && class_find(class_in_id(&s), &chunk) != NULL;
    if (class_of_pair(&s, &chunk) != NULL)
        return true;
    if (wraps_message(&s))
        return message_is(s.message);
    return s.content != NULL && class_find(json_text(s.type), &chunk) != NULL;
}

/* --- writing flat ------------------------------------------------------------ */

static void flatten(struct buf *out, const yyjson_val *v, struct str skip);

/* The members of @object but @skip, with a "type" of @type added when it has none. */
static void flatten_members(struct buf *out,
                            const yyjson_val *object,
                            struct str skip,
                            struct str type)
{
    json_begin(out);
    json_each_member(key, v, object) {
        struct str k = json_text(key);

        if (str_is(k, "type"))
            type = STR_NONE;
        if (!str_absent(skip) && str_eq(k, skip))
            continue;
        json_put_key(out, k);
        flatten(out, v, STR_NONE);
    }
    if (!str_absent(type) && !str_is(skip, "type"))
        json_add_str(out, "type", type);
    json_end(out);
}

static void flatten_object(struct buf *out, const yyjson_val *v, struct str skip)
{
    struct message_shape s;
    const struct class_name *class;
    bool chunk;

    shape_read(v, &s);
    if (s.escaped != NULL && unsafe_yyjson_get_len((yyjson_val *)v) == 1) {
        json_put_value(out, s.escaped); /* a user's own object: nothing in it is ours */
    } else if (is_constructor(&s)) {
        class = class_find(class_in_id(&s), &chunk);
        flatten_members(out, s.kwargs, skip, class != NULL ? class->type : STR_NONE);
    } else if (is_lc(&s)) {
        json_put_value(out, v);
    } else if ((class = class_of_pair(&s, &chunk)) != NULL) {
        flatten_members(out, s.data, skip, class->type);
    } else {
        flatten_members(out, v, skip, STR_NONE);
    }
}

static void flatten(struct buf *out, const yyjson_val *v, struct str skip)
{
    if (is_object(v)) {
        flatten_object(out, v, skip);
        return;
    }
    if (!yyjson_is_arr((yyjson_val *)v)) {
        json_put_value(out, v);
        return;
    }
    json_begin_array(out);
    json_each(item, v)
        flatten(json_next(out), item, STR_NONE);
    json_end_array(out);
}

void message_flatten(struct buf *out, const yyjson_val *v, struct str skip)
{
    flatten(out, v, skip);
}

void message_read_content(const yyjson_val *content, struct buf *scratch, struct message *ret)
{
    *ret = (struct message){ .cls = MESSAGE_AI, .chunk = true, .text = STR("") };
    if (yyjson_is_arr((yyjson_val *)content))
        read_blocks(content, scratch, ret);
    else if (yyjson_is_str((yyjson_val *)content))
        ret->text = json_text(content);
}
