/* One list per type says what a record's fields are called; the table made of them serves
 * encoding, decoding and copying.  Fields of one type lie side by side, so that encoding
 * is a few tight loops, and keys are written in the order of the table, so that decoding
 * finds each one where the last left off. */
#include "record/record.h"

#include "base/container_of.h"
#include "base/error.h"
#include "base/json.h"

#include <stdatomic.h>
#include <stdlib.h>

/* clang-format off */
/* The constant part (struct run_info). */
#define INFO_TEXTS(X)   X(run) X(parent) X(exec) X(node) X(ns) X(name) X(type) X(section) X(model) X(path)
#define INFO_NUMBERS(X) X(step) X(depth)
#define INFO_FLAGS(X)   X(root) X(top) X(card) X(panel) X(counted) X(derived) X(outer)
#define INFO_JSONS(X)   X(tags) X(meta) X(parents)
/* The record's own. */
#define OWN_NUMBERS(X)  X(attempt) X(elapsed) X(index) X(count) X(chains) X(llms) X(tools) X(half) X(opens)
#define OWN_FLAGS(X)    X(first) X(last) X(lossy) X(tool) X(mirror) X(owes)
#define OWN_TEXTS(X)    X(job) X(agent) X(id) X(title) X(status) X(outcome) X(phase) X(error) X(error_type) \
                        X(message) X(text) X(reasoning) X(call) X(cause) X(preview) X(note) X(model_version) X(prompt_id)
#define OWN_JSONS(X)    X(percent) X(content) X(calls) X(usage) X(response) X(extra) X(input) X(output) \
                        X(data) X(question) X(context) X(resolves) X(open) X(seen) X(details) X(closes) X(asks)
/* clang-format on */

struct field {
    struct str key; /* with the comma and the colon: ,"run": */
    size_t offset;
};

#define FIELD(name, member)                                     \
    { { "," JSON_KEY(#name), sizeof("," JSON_KEY(#name)) - 1 }, \
      offsetof(struct record, member) },
#define OWN(name)  FIELD(name, name)
#define INFO(name) FIELD(name, info.name)
#define ONE(name)  +1

/* Where each type begins in the table. */
enum {
    AT_INFO_TEXTS = 0,
    AT_INFO_NUMBERS = AT_INFO_TEXTS INFO_TEXTS(ONE),
    AT_INFO_FLAGS = AT_INFO_NUMBERS INFO_NUMBERS(ONE),
    AT_INFO_JSONS = AT_INFO_FLAGS INFO_FLAGS(ONE),
    AT_OWN_NUMBERS = AT_INFO_JSONS INFO_JSONS(ONE),
    AT_OWN_FLAGS = AT_OWN_NUMBERS OWN_NUMBERS(ONE),
    AT_OWN_TEXTS = AT_OWN_FLAGS OWN_FLAGS(ONE),
    AT_OWN_JSONS = AT_OWN_TEXTS OWN_TEXTS(ONE),
    N_FIELDS = AT_OWN_JSONS OWN_JSONS(ONE),
};

/* clang-format off */
static const struct field fields[N_FIELDS] = {
    INFO_TEXTS(INFO) INFO_NUMBERS(INFO) INFO_FLAGS(INFO) INFO_JSONS(INFO)
    OWN_NUMBERS(OWN) OWN_FLAGS(OWN) OWN_TEXTS(OWN) OWN_JSONS(OWN)
};
/* clang-format on */

enum field_type { FIELD_TEXT, FIELD_JSON, FIELD_NUMBER, FIELD_FLAG };

static enum field_type type_of(size_t i)
{
    if (i < AT_INFO_NUMBERS || (i >= AT_OWN_TEXTS && i < AT_OWN_JSONS))
        return FIELD_TEXT;
    if (i < AT_INFO_FLAGS || (i >= AT_OWN_NUMBERS && i < AT_OWN_FLAGS))
        return FIELD_NUMBER;
    if (i < AT_INFO_JSONS || (i >= AT_OWN_FLAGS && i < AT_OWN_TEXTS))
        return FIELD_FLAG;
    return FIELD_JSON;
}

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
    [REC_NODE_COMPLETE] = STR("node.complete"),
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
    [REC_STATE_TOOLS] = STR("state.tools"),
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

static const struct run_info no_info = { .step = RECORD_NO_NUMBER, .depth = RECORD_NO_NUMBER };

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
        .opens = RECORD_NO_NUMBER,
        .info = no_info,
    };
}

struct str record_outer_ns(struct str ns)
{
    size_t n = ns.n;

