/* Runs: which run is a node, which execution it is inside of, how it starts and ends.
 *
 *   node run    a chain start named like its langgraph_node and tagged
 *               graph:step:<langgraph_step> (without tags, if the sender drops them)
 *   top level   no ancestor is a node run (where ancestors are known), else a
 *               namespace of one segment
 *   execution   the first top-level node run among ancestors and self, else the newest
 *               open one whose namespace is the first segment of the event's; for an event
 *               that tells neither, the newest open one of the node that it names, or the
 *               newest open one */
#include "base/error.h"
#include "base/utf8.h"
#include "ingest/fold_state.h"

#include <stdio.h>

/* --- who is who -------------------------------------------------------------- */

static bool has_tag(const yyjson_val *tags, struct str tag)
{
    yyjson_arr_iter it = yyjson_arr_iter_with((yyjson_val *)tags);
    yyjson_val *item;

    while ((item = yyjson_arr_iter_next(&it)) != NULL)
        if (str_eq(json_text(item), tag))
            return true;
    return false;
}

/* What follows @prefix in the first tag that starts with it. */
static struct str tag_after(const yyjson_val *tags, struct str prefix)
{
    yyjson_arr_iter it = yyjson_arr_iter_with((yyjson_val *)tags);
    yyjson_val *item;

    while ((item = yyjson_arr_iter_next(&it)) != NULL)
        if (yyjson_is_str(item) && str_starts(json_text(item), prefix))
            return str_skip(json_text(item), prefix.n);
    return STR_NONE;
}

static bool has_state_keys(const struct fold *f, const struct event *ev)
{
    const struct name_set *keys = &f->opt.agent->state_keys;

    for (size_t i = 0; i < keys->n; i++)
        if (json_get(ev->input, keys->names[i]) == NULL)
            return false;
    return true;
}

static bool is_node_run(const struct fold *f, const struct event *ev)
{
    char tag[40];

    if (ev->type != RUN_CHAIN)
        return false;
    if (ev->top)
        return true;
    if (ev->node.n == 0 || !str_eq(ev->node, ev->name) || !has_state_keys(f, ev))
        return false;
    if (!f->step_tags && str_absent(tag_after(ev->tags, STR("graph:step:"))))
        return true;
    (void)snprintf(tag, sizeof(tag), "graph:step:%lld", (long long)ev->step);
    return has_tag(ev->tags, str_of(tag));
}

/* The newest open execution, of @node where that is given. */
static struct run *newest_exec(struct fold *f, struct str node)
{
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->top && (node.p == NULL || str_eq(r->node, node)))
            return r;
    return NULL;
}

struct run *fold_find_visit(struct fold *f, const struct event *ev, struct str id)
{
    struct run *run = fold_find(f, id), *visit = NULL;

    if (run != NULL && run->header == NULL && run->top && ev->source == SOURCE_ENVELOPE)
        visit = newest_exec(f, run->node);
    return visit != NULL ? visit : run;
}

/* What is known from the ancestors; `known` is false where the source does not name them. */
struct ancestry {
    bool known;
    bool in_node;     /* some ancestor is a node run */
    uint32_t depth;   /* how many are */
    struct run *exec; /* the first that is a top-level execution */
    struct run *parent;
};

static void look_up_parents(struct fold *f, const struct event *ev, struct ancestry *a)
{
    yyjson_arr_iter it = yyjson_arr_iter_with((yyjson_val *)ev->parents);
    yyjson_val *item;

    while ((item = yyjson_arr_iter_next(&it)) != NULL) {
        struct run *r = fold_find(f, json_text(item));

        if (r == NULL)
            continue;
        a->known = true;
        a->parent = r;
        a->in_node |= r->node_run;
        a->depth += r->node_run;
        if (a->exec == NULL && r->top)
            a->exec = r;
    }
}

static struct ancestry ancestry_of(struct fold *f, const struct event *ev)
{
    struct ancestry a = { 0 };

    if (ev->parents != NULL) {
        look_up_parents(f, ev, &a);
        return a;
    }
    struct run *parent = fold_find_visit(f, ev, ev->parent);
    if (parent != NULL) {
        a = (struct ancestry){ .known = true,
                               .in_node = parent->depth > 0,
                               .depth = parent->depth,
                               .exec = parent->exec,
                               .parent = parent };
    }
    return a;
}

static struct str first_segment(struct str ns)
{
    return str_head(ns, str_find(ns, '|'));
}

