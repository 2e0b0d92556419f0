#include "support/ledger.h"

#include "support/play.h"

#include <stdlib.h>
#include <yyjson.h>

/* --- what the protocols pair --------------------------------------------------------- */

struct rule {
    size_t view;
    const char *name;
    enum mark mark;
    const char *inside; /* the member whose member the id is, or NULL */
    const char *id;
    int family; /* ids of different families may be the same */
};

enum { CHAINS = 1, MODELS, TOOLS, JOBS };

/* clang-format off: a table */
static const struct rule rules[] = {
    { VIEW_AGENT, "agent.spawned", MARK_START, NULL, "agent_id", CHAINS },
    { VIEW_AGENT, "agent.done", MARK_END, NULL, "agent_id", CHAINS },

    { VIEW_ENVELOPE, "on_chain_start", MARK_START, "data", "node_id", CHAINS },
    { VIEW_ENVELOPE, "on_chain_stream", MARK_INSIDE, "data", "node_id", CHAINS },
    { VIEW_ENVELOPE, "on_chain_end", MARK_END, "data", "node_id", CHAINS },
    { VIEW_ENVELOPE, "on_chat_model_start", MARK_START, "data", "model_run_id", MODELS },
    { VIEW_ENVELOPE, "on_chat_model_stream", MARK_INSIDE, "data", "model_run_id", MODELS },
    { VIEW_ENVELOPE, "on_chat_model_end", MARK_END, "data", "model_run_id", MODELS },
    { VIEW_ENVELOPE, "on_tool_start", MARK_START, "data", "tool_id", TOOLS },
    { VIEW_ENVELOPE, "on_tool_end", MARK_END, "data", "tool_id", TOOLS },

    { VIEW_NODES, "run.start", MARK_START, NULL, "run_id", JOBS },
    { VIEW_NODES, "run.end", MARK_END, NULL, "run_id", JOBS },
    { VIEW_NODES, "node.start", MARK_START, NULL, "run_id", CHAINS },
    { VIEW_NODES, "node.end", MARK_END, NULL, "run_id", CHAINS },
    { VIEW_NODES, "tool.start", MARK_START, NULL, "run_id", TOOLS },
    { VIEW_NODES, "tool.end", MARK_END, NULL, "run_id", TOOLS },

    { VIEW_AIQ, "workflow.start", MARK_START, NULL, "id", CHAINS },
    { VIEW_AIQ, "workflow.end", MARK_END, NULL, "id", CHAINS },
    { VIEW_AIQ, "llm.start", MARK_START, NULL, "id", MODELS },
    { VIEW_AIQ, "llm.chunk", MARK_INSIDE, NULL, "id", MODELS },
    { VIEW_AIQ, "llm.end", MARK_END, NULL, "id", MODELS },
    { VIEW_AIQ, "tool.start", MARK_START, NULL, "id", TOOLS },
    { VIEW_AIQ, "tool.end", MARK_END, NULL, "id", TOOLS },

    { VIEW_RAW, "run.start", MARK_START, NULL, "run", CHAINS },
    { VIEW_RAW, "run.end", MARK_END, NULL, "run", CHAINS },
    { VIEW_RAW, "node.start", MARK_START, NULL, "run", CHAINS },
    { VIEW_RAW, "node.end", MARK_END, NULL, "run", CHAINS },
    { VIEW_RAW, "llm.start", MARK_START, NULL, "run", CHAINS },
    { VIEW_RAW, "llm.end", MARK_END, NULL, "run", CHAINS },
    { VIEW_RAW, "tool.start", MARK_START, NULL, "run", CHAINS },
    { VIEW_RAW, "tool.end", MARK_END, NULL, "run", CHAINS },
    { VIEW_RAW, "retriever.start", MARK_START, NULL, "run", CHAINS },
    { VIEW_RAW, "retriever.end", MARK_END, NULL, "run", CHAINS },
};
/* clang-format on */

static const struct {
    size_t view;
    const char *name;
} terminal[] = {
    { VIEW_AGENT, "job.done" },     { VIEW_AGENT, "job.failed" }, { VIEW_MESSAGES, "error" },
    { VIEW_MESSAGES_ALL, "error" }, { VIEW_NODES, "run.end" },    { VIEW_AIQ, "job.status" },
    { VIEW_RAW, "job.end" },        { VIEW_STORED, "job.end" },
};

/* The member that repeats the event's name. */
static const char *const name_member[N_VIEWS] = {
    [VIEW_AGENT] = "type", [VIEW_ENVELOPE] = "event", [VIEW_NODES] = "type",
    [VIEW_AIQ] = "type",   [VIEW_RAW] = "kind",       [VIEW_STORED] = "kind",
};

/* --- one frame ----------------------------------------------------------------------- */

static struct str text_of(yyjson_val *v)
{
    return yyjson_is_str(v) ? str_make(yyjson_get_str(v), yyjson_get_len(v)) : STR_NONE;
}

static bool is_safe_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c != '\0' && strchr("_.:|/-", c) != NULL)))
            return false;
    }
    return s.n > 0;
}

static bool has_twins(yyjson_val *object)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    yyjson_val *key;

    while ((key = yyjson_obj_iter_next(&it)) != NULL)
        if (yyjson_obj_getn(object, yyjson_get_str(key), yyjson_get_len(key)) !=
            yyjson_obj_iter_get_val(key))
            return true;
    return false;
}

