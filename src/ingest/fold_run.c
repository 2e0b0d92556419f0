/* Runs: how they start and how they end.  What a run is, and where it stands in its graph, is
 * in fold_place.c. */
#include "ingest/fold_state.h"

#include "base/error.h"
#include "base/utf8.h"

/* --- starting ---------------------------------------------------------------- */

static int64_t count_messages(const yyjson_val *input)
{
    const yyjson_val *list = json_at(input, "messages");

    if (list == NULL)
        list = json_at(input, "prompts");
    if (list == NULL && yyjson_is_arr((yyjson_val *)input))
        list = input;
    yyjson_val *first = yyjson_arr_get_first((yyjson_val *)list);
    if (yyjson_is_arr(first)) /* a list of lists */
        list = first;
    return yyjson_is_arr((yyjson_val *)list) ? (int64_t)yyjson_arr_size((yyjson_val *)list)
                                             : RECORD_NO_NUMBER;
}

/* Ids of messages in the input that were not seen before: they are history. */
static struct str history(struct fold *f, const yyjson_val *input, int *err)
{
    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    json_each(item, json_at(input, "messages")) {
        struct buf none = { 0 }; /* its text does not matter, only its id */
        struct message m;

        message_read(item, &none, &m);
        if (m.cls == MESSAGE_NONE || m.id.n == 0 ||
            fold_seen(f, fold_key(f, SEEN_MESSAGE, m.id)))
            continue;
        json_put_str(json_next(&f->tmp), m.id);
    }
    if (json_follows(&f->tmp, '['))
        return STR_NONE;
    json_end_array(&f->tmp);
    return fold_tmp(f, err);
}

static struct str announced_call(const struct fold *f, const struct run_info *info)
{
    struct key name = table_key(&f->seen, SEEN_DERIVED, info->name);

    for (size_t i = 0; i < f->n_calls; i++) {
        const struct announced_call *c = &f->call[i];
        struct str exec = c->exec != NULL ? c->exec->id : STR_NONE;

        if (key_eq(c->name, name) && str_eq(exec, info->exec))
            return str_make(c->id, c->id_n);
    }
    return STR_NONE;
}

static int fill_start(struct fold *f, const struct event *ev, struct record *rec)
{
    int err = 0;

    rec->lossy = ev->lossy;
    rec->input = fold_json(f, ev->input, false, &err);
    switch (ev->type) {
    case RUN_CHAT:
    case RUN_LLM:
        rec->kind = REC_LLM_START;
        rec->count = ev->count != RECORD_NO_NUMBER ? ev->count : count_messages(ev->input);
        rec->model_version = ev->model_version;
        rec->prompt_id = ev->prompt_id;
        rec->opens = fold_scopes_to_open(f, record_graph_ns(&rec->info));
        break;
    case RUN_TOOL:
        rec->kind = REC_TOOL_START;
        rec->preview = ev->preview.p != NULL
                           ? ev->preview
                           : fold_preview(f, ev->input, f->opt.agent->input_preview, &err);
        rec->call = ev->call.p != NULL ? ev->call : announced_call(f, &rec->info);
        rec->mirror = ev->is_mirror;
        break;
    case RUN_RETRIEVER:
        rec->kind = REC_RETRIEVER_START;
        break;
    case RUN_CHAIN:
    case RUN_PROMPT:
    case RUN_PARSER:
    case RUN_TYPE_MAX:
        if (rec->kind == REC_NODE_START)
            rec->seen = history(f, ev->input, &err);
        break;
    }
    return err;
}

/* Copies what fold_describe_run() may have borrowed from the header of an open run. */
static int keep_info(struct fold *f, struct run_info *info)
{
    bool kept = arena_copy(&f->work, info->parent, &info->parent) &&
                arena_copy(&f->work, info->section, &info->section);

    return kept ? 0 : ERR_NOMEM;
}

/* @info is of the run that takes the place of @old. */
static int close_retried(struct fold *f, struct run *old, struct run_info *info)
{
    struct record note;
    int err = keep_info(f, info);

    record_init(&note, REC_JOB_UPDATE);
    note.title = STR("retry");
    buf_clear(&f->tmp);
    buf_lit(&f->tmp, "Retrying ");
    buf_str(&f->tmp, old->header->info.name);
    note.text = fold_tmp(f, &err);
    if (err == 0)
        err = fold_emit(f, &note, old);
    if (err == 0 && old->top)
        err = fold_close_inside(f, (struct closing){ .exec = old, .status = STR("retried") });
    if (err == 0)
        err = fold_close_run(f, old, STR("retried"), STR_NONE);
    return err;
}

