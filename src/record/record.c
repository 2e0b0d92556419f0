/* One table says what a record's fields are called, what they hold and where they
 * lie; encoding, decoding and copying all walk it.  Fields are written in the order
 * of the table, so decoding finds each key where the last one left off. */
#include "record/record.h"

#include "base/error.h"
#include "base/json.h"

#include <stdatomic.h>
#include <stdlib.h>

enum field_type { FIELD_TEXT, FIELD_JSON, FIELD_NUMBER, FIELD_FLAG };

struct field {
    struct str key;   /* with the comma and the colon: ,"run": */
    unsigned char type;
    bool constant; /* a member of info */
    unsigned short offset;
};

#define FIELD(kind, name, member, is_constant)                                              \
    { { ",\"" name "\":", sizeof(",\"" name "\":") - 1 }, kind, is_constant,               \
      offsetof(struct record, member) }
#define OWN(kind, member)  FIELD(kind, #member, member, false)
#define INFO(kind, member) FIELD(kind, #member, info.member, true)

static const struct field fields[] = {
    INFO(FIELD_TEXT, run),       INFO(FIELD_TEXT, parent),    INFO(FIELD_TEXT, exec),
    INFO(FIELD_TEXT, node),      INFO(FIELD_NUMBER, step),    INFO(FIELD_TEXT, ns),
    INFO(FIELD_NUMBER, depth),   INFO(FIELD_TEXT, name),      INFO(FIELD_TEXT, type),
    INFO(FIELD_TEXT, section),   INFO(FIELD_TEXT, model),     INFO(FIELD_TEXT, path),
    INFO(FIELD_FLAG, root),      INFO(FIELD_FLAG, top),       INFO(FIELD_FLAG, card),
    INFO(FIELD_FLAG, panel),     INFO(FIELD_FLAG, counted),   INFO(FIELD_FLAG, derived),
    INFO(FIELD_JSON, tags),      INFO(FIELD_JSON, meta),      INFO(FIELD_JSON, parents),
    OWN(FIELD_TEXT, job),        OWN(FIELD_TEXT, agent),      OWN(FIELD_NUMBER, attempt),
    OWN(FIELD_TEXT, id),         OWN(FIELD_TEXT, title),      OWN(FIELD_TEXT, status),
    OWN(FIELD_TEXT, outcome),    OWN(FIELD_TEXT, phase),      OWN(FIELD_TEXT, error),
    OWN(FIELD_TEXT, error_type), OWN(FIELD_NUMBER, elapsed),  OWN(FIELD_NUMBER, index),
    OWN(FIELD_FLAG, first),      OWN(FIELD_FLAG, last),       OWN(FIELD_FLAG, lossy),
    OWN(FIELD_FLAG, tool),       OWN(FIELD_FLAG, mirror),     OWN(FIELD_NUMBER, half),
    OWN(FIELD_TEXT, message),    OWN(FIELD_TEXT, text),       OWN(FIELD_TEXT, reasoning),
    OWN(FIELD_TEXT, call),       OWN(FIELD_TEXT, preview),    OWN(FIELD_JSON, percent),
    OWN(FIELD_TEXT, note),       OWN(FIELD_NUMBER, count),    OWN(FIELD_NUMBER, chains),
    OWN(FIELD_NUMBER, llms),     OWN(FIELD_NUMBER, tools),    OWN(FIELD_JSON, content),
    OWN(FIELD_JSON, calls),      OWN(FIELD_JSON, usage),      OWN(FIELD_JSON, response),
    OWN(FIELD_JSON, extra),      OWN(FIELD_JSON, input),      OWN(FIELD_JSON, output),
    OWN(FIELD_JSON, data),       OWN(FIELD_JSON, question),   OWN(FIELD_JSON, context),
    OWN(FIELD_JSON, resolves),   OWN(FIELD_JSON, seen),
};

enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]), N_CONSTANT = 21 };

static const struct str kind_names[REC_KIND_MAX] = {
    [REC_JOB_START] = STR("job.start"),
    [REC_JOB_END] = STR("job.end"),
    [REC_JOB_ERROR] = STR("job.error"),
    [REC_JOB_CANCELLED] = STR("job.cancelled"),
    [REC_JOB_CANCEL_REQUESTED] = STR("job.cancel_requested"),
    [REC_JOB_UPDATE] = STR("job.update"),
    [REC_JOB_INTERRUPT] = STR("job.interrupt"),
    [REC_JOB_PAUSED] = STR("job.paused"),
    [REC_JOB_RESUMED] = STR("job.resumed"),
    [REC_RUN_START] = STR("run.start"),
    [REC_RUN_STREAM] = STR("run.stream"),
    [REC_RUN_END] = STR("run.end"),
    [REC_RUN_INFO] = STR("run.info"),
    [REC_NODE_START] = STR("node.start"),
    [REC_NODE_END] = STR("node.end"),
    [REC_LLM_START] = STR("llm.start"),
    [REC_LLM_DELTA] = STR("llm.delta"),
    [REC_LLM_END] = STR("llm.end"),
    [REC_LLM_REPEAT] = STR("llm.repeat"),
    [REC_TOOL_START] = STR("tool.start"),
    [REC_TOOL_END] = STR("tool.end"),
    [REC_RETRIEVER_START] = STR("retriever.start"),
    [REC_RETRIEVER_END] = STR("retriever.end"),
    [REC_STATE_VALUES] = STR("state.values"),
    [REC_STATE_UPDATES] = STR("state.updates"),
    [REC_STATE_TASKS] = STR("state.tasks"),
    [REC_STATE_CHECKPOINTS] = STR("state.checkpoints"),
    [REC_STATE_DEBUG] = STR("state.debug"),
    [REC_MESSAGE] = STR("message"),
    [REC_SECTION_END] = STR("section.end"),
    [REC_ARTIFACT] = STR("artifact"),
    [REC_CUSTOM] = STR("custom"),
    [REC_PROGRESS] = STR("progress"),
};

