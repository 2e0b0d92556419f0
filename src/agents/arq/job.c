/* Encodes and decodes ARQ's jobs and results.  Both formats, pickle and JSON, are read as JSON;
 * for writing there is one function for each kind of value, which writes either format. */
#include "agents/arq/job.h"

#include "agents/assignment.h"
#include "config/values/arq_argument.h"
#include "base/error.h"
#include "pickle/read.h"
#include "pickle/write.h"

enum {
    MAX_BYTES = 64 * 1024 * 1024,
    MIN_ROOM = 8 * 1024 * 1024, /* at least this much memory for a decoded pickle, */
    GROWTH = 16,                /* or this many times its length */
    MAX_VALUES = 500 * 1000,
    MAX_DEPTH = 200,
    MAX_ERROR = 16 * 1024,
};

static const struct pickle_limits limits = { .max_bytes = MAX_BYTES,
                                             .max_values = MAX_VALUES,
                                             .max_depth = MAX_DEPTH };

/* --- writing ----------------------------------------------------------------- */

struct writer {
    struct buf *out;
    enum arq_form form;
};

static void put_text(const struct writer *w, struct str text)
{
    if (w->form == ARQ_JSON)
        json_put_str(w->out, text);
    else
        pickle_text(w->out, text);
}

static void put_int(const struct writer *w, int64_t value)
{
    if (w->form == ARQ_JSON)
        buf_i64(w->out, value);
    else
        pickle_int(w->out, value);
}

/* NULL is None. */
static void put_value(const struct writer *w, const yyjson_val *v)
{
    if (w->form == ARQ_PICKLE)
        pickle_value(w->out, v);
    else if (v == NULL)
        buf_lit(w->out, "null");
    else
        json_put_value(w->out, v);
}

static void put_bool(const struct writer *w, bool value)
{
    if (w->form == ARQ_PICKLE)
        pickle_bool(w->out, value);
    else
        buf_str(w->out, value ? STR("true") : STR("false"));
}

/* Writes the key of the next member. */
static void put_key(const struct writer *w, struct str key)
{
    if (w->form == ARQ_JSON)
        json_put_key(w->out, key);
    else
        put_text(w, key);
}

static void begin(const struct writer *w)
{
    if (w->form == ARQ_JSON) {
        json_begin(w->out);
        return;
    }
    pickle_begin(w->out);
    pickle_dict_begin(w->out, 1);
}

static void end(const struct writer *w)
{
    if (w->form == ARQ_JSON) {
        json_end(w->out);
        return;
    }
    pickle_dict_end(w->out, 1);
    pickle_end(w->out);
}

/* The values that argument words stand for. */
struct meaning {
    const struct assignment *assignment;
    const yyjson_val *input, *resume;
};

static const yyjson_val *only_answer(const yyjson_val *resume)
{
    yyjson_obj_iter members = yyjson_obj_iter_with((yyjson_val *)(uintptr_t)resume);
    yyjson_val *key = yyjson_obj_iter_next(&members);

    return key != NULL && !yyjson_obj_iter_has_next(&members) ? yyjson_obj_iter_get_val(key)
                                                              : NULL;
}

static void put_word(const struct writer *w, const struct meaning *m, struct str word)
{
    if (str_is(word, "job_id"))
        put_text(w, m->assignment->job);
    else if (str_is(word, "agent"))
        put_text(w, m->assignment->agent);
    else if (str_is(word, "attempt"))
        put_int(w, m->assignment->attempt);
    else if (str_is(word, "resume"))
        put_value(w, m->resume);
    else if (str_is(word, "answer"))
        put_value(w, only_answer(m->resume));
    else if (str_is(word, "input"))
        put_value(w, m->input);
    else
        put_value(w, json_get(m->input, str_skip(word, 6))); /* behind "input." */
}