    while (n > 0 && ns.p[n - 1] != '|')
        n--;
    return str_head(ns, n > 0 ? n - 1 : 0);
}

struct str record_graph_ns(const struct run_info *info)
{
    return info->outer ? record_outer_ns(info->ns) : info->ns;
}

/* --- writing ----------------------------------------------------------------- */

static void put_texts(const struct record *rec, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        const struct str *text = place(rec, &fields[i]);

        if (text->p != NULL) {
            buf_str(out, fields[i].key);
            json_put_str(out, *text);
        }
    }
}

static void put_jsons(const struct record *rec, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        const struct str *json = place(rec, &fields[i]);

        if (json->p != NULL) {
            buf_str(out, fields[i].key);
            buf_str(out, *json);
        }
    }
}

static void put_numbers(const struct record *rec, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        const int64_t *number = place(rec, &fields[i]);

        if (*number != RECORD_NO_NUMBER) {
            buf_str(out, fields[i].key);
            buf_i64(out, *number);
        }
    }
}

static void put_flags(const struct record *rec, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        const bool *flag = place(rec, &fields[i]);

        if (*flag) {
            buf_str(out, fields[i].key);
            buf_lit(out, "true");
        }
    }
}

static void put_info(const struct record *rec, struct buf *out)
{
    put_texts(rec, AT_INFO_TEXTS, AT_INFO_NUMBERS, out);
    put_numbers(rec, AT_INFO_NUMBERS, AT_INFO_FLAGS, out);
    put_flags(rec, AT_INFO_FLAGS, AT_INFO_JSONS, out);
    put_jsons(rec, AT_INFO_JSONS, AT_OWN_NUMBERS, out);
}

static void put_own(const struct record *rec, struct buf *out)
{
    put_numbers(rec, AT_OWN_NUMBERS, AT_OWN_FLAGS, out);
    put_flags(rec, AT_OWN_FLAGS, AT_OWN_TEXTS, out);
    put_texts(rec, AT_OWN_TEXTS, AT_OWN_JSONS, out);
    put_jsons(rec, AT_OWN_JSONS, N_FIELDS, out);
}

static void put_opening(const struct record *rec, struct buf *out)
{
    buf_lit(out, "{" JSON_KEY("seq"));
    buf_u64(out, rec->seq);
    json_add_int(out, "ts", rec->ts);
    json_add_parts(out, "kind");
    buf_str(out, kind_names[rec->kind]);
    json_end_parts(out);
}

void record_encode(const struct record *rec, struct buf *out)
{
    put_opening(rec, out);
    if (rec->header_seq != 0)
        json_add_uint(out, "head", rec->header_seq);
    else
        put_info(rec, out);
    put_own(rec, out);
    json_end(out);
}

void record_encode_alone(const struct record *rec, struct buf *out)
{
    const struct record *header = rec->header != NULL ? rec->header : rec;

    put_opening(rec, out);
    if (header->info_json.p != NULL)
        buf_str(out, header->info_json);
    else
        put_info(header, out);
    put_own(rec, out);
    json_end(out);
}

/* --- reading ----------------------------------------------------------------- */

static struct str field_name(const struct field *f)
{
    return str_make(f->key.p + 2, f->key.n - 4); /* without ," and ": */
}

/* Looks from @from on, then from the beginning; N_FIELDS when there is none. */
static size_t find_field(struct str key, size_t from)
{
    for (size_t n = 0; n < N_FIELDS; n++) {
        size_t i = from + n < N_FIELDS ? from + n : from + n - N_FIELDS;

        if (str_eq(field_name(&fields[i]), key))
            return i;
    }
    return N_FIELDS;
}