static const char *check_shape(size_t view, struct str name, yyjson_val *root)
{
    if (name_member[view] == NULL)
        return NULL; /* messages: whatever the worker's state is */
    if (!yyjson_is_obj(root))
        return "a payload is no object";
    if (has_twins(root))
        return "a payload has a member twice";
    if (!str_eq(text_of(yyjson_obj_get(root, name_member[view])), name))
        return "a payload does not repeat its event's name";
    return NULL;
}

static bool is_terminal(size_t view, struct str name)
{
    for (size_t i = 0; i < sizeof(terminal) / sizeof(terminal[0]); i++)
        if (terminal[i].view == view && str_eq(str_of(terminal[i].name), name))
            return true;
    return false;
}

static const char *book(const struct rule *rule,
                        yyjson_val *root,
                        struct str job,
                        struct entry *e)
{
    yyjson_val *at = rule->inside != NULL ? yyjson_obj_get(root, rule->inside) : root;
    struct str id = text_of(yyjson_obj_get(at, rule->id));

    if (id.n == 0)
        return "a start or an end without an id";
    e->mark = rule->mark;
    e->key = key_stable((uint64_t)rule->family, id);
    /* The envelope's job is its outermost chain. */
    if (rule->view == VIEW_ENVELOPE && rule->family == CHAINS && rule->mark == MARK_END)
        e->terminal = str_eq(id, job);
    return NULL;
}

static const char *read_root(size_t view,
                             struct str name,
                             yyjson_val *root,
                             struct str job,
                             struct entry *ret)
{
    const char *wrong = check_shape(view, name, root);

    ret->terminal = is_terminal(view, name);
    for (size_t i = 0; wrong == NULL && i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].view == view && str_eq(str_of(rules[i].name), name))
            return book(&rules[i], root, job, ret);
    return wrong;
}

const char *ledger_read_frame(size_t view,
                              struct str name,
                              struct str data,
                              struct str job,
                              struct entry *ret)
{
    *ret = (struct entry){ 0 };
    if (!is_safe_name(name))
        return "an event's name is outside the alphabet";
    if (str_find(data, '\n') < data.n || str_find(data, '\r') < data.n)
        return "a payload of more than one line";
    yyjson_doc *doc = yyjson_read(data.p, data.n, 0);
    if (doc == NULL)
        return "a payload is not JSON";
    const char *wrong = read_root(view, name, yyjson_doc_get_root(doc), job, ret);
    yyjson_doc_free(doc);
    return wrong;
}

/* --- the ledger ---------------------------------------------------------------------- */

void ledger_init(struct ledger *l)
{
    *l = (struct ledger){ 0 };
}

void ledger_done(struct ledger *l)
{
    free(l->line);
    ledger_init(l);
}

static void grow(struct ledger *l, size_t cap)
{
    if (cap <= l->cap)
        return;
    l->cap = cap * 2;
    l->line = realloc(l->line, l->cap * sizeof(*l->line));
    if (l->line == NULL)
        abort();
}

void ledger_copy(struct ledger *l, const struct ledger *from)
{
    grow(l, from->n + 1);
    if (from->n > 0)
        memcpy(l->line, from->line, from->n * sizeof(*l->line));
    l->n = from->n;
    l->n_open = from->n_open;
    l->n_terminal = from->n_terminal;
}

static struct ledger_line *find(struct ledger *l, struct key k)
{
    for (size_t i = l->n; i-- > 0;)
        if (key_eq(l->line[i].key, k))
            return &l->line[i];
    return NULL;
}

const char *ledger_take(struct ledger *l, const struct entry *e)
{
    struct ledger_line *line = e->mark != MARK_NONE ? find(l, e->key) : NULL;

    if (l->n_terminal > 0)
        return "a frame after the terminal one";
    l->n_terminal += e->terminal;
    switch (e->mark) {
    case MARK_NONE:
        break;
    case MARK_START:
        if (line != NULL)
            return "a second start of one id";
        grow(l, l->n + 1);
        l->line[l->n++] = (struct ledger_line){ .key = e->key };
        l->n_open++;
        break;
    case MARK_INSIDE:
        if (line == NULL)
            return "a token before its start";
        if (line->ended)
            return "a token after its end";
        break;
    case MARK_END:
        if (line == NULL)
            return "an end without a start";
        if (line->ended)
            return "a second end of one id";
        line->ended = true;
        l->n_open--;
        break;
    }
    return NULL;
}

const char *ledger_next_attempt(struct ledger *l)
{
    size_t n = 0;

    if (l->n_open > 1)
        return "a start of the attempt before is open";
    for (size_t i = 0; i < l->n; i++)
        if (!l->line[i].ended)
            l->line[n++] = l->line[i];
    l->n = n;
    return NULL;
}

const char *ledger_settle(const struct ledger *l, size_t view)
{
    if (l->n_open > 0)
        return "a start without an end";
    if (l->n_terminal == 0 && view != VIEW_MESSAGES && view != VIEW_MESSAGES_ALL)
        return "no terminal frame";
    return NULL;
}

/* --- server-sent events -------------------------------------------------------------- */

static bool take_field(struct str *rest, struct str prefix, struct str *ret)
{
    size_t n = str_find(*rest, '\n');

    if (n == rest->n || !str_starts(str_head(*rest, n), prefix))
        return false;
    *ret = str_skip(str_head(*rest, n), prefix.n);
    *rest = str_skip(*rest, n + 1);
    return str_find(*ret, '\r') == ret->n;
}

bool sse_frame_next(struct str *rest, struct sse_frame *ret)
{
    struct str blank;

    return take_field(rest, STR("id: "), &ret->id) &&
           take_field(rest, STR("event: "), &ret->event) &&
           take_field(rest, STR("data: "), &ret->data) && take_field(rest, STR(""), &blank) &&
           blank.n == 0;
}
