#include "dialect/gathered.h"

#include "base/error.h"
#include "base/json_format.h"
#include "base/json_match.h"
#include "dialect/render.h"

#include <stdlib.h>

enum { MAX_DEPTH = 256 };

/* All JSON; empty: there is none yet. */
struct gathered_message {
    struct buf text;   /* of a string, without its quotes */
    struct buf blocks; /* the list, where content is one */
    struct buf calls;  /* tool_call_chunks */
    struct buf usage, response, extra;
    uint64_t complete; /* the record that had it in the state; 0: none yet */
    size_t id_n;
    char id[];
};

enum { N_PARTS = 6 };

/* How two values of one member become one. */
enum join {
    JOIN_PIECES, /* texts are pieces of one text */
    JOIN_SUM,    /* numbers are added */
    JOIN_LAST    /* the later one counts */
};

/* --- joining ----------------------------------------------------------------- */

static yyjson_val *as_val(const yyjson_val *v)
{
    return (yyjson_val *)(uintptr_t)v;
}

/* Repeated with each piece, or sent once. */
static bool is_whole(struct str key)
{
    return str_is(key, "id") || str_is(key, "type") || str_is(key, "name") ||
           str_is(key, "index");
}

static void join_values(struct buf *b,
                        struct str key,
                        const yyjson_val *one,
                        const yyjson_val *two,
                        enum join how);

static void join_objects(struct buf *b,
                         const yyjson_val *one,
                         const yyjson_val *two,
                         enum join how)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(as_val(one));
    yyjson_val *key;

    json_begin(b);
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        json_put_key(b, json_text(key));
        join_values(b, json_text(key), yyjson_obj_iter_get_val(key),
                    json_get(two, json_text(key)), how);
    }
    it = yyjson_obj_iter_with(as_val(two));
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        if (json_get(one, json_text(key)) != NULL)
            continue;
        json_put_key(b, json_text(key));
        json_put_value(b, yyjson_obj_iter_get_val(key));
    }
    json_end(b);
}

/* The element of @list with the same `index`, or NULL. */
static yyjson_val *twin_of(const yyjson_val *element, const yyjson_val *list)
{
    yyjson_val *index = json_at(element, "index");
    yyjson_arr_iter it = yyjson_arr_iter_with(as_val(list));
    yyjson_val *other;

    while (!json_is_null(index) && (other = yyjson_arr_iter_next(&it)) != NULL)
        if (json_at(other, "index") != NULL && json_same(json_at(other, "index"), index))
            return other;
    return NULL;
}

static void join_lists(struct buf *b,
                       const yyjson_val *one,
                       const yyjson_val *two,
                       enum join how)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(as_val(one));
    yyjson_val *element;

    json_begin_array(b);
    while ((element = yyjson_arr_iter_next(&it)) != NULL) {
        join_values(json_next(b), STR_NONE, element, twin_of(element, two), how);
    }
    it = yyjson_arr_iter_with(as_val(two));
    while ((element = yyjson_arr_iter_next(&it)) != NULL) {
        if (twin_of(element, one) != NULL)
            continue;
        json_put_value(json_next(b), element);
    }
    json_end_array(b);
}

static bool is_number(const yyjson_val *v)
{
    return json_int(v, INT64_MIN) != INT64_MIN;
}

static void join_values(struct buf *b,
                        struct str key,
                        const yyjson_val *one,
                        const yyjson_val *two,
                        enum join how)
{
    if (json_is_null(one) || json_is_null(two)) {
        json_put_value(b, json_is_null(two) ? one : two);
    } else if (yyjson_is_obj(as_val(one)) && yyjson_is_obj(as_val(two))) {
        join_objects(b, one, two, how);
    } else if (yyjson_is_arr(as_val(one)) && yyjson_is_arr(as_val(two)) && how == JOIN_PIECES) {
        join_lists(b, one, two, how);
    } else if (how == JOIN_PIECES && is_whole(key) && !str_empty(json_text(one))) {
        json_put_value(b, one);
    } else if (how == JOIN_PIECES && !is_whole(key) && !str_absent(json_text(one)) &&
               !str_absent(json_text(two))) {
        json_begin_parts(b);
        json_put_escaped(b, json_text(one));
        json_put_escaped(b, json_text(two));
        json_end_parts(b);
    } else if (how == JOIN_SUM && is_number(one) && is_number(two)) {
        buf_i64(b, (int64_t)((uint64_t)json_int(one, 0) + (uint64_t)json_int(two, 0)));
    } else {
        json_put_value(b, two);
    }
}

/* Joins @more to the JSON in @whole. */
static int join(struct gathered *g, struct buf *whole, struct str more, enum join how)
{
    struct json one, two;
    struct buf b;

    if (str_empty(more))
        return 0;
    if (whole->n == 0) {
        buf_str(whole, more);
        return whole->error;
    }
    int err = json_read(&g->left, buf_text(whole), &one, NULL);
    if (err == 0)
        err = json_read(&g->right, more, &two, NULL);
    if (err != 0) /* too deep: it stays as it was */
        return err == ERR_NOMEM ? err : 0;
    buf_init(&b, SIZE_MAX / 4);
    join_values(&b, STR_NONE, one.root, two.root, how);
    buf_done(whole);
    *whole = b;
    return b.error;
}