static void put_args(const struct writer *w, const struct meaning *m, char *const *words)
{
    size_t n = 0;
    struct str name;

    for (char *const *p = words; p != NULL && *p != NULL; p++) {
        (void)arq_argument_split(str_of(*p), &name);
        n += str_absent(name);
    }
    if (w->form == ARQ_JSON)
        json_begin_array(w->out);
    else
        pickle_tuple_begin(w->out, n);
    for (char *const *p = words; p != NULL && *p != NULL; p++) {
        struct str word = arq_argument_split(str_of(*p), &name);
        if (!str_absent(name))
            continue;
        if (w->form == ARQ_JSON)
            json_next(w->out);
        put_word(w, m, word);
    }
    if (w->form == ARQ_JSON)
        json_end_array(w->out);
    else
        pickle_tuple_end(w->out, n);
}

static void put_kwargs(const struct writer *w, const struct meaning *m, char *const *words)
{
    size_t n = 0;
    struct str name;

    for (char *const *p = words; p != NULL && *p != NULL; p++) {
        (void)arq_argument_split(str_of(*p), &name);
        n += !str_absent(name);
    }
    if (w->form == ARQ_JSON)
        json_begin(w->out);
    else
        pickle_dict_begin(w->out, n);
    for (char *const *p = words; p != NULL && *p != NULL; p++) {
        struct str word = arq_argument_split(str_of(*p), &name);
        if (str_absent(name))
            continue;
        put_key(w, name);
        put_word(w, m, word);
    }
    if (w->form == ARQ_JSON)
        json_end(w->out);
    else
        pickle_dict_end(w->out, n);
}

static void put_job(const struct writer *w,
                    const struct meaning *m,
                    struct str function,
                    char *const *words,
                    int64_t now_ms)
{
    begin(w);
    put_key(w, STR("t"));
    put_value(w, NULL);
    put_key(w, STR("f"));
    put_text(w, function);
    put_key(w, STR("a"));
    put_args(w, m, words);
    put_key(w, STR("k"));
    put_kwargs(w, m, words);
    put_key(w, STR("et"));
    put_int(w, now_ms);
    end(w);
}

int arq_put_job(struct buf *out,
                enum arq_form form,
                struct str function,
                char *const *words,
                const struct assignment *assignment,
                int64_t now_ms,
                struct error *err)
{
    struct meaning m = { .assignment = assignment };
    struct writer w = { out, form };
    struct json_reader input LOCAL_READER(MAX_BYTES, MAX_DEPTH);
    struct json_reader resume LOCAL_READER(MAX_BYTES, MAX_DEPTH);
    struct json json;
    int code = 0;

    if (!str_absent(assignment->input)) {
        code = json_read(&input, assignment->input, &json, err);
        m.input = code == 0 ? json.root : NULL;
    }
    if (code == 0 && !str_absent(assignment->resume)) {
        code = json_read(&resume, assignment->resume, &json, err);
        m.resume = code == 0 ? json.root : NULL;
    }
    if (code == 0) {
        put_job(&w, &m, function, words, now_ms);
        if (out->error != 0)
            code = error_set(err, out->error, "the arguments: %s", error_name(out->error));
    }
    return code;
}

/* --- reading ----------------------------------------------------------------- */

/* A pickle can refer to one value many times: limit the memory for a short one. */
static size_t room_for(size_t pickle_bytes)
{
    if (pickle_bytes >= MAX_BYTES / GROWTH)
        return MAX_BYTES;
    return pickle_bytes * GROWTH > MIN_ROOM ? pickle_bytes * GROWTH : MIN_ROOM;
}

static int to_json(enum arq_form form, struct str bytes, struct buf *out, struct error *err)
{
    if (form == ARQ_JSON) {
        buf_str(out, bytes);
        return out->error;
    }
    out->max = room_for(bytes.n);
    return pickle_to_json(bytes, &limits, out, err);
}

void arq_result_init(struct arq_result *r)
{
    *r = (struct arq_result){ 0 };
    buf_init(&r->output, MAX_BYTES);
    buf_init(&r->error, MAX_ERROR);
    buf_init(&r->error_type, MAX_ERROR);
}

void arq_result_done(struct arq_result *r)
{
    buf_done(&r->output);
    buf_done(&r->error);
    buf_done(&r->error_type);
}

/* "asyncio.exceptions.CancelledError" without its module. */
static struct str class_name(struct str type)
{
    struct str name = type;

    for (size_t dot; (dot = str_find(name, '.')) < name.n;)
        name = str_skip(name, dot + 1);
    return name;
}

