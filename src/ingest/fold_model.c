/* Model runs: deltas, who owns a message's tokens, and the end.
 *
 * For one execution and message id the first run owns the tokens; a wrapping model
 * that repeats them is noted once (llm.repeat) and its tokens are dropped.  A model
 * that streamed nothing gives its answer as one delta at its end.
 *
 * A character outside the basic plane may come in two halves, in two tokens.  The
 * first half waits, in the record too, until the second one arrives. */
#include "base/error.h"
#include "base/utf8.h"
#include "ingest/fold_state.h"

#include <stdlib.h>

/* --- the constant part may change -------------------------------------------- */

static int remember_raw(struct run *run, struct str raw)
{
    if (raw.n > run->meta_raw_cap) {
        char *p = realloc(run->meta_raw, raw.n);

        if (p == NULL)
            return ERR_NOMEM;
        run->meta_raw = p;
        run->meta_raw_cap = raw.n;
    }
    str_copy(run->meta_raw, raw);
    run->meta_raw_n = raw.n;
    return 0;
}

/* A run's metadata is the same in every line, nearly always: compare it as bytes. */
static bool same_raw(const struct run *run, const struct json *line, const struct event *ev)
{
    if (ev->meta_key == NULL || run->meta_raw == NULL)
        return false;
    struct str rest = json_raw_from(line, ev->meta_key);
    return rest.n > run->meta_raw_n && memcmp(rest.p, run->meta_raw, run->meta_raw_n) == 0;
}

static int refresh_info(struct fold *f,
                        const struct json *line,
                        const struct event *ev,
                        struct run *run)
{
    struct record rec;
    int err = 0;

    if (ev->meta == NULL || same_raw(run, line, ev))
        return 0;
    buf_clear(&f->tmp);
    json_put_value(&f->tmp, ev->meta);
    if (f->tmp.error != 0)
        return f->tmp.error;
    if (!str_eq(buf_text(&f->tmp), run->header->info.meta)) {
        record_init(&rec, REC_RUN_INFO);
        rec.info = run->header->info;
        rec.info.meta = fold_tmp(f, &err);
        if (err == 0)
            err = fold_emit(f, &rec, run);
    }
    if (err == 0 && ev->meta_key != NULL)
        err = remember_raw(run, json_raw_member(line, ev->meta_key));
    return err;
}

/* --- halves ------------------------------------------------------------------ */

/* Joins a pending surrogate half with the start of @text, and holds back a half at its end. */
static struct str join_halves(struct fold *f,
                              const struct run *run,
                              struct str text,
                              uint32_t *ret_half,
                              int *err)
{
    uint32_t first = utf8_half_first(text);
    char joined[4];

    buf_clear(&f->tmp);
    if (run->half != 0 && utf8_is_low(first)) {
        uint32_t point = 0x10000 + ((run->half - 0xD800) << 10) + (first - 0xDC00);

        buf_put(&f->tmp, joined, utf8_put(joined, point));
        text = str_skip(text, 3);
    } else if (run->half != 0 && text.n > 0) {
        buf_lit(&f->tmp, "\xEF\xBF\xBD");
    }
    *ret_half = run->half != 0 && f->tmp.n == 0 ? run->half : 0; /* an empty chunk in between */
    if (utf8_is_high(utf8_half_last(text))) {
        *ret_half = utf8_half_last(text);
        text.n -= 3;
    }
    buf_str(&f->tmp, text);
    return fold_tmp(f, err);
}

/* --- deltas ------------------------------------------------------------------ */

static struct str message_id(struct fold *f, const struct run *run, struct str id, int *err)
{
    /* Of stream parts readers get what LangGraph streams: its empty last chunk has an id of its
     * own. */
    bool is_own = run->derived && id.n > 0;

    if (run->message.p != NULL && !is_own)
        return run->message;
    if (id.n > 0)
        return id;
    buf_clear(&f->tmp);
    buf_lit(&f->tmp, "lc_run--");
    buf_str(&f->tmp, run->header->info.run);
    return fold_tmp(f, err);
}

