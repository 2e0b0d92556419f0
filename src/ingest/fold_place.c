/* The place of a run in its graph: is it a node, which execution is it inside of, and what
 * stays the same for all of its records (struct run_info).
 *
 *   node run    a chain start named like its langgraph_node and tagged
 *               graph:step:<langgraph_step> (without tags, if the sender drops them)
 *   top level   no ancestor is a node run (where ancestors are known), else a
 *               namespace of one segment
 *   execution   the first top-level node run among ancestors and self, else the newest
 *               open one whose namespace is the first segment of the event's; for an event
 *               that tells neither, the newest open one of the node that it names, or the
 *               newest open one */
#include "ingest/fold_state.h"

#include "base/utf8.h"

#include <stdio.h>

/* --- ancestors and executions ------------------------------------------------ */

static bool has_tag(const yyjson_val *tags, struct str tag)
{
    json_each(item, tags)
        if (str_eq(json_text(item), tag))
            return true;
    return false;
}

/* What follows @prefix in the first tag that starts with it. */
struct str fold_tag_after(const yyjson_val *tags, struct str prefix)
{
    json_each(item, tags)
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
    if (!f->step_tags && str_absent(fold_tag_after(ev->tags, STR("graph:step:"))))
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
    json_each(item, ev->parents) {
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

/* An event that names neither a parent nor a namespace belongs to an execution that is open.
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
        s = known_section(f, fold_tag_after(ev->tags, STR("map:key:")));
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
int fold_describe_run(struct fold *f,
                      const struct event *ev,
                      struct record *rec,
                      bool *ret_node)
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
    info->outer =
        ev->outer && (ev->type == RUN_CHAT || ev->type == RUN_LLM || ev->type == RUN_TOOL);
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
    info->tags = fold_json_whole(f, ev->tags, &err);
    info->meta = fold_json_whole(f, ev->meta, &err);
    info->parents = fold_json_whole(f, ev->parents, &err);
    if (ev->type == RUN_CHAT || ev->type == RUN_LLM) {
        info->model = json_text(json_at(ev->meta, "ls_model_name"));
        if (info->model.p == NULL)
            info->model = ev->name;
    }
    *ret_node = node;
    return err;
}