/* {"type": …, "args": […]}, as pickle/json.h writes it; or any other value. */
static void read_exception(struct arq_result *r, const yyjson_val *v)
{
    yyjson_val *args = json_at(v, "args");
    yyjson_val *first = yyjson_arr_get_first(args);
    struct str type = class_name(json_text(json_at(v, "type")));

    if (str_absent(type)) {
        buf_lit(&r->error_type, "SerializationError");
        if (yyjson_is_str((yyjson_val *)(uintptr_t)v))
            buf_str(&r->error, str_head(json_text(v), MAX_ERROR));
        else
            json_put_value(&r->error, v);
        return;
    }
    r->is_cancelled = str_is(type, "CancelledError");
    buf_str(&r->error_type, type);
    if (yyjson_arr_size(args) == 1 && yyjson_is_str(first))
        buf_str(&r->error, str_head(json_text(first), MAX_ERROR));
    else if (yyjson_arr_size(args) == 1)
        json_put_value(&r->error, first);
    else if (yyjson_arr_size(args) > 1)
        json_put_value(&r->error, args);
    if (r->error.n == 0)
        buf_str(&r->error, type);
}

static int understand(struct arq_result *r, const yyjson_val *root, struct error *err)
{
    const yyjson_val *success = json_at(root, "s"), *result = json_at(root, "r");

    if (!yyjson_is_bool((yyjson_val *)(uintptr_t)success))
        return error_set(err, ERR_TYPE, "no result of ARQ: it has no 's'");
    r->enqueued = json_int(json_at(root, "et"), 0);
    r->is_success = yyjson_get_bool((yyjson_val *)(uintptr_t)success);
    if (!r->is_success)
        read_exception(r, result);
    else if (!json_is_null(result))
        json_put_value(&r->output, result);
    if (r->error.error != 0) /* a long one is cut, which is fine */
        r->error.error = 0;
    return r->output.error != 0 ? error_set(err, r->output.error, "the result is too large")
                                : 0;
}

int arq_result_read(struct arq_result *r,
                    enum arq_form form,
                    struct str bytes,
                    struct error *err)
{
    struct json_reader reader LOCAL_READER(MAX_BYTES, MAX_DEPTH);
    struct json json;
    struct buf text LOCAL_BUF(MAX_BYTES);

    int code = to_json(form, bytes, &text, err);
    if (code == 0)
        code = json_read(&reader, buf_text(&text), &json, err);
    if (code == 0)
        code = understand(r, json.root, err);
    return code;
}

void arq_task_init(struct arq_task *t)
{
    *t = (struct arq_task){ 0 };
    buf_init(&t->text, MAX_BYTES);
    json_reader_init(&t->reader, MAX_BYTES, MAX_DEPTH);
}

void arq_task_done(struct arq_task *t)
{
    buf_done(&t->text);
    json_reader_done(&t->reader);
}

int arq_task_read(struct arq_task *t, enum arq_form form, struct str bytes, struct error *err)
{
    struct json json;
    int code = to_json(form, bytes, &t->text, err);

    if (code == 0)
        code = json_read(&t->reader, buf_text(&t->text), &json, err);
    if (code != 0)
        return code;
    t->function = json_text(json_at(json.root, "f"));
    t->args = json_at(json.root, "a");
    t->kwargs = json_at(json.root, "k");
    t->enqueued = json_int(json_at(json.root, "et"), 0);
    return str_absent(t->function) ? error_set(err, ERR_TYPE, "no job of ARQ: it has no 'f'")
                                   : 0;
}

const yyjson_val *arq_task_argument(const struct arq_task *t,
                                    char *const *words,
                                    struct str word)
{
    size_t place = 0;
    struct str name;

    for (char *const *p = words; p != NULL && *p != NULL; p++) {
        struct str value = arq_argument_split(str_of(*p), &name);
        if (str_eq(value, word))
            return str_absent(name) ? yyjson_arr_get((yyjson_val *)(uintptr_t)t->args, place)
                                    : json_get(t->kwargs, name);
        place += str_absent(name);
    }
    return NULL;
}

/* --- results of our own ------------------------------------------------------ */