static int read_field(const struct json *j, const yyjson_val *key, size_t i, struct record *rec)
{
    const yyjson_val *v = yyjson_obj_iter_get_val((yyjson_val *)key);
    void *at = place(rec, &fields[i]);

    switch (type_of(i)) {
    case FIELD_TEXT:
        *(struct str *)at = json_text(v);
        return yyjson_is_str((yyjson_val *)v) ? 0 : ERR_TYPE;
    case FIELD_JSON:
        *(struct str *)at = json_raw_member(j, key);
        return 0;
    case FIELD_NUMBER:
        *(int64_t *)at = json_int(v, RECORD_NO_NUMBER);
        return *(int64_t *)at == RECORD_NO_NUMBER ? ERR_TYPE : 0;
    case FIELD_FLAG:
        *(bool *)at = yyjson_get_bool((yyjson_val *)v);
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

static int read_seq(const yyjson_val *v, uint64_t *ret)
{
    int64_t number = json_int(v, -1);

    *ret = (uint64_t)number;
    return number < 0 ? ERR_TYPE : 0;
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
            code = read_seq(v, &rec->seq);
        } else if (str_is(name, "ts")) {
            rec->ts = json_int(v, RECORD_NO_NUMBER);
            code = rec->ts == RECORD_NO_NUMBER ? ERR_TYPE : 0;
        } else if (str_is(name, "head")) {
            code = read_seq(v, &rec->header_seq);
        } else if (str_is(name, "kind")) {
            code = read_kind(v, &rec->kind);
        } else {
            size_t i = find_field(name, next);

            if (i == N_FIELDS)
                continue; /* a later version's field */
            code = read_field(j, key, i, rec);
            next = i + 1;
        }
        if (code != 0)
            return error_set(err, code, "record: bad value of \"%.*s\"",
                             STR_ARG(str_head(name, 40)));
    }
    return 0;
}

int record_decode(struct json_reader *reader,
                  struct str stored,
                  struct record *ret,
                  struct error *err)
{
    struct json j;

    if (str_has(stored, '\n') || str_has(stored, '\r'))
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
    if (ret->seq == 0 || ret->header_seq >= ret->seq)
        return error_set(err, ERR_TYPE, "record: bad seq or head");
    return 0;
}

/* --- counted copies ---------------------------------------------------------- */

struct record_block {
    atomic_uint refs;
    struct record rec;
    char bytes[];
};

static struct record_block *block_of(struct record *rec)
{
    return container_of(rec, struct record_block, rec);
}

static struct str copy_bytes(char **at, struct str s)
{
    struct str copy = { *at, s.n };

    if (s.p == NULL)
        return STR_NONE;
    str_copy(*at, s);
    *at += s.n;
    return copy;
}

/* The fields that are texts, where they lie side by side in the table. */
static const struct {
    size_t from, to;
    bool is_own; /* not of the constant part */
} texts[] = {
    { AT_INFO_TEXTS, AT_INFO_NUMBERS, false },
    { AT_INFO_JSONS, AT_OWN_NUMBERS, false },
    { AT_OWN_TEXTS, N_FIELDS, true },
};

enum { N_TEXTS = sizeof(texts) / sizeof(texts[0]) };

static size_t text_bytes(const struct record *rec, size_t from, size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += ((const struct str *)place(rec, &fields[i]))->n;
    return n;
}

static void copy_texts(struct record *rec, size_t from, size_t to, char **at)
{
    for (size_t i = from; i < to; i++) {
        struct str *text = place(rec, &fields[i]);

        if (text->p != NULL)
            *text = copy_bytes(at, *text);
    }
}

/* Most records have a header, and so no constant part of their own. */
int record_new(const struct record *rec, struct record **ret)
{
    bool is_header = rec->header_seq == 0;
    struct buf constant LOCAL_BUF(SIZE_MAX / 4);

    if (is_header)
        put_info(rec, &constant);
    size_t n_bytes = rec->job_id.n + constant.n;
    for (size_t i = 0; i < N_TEXTS; i++)
        if (is_header || texts[i].is_own)
            n_bytes += text_bytes(rec, texts[i].from, texts[i].to);
    struct record_block *b = constant.error == 0 ? malloc(sizeof(*b) + n_bytes) : NULL;
    if (b == NULL)
        return ERR_NOMEM;
    char *at = b->bytes;
    atomic_init(&b->refs, 1);
    b->rec = *rec;
    b->rec.header = NULL;
    b->rec.job_id = copy_bytes(&at, rec->job_id);
    b->rec.info_json = is_header ? copy_bytes(&at, buf_text(&constant)) : STR_NONE;
    if (!is_header)
        b->rec.info = no_info; /* what it points to is borrowed */
    for (size_t i = 0; i < N_TEXTS; i++)
        if (is_header || texts[i].is_own)
            copy_texts(&b->rec, texts[i].from, texts[i].to, &at);
    *ret = &b->rec;
    return 0;
}

int record_new_with_header(const struct record *rec, struct record **ret)
{
    int err = record_new(rec, ret);

    if (err == 0 && rec->header != NULL)
        (*ret)->header = record_ref((struct record *)(uintptr_t)rec->header);
    return err;
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
    if (atomic_fetch_sub_explicit(&block_of(rec)->refs, 1, memory_order_acq_rel) != 1)
        return;
    record_unref((struct record *)(uintptr_t)rec->header); /* only record_new_with_header sets
                                                            * it
                                                            */
    free(block_of(rec));
}