/* A new start that repeats one still open: the old one failed and is tried again. */
static struct run *retried_by(struct fold *f,
                              const struct event *ev,
                              const struct run_info *info)
{
    if (info->top)
        return fold_find_exec(f, info->ns);
    if (str_absent(fold_tag_after(ev->tags, STR("retry:attempt:"))) || info->parent.p == NULL)
        return NULL;
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->type == ev->type && str_eq(r->header->info.parent, info->parent) &&
            str_eq(r->header->info.name, info->name))
            return r;
    return NULL;
}

int fold_start_run(struct fold *f,
                   const struct json *line,
                   const struct event *ev,
                   struct run **ret)
{
    struct record rec;
    struct run *known = fold_find(f, ev->run);
    struct event again;
    bool node = false;

    (void)line;
    bool called_again =
        known != NULL && ev->run_is_name && (known->header == NULL || ev->type != RUN_CHAIN);
    if (called_again) { /* this call gets an id of its own */
        again = *ev;
        again.run = STR_NONE;
        ev = &again;
    } else if (known != NULL) { /* sent twice */
        f->stats.orphans++;
        *ret = NULL;
        return 0;
    }
    record_init(&rec, REC_RUN_START);
    int err = fold_describe_run(f, ev, &rec, &node);
    if (err != 0)
        return err;
    if (node)
        rec.kind = REC_NODE_START;
    if (rec.info.root && (f->n_questions > 0 || f->paused))
        err = fold_resumed(f);
    struct run *old = retried_by(f, ev, &rec.info);
    if (err == 0 && old != NULL)
        err = close_retried(f, old, &rec.info);
    if (err == 0)
        err = fill_start(f, ev, &rec);
    if (err == 0)
        err = fold_emit_start(f, &rec, ret);
    if (err == 0 && ev->type == RUN_TOOL)
        err = fold_tool_artifacts(f, *ret, ev->input);
    return err;
}

/* --- ending ------------------------------------------------------------------ */

static enum record_kind end_kind(const struct run *run)
{
    if (run->node_run)
        return REC_NODE_END;
    switch (run->type) {
    case RUN_CHAT:
    case RUN_LLM:
        return REC_LLM_END;
    case RUN_TOOL:
        return REC_TOOL_END;
    case RUN_RETRIEVER:
        return REC_RETRIEVER_END;
    case RUN_CHAIN:
    case RUN_PROMPT:
    case RUN_PARSER:
    case RUN_TYPE_MAX:
        break;
    }
    return REC_RUN_END;
}

static void fill_counts(const struct run *run, struct record *rec)
{
    if (!run->top)
        return;
    rec->chains = run->chains;
    rec->llms = run->llms;
    rec->tools = run->tools;
}

/* After the end of the run that made a section. */
static int end_section_of(struct fold *f, struct run *run, struct run *exec, struct str section)
{
    struct key k = fold_section_key(f, SEEN_SECTION, exec, section);

    if (section.p == NULL || table_get(&f->seen, k) != run)
        return 0;
    return fold_section_end(f, exec, section);
}

int fold_section_end(struct fold *f, struct run *exec, struct str section)
{
    struct record rec;

    if (fold_seen(f, fold_section_key(f, SEEN_SECTION_END, exec, section)))
        return 0;
    record_init(&rec, REC_SECTION_END);
    rec.text = section;
    if (exec != NULL && exec->header == NULL)
        rec.info.run = exec->id;
    return fold_emit(f, &rec, exec);
}

int fold_emit_end(struct fold *f, struct run *run, struct record *rec, struct str status)
{
    struct str section = STR_NONE;
    struct run *exec = run->exec;

    rec->status = status;
    rec->elapsed = fold_since(f, run->start_ts);
    rec->mirror |= rec->kind == REC_TOOL_END && run->header->mirror;
    fill_counts(run, rec);
    if (run->panel && str_eq(status, STR("ok")) &&
        !arena_copy(&f->work, run->header->info.section, &section))
        return ERR_NOMEM;
    int err = fold_emit(f, rec, run);
    if (err == 0)
        err = end_section_of(f, run, exec, section);
    return err;
}

int fold_close_run(struct fold *f, struct run *run, struct str status, struct str error)
{
    struct record rec;
    int err = fold_flush_half(f, run);

    record_init(&rec, end_kind(run));
    rec.error = error;
    if (rec.kind == REC_LLM_END && run->message.p != NULL)
        rec.message = run->message;
    if (rec.kind == REC_LLM_END && str_is(status, "ok"))
        rec.text = fold_streamed_text(f, run, &err);
    return err == 0 ? fold_emit_end(f, run, &rec, status) : err;
}