static uint32_t count_bars(struct str ns)
{
    uint32_t n = 0;

    for (size_t i = 0; i < ns.n; i++)
        n += ns.p[i] == '|';
    return n;
}

/* An event that names neither a parent nor a namespace happens in an execution that is open.
 * A chain without a node is a graph of its own, not a part of a node. */
static struct run *exec_around(struct fold *f, const struct event *ev)
{
    bool placed = ev->parent.p != NULL || ev->ns.n > 0;

    if (placed || (ev->node.p == NULL && ev->type == RUN_CHAIN))
        return NULL;
    return newest_exec(f, ev->node);
}

static struct run *exec_of(struct fold *f, const struct event *ev, const struct ancestry *a)
{
    struct run *exec = a->exec;

    if (exec == NULL && !(a->known && a->in_node))
        exec = fold_find_exec(f, first_segment(ev->ns));
    return exec != NULL ? exec : exec_around(f, ev);
}

/* A root's outcome and output are the job's.  Those of a tool or a retriever never are, and
 * those of a model only where the source would tell what is around it. */
static bool may_be_root(const struct event *ev)
{
    switch (ev->type) {
    case RUN_TOOL:
    case RUN_RETRIEVER:
        return false;
    case RUN_CHAT:
    case RUN_LLM:
        return ev->source != SOURCE_ENVELOPE && ev->source != SOURCE_NATIVE;
    case RUN_CHAIN:
    case RUN_PROMPT:
    case RUN_PARSER:
    case RUN_TYPE_MAX:
        break;
    }
    return true;
}

/* --- the constant part ------------------------------------------------------- */

static struct str known_section(const struct fold *f, struct str name)
{
    return name.n > 0 && name_set_has(&f->opt.agent->sections, name) ? name : STR_NONE;
}

static struct str section_in_ns(const struct fold *f, struct str ns)
{
    struct str rest = str_skip(ns, str_find(ns, '|') + 1);

    while (rest.n > 0) {
        struct str segment = first_segment(rest);
        struct str known = known_section(f, str_head(segment, str_find(segment, ':')));

        if (known.p != NULL)
            return known;
        rest = str_skip(rest, segment.n + 1);
    }
    return STR_NONE;
}

static struct str section_of(const struct fold *f,
                             const struct event *ev,
                             const struct run *parent)
{
    struct str s = ev->section;

    if (s.p == NULL)
        s = known_section(f, tag_after(ev->tags, STR("map:key:")));
    if (s.p == NULL && parent != NULL && parent->header != NULL)
        s = parent->header->info.section;
    if (s.p == NULL)
        s = section_in_ns(f, ev->ns);
    if (s.p == NULL)
        s = known_section(f, ev->name);
    return s;
}

static struct str path_kind(enum run_type type)
{
    switch (type) {
    case RUN_CHAT:
    case RUN_LLM:
        return STR("llm");
    case RUN_TOOL:
        return STR("tool");
    case RUN_RETRIEVER:
        return STR("retriever");
    case RUN_PROMPT:
        return STR("prompt");
    case RUN_PARSER:
        return STR("parser");
    case RUN_CHAIN:
    case RUN_TYPE_MAX:
        break;
    }
    return STR("chain");
}

enum { MAX_PATH_BYTES = 1024 };

/* parent's path > kind:name; the nearest open run above stands in for an unknown parent. */
static struct str path_of(struct fold *f,
                          const struct event *ev,
                          const struct run *above,
                          int *err)
{
    buf_clear(&f->tmp);
    if (above != NULL && above->header != NULL) {
        struct str path = above->header->info.path;

        buf_str(&f->tmp, path.n < MAX_PATH_BYTES ? path : STR("…"));
        buf_lit(&f->tmp, " > ");
    }
    buf_str(&f->tmp, path_kind(ev->type));
    buf_char(&f->tmp, ':');
    buf_str(&f->tmp, utf8_head_bytes(ev->name, 128));
    return fold_tmp(f, err);
}

static struct str json_of(struct fold *f, const yyjson_val *v, int *err)
{
    if (v == NULL)
        return STR_NONE;
    buf_clear(&f->tmp);
    json_put_value(&f->tmp, v);
    return fold_tmp(f, err);
}

