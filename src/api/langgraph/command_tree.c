/* agent.getTree: the namespaces of the thread's last run (its graph, subgraphs and subagents),
 * and what each of them does.
 *
 *     records of the run ──▶ lifecycle events ──▶ one node for each namespace ──▶ sorted, as a
 * tree
 *
 * The events are those that a reader of the thread gets (dialect/thread_events.c), so tree and
 * events never disagree. */
#include "api/langgraph/commands.h"

#include "base/error.h"
#include "dialect/render.h"
#include "dialect/thread_events.h"
#include "journal/reader.h"

#include <stdlib.h>

enum { TREE_PAGE = 5000, TREE_MAX = 4096 }; /* further namespaces are left out */

struct tree_node {
    struct str ns; /* segments with bars between; empty: the root */
    struct str graph;
    struct str status; /* of the last lifecycle event */
};

struct tree {
    struct arena *mem;
    struct tree_node *nodes; /* owned; TREE_MAX of them */
    size_t n;
    int err;
    /* The run. */
    int64_t key;
    struct str job, agent;
    uint64_t first, last; /* of its records */
    /* While its records are read. */
    struct record_reader records;
    struct frames frames;
    uint64_t at;
};

/* --- the run ------------------------------------------------------------------------------ */

/* Newest first: the one that has begun last, or the newest if none has. */
static int on_run(void *arg, const struct job_row *row)
{
    struct tree *t = arg;
    bool has_begun = !str_is(row->state, "queued");

    if (langgraph_is_hidden(row) || (t->key != 0 && !has_begun))
        return 0;
    t->key = row->key;
    t->first = row->first_seq;
    t->last = row->seq;
    if (!arena_copy(t->mem, row->id, &t->job) || !arena_copy(t->mem, row->agent, &t->agent))
        t->err = ERR_NOMEM;
    return has_begun || t->err != 0;
}

/* --- its namespaces ----------------------------------------------------------------------- */

static struct tree_node *node_of(struct tree *t, struct str ns)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->nodes[i].ns, ns))
            return &t->nodes[i];
    if (t->n == TREE_MAX)
        return NULL;
    struct tree_node node = { .status = STR("started") };
    if (!arena_copy(t->mem, ns, &node.ns)) {
        t->err = ERR_NOMEM;
        return NULL;
    }
    t->nodes[t->n] = node;
    return &t->nodes[t->n++];
}

/* Texts that are remembered are copied once: there are few, and the same come again. */
static void keep(struct tree *t, struct str text, struct str *at)
{
    if (!str_absent(text) && !str_eq(text, *at) && !arena_copy(t->mem, text, at))
        t->err = ERR_NOMEM;
}

static void take_lifecycle(struct tree *t, struct str event)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 64);
    struct buf ns LOCAL_BUF(SIZE_MAX / 4);
    struct json json;

    if (json_read(&reader, event, &json, NULL) != 0)
        return; /* we have written it */
    yyjson_val *params = json_at(json.root, "params"), *data = json_at(params, "data");
    json_each(segment, json_at(params, "namespace")) {
        if (ns.n > 0)
            buf_char(&ns, '|');
        buf_str(&ns, json_text(segment));
    }
    struct tree_node *node = ns.error == 0 ? node_of(t, buf_text(&ns)) : NULL;
    if (node == NULL)
        return;
    keep(t, json_text(json_at(data, "event")), &node->status);
    keep(t, json_text(json_at(data, "graph_name")), &node->graph);
}

static bool tells_lifecycle(const struct record *rec)
{
    return rec->opens != RECORD_NO_NUMBER || !str_absent(rec->closes) ||
           rec->kind == REC_JOB_START || rec->kind == REC_JOB_END ||
           rec->kind == REC_NODE_START || rec->kind == REC_NODE_END;
}

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    static const struct variant variant = { .run = 1 };
    struct tree *t = arg;
    struct record rec;

    t->at = seq;
    int err = record_reader_read(&t->records, seq, stored, &rec);
    if (err != 0) {
        t->err = record_is_damage(err) ? 0 : err;
        return t->err != 0;
    }
    if (!tells_lifecycle(&rec))
        return 0;
    t->err = dialect_render(&dialect_thread_events, &rec, &variant, &t->frames);
    for (size_t i = 0; t->err == 0 && i < t->frames.n; i++)
        if (str_is(frame_name(&t->frames, &t->frames.frame[i]), "lifecycle"))
            take_lifecycle(t, frame_data(&t->frames, &t->frames.frame[i]));
    return t->err != 0;
}