/* Is another run the owner of this message's tokens? */
static bool repeats(struct fold *f, const struct run *run, struct str id)
{
    if (run->repeat || id.n == 0 || str_eq(id, run->message)) /* an owner stays the owner */
        return run->repeat;
    struct run *owner = table_get(&f->seen, fold_owner_key(f, run->exec, id));
    return owner != NULL && owner != run;
}

static int note_repeat(struct fold *f, struct run *run, struct str text)
{
    struct record rec;

    f->stats.repeats += text.n > 0;
    if (run->repeat)
        return 0;
    record_init(&rec, REC_LLM_REPEAT);
    return fold_emit(f, &rec, run);
}

/* Emits @rec, in several deltas when its text is over the field limit (list content has
 * the text in it once more and stays whole). */
static int emit_delta(struct fold *f, struct record *rec, struct run *run)
{
    struct str rest = rec->text;
    int64_t half = rec->half;

    for (;;) {
        rec->text = rec->content.p != NULL ? rest : utf8_head_bytes(rest, f->opt.field_limit);
        rest = str_skip(rest, rec->text.n);
        rec->index = run->deltas;
        rec->first = run->deltas == 0;
        rec->half = rest.n == 0 ? half : RECORD_NO_NUMBER;
        int err = fold_emit(f, rec, run);
        if (err != 0 || rest.n == 0 || rec->text.n == 0)
            return err;
        /* Only the first one carries what is not text. */
        rec->calls = rec->usage = rec->response = rec->extra = STR_NONE;
        rec->reasoning = STR_NONE;
        rec->header = NULL;
        rec->header_seq = 0;
    }
}

static int fill_delta(struct fold *f,
                      const struct message *m,
                      struct run *run,
                      struct record *rec)
{
    int err = 0;
    uint32_t half = 0;

    rec->message = message_id(f, run, m->id, &err);
    rec->text = m->text;
    if (run->half != 0 || utf8_half_last(m->text) != 0)
        rec->text = join_halves(f, run, m->text, &half, &err);
    if (half != 0)
        rec->half = half;
    if (m->reasoning.n > 0)
        rec->reasoning = fold_limit_text(f, m->reasoning, &err);
    rec->lossy = m->lossy;
    rec->last = m->finish;
    /* A message's content is never replaced by a marker: clients concatenate it. */
    if (m->content != NULL)
        rec->content = fold_json(f, m->content, true, &err);
    if (m->call_chunks != NULL)
        rec->calls = fold_json(f, m->call_chunks, true, &err);
    if (m->usage != NULL)
        rec->usage = fold_json(f, m->usage, false, &err);
    if (m->response != NULL)
        rec->response = fold_json(f, m->response, false, &err);
    if (m->extra != NULL)
        rec->extra = fold_json(f, m->extra, false, &err);
    return err;
}

int fold_model_stream(struct fold *f,
                      const struct json *line,
                      const struct event *ev,
                      struct run *run)
{
    struct record rec;

    if (repeats(f, run, ev->message.id))
        return note_repeat(f, run, ev->message.text);
    int err = refresh_info(f, line, ev, run);
    if (err != 0)
        return err;
    record_init(&rec, REC_LLM_DELTA);
    err = fill_delta(f, &ev->message, run, &rec);
    return err == 0 ? emit_delta(f, &rec, run) : err;
}

/* --- the end ----------------------------------------------------------------- */

/* tool_calls of a whole message as the chunks that a stream would have sent. */
static struct str calls_as_chunks(struct fold *f, const yyjson_val *calls, int *err)
{
    struct buf args LOCAL_BUF(SIZE_MAX / 4);
    uint64_t i = 0;

    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    json_each(call, calls) {
        buf_clear(&args);
        json_put_value(&args, json_at(call, "args"));
        if (args.error != 0)
            *err = args.error;
        json_begin(json_next(&f->tmp));
        json_add_text(&f->tmp, "name", json_text(json_at(call, "name")));
        json_add_str(&f->tmp, "args", buf_text(&args));
        json_add_text(&f->tmp, "id", json_text(json_at(call, "id")));
        json_add_uint(&f->tmp, "index", i++);
        json_add_lit(&f->tmp, "type", "tool_call_chunk");
        json_end(&f->tmp);
    }
    json_end_array(&f->tmp);
    return fold_tmp(f, err);
}