const char *record_kind_name(enum record_kind kind)
{
    return kind < REC_KIND_MAX ? kind_names[kind].p : "unknown";
}

static inline void *place(const struct record *rec, const struct field *f)
{
    return (char *)(uintptr_t)rec + f->offset;
}

void record_init(struct record *rec, enum record_kind kind)
{
    *rec = (struct record){
        .kind = kind,
        .attempt = RECORD_NO_NUMBER,
        .elapsed = RECORD_NO_NUMBER,
        .index = RECORD_NO_NUMBER,
        .count = RECORD_NO_NUMBER,
        .chains = RECORD_NO_NUMBER,
        .llms = RECORD_NO_NUMBER,
        .tools = RECORD_NO_NUMBER,
        .half = RECORD_NO_NUMBER,
        .info = { .step = RECORD_NO_NUMBER, .depth = RECORD_NO_NUMBER },
    };
}

/* --- writing ----------------------------------------------------------------- */

static void put_field(const struct record *rec, const struct field *f, struct buf *out)
{
    const struct str *text = place(rec, f);
    const int64_t *number = place(rec, f);
    const bool *flag = place(rec, f);

    switch ((enum field_type)f->type) {
    case FIELD_TEXT:
        if (text->p == NULL)
            return;
        buf_str(out, f->key);
        json_put_str(out, *text);
        return;
    case FIELD_JSON:
        if (text->p == NULL)
            return;
        buf_str(out, f->key);
        buf_str(out, *text);
        return;
    case FIELD_NUMBER:
        if (*number == RECORD_NO_NUMBER)
            return;
        buf_str(out, f->key);
        buf_i64(out, *number);
        return;
    case FIELD_FLAG:
        if (!*flag)
            return;
        buf_str(out, f->key);
        buf_lit(out, "true");
        return;
    }
}

static void put_fields(const struct record *rec, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++)
        put_field(rec, &fields[i], out);
}

static void put_opening(const struct record *rec, struct buf *out)
{
    buf_lit(out, "{\"seq\":");
    buf_u64(out, rec->seq);
    buf_lit(out, ",\"ts\":");
    buf_i64(out, rec->ts);
    buf_lit(out, ",\"kind\":\"");
    buf_str(out, kind_names[rec->kind]);
    buf_char(out, '"');
}

void record_encode(const struct record *rec, struct buf *out)
{
    put_opening(rec, out);
    if (rec->head_seq != 0) {
        buf_lit(out, ",\"head\":");
        buf_u64(out, rec->head_seq);
    } else {
        put_fields(rec, 0, N_CONSTANT, out);
    }
    put_fields(rec, N_CONSTANT, N_FIELDS, out);
    buf_char(out, '}');
}

void record_encode_alone(const struct record *rec, struct buf *out)
{
    const struct record *head = rec->head != NULL ? rec->head : rec;

    put_opening(rec, out);
    if (head->info_json.p != NULL)
        buf_str(out, head->info_json);
    else
        put_fields(head, 0, N_CONSTANT, out);
    put_fields(rec, N_CONSTANT, N_FIELDS, out);
    buf_char(out, '}');
}

/* --- reading ----------------------------------------------------------------- */

static struct str field_name(const struct field *f)
{
    return str_make(f->key.p + 2, f->key.n - 4); /* without ," and ": */
}

/* Looks from @from on, then from the beginning. */
static const struct field *find_field(struct str key, size_t from)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct field *f = &fields[(from + i) % N_FIELDS];

        if (str_eq(field_name(f), key))
            return f;
    }
    return NULL;
}

static int read_field(const struct json *j, const yyjson_val *key, const struct field *f, struct record *rec)
{
    const yyjson_val *v = yyjson_obj_iter_get_val((yyjson_val *)key);
    int64_t number;

    switch ((enum field_type)f->type) {
    case FIELD_TEXT:
        if (!yyjson_is_str((yyjson_val *)v))
            return ERR_TYPE;
        *(struct str *)place(rec, f) = json_text(v);
        return 0;
    case FIELD_JSON:
        *(struct str *)place(rec, f) = json_raw_member(j, key);
        return 0;
    case FIELD_NUMBER:
        number = json_int(v, RECORD_NO_NUMBER);
        *(int64_t *)place(rec, f) = number;
        return number == RECORD_NO_NUMBER ? ERR_TYPE : 0;
    case FIELD_FLAG:
        *(bool *)place(rec, f) = yyjson_get_bool((yyjson_val *)v);
        return yyjson_is_bool((yyjson_val *)v) ? 0 : ERR_TYPE;
    }
    return ERR_TYPE;
}