/* Python's builtin exceptions that take a text; the reader may not be able to import other
 * types. */
static bool is_builtin(struct str type)
{
    static const char *const names[] = {
        "ArithmeticError", "AssertionError",      "AttributeError",    "ConnectionError",
        "Exception",       "FileNotFoundError",   "ImportError",       "IndexError",
        "KeyError",        "LookupError",         "MemoryError",       "ModuleNotFoundError",
        "NameError",       "NotImplementedError", "OSError",           "OverflowError",
        "PermissionError", "RecursionError",      "RuntimeError",      "TimeoutError",
        "TypeError",       "ValueError",          "ZeroDivisionError",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_eq(type, str_of(names[i])))
            return true;
    return false;
}

/* In JSON an exception is written as its text. */
static void put_exception(const struct writer *w, const struct arq_ending *e)
{
    bool plain = is_builtin(e->error_type);
    struct buf words LOCAL_BUF(MAX_ERROR + 256);

    if (!plain && !str_absent(e->error_type) && !e->is_cancelled) {
        buf_str(&words, str_head(e->error_type, 200));
        buf_lit(&words, ": ");
    }
    buf_str(&words, str_head(e->error, MAX_ERROR));
    if (w->form == ARQ_JSON)
        json_put_str(w->out, buf_text(&words));
    else if (e->is_cancelled)
        pickle_exception(w->out, STR("asyncio.exceptions"), STR("CancelledError"),
                         buf_text(&words));
    else if (plain)
        pickle_exception(w->out, STR("builtins"), e->error_type, buf_text(&words));
    else
        pickle_exception(w->out, STR("arq.worker"), STR("JobExecutionFailed"),
                         buf_text(&words));
}

/* Output that is not valid JSON is written as None. */
static void put_output(const struct writer *w, struct str output)
{
    struct json_reader reader LOCAL_READER(MAX_BYTES, MAX_DEPTH);
    struct json json = { .root = NULL };

    if (!str_absent(output) && json_read(&reader, output, &json, NULL) != 0)
        json.root = NULL;
    put_value(w, json.root);
}

/* A tuple, as ARQ writes it. */
static void put_task_args(const struct writer *w, const yyjson_val *args)
{
    yyjson_val *list = (yyjson_val *)(uintptr_t)args;
    size_t n = yyjson_arr_size(list);

    if (w->form == ARQ_JSON && n == 0) {
        buf_lit(w->out, "[]");
        return;
    }
    if (w->form == ARQ_JSON) {
        put_value(w, args);
        return;
    }
    pickle_tuple_begin(w->out, n);
    json_each(item, list)
        pickle_value(w->out, item);
    pickle_tuple_end(w->out, n);
}

static void put_task_kwargs(const struct writer *w, const yyjson_val *kwargs)
{
    if (yyjson_is_obj((yyjson_val *)(uintptr_t)kwargs))
        put_value(w, kwargs);
    else if (w->form == ARQ_JSON)
        buf_lit(w->out, "{}");
    else
        pickle_dict_begin(w->out, 0);
}

void arq_put_result(struct buf *out,
                    enum arq_form form,
                    const struct arq_task *t,
                    const struct arq_ending *e)
{
    struct writer w = { out, form };

    begin(&w);
    put_key(&w, STR("t"));
    put_int(&w, e->job_try);
    put_key(&w, STR("f"));
    put_text(&w, str_absent(t->function) ? STR("<unknown>") : t->function);
    put_key(&w, STR("a"));
    put_task_args(&w, t->args);
    put_key(&w, STR("k"));
    put_task_kwargs(&w, t->kwargs);
    put_key(&w, STR("et"));
    put_int(&w, t->enqueued);
    put_key(&w, STR("s"));
    put_bool(&w, e->is_success);
    put_key(&w, STR("r"));
    if (e->is_success)
        put_output(&w, e->output);
    else
        put_exception(&w, e);
    put_key(&w, STR("st"));
    put_int(&w, e->started);
    put_key(&w, STR("ft"));
    put_int(&w, e->finished);
    put_key(&w, STR("q"));
    put_text(&w, e->queue);
    put_key(&w, STR("id"));
    put_text(&w, e->id);
    end(&w);
}