/* A model that streamed nothing: its whole answer as one delta. */
static int answer_at_once(struct fold *f, const struct event *ev, struct run *run)
{
    const struct message *m = &ev->message;
    struct record rec;

    if (repeats(f, run, m->id))
        return note_repeat(f, run, STR_NONE); /* its tokens have been counted */
    record_init(&rec, REC_LLM_DELTA);
    int err = fill_delta(f, m, run, &rec);
    if (err == 0 && m->calls != NULL && rec.calls.p == NULL)
        rec.calls = calls_as_chunks(f, m->calls, &err);
    return err == 0 ? emit_delta(f, &rec, run) : err;
}

/* A surrogate half whose other half never came. */
int fold_flush_half(struct fold *f, struct run *run)
{
    struct record rec;

    if (run->half == 0)
        return 0;
    record_init(&rec, REC_LLM_DELTA);
    rec.message = run->message;
    rec.text = STR("\xEF\xBF\xBD");
    return emit_delta(f, &rec, run);
}

static struct str finish_reason(const struct message *m)
{
    struct str reason = json_text(json_at(m->response, "finish_reason"));

    return reason.p != NULL ? reason : json_text(json_at(m->response, "stop_reason"));
}

/* The text in the end event, else the streamed text: the envelope and native events need not
 * repeat it. */
static struct str final_text(struct fold *f,
                             const struct event *ev,
                             const struct run *run,
                             int *err)
{
    bool repeats_it = ev->source != SOURCE_NATIVE && ev->source != SOURCE_ENVELOPE;

    if (ev->has_message && (repeats_it || ev->message.text.n > 0))
        return fold_limit_text(f, ev->message.text, err);
    return ev->kind == EVENT_RUN_END ? fold_streamed_text(f, run, err) : STR_NONE;
}

static int fill_end(struct fold *f, const struct event *ev, struct run *run, struct record *rec)
{
    const struct message *m = &ev->message;
    int err = 0;

    rec->lossy = ev->lossy || (ev->has_message && m->lossy);
    rec->error = fold_limit_text(f, ev->error, &err);
    rec->error_type = ev->error_type;
    if (run->message.p != NULL)
        rec->message = run->message;
    rec->text = final_text(f, ev, run, &err);
    if (!ev->has_message)
        return err;
    rec->message = message_id(f, run, m->id, &err);
    if (m->reasoning.n > 0)
        rec->reasoning = fold_limit_text(f, m->reasoning, &err);
    if (m->calls != NULL)
        rec->calls = fold_json(f, m->calls, false, &err);
    if (m->usage != NULL)
        rec->usage = fold_json(f, m->usage, false, &err);
    if (m->response != NULL)
        rec->response = fold_json(f, m->response, false, &err);
    rec->title = finish_reason(m);
    rec->last = rec->title.p != NULL && !run->finish && !run->repeat;
    return err;
}

int fold_model_end(struct fold *f, const struct event *ev, struct run *run, struct str status)
{
    struct record rec;
    bool answers = ev->has_message && (ev->message.text.n > 0 || ev->message.calls != NULL ||
                                       ev->message.content != NULL);
    struct run *exec = run->exec;
    int err = 0;

    if (run->deltas == 0 && answers)
        err = answer_at_once(f, ev, run);
    else
        err = fold_flush_half(f, run);
    bool repeat = run->repeat;
    record_init(&rec, REC_LLM_END);
    if (err == 0)
        err = fill_end(f, ev, run, &rec);
    if (err == 0)
        err = fold_emit_end(f, run, &rec, status);
    if (err == 0 && answers && !repeat)
        err = fold_answer_artifacts(f, exec, &ev->message);
    return err;
}
