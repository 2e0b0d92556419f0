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

struct fields {
    const yyjson_val *lc;
    const yyjson_val *type;
    const yyjson_val *id;
    const yyjson_val *kwargs;
    const yyjson_val *data;
    const yyjson_val *text;
    const yyjson_val *repr;
    const yyjson_val *message;
    const yyjson_val *content;
    const yyjson_val *name;
    const yyjson_val *tool_call_id;
    const yyjson_val *status;
    const yyjson_val *tool_call_chunks;
    const yyjson_val *tool_calls;
    const yyjson_val *usage_metadata;
    const yyjson_val *response_metadata;
    const yyjson_val *additional_kwargs;
    const yyjson_val *generation_info;
};

static void take_4(const char *name, const yyjson_val *v, struct fields *f)
{
    if (key_is(name, "type"))
        f->type = v;
    else if (key_is(name, "data"))
        f->data = v;
    else if (key_is(name, "text"))
        f->text = v;
    else if (key_is(name, "name"))
        f->name = v;
    else if (key_is(name, "repr"))
        f->repr = v;
}

static void take(const char *name, size_t n, const yyjson_val *v, struct fields *f)
{
    switch (n) {
    case 2:
        if (key_is(name, "id"))
            f->id = v;
        else if (key_is(name, "lc"))
            f->lc = v;
        break;
    case 4:
        take_4(name, v, f);
        break;
    case 6:
        if (key_is(name, "kwargs"))
            f->kwargs = v;
        else if (key_is(name, "status"))
            f->status = v;
        break;
    case 7:
        if (key_is(name, "content"))
            f->content = v;
        else if (key_is(name, "message"))
            f->message = v;
        break;
    case 10:
        if (key_is(name, "tool_calls"))
            f->tool_calls = v;
        break;
    case 12:
        if (key_is(name, "tool_call_id"))
            f->tool_call_id = v;
        break;
    case 14:
        if (key_is(name, "usage_metadata"))
            f->usage_metadata = v;
        else if (key_is(name, "generationInfo"))
            f->generation_info = v;
        break;
    case 15:
        if (key_is(name, "generation_info"))
            f->generation_info = v;
        break;
    case 16:
        if (key_is(name, "tool_call_chunks"))
            f->tool_call_chunks = v;
        break;
    case 17:
        if (key_is(name, "response_metadata"))
            f->response_metadata = v;
        else if (key_is(name, "additional_kwargs"))
            f->additional_kwargs = v;
        break;
    default:
        break;
    }
}

/* @object must be one. */
static void fields_read(const yyjson_val *object, struct fields *f)
{
    const yyjson_val *end = next_value(object);

    *f = (struct fields){ 0 };
    for (const yyjson_val *key = object + 1; key < end; key = next_value(key + 1))
        take(unsafe_yyjson_get_str((yyjson_val *)key),
             unsafe_yyjson_get_len((yyjson_val *)key), key + 1, f);
}

static bool is_object(const yyjson_val *v)
{
    return yyjson_is_obj((yyjson_val *)v);
}