/* The same of pieces in a list, one after another: several may be of one block. */
static int join_pieces(struct gathered *g, struct buf *whole, struct str more)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json list;
    struct buf one LOCAL_BUF(SIZE_MAX / 4);

    if (str_empty(more))
        return 0;
    int err = json_read(&reader, more, &list, NULL);
    yyjson_arr_iter it = yyjson_arr_iter_with(err == 0 ? list.root : NULL);
    for (yyjson_val *piece; err == 0 && (piece = yyjson_arr_iter_next(&it)) != NULL;) {
        buf_clear(&one);
        json_begin_array(&one);
        json_put_value(&one, piece);
        json_end_array(&one);
        err = one.error != 0 ? one.error : join(g, whole, buf_text(&one), JOIN_PIECES);
    }
    return err == ERR_NOMEM ? err : 0; /* too deep: it stays as it was */
}

/* --- messages ---------------------------------------------------------------- */

static void parts_of(struct gathered_message *m, struct buf *ret[N_PARTS])
{
    struct buf *const parts[N_PARTS] = { &m->text,  &m->blocks,   &m->calls,
                                         &m->usage, &m->response, &m->extra };

    memcpy(ret, parts, sizeof(parts));
}

/* Nothing was said yet. */
static void empty(struct gathered_message *m)
{
    struct buf *parts[N_PARTS];

    parts_of(m, parts);
    for (size_t i = 0; i < N_PARTS; i++) {
        buf_done(parts[i]);
        buf_init(parts[i], SIZE_MAX / 4);
    }
}

static struct gathered_message *find(const struct gathered *g, struct str id)
{
    struct gathered_message *m =
        str_empty(id) ? NULL : table_get(&g->messages, table_key(&g->messages, 0, id));

    return m != NULL && str_eq(str_make(m->id, m->id_n), id) ? m : NULL;
}

static struct gathered_message *find_or_add(struct gathered *g, struct str id)
{
    struct gathered_message *m = find(g, id);

    if (m != NULL)
        return m;
    m = calloc(1, sizeof(*m) + id.n);
    if (m == NULL)
        return NULL;
    empty(m);
    str_copy(m->id, id);
    m->id_n = id.n;
    if (table_put(&g->messages, table_key(&g->messages, 0, id), m) == 0)
        return m;
    free(m);
    return NULL;
}

static int add_content(struct gathered *g, struct gathered_message *m, const struct record *rec)
{
    struct buf block LOCAL_BUF(SIZE_MAX / 4);

    if (!str_absent(rec->content))
        return join_pieces(g, &m->blocks, rec->content);
    if (m->blocks.n == 0) {
        json_put_escaped(&m->text, render_some(rec->text));
        return m->text.error;
    }
    if (str_empty(rec->text))
        return 0;
    json_format(&block, "[{'type':'text','text':%s}]", rec->text);
    return block.error != 0 ? block.error : join_pieces(g, &m->blocks, buf_text(&block));
}

static int add_delta(struct gathered *g, const struct record *rec)
{
    struct gathered_message *m = find_or_add(g, rec->message);

    if (m == NULL)
        return ERR_NOMEM;
    if (rec->first) /* a new attempt repeats everything */
        empty(m);
    int err = add_content(g, m, rec);
    if (err == 0)
        err = join_pieces(g, &m->calls, rec->calls);
    if (err == 0)
        err = join(g, &m->extra, rec->extra, JOIN_PIECES);
    if (err == 0)
        err = join(g, &m->response, rec->response, JOIN_LAST);
    return err == 0 ? join(g, &m->usage, rec->usage, JOIN_SUM) : err;
}

static int add_end(struct gathered *g, const struct record *rec)
{
    struct gathered_message *m = find_or_add(g, rec->message);
    struct buf why LOCAL_BUF(SIZE_MAX / 4);

    if (m == NULL)
        return ERR_NOMEM;
    json_format(&why, "{'finish_reason':%s}", render_some(rec->title));
    return why.error != 0 ? why.error : join(g, &m->response, buf_text(&why), JOIN_LAST);
}

struct str gathered_state(const struct record *rec)
{
    const struct run_info *info = record_info(rec);

    if (rec->kind == REC_STATE_VALUES)
        return str_empty(info->ns) ? rec->data : STR_NONE;
    return rec->kind == REC_RUN_END && info->root && render_is_ok(rec) ? rec->output : STR_NONE;
}

/* The messages of a state. */
static yyjson_arr_iter messages_in(struct gathered *g, struct str state)
{
    struct json json;

    if (str_empty(state) || json_read(&g->left, state, &json, NULL) != 0)
        return (yyjson_arr_iter){ 0 };
    return yyjson_arr_iter_with(json_at(json.root, "messages"));
}