static int read_records(struct tree *t, struct store *store, struct error *err)
{
    int code = 0;

    t->at = t->first > 0 ? t->first - 1 : 0;
    record_reader_init(&t->records, store, t->key, t->job);
    frames_init(&t->frames, SIZE_MAX / 4);
    while (code == 0 && t->err == 0 && t->at < t->last) {
        uint64_t before = t->at;

        code = store_records(store, t->key, before, TREE_PAGE, SIZE_MAX, on_record, t, err);
        if (t->at == before)
            break;
    }
    frames_done(&t->frames);
    record_reader_done(&t->records);
    return code != 0 ? code : t->err;
}

/* --- the answer --------------------------------------------------------------------------- */

/* Outer namespaces come directly before what is in them. */
static int by_namespace(const void *a, const void *b)
{
    struct str x = ((const struct tree_node *)a)->ns, y = ((const struct tree_node *)b)->ns;
    size_t n = x.n < y.n ? x.n : y.n;

    for (size_t i = 0; i < n; i++) {
        if (x.p[i] == y.p[i])
            continue;
        if (x.p[i] == '|' || y.p[i] == '|')
            return x.p[i] == '|' ? -1 : 1;
        return (unsigned char)x.p[i] < (unsigned char)y.p[i] ? -1 : 1;
    }
    return x.n == y.n ? 0 : x.n < y.n ? -1 : 1;
}

static bool is_inside(struct str ns, struct str outer)
{
    return outer.n == 0 || (str_starts(ns, outer) && ns.n > outer.n && ns.p[outer.n] == '|');
}

static void begin_node(struct buf *b, const struct tree_node *node)
{
    struct str rest = node->ns;

    json_begin(b);
    json_key(b, "namespace");
    json_begin_array(b);
    while (rest.n > 0) {
        struct str segment = str_head(rest, str_find(rest, '|'));

        json_put_str(json_next(b), segment);
        rest = str_skip(rest, segment.n + 1);
    }
    json_end_array(b);
    json_add_str(b, "status", node->status);
    json_add_str(b, "graph_name", render_some(node->graph));
}

/* The first of the sorted nodes is the root.  A stack of those that are open, not recursion:
 * how deep it goes is up to workers. */
static void put_tree(struct buf *b, const struct tree *t, size_t *open)
{
    size_t depth = 1;

    open[0] = 0;
    begin_node(b, &t->nodes[0]);
    for (size_t i = 1; i < t->n; i++) {
        while (!is_inside(t->nodes[i].ns, t->nodes[open[depth - 1]].ns)) {
            if (open[depth - 1] != i - 1)
                json_end_array(b);
            json_end(b);
            depth--;
        }
        if (open[depth - 1] == i - 1) { /* its first child */
            json_key(b, "children");
            json_begin_array(b);
        }
        begin_node(json_next(b), &t->nodes[i]);
        open[depth++] = i;
    }
    for (; depth > 0; depth--) {
        if (open[depth - 1] != t->n - 1)
            json_end_array(b);
        json_end(b);
    }
}

static int build(struct tree *t, struct store *store, struct buf *out, struct error *err)
{
    size_t *open = calloc(TREE_MAX, sizeof(*open));

    t->nodes = calloc(TREE_MAX, sizeof(*t->nodes));
    struct tree_node *root = open != NULL && t->nodes != NULL ? node_of(t, STR("")) : NULL;
    int code = root == NULL ? ERR_NOMEM : 0;
    if (code == 0) {
        root->graph = t->agent;
        code = read_records(t, store, err);
    }
    if (code == 0) {
        qsort(t->nodes, t->n, sizeof(*t->nodes), by_namespace);
        json_begin(out);
        json_key(out, "tree");
        put_tree(out, t, open);
        json_end(out);
    }
    free(t->nodes);
    free(open);
    return code;
}

void thread_command_get_tree(struct store_query *query,
                             struct store *store,
                             const struct thread_command *c,
                             struct str thread)
{
    struct command_thread *found = query->data;
    struct tree tree = { .mem = &query->mem };
    struct error err = { 0 };

    (void)c, (void)thread;
    int code = store_thread_jobs(store, found->key, on_run, &tree, &err);
    if (code == 0)
        code = tree.err;
    found->has_run = tree.key != 0;
    if (code == 0 && tree.key != 0)
        code = build(&tree, store, &query->out, &err);
    if (code != 0)
        store_query_broke(query, &err);
}