static int read_kind(const yyjson_val *v, enum record_kind *ret)
{
    struct str name = json_text(v);

    for (size_t i = 0; i < REC_KIND_MAX; i++) {
        if (str_eq(kind_names[i], name)) {
            *ret = (enum record_kind)i;
            return 0;
        }
    }
    return ERR_TYPE;
}

static int read_members(const struct json *j, struct record *rec, struct error *err)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(j->root);
    size_t next = 0;
    yyjson_val *key;

    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        struct str name = json_text(key);
        yyjson_val *v = yyjson_obj_iter_get_val(key);
        int code = 0;

        if (str_is(name, "seq")) {
            rec->seq = (uint64_t)json_int(v, 0);
        } else if (str_is(name, "ts")) {
            rec->ts = json_int(v, 0);
        } else if (str_is(name, "head")) {
            rec->head_seq = (uint64_t)json_int(v, 0);
        } else if (str_is(name, "kind")) {
            code = read_kind(v, &rec->kind);
        } else {
            const struct field *f = find_field(name, next);

            if (f == NULL)
                continue; /* a later version's field */
            code = read_field(j, key, f, rec);
            next = (size_t)(f - fields) + 1;
        }
        if (code != 0)
            return error_set(err, code, "record: bad value of \"%.*s\"", STR_ARG(str_head(name, 40)));
    }
    return 0;
}

int record_decode(struct json_reader *reader,
                  struct str stored,
                  struct record *ret,
                  struct error *err)
{
    struct json j;

    if (stored.n > 0 && (memchr(stored.p, '\n', stored.n) || memchr(stored.p, '\r', stored.n)))
        return error_set(err, ERR_SYNTAX, "record: more than one line");
    int code = json_read(reader, stored, &j, err);
    if (code != 0)
        return code;
    if (!yyjson_is_obj(j.root) || json_at(j.root, "kind") == NULL)
        return error_set(err, ERR_TYPE, "record: not an object with a kind");
    record_init(ret, REC_CUSTOM);
    code = read_members(&j, ret, err);
    if (code != 0)
        return code;
    if (ret->seq == 0 || ret->head_seq >= ret->seq)
        return error_set(err, ERR_TYPE, "record: bad seq or head");
    return 0;
}

/* --- counted copies ------------------------------------------------------------ */

struct block {
    atomic_uint refs;
    struct record rec;
    char bytes[];
};

static struct block *block_of(struct record *rec)
{
    return (struct block *)(void *)((char *)rec - offsetof(struct block, rec));
}

static struct str copy_bytes(char **at, struct str s)
{
    struct str copy = { *at, s.n };

    if (s.p == NULL)
        return STR_NONE;
    memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static bool is_text(const struct field *f)
{
    return f->type == FIELD_TEXT || f->type == FIELD_JSON;
}

int record_new(const struct record *rec, struct record **ret)
{
    struct buf constant;
    size_t n_bytes = rec->job_id.n;

    buf_init(&constant, SIZE_MAX / 4);
    if (rec->head_seq == 0)
        put_fields(rec, 0, N_CONSTANT, &constant);
    n_bytes += constant.n;
    for (size_t i = 0; i < N_FIELDS; i++)
        if (is_text(&fields[i]))
            n_bytes += ((const struct str *)place(rec, &fields[i]))->n;
    struct block *b = constant.error == 0 ? malloc(sizeof(*b) + n_bytes) : NULL;
    if (b == NULL) {
        buf_done(&constant);
        return ERR_NOMEM;
    }
    char *at = b->bytes;
    atomic_init(&b->refs, 1);
    b->rec = *rec;
    b->rec.head = NULL;
    b->rec.job_id = copy_bytes(&at, rec->job_id);
    b->rec.info_json = rec->head_seq == 0 ? copy_bytes(&at, buf_text(&constant)) : STR_NONE;
    for (size_t i = 0; i < N_FIELDS; i++) {
        struct str *text = place(&b->rec, &fields[i]);

        if (is_text(&fields[i]))
            *text = copy_bytes(&at, *text);
    }
    buf_done(&constant);
    *ret = &b->rec;
    return 0;
}

struct record *record_ref(struct record *rec)
{
    atomic_fetch_add_explicit(&block_of(rec)->refs, 1, memory_order_relaxed);
    return rec;
}

void record_unref(struct record *rec)
{
    if (rec == NULL)
        return;
    if (atomic_fetch_sub_explicit(&block_of(rec)->refs, 1, memory_order_acq_rel) == 1)
        free(block_of(rec));
}