static void fill_exec(const struct fold *f, struct run_info *info, const struct run *exec)
{
    const struct agent *agent = f->opt.agent;

    if (info->top) {
        info->exec = info->run;
        info->card = name_set_has(&agent->card_nodes, info->node);
        info->panel = name_set_has(&agent->output_nodes, info->node);
        info->counted = name_set_has(&agent->counted_nodes, info->node);
    } else if (exec != NULL) {
        info->exec = exec->id;
        info->node = exec->node;
        info->card = exec->card;
        info->panel = exec->panel;
    }
}

static struct str parent_id(const struct event *ev,
                            const struct ancestry *a,
                            const struct run *exec)
{
    if (a->parent != NULL && a->parent->header != NULL)
        return a->parent->header->info.run;
    if (ev->parent.p != NULL)
        return ev->parent;
    return exec != NULL ? exec->id : STR_NONE;
}

/* Fills rec->info for a run that starts with @ev; says whether it is a node run. */
static int describe(struct fold *f, const struct event *ev, struct record *rec, bool *ret_node)
{
    struct ancestry a = ancestry_of(f, ev);
    struct run_info *info = &rec->info;
    bool node = is_node_run(f, ev);
    int err = 0;

    info->top = node && (ev->top || (a.known ? !a.in_node : count_bars(ev->ns) == 0));
    struct run *exec = info->top ? NULL : exec_of(f, ev, &a);
    struct run *above = a.parent != NULL && a.parent->header != NULL ? a.parent : exec;
    for (struct run *r = f->open.prev; above == NULL && r != &f->open; r = r->prev)
        if (r->header->info.root)
            above = r;

    info->run =
        ev->run.p != NULL ? ev->run : fold_derive_id(f, ev->run_is_name ? f->seq : 0, &err);
    info->derived = ev->derived || (ev->run.p == NULL && !ev->run_is_name);
    info->root = !node && a.parent == NULL && exec == NULL && ev->node.p == NULL &&
                 may_be_root(ev) && fold_open_root(f) == NULL;
    info->parent = info->root ? STR_NONE : parent_id(ev, &a, exec);
    info->node = ev->node;
    info->step = ev->step;
    info->ns = ev->ns;
    info->name = ev->name;
    info->type = str_of(run_type_name(ev->type));
    info->section = section_of(f, ev, a.parent != NULL ? a.parent : exec);
    info->depth = !node       ? RECORD_NO_NUMBER
                  : info->top ? 0
                  : a.known   ? (int64_t)a.depth
                              : (int64_t)count_bars(ev->ns);
    fill_exec(f, info, exec);
    if (ev->source == SOURCE_NATIVE && ev->run.p == NULL)
        info->panel = false; /* `agent` sends the panel's tokens by themselves */
    info->path = path_of(f, ev, above, &err);
    info->tags = json_of(f, ev->tags, &err);
    info->meta = json_of(f, ev->meta, &err);
    info->parents = json_of(f, ev->parents, &err);
    if (ev->type == RUN_CHAT || ev->type == RUN_LLM) {
        info->model = json_text(json_at(ev->meta, "ls_model_name"));
        if (info->model.p == NULL)
            info->model = ev->name;
    }
    *ret_node = node;
    return err;
}

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
    yyjson_arr_iter it = yyjson_arr_iter_with(json_at(input, "messages"));
    yyjson_val *item;
    size_t n = 0;

    buf_clear(&f->tmp);
    while ((item = yyjson_arr_iter_next(&it)) != NULL) {
        struct buf none = { 0 }; /* its text does not matter, only its id */
        struct message m;

        message_read(item, &none, &m);
        if (m.cls == MESSAGE_NONE || m.id.n == 0 ||
            fold_seen(f, fold_key(f, SEEN_MESSAGE, m.id)))
            continue;
        buf_char(&f->tmp, n++ == 0 ? '[' : ',');
        json_put_str(&f->tmp, m.id);
    }
    if (n == 0)
        return STR_NONE;
    buf_char(&f->tmp, ']');
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
        break;
    case RUN_TOOL:
        rec->kind = REC_TOOL_START;
        rec->preview = ev->preview.p != NULL
                           ? ev->preview
                           : fold_preview(f, ev->input, f->opt.agent->input_preview, &err);
        rec->call = ev->call.p != NULL ? ev->call : announced_call(f, &rec->info);
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

/* What describe() may have borrowed from the header of an open run. */
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
    if (str_absent(tag_after(ev->tags, STR("retry:attempt:"))) || info->parent.p == NULL)
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
    int err = describe(f, ev, &rec, &node);
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
    return json_of(f, ev->output, err);
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