static bool is_filled(const yyjson_val *v, yyjson_type type)
{
    return v != NULL && unsafe_yyjson_get_type((yyjson_val *)v) == type &&
           unsafe_yyjson_get_len((yyjson_val *)v) > 0;
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

/* The class of that name or type, NULL when it is no message's. */
static const struct class_name *class_find(struct str name, bool *ret_chunk)
{
    if (str_is(name, "AIMessageChunk")) { /* nearly all of them */
        *ret_chunk = true;
        return &class_names[0];
    }
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

static bool is_generation(struct str class)
{
    return str_is(class, "Generation") || str_is(class, "GenerationChunk") ||
           str_is(class, "ChatGeneration") || str_is(class, "ChatGenerationChunk");
}

static bool is_lc(const struct fields *f)
{
    return f->lc != NULL && unsafe_yyjson_is_raw((yyjson_val *)f->lc) &&
           str_eq(str_make(unsafe_yyjson_get_raw((yyjson_val *)f->lc),
                           unsafe_yyjson_get_len((yyjson_val *)f->lc)),
                  STR("1"));
}

static bool is_constructor(const struct fields *f)
{
    return is_lc(f) && str_is(json_text(f->type), "constructor") && is_object(f->kwargs);
}

/* The class in ["langchain_core","messages","AIMessageChunk"]. */
static struct str class_in_id(const struct fields *f)
{
    return yyjson_is_arr((yyjson_val *)f->id)
               ? json_text(yyjson_arr_get_last((yyjson_val *)f->id))
               : STR_NONE;
}

/* {"type":"ai","data":{"content":…}} */
static const struct class_name *class_of_pair(const struct fields *f, bool *ret_chunk)
{
    return is_object(f->data) && json_at(f->data, "content") != NULL
               ? class_find(json_text(f->type), ret_chunk)
               : NULL;
}

/* A chat model's generation, which holds a message. */
static bool wraps_message(const struct fields *f)
{
    return is_object(f->message) && (yyjson_is_str((yyjson_val *)f->text) ||
                                     is_generation(json_text(f->type)));
}

static bool is_plain_generation(const struct fields *f)
{
    struct str type = json_text(f->type);

    return yyjson_is_str((yyjson_val *)f->text) && f->content == NULL &&
           (f->type == NULL || is_generation(type));
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
    size_t i, n;
    yyjson_val *block;

    yyjson_arr_foreach((yyjson_val *)content, i, n, block)
    {
        if (unsafe_yyjson_is_str(block))
            pieces_add(t, json_text(block), scratch);
        else if (str_is(json_text(json_at(block, "type")), "text"))
            pieces_add(t, json_text(json_at(block, "text")), scratch);
    }
}

/* OpenAI's {"type":"reasoning","summary":[{"type":"summary_text","text":…}]}. */
static void add_summary(const yyjson_val *summary, struct pieces *t, struct buf *scratch)
{
    size_t i, n;
    yyjson_val *part;

    if (!yyjson_is_arr((yyjson_val *)summary))
        return;
    yyjson_arr_foreach((yyjson_val *)summary, i, n, part)
    {
        pieces_add(t, json_text(json_at(part, "text")), scratch);
    }
}

static void add_reasoning(const yyjson_val *content, struct pieces *t, struct buf *scratch)
{
    size_t i, n;
    yyjson_val *block;

    yyjson_arr_foreach((yyjson_val *)content, i, n, block)
    {
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
    size_t i, n;
    yyjson_val *key, *why;

    if (!is_object(v))
        return false;
    yyjson_obj_foreach((yyjson_val *)v, i, n, key, why)
    {
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

static void read_fields(const struct fields *f,
                        enum message_class cls,
                        bool chunk,
                        struct buf *scratch,
                        struct message *ret)
{
    const yyjson_val *content = f->content != NULL ? f->content : f->text;

    ret->cls = cls;
    /* JavaScript servers call a chunk "ai" as well; only chunks have this member. */
    ret->chunk = chunk || (cls == MESSAGE_AI && f->tool_call_chunks != NULL);
    ret->id = json_text(f->id);
    ret->name = json_text(f->name);
    ret->call = json_text(f->tool_call_id);
    ret->status = json_text(f->status);
    if (is_filled(f->tool_call_chunks, YYJSON_TYPE_ARR))
        ret->call_chunks = f->tool_call_chunks;
    if (is_filled(f->tool_calls, YYJSON_TYPE_ARR))
        ret->calls = f->tool_calls;
    if (is_object(f->usage_metadata))
        ret->usage = f->usage_metadata;
    if (is_filled(f->response_metadata, YYJSON_TYPE_OBJ)) {
        ret->response = f->response_metadata;
        ret->finish = says_finish(f->response_metadata);
    }
    if (yyjson_is_str((yyjson_val *)content))
        ret->text = json_text(content);
    else if (yyjson_is_arr((yyjson_val *)content))
        read_blocks(content, scratch, ret);
    if (is_filled(f->additional_kwargs, YYJSON_TYPE_OBJ)) {
        ret->extra = f->additional_kwargs;
        if (str_absent(ret->reasoning))
            ret->reasoning = json_text(json_at(f->additional_kwargs, "reasoning_content"));
        if (str_empty(ret->reasoning))
            ret->reasoning = STR_NONE;
    }
}

/* The kwargs of a constructor whose members stand in the order in which everyone writes
 * them, {"lc","type","id","kwargs"}, and its class; NULL when it is anything else.  Nearly
 * all tokens are this, so they pay for no more than a look at the four. */
static const yyjson_val *constructor_kwargs(const yyjson_val *v, struct str *ret_class)
{
    if (unsafe_yyjson_get_len((yyjson_val *)v) != 4 || !str_is(json_text(v + 1), "lc") ||
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

static void read_lc(const struct fields *f, struct buf *scratch, struct message *ret)
{
    bool chunk;
    struct str name = class_in_id(f);
    const struct class_name *class = class_find(name, &chunk);

    if (is_constructor(f) && class != NULL) {
        struct fields inner;

        fields_read(f->kwargs, &inner);
        read_fields(&inner, class->cls, chunk, scratch, ret);
    } else if (is_constructor(f) && is_generation(name)) {
        read_object(f->kwargs, scratch, ret);
    } else if (class != NULL) {
        (void)repr_message(json_text(f->repr), scratch, ret); /* else it stays no message */
    }
}

static void read_generation(const struct fields *f, struct message *ret)
{
    struct str text = json_text(f->text);

    if (str_absent(text))
        return;
    *ret = (struct message){ .cls = MESSAGE_GENERATION,
                             .text = text,
                             .finish = says_finish(f->generation_info) };
}

static void read_object(const yyjson_val *v, struct buf *scratch, struct message *ret)
{
    struct fields f, inner;
    bool chunk;
    const struct class_name *class;
    struct str name;
    const yyjson_val *kwargs = constructor_kwargs(v, &name);

    if (kwargs != NULL && (class = class_find(name, &chunk)) != NULL) {
        fields_read(kwargs, &inner);
        read_fields(&inner, class->cls, chunk, scratch, ret);
        return;
    }
    fields_read(v, &f);
    if (is_lc(&f)) {
        read_lc(&f, scratch, ret);
    } else if ((class = class_of_pair(&f, &chunk)) != NULL) {
        fields_read(f.data, &inner);
        read_fields(&inner, class->cls, chunk, scratch, ret);
    } else if (wraps_message(&f)) {
        read_object(f.message, scratch, ret);
        if (ret->cls == MESSAGE_NONE)
            read_generation(&f, ret);
        ret->finish = ret->finish || says_finish(f.generation_info);
    } else if (f.content != NULL && (class = class_find(json_text(f.type), &chunk)) != NULL) {
        read_fields(&f, class->cls, chunk, scratch, ret);
    } else if (is_plain_generation(&f)) {
        read_generation(&f, ret);
    }
}

void message_read(const yyjson_val *v, struct buf *scratch, struct message *ret)
{
    *ret = (struct message){ .text = STR("") };
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

bool message_is(const yyjson_val *v)
{
    struct fields f;
    bool chunk;

    if (!is_object(v))
        return false;
    fields_read(v, &f);
    if (is_lc(&f))
        return is_constructor(&f) && class_find(class_in_id(&f), &chunk) != NULL;
    if (class_of_pair(&f, &chunk) != NULL)
        return true;
    if (wraps_message(&f))
        return message_is(f.message);
    return f.content != NULL && class_find(json_text(f.type), &chunk) != NULL;
}

/* --- writing flat ------------------------------------------------------------ */

static void flatten(struct buf *out, const yyjson_val *v, struct str skip);

/* The members of @object but @skip, with a "type" of @type added when it has none. */
static void flatten_members(struct buf *out,
                            const yyjson_val *object,
                            struct str skip,
                            struct str type)
{
    size_t i, n;
    yyjson_val *key, *v;
    char before = '{';

    yyjson_obj_foreach((yyjson_val *)object, i, n, key, v)
    {
        struct str k = json_text(key);

        if (str_is(k, "type"))
            type = STR_NONE;
        if (!str_absent(skip) && str_eq(k, skip))
            continue;
        buf_char(out, before);
        before = ',';
        json_put_str(out, k);
        buf_char(out, ':');
        flatten(out, v, STR_NONE);
    }
    if (!str_absent(type) && !str_is(skip, "type")) {
        buf_char(out, before);
        before = ',';
        buf_lit(out, "\"type\":");
        json_put_str(out, type);
    }
    if (before == '{')
        buf_char(out, '{');
    buf_char(out, '}');
}

/* The members that make an object something else than itself, in one quick pass. */
static void shape_read(const yyjson_val *object, struct fields *f, const yyjson_val **ret_escaped)
{
    size_t i, n;
    yyjson_val *key, *v;

    *f = (struct fields){ 0 };
    *ret_escaped = NULL;
    yyjson_obj_foreach((yyjson_val *)object, i, n, key, v)
    {
        const char *name = unsafe_yyjson_get_str(key);

        switch (unsafe_yyjson_get_len(key)) {
        case 2:
            take(name, 2, v, f);
            break;
        case 4:
            take_4(name, v, f);
            break;
        case 6:
            take(name, 6, v, f);
            break;
        case 14:
            if (n == 1 && key_is(name, "__lc_escaped__"))
                *ret_escaped = v;
            break;
        default:
            break;
        }
    }
}

static void flatten_object(struct buf *out, const yyjson_val *v, struct str skip)
{
    struct fields f;
    const yyjson_val *escaped;
    const struct class_name *class;
    bool chunk;

    shape_read(v, &f, &escaped);
    if (escaped != NULL) {
        json_put_value(out, escaped); /* a user's own object: nothing in it is ours */
    } else if (is_constructor(&f)) {
        class = class_find(class_in_id(&f), &chunk);
        flatten_members(out, f.kwargs, skip, class != NULL ? class->type : STR_NONE);
    } else if (is_lc(&f)) {
        json_put_value(out, v);
    } else if ((class = class_of_pair(&f, &chunk)) != NULL) {
        flatten_members(out, f.data, skip, class->type);
    } else {
        flatten_members(out, v, skip, STR_NONE);
    }
}

static void flatten(struct buf *out, const yyjson_val *v, struct str skip)
{
    size_t i, n;
    yyjson_val *item;

    if (is_object(v)) {
        flatten_object(out, v, skip);
        return;
    }
    if (!yyjson_is_arr((yyjson_val *)v)) {
        json_put_value(out, v);
        return;
    }
    buf_char(out, '[');
    yyjson_arr_foreach((yyjson_val *)v, i, n, item)
    {
        if (i > 0)
            buf_char(out, ',');
        flatten(out, item, STR_NONE);
    }
    buf_char(out, ']');
}

void message_flatten(struct buf *out, const yyjson_val *v, struct str skip)
{
    flatten(out, v, skip);
}