static int note_complete(struct gathered *g, const struct record *rec)
{
    yyjson_arr_iter it = messages_in(g, gathered_state(rec));
    yyjson_val *message;

    while ((message = yyjson_arr_iter_next(&it)) != NULL) {
        struct str id = json_text(json_at(message, "id"));
        struct gathered_message *m = str_empty(id) ? NULL : find_or_add(g, id);

        if (m == NULL && !str_empty(id))
            return ERR_NOMEM;
        if (m == NULL || m->complete != 0)
            continue;
        m->complete = rec->seq;
        empty(m);
    }
    return 0;
}

int gathered_take(struct gathered *g, const struct record *rec)
{
    int err = 0;

    if (rec->kind == REC_LLM_DELTA && !rec->mirror && !str_empty(rec->message))
        err = add_delta(g, rec);
    else if (rec->kind == REC_LLM_END && rec->last && !str_empty(rec->message))
        err = add_end(g, rec);
    else
        err = note_complete(g, rec);
    g->seq = rec->seq;
    return err;
}

/* --- saying it --------------------------------------------------------------- */

static void put_content(struct buf *b, const struct gathered_message *m)
{
    if (m->blocks.n == 0 || m->text.n > 0) {
        if (m->blocks.n > 0)
            buf_lit(b, "[{" JSON_LIT("type", "text") "," JSON_KEY("text"));
        json_begin_parts(b);
        buf_str(b, buf_text(&m->text));
        json_end_parts(b);
        if (m->blocks.n > 0) {
            buf_lit(b, "},");
            buf_str(b, str_skip(buf_text(&m->blocks), 1));
        }
    } else {
        buf_str(b, buf_text(&m->blocks));
    }
}

/* Arguments are there when all of their pieces are. */
static void put_args(struct gathered *g, struct str text, struct buf *b)
{
    struct json args;

    if (!str_empty(text) && json_read(&g->right, text, &args, NULL) == 0 &&
        yyjson_is_obj(args.root))
        json_put_value(b, args.root);
    else
        buf_lit(b, "{}");
}

static void put_calls(struct gathered *g, const struct gathered_message *m, struct buf *b)
{
    yyjson_arr_iter it = { 0 };
    struct json json;
    yyjson_val *call;

    if (m->calls.n > 0 && json_read(&g->left, buf_text(&m->calls), &json, NULL) == 0)
        it = yyjson_arr_iter_with(json.root);
    json_begin_array(b);
    while ((call = yyjson_arr_iter_next(&it)) != NULL) {
        json_begin(json_next(b));
        json_add_str(b, "name", render_some(json_text(json_at(call, "name"))));
        json_key(b, "args");
        put_args(g, json_text(json_at(call, "args")), b);
        json_add_text(b, "id", json_text(json_at(call, "id")));
        json_add_lit(b, "type", "tool_call");
        json_end(b);
    }
    json_end_array(b);
}

static struct str text_or(const struct buf *json, struct str otherwise)
{
    return json->n > 0 ? buf_text(json) : otherwise;
}

void gathered_put(struct gathered *g, struct str id, struct buf *b)
{
    const struct gathered_message *m = find(g, id);

    if (m == NULL) {
        buf_lit(b, "null");
        return;
    }
    json_begin(b);
    json_key(b, "content");
    put_content(b, m);
    json_add_raw(b, "additional_kwargs", text_or(&m->extra, STR("{}")));
    json_add_raw(b, "response_metadata", text_or(&m->response, STR("{}")));
    json_add_lit(b, "type", "ai");
    json_add_str(b, "id", id);
    json_key(b, "tool_calls");
    put_calls(g, m, b);
    json_add_const(b, "invalid_tool_calls", "[]");
    json_add_raw(b, "tool_call_chunks", text_or(&m->calls, STR("[]")));
    if (m->usage.n > 0)
        json_add_raw(b, "usage_metadata", buf_text(&m->usage));
    json_end(b);
}

size_t gathered_put_complete(struct gathered *g, struct str state, struct buf *b)
{
    yyjson_arr_iter it = messages_in(g, state);
    yyjson_val *message;
    size_t n = 0;

    json_begin_array(b);
    while ((message = yyjson_arr_iter_next(&it)) != NULL) {
        const struct gathered_message *m = find(g, json_text(json_at(message, "id")));

        if (m == NULL || m->complete != g->seq)
            continue;
        n++;
        json_put_value(json_next(b), message);
    }
    json_end_array(b);
    return n;
}

/* --- life -------------------------------------------------------------------- */

int gathered_new(struct gathered **ret)
{
    struct gathered *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return ERR_NOMEM;
    table_init(&g->messages);
    json_reader_init(&g->left, SIZE_MAX / 64, MAX_DEPTH);
    json_reader_init(&g->right, SIZE_MAX / 64, MAX_DEPTH);
    *ret = g;
    return 0;
}

void gathered_free(struct gathered *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < g->messages.cap; i++) {
        struct gathered_message *m = g->messages.slots[i].value;

        if (m != NULL)
            empty(m);
        free(m);
    }
    table_done(&g->messages);
    json_reader_done(&g->left);
    json_reader_done(&g->right);
    free(g);
}