int fold_close_inside(struct fold *f, struct closing what)
{
    struct run *r = f->open.prev;

    while (r != &f->open) {
        struct run *older = r->prev;
        bool inside = (what.exec == NULL || r->exec == what.exec) &&
                      (what.root == NULL || r->root == what.root);

        if (inside && r != what.exec && r != what.root && (r->derived || !what.derived_only)) {
            int err = fold_close_run(f, r, what.status, what.error);

            if (err != 0)
                return err;
        }
        r = older;
    }
    return 0;
}

static int fill_tool_end(struct fold *f, const struct event *ev, struct record *rec)
{
    size_t points = f->opt.agent->result_preview;
    int err = 0;

    rec->call = ev->call;
    if (ev->preview.p != NULL)
        rec->preview = ev->preview;
    else if (ev->error.p != NULL)
        rec->preview = utf8_head(ev->error, points);
    else if (ev->has_message)
        rec->preview = utf8_head(ev->message.text, points);
    else if (yyjson_is_str((yyjson_val *)ev->output))
        rec->preview = utf8_head(json_text(ev->output), points);
    else
        rec->preview = fold_preview(f, ev->output, points, &err);
    return err;
}

/* The result as text, to find sources in it. */
static struct str tool_text(struct fold *f, const struct event *ev, int *err)
{
    if (ev->has_message)
        return ev->message.text;
    if (yyjson_is_str((yyjson_val *)ev->output))
        return json_text(ev->output);
    return fold_json_whole(f, ev->output, err);
}

static int end_tool(struct fold *f,
                    struct run *run,
                    const struct event *ev,
                    struct record *rec,
                    struct str status)
{
    int err = fill_tool_end(f, ev, rec);
    struct str name = STR_NONE, text = tool_text(f, ev, &err);
    struct run *exec = run->exec;

    if (err == 0 && !arena_copy(&f->work, run->header->info.name, &name))
        err = ERR_NOMEM;
    if (rec->call.p == NULL)
        rec->call = run->header->call;
    if (err == 0)
        err = fold_emit_end(f, run, rec, status);
    if (err == 0 && text.n > 0 && name_set_part_of(&f->opt.agent->search_tools, name))
        err = fold_sources(f, exec, name, text);
    return err;
}

static int end_root(struct fold *f, struct run *run, const struct event *ev, struct str *status)
{
    bool waiting = f->n_questions > 0 || f->paused;
    struct str report = STR_NONE;
    int err;

    if (waiting)
        err =
            fold_close_inside(f, (struct closing){ .root = run, .status = STR("interrupted") });
    else
        err = fold_close_inside(
            f, (struct closing){ .root = run,
                                 .status = STR("error"),
                                 .error = STR("no end was sent for this run") });
    if (waiting)
        *status = STR("interrupted");
    else if (err == 0)
        err = fold_report_text(f, ev->output, &report);
    return err == 0 ? fold_report(f, report) : err;
}

int fold_end_run(struct fold *f, struct run *run, const struct event *ev, struct str status)
{
    struct record rec;
    bool root = run->header->info.root;
    int err = 0;

    if (end_kind(run) == REC_LLM_END)
        return fold_model_end(f, ev, run, status);
    if (run->top)
        err = fold_close_inside(
            f, (struct closing){ .exec = run, .derived_only = true, .status = STR("ok") });
    record_init(&rec, end_kind(run));
    rec.lossy = ev->lossy;
    rec.owes = ev->owes && run->header->info.counted && run->node.p != NULL &&
               str_eq(status, STR("ok"));
    rec.mirror = root && f->state_parts;
    if (err == 0 && root)
        err = end_root(f, run, ev, &status);
    if (err == 0 && run->node_run && ev->output != NULL)
        err = fold_messages(f, run, ev->output);
    if (err != 0)
        return err;
    /* What may be the job's result is stored whole. */
    bool outermost = root || (run->top && !run->derived && fold_open_root(f) == NULL);
    rec.output = fold_json(f, ev->output, outermost, &err);
    rec.error = fold_limit_text(f, ev->error, &err);
    rec.error_type = ev->error_type;
    if (err != 0)
        return err;
    if (rec.kind == REC_TOOL_END)
        return end_tool(f, run, ev, &rec, status);
    return fold_emit_end(f, run, &rec, status);
}
