/* Parts of LangGraph's stream modes, interrupts, and whole messages.
 *
 * Parts also come alone, from `graph.stream`.  Then the fold derives the executions from them:
 * one starts at its `tasks` start, else at the first part with a new namespace, and ends at its
 * `tasks` result, else at its `updates`.  Its step is the one after the newest checkpoint; its
 * tools are those of mode `tools` (fold_tool.c).  Once runs have been announced by events,
 * parts say nothing about executions and tokens. */
#include "base/error.h"
#include "ingest/fold_state.h"
#include "ingest/repr.h"

static const enum record_kind state_kind[PART_MODE_MAX] = {
    [PART_VALUES] = REC_STATE_VALUES, [PART_UPDATES] = REC_STATE_UPDATES,
    [PART_TASKS] = REC_STATE_TASKS,   [PART_CHECKPOINTS] = REC_STATE_CHECKPOINTS,
    [PART_DEBUG] = REC_STATE_DEBUG,   [PART_CUSTOM] = REC_CUSTOM,
    [PART_MESSAGES] = REC_MESSAGE,    [PART_TOOLS] = REC_STATE_TOOLS,
};

/* --- questions --------------------------------------------------------------- */

static bool is_open(const struct fold *f, struct str id)
{
    for (size_t i = 0; i < f->n_questions; i++)
        if (str_eq(f->question[i].id, id))
            return true;
    return false;
}

/* A question without an id gets one: the same in every rebuild. */
static struct str question_id(struct fold *f, struct str id, int *err)
{
    char uuid[KEY_UUID_CHARS];
    struct str copy = STR_NONE;

    if (id.n > 0)
        return id;
    key_uuid(key_stable(UINT32_MAX + f->n_asked, f->job), uuid);
    if (!arena_copy(&f->work, str_make(uuid, sizeof(uuid)), &copy))
        *err = ERR_NOMEM;
    return copy;
}

/* Older senders give no ids and send one question in several modes: an equal value of a
 * question that was open before this event is the same question. */
static bool asked_before(const struct fold *f, struct str value)
{
    for (size_t i = 0; i < f->n_questions; i++)
        if (f->question[i].seq <= f->event_seq && str_eq(f->question[i].value, value))
            return true;
    return false;
}

static void put_question(struct buf *b, struct str id, struct str value, struct str ns)
{
    json_begin(json_next(b));
    json_add_raw(b, "value", value);
    json_add_str(b, "id", id);
    if (!str_empty(ns))
        json_add_str(b, "ns", ns);
    json_end(b);
}

struct str fold_open_questions_json(struct fold *f, int *err)
{
    if (f->n_questions == 0)
        return STR_NONE;
    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    for (size_t i = 0; i < f->n_questions; i++)
        put_question(&f->tmp, f->question[i].id, f->question[i].value, f->question[i].ns);
    json_end_array(&f->tmp);
    return fold_tmp(f, err);
}

/* All questions that are open with this one, for clients that show the newest list only. */
static struct str all_open(struct fold *f, const struct record *rec, int *err)
{
    if (f->n_questions == 0)
        return STR_NONE;
    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    for (size_t i = 0; i < f->n_questions; i++)
        put_question(&f->tmp, f->question[i].id, f->question[i].value, STR_NONE);
    put_question(&f->tmp, rec->id, rec->data, STR_NONE);
    json_end_array(&f->tmp);
    return fold_tmp(f, err);
}

/* What was asked: a value, or the repr of one that its sender could not encode. */
struct asked_question {
    const yyjson_val *value; /* or NULL */
    struct str repr;         /* of the value; absent when there is none */
    struct str text;         /* all that was sent instead of the value; absent likewise */
    struct str ns;           /* of the graph that asks */
    bool in_values;          /* a pause that the graph said in place of its state */
};

/* The object of pydantic or the like inside a value that is JSON: a repr (load.dumps), a
 * str() of it (default=str), or the constructor of a serializable class. */
static struct asked_question asked_by(const yyjson_val *value)
{
    struct asked_question q = { .value = value, .repr = json_text(json_at(value, "repr")) };

    if (yyjson_is_str((yyjson_val *)value))
        q.repr = json_text(value);
    else if (json_at(value, "lc") == NULL)
        q.repr = STR_NONE;
    return q;
}

static const yyjson_val *member_of(const struct asked_question *q, struct str key)
{
    const yyjson_val *kwargs =
        json_at(q->value, "lc") != NULL ? json_at(q->value, "kwargs") : NULL;

    return json_get(kwargs != NULL ? kwargs : q->value, key);
}

/* The member @key of what was asked, as JSON; absent when it has none. */
static struct str asked_member(struct fold *f,
                               const struct asked_question *q,
                               struct str key,
                               int *err)
{
    struct str literal = repr_member(q->repr, key);
    struct buf fixed = { 0 }; /* undoing escapes makes nothing longer */

    if (literal.p == NULL)
        return fold_json(f, member_of(q, key), false, err);
    fixed.cap = fixed.max = literal.n + 16;
    fixed.p = arena_alloc(&f->work, fixed.cap);
    if (fixed.p == NULL) {
        *err = ERR_NOMEM;
        return STR_NONE;
    }
    buf_clear(&f->tmp);
    repr_put_json(&f->tmp, literal, &fixed);
    return fold_tmp(f, err);
}

static bool asks_for_pause(const struct asked_question *q)
{
    struct str kind = repr_member(q->repr, STR("kind"));

    return str_is(json_text(member_of(q, STR("kind"))), "pause") || str_is(kind, "'pause'");
}

static void fill_question(struct fold *f,
                          const struct asked_question *q,
                          struct record *rec,
                          int *err)
{
    rec->question = asked_member(f, q, STR("question"), err);
    rec->context = asked_member(f, q, STR("context"), err);
    if (q->text.p != NULL) {
        struct str text = fold_limit_text(f, q->text, err);

        rec->lossy = true;
        buf_clear(&f->tmp);
        json_put_str(&f->tmp, text);
        rec->data = fold_tmp(f, err);
        return;
    }
    rec->lossy = q->repr.p != NULL && rec->question.p != NULL;
    /* A question of `agent`'s without a value is the value itself. */
    if (str_is(json_text(json_at(q->value, "type")), "graph.interrupt"))
        rec->data = fold_json_skip(f, q->value, STR("type"), err);
    else
        rec->data = fold_json(f, q->value, false, err);
}

static int ask(struct fold *f, struct str id, const struct asked_question *q, bool pause)
{
    struct record rec;
    int err = 0;

    pause |= asks_for_pause(q);
    if (pause ? f->paused : id.n > 0 && is_open(f, id))
        return 0;
    record_init(&rec, pause ? REC_JOB_PAUSED : REC_JOB_INTERRUPT);
    rec.info.ns = q->ns;
    fill_question(f, q, &rec, &err);
    if (err != 0 || (!pause && id.n == 0 && asked_before(f, rec.data)))
        return err;
    rec.id = question_id(f, id, &err);
    if (err == 0 && !pause)
        rec.open = all_open(f, &rec, &err);
    if (q->in_values)
        rec.open = STR("[]");
    return err == 0 ? fold_emit(f, &rec, NULL) : err;
}

int fold_question(struct fold *f, struct str id, const yyjson_val *value, bool pause)
{
    struct asked_question q = asked_by(value);

    return ask(f, id, &q, pause);
}

int fold_question_repr(struct fold *f, struct str id, struct str repr)
{
    struct asked_question q = { .repr = repr, .text = repr };

    return ask(f, id, &q, false);
}

static int one_interrupt(struct fold *f, const yyjson_val *item, struct str ns)
{
    struct asked_question q = { .text = json_text(json_at(item, "repr")) };
    yyjson_val *value = json_at(item, "value");
    struct str id;

    if (q.text.p == NULL)
        q.text = json_text(item);
    if (q.text.p == NULL) {
        q = asked_by(value != NULL ? value : item);
        q.ns = ns;
        return ask(f, json_text(json_at(item, "id")), &q, false);
    }
    q.ns = ns;
    (void)repr_interrupt(q.text, &id, &q.repr);
    return ask(f, id, &q, false);
}

/* The value of an `__interrupt__` key: a list, empty for a pause; or one interrupt. */
static int put_interrupts(struct fold *f, const yyjson_val *list, struct str ns, bool in_values)
{
    struct asked_question none = { .value = NULL, .in_values = in_values };
    yyjson_arr_iter it = yyjson_arr_iter_with((yyjson_val *)list);
    yyjson_val *item;
    int err = 0;

    if (!yyjson_is_arr((yyjson_val *)list))
        return one_interrupt(f, list, ns);
    if (yyjson_arr_size((yyjson_val *)list) == 0)
        return ask(f, STR_NONE, &none, true);
    while (err == 0 && (item = yyjson_arr_iter_next(&it)) != NULL)
        err = one_interrupt(f, item, ns);
    return err;
}

int fold_resumed(struct fold *f)
{
    struct record rec;
    int err = 0;

    if (f->n_questions == 0 && !f->paused)
        return 0;
    record_init(&rec, REC_JOB_RESUMED);
    buf_clear(&f->tmp);
    json_begin_array(&f->tmp);
    for (size_t i = 0; i < f->n_questions; i++)
        json_put_str(json_next(&f->tmp), f->question[i].id);
    json_end_array(&f->tmp);
    rec.resolves = fold_tmp(f, &err);
    return err == 0 ? fold_emit(f, &rec, NULL) : err;
}

/* --- derived executions ------------------------------------------------------ */

static struct str before(struct str s, char c)
{
    return str_head(s, str_find(s, c));
}

static int start_exec(struct fold *f,
                      struct str node,
                      struct str ns,
                      struct str task,
                      const yyjson_val *input,
                      int64_t step,
                      struct run **ret)
{
    struct event start;

    event_init(&start);
    start.kind = EVENT_RUN_START;
    start.type = RUN_CHAIN;
    start.top = true;
    start.name = start.node = node;
    start.ns = ns;
    start.step = step;
    start.input = input;
    if (task.n > 0 && fold_find(f, task) == NULL)
        start.run = task;
    start.derived = true;
    return fold_start_run(f, NULL, &start, ret);
}

static bool still_streams(const struct fold *f, const struct run *exec)
{
    for (struct run *r = f->open.next; r != &f->open; r = r->next)
        if (r->exec == exec && (r->type == RUN_CHAT || r->type == RUN_LLM) && !r->finish)
            return true;
    return false;
}

/* The execution of @node that an update ends: parts do not say which one it is, so the
 * oldest whose models have finished, else the oldest. */
static struct run *exec_to_end(const struct fold *f, struct str node)
{
    struct run *oldest = NULL;

    for (struct run *r = f->open.next; r != &f->open; r = r->next) {
        if (!r->top || !str_eq(r->node, node))
            continue;
        if (!still_streams(f, r))
            return r;
        if (oldest == NULL)
            oldest = r;
    }
    return oldest;
}

static int end_exec(struct fold *f, struct run *run, const yyjson_val *output, struct str error)
{
    struct event end;

    event_init(&end);
    end.kind = EVENT_RUN_END;
    end.output = output;
    end.error = error;
    return fold_end_run(f, run, &end, error.p != NULL ? STR("error") : STR("ok"));
}

/* {"node": update, …} at the top level: each node named has ended. */
static int ends_by_updates(struct fold *f, const yyjson_val *updates)
{
    yyjson_obj_iter it = yyjson_obj_iter_with((yyjson_val *)updates);
    yyjson_val *key;
    int err = 0;

    while (err == 0 && (key = yyjson_obj_iter_next(&it)) != NULL) {
        struct str node = json_text(key);
        struct run *run = exec_to_end(f, node);

        if (str_is(node, "__interrupt__") || str_is(node, "__metadata__"))
            continue;
        if (run == NULL)
            err = start_exec(f, node, STR_NONE, STR_NONE, NULL, RECORD_NO_NUMBER, &run);
        if (err == 0)
            err = end_exec(f, run, yyjson_obj_iter_get_val(key), STR_NONE);
    }
    return err;
}

/* A node that hands over to another one of the parent graph, Command(graph=PARENT), has no end
 * of its own: the root's update for it is the end.  An update that an ended execution of that
 * node has still to get (one of several at the same time, or the visit before) is that one's.
 */
static int ends_by_handing_over(struct fold *f, const yyjson_val *updates)
{
    yyjson_obj_iter it = yyjson_obj_iter_with((yyjson_val *)updates);
    yyjson_val *key;
    int err = 0;

    if (json_at(updates, "__metadata__") != NULL)
        return 0; /* served from a cache: this run did not execute it */
    while (err == 0 && (key = yyjson_obj_iter_next(&it)) != NULL) {
        struct str node = json_text(key);
        struct run *run = exec_to_end(f, node);

        if (run == NULL || run->derived || fold_updates_due(f, node) > 0)
            continue;
        err = fold_close_inside(f, (struct closing){ .exec = run, .status = STR("ok") });
        if (err == 0)
            err = end_exec(f, run, yyjson_obj_iter_get_val(key), STR_NONE);
    }
    return err;
}

static struct str task_error(const yyjson_val *error)
{
    struct str text = json_text(error);

    if (text.p == NULL)
        text = json_text(json_at(error, "message"));
    return text.p != NULL ? text : STR("failed");
}

/* {"id","name","input"|"result"|"error",…}: a task starts or ends. */
static int by_task(struct fold *f, const yyjson_val *task, int64_t step)
{
    struct str id = json_text(json_at(task, "id")), name = json_text(json_at(task, "name"));
    const yyjson_val *error = json_at(task, "error"), *result = json_at(task, "result");
    bool ends = result != NULL || !json_is_null(error);
    struct run *run = fold_find(f, id);
    struct str ns = STR_NONE;
    int err = 0;

    if (id.p == NULL || name.p == NULL || str_is(name, "__start__"))
        return 0;
    if (!ends)
        err = fold_resumed(f);
    buf_clear(&f->tmp);
    buf_str(&f->tmp, name);
    buf_char(&f->tmp, ':');
    buf_str(&f->tmp, id);
    ns = err == 0 ? fold_tmp(f, &err) : STR_NONE;
    if (err != 0)
        return err;
    if (run == NULL || run->header == NULL)
        run = fold_find_exec(f, ns);
    if (run == NULL && !ends)
        return start_exec(f, name, ns, id, json_at(task, "input"), step, &run);
    if (run == NULL || run->header == NULL || !ends)
        return 0;
    if (yyjson_arr_size(json_at(task, "interrupts")) > 0) {
        err = put_interrupts(f, json_at(task, "interrupts"), STR_NONE, false);
        return err == 0 ? fold_close_run(f, run, STR("interrupted"), STR_NONE) : err;
    }
    return end_exec(f, run, result, json_is_null(error) ? STR_NONE : task_error(error));
}

static int by_debug(struct fold *f, const yyjson_val *debug)
{
    struct str type = json_text(json_at(debug, "type"));

    if (!str_is(type, "task") && !str_is(type, "task_result"))
        return 0;
    return by_task(f, json_at(debug, "payload"),
                   json_int(json_at(debug, "step"), RECORD_NO_NUMBER));
}

/* --- messages ---------------------------------------------------------------- */

/* Replaces the message in f->tmp by the same one with the id @id. */
static void put_id(struct fold *f, struct str id)
{
    struct json j;
    int err =
        f->tmp.error != 0 ? f->tmp.error : json_read(&f->reader, buf_text(&f->tmp), &j, NULL);

    if (err != 0) {
        f->tmp.error = err;
        return;
    }
    buf_clear(&f->tmp); /* j.root is a copy */
    json_begin(&f->tmp);
    json_add_str(&f->tmp, "id", id);
    json_each_member(key, value, j.root) {
        if (str_is(json_text(key), "id"))
            continue;
        json_put_key(&f->tmp, json_text(key));
        json_put_value(&f->tmp, value);
    }
    json_end(&f->tmp);
}

/* A message of which only the repr arrived, as an object again. */
static void put_lossy(struct buf *b, const struct message *m)
{
    json_begin(b);
    json_add_str(b, "content", m->text);
    json_add_str(b, "type", m->cls == MESSAGE_TOOL ? STR("tool") : STR("ai"));
    json_add_text(b, "name", m->name);
    json_add_text(b, "id", m->id);
    if (m->call.p != NULL)
        json_add_str(b, "tool_call_id", m->call);
    json_end(b);
}

static int whole_message(struct fold *f,
                         const struct message *m,
                         const yyjson_val *v,
                         struct str id,
                         struct run *run,
                         const struct event *ev)
{
    struct record rec;
    int err = 0;

    record_init(&rec, REC_MESSAGE);
    rec.message = id;
    rec.call = m->call;
    rec.lossy = m->lossy;
    buf_clear(&f->tmp);
    if (yyjson_is_str((yyjson_val *)v))
        put_lossy(&f->tmp, m);
    else
        message_flatten(&f->tmp, v, STR_NONE);
    if (m->id.n == 0)
        put_id(f, id);
    rec.data = fold_tmp(f, &err);
    if (run == NULL && ev != NULL) {
        rec.info.ns = ev->ns;
        rec.info.outer = ev->outer;
        rec.info.meta = fold_json(f, ev->meta, false, &err);
        if (m->cls == MESSAGE_AI)
            rec.opens = fold_scopes_to_open(f, record_graph_ns(&rec.info));
    }
    if (err != 0 || fold_was_sent(f, id, m->text, rec.data))
        return err;
    return fold_emit(f, &rec, run);
}

static struct str made_up_id(struct fold *f,
                             const struct message *m,
                             const struct run *run,
                             size_t i,
                             int *err)
{
    buf_clear(&f->tmp);
    if (m->call.n > 0) {
        buf_lit(&f->tmp, "lc_tool--");
        buf_str(&f->tmp, m->call);
    } else {
        buf_lit(&f->tmp, "lc_run--");
        buf_str(&f->tmp, run->header->info.run);
        buf_char(&f->tmp, '-');
        buf_u64(&f->tmp, i);
    }
    return fold_tmp(f, err);
}

static int message_once(struct fold *f, struct run *run, const yyjson_val *v, size_t i)
{
    struct message m;
    int err = fold_read_message(f, v, &m);
    bool answer = m.cls == MESSAGE_AI || m.cls == MESSAGE_TOOL;

    /* Others without an id, or where the input is not known, are most likely the input. */
    if (err != 0 || m.cls == MESSAGE_NONE || m.cls == MESSAGE_GENERATION ||
        (!answer && (m.id.n == 0 || run->derived)))
        return err;
    struct str id = m.id.n > 0 ? m.id : made_up_id(f, &m, run, i, &err);
    if (err != 0 || fold_seen(f, fold_key(f, SEEN_MESSAGE, id)) ||
        (m.call.n > 0 && fold_seen(f, fold_key(f, SEEN_CALL, m.call))))
        return err;
    return whole_message(f, &m, v, id, run, NULL);
}

static int messages_in(struct fold *f,
                       struct run *run,
                       const yyjson_val *v,
                       bool reprs,
                       size_t *i)
{
    yyjson_arr_iter it = yyjson_arr_iter_with((yyjson_val *)v);
    yyjson_val *item;
    int err = 0;

    if (message_is(v))
        return message_once(f, run, v, (*i)++);
    while (err == 0 && (item = yyjson_arr_iter_next(&it)) != NULL)
        if (message_is(item) || (reprs && yyjson_is_str(item)))
            err = message_once(f, run, item, (*i)++);
    return err;
}

/* As the real server does: a message, or a list with messages, under any key. */
int fold_messages(struct fold *f, struct run *run, const yyjson_val *output)
{
    yyjson_val *update = json_at(output, "update");
    bool command = update != NULL && json_at(output, "goto") != NULL;
    yyjson_obj_iter it = yyjson_obj_iter_with(command ? update : (yyjson_val *)output);
    yyjson_val *key;
    size_t i = 0;
    if (run->derived && f->message_parts)
        return 0; /* messages parts tell which messages are new */
    int err = message_is(output) ? message_once(f, run, output, i++) : 0;

    while (err == 0 && !message_is(output) && (key = yyjson_obj_iter_next(&it)) != NULL)
        err = messages_in(f, run, yyjson_obj_iter_get_val(key),
                          str_is(json_text(key), "messages"), &i);
    return err;
}

static int exec_of_part(struct fold *f, const struct event *ev, struct run **ret)
{
    struct str segment = before(ev->ns, '|');
    bool nested = segment.n < ev->ns.n;
    struct str node = nested || ev->node.n == 0 ? before(segment, ':') : ev->node;

    *ret = fold_find_exec(f, segment);
    if (*ret != NULL || node.n == 0)
        return 0;
    return start_exec(f, node, segment, str_skip(segment, str_find(segment, ':') + 1), NULL,
                      nested ? RECORD_NO_NUMBER : ev->step, ret);
}

/* LangChain ends a model's stream with an empty chunk of its own.  Where the model's chunks
 * have ids, its id is another one: it belongs to the model that streams. */
static struct run *model_to_end(const struct fold *f,
                                const struct event *ev,
                                const struct run *exec)
{
    const yyjson_val *chunk = yyjson_arr_get_first((yyjson_val *)ev->data);

    if (!str_is(json_text(json_at(chunk, "chunk_position")), "last") ||
        !str_empty(ev->message.text) || !str_starts(ev->message.id, STR("lc_run--")))
        return NULL;
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->exec == exec && r->type == RUN_CHAT && r->derived && !r->finish)
            return r;
    return NULL;
}

static int model_of_part(struct fold *f,
                         const struct event *ev,
                         struct run *exec,
                         struct run **ret)
{
    struct run *run = table_get(&f->seen, fold_owner_key(f, exec, ev->message.id));
    struct event start = *ev;

    if (run == NULL)
        run = model_to_end(f, ev, exec);
    if (run != NULL && run->header != NULL) {
        *ret = run;
        return 0;
    }
    start.kind = EVENT_RUN_START;
    start.type = RUN_CHAT;
    start.run = STR_NONE;
    start.parent = exec != NULL ? exec->id : STR_NONE;
    start.name = json_text(json_at(ev->meta, "ls_model_name"));
    if (start.name.p == NULL)
        start.name = STR("model");
    start.input = NULL;
    start.derived = true;
    return fold_start_run(f, NULL, &start, ret);
}

static int message_part(struct fold *f, const struct json *line, const struct event *ev)
{
    const yyjson_val *message = yyjson_arr_get_first((yyjson_val *)ev->data);
    struct run *exec = NULL, *run = NULL;

    bool is_chunk = ev->message.cls == MESSAGE_AI && ev->message.chunk;

    if (!ev->has_message || (f->events_seen && is_chunk))
        return 0; /* the events of the model have its chunks */
    int err = f->events_seen ? 0 : exec_of_part(f, ev, &exec);
    if (err != 0)
        return err;
    if (!is_chunk) {
        struct str id = ev->message.id;

        if (id.n == 0 || ev->message.cls == MESSAGE_NONE ||
            ev->message.cls == MESSAGE_GENERATION)
            return 0;
        return whole_message(f, &ev->message, message != NULL ? message : ev->data, id, NULL,
                             ev);
    }
    err = model_of_part(f, ev, exec, &run);
    return err == 0 ? fold_model_stream(f, line, ev, run) : err;
}

/* --- a part ------------------------------------------------------------------ */

/* Has the step of the outermost graph ended well with @task? */
static bool is_last_of_step(const struct fold *f, struct str ns, const yyjson_val *task)
{
    for (const struct run *r = f->open.next; r != &f->open; r = r->next)
        if (r->top)
            return false;
    return ns.n == 0 && json_is_null(json_at(task, "error")) &&
           yyjson_arr_size(json_at(task, "interrupts")) == 0;
}

/* What a task or tool says about namespaces. */
static void fill_scopes(struct fold *f,
                        const struct event *ev,
                        const yyjson_val *data,
                        struct record *rec,
                        int *err)
{
    bool ends = json_at(data, "result") != NULL || !json_is_null(json_at(data, "error"));

    if (ev->mode == PART_TASKS && ends) {
        rec->closes = fold_scope_of_task(f, ev->ns, data, err);
        rec->owes = !str_absent(rec->closes) && is_last_of_step(f, ev->ns, data);
        return;
    }
    rec->opens = fold_scopes_to_open(f, ev->ns);
    if (ev->mode == PART_TOOLS) {
        rec->mirror = f->events_seen;
        return;
    }
    rec->call = fold_call_of_task(data);
    if (ev->ns.n == 0)
        rec->closes = fold_due_scopes(f, err);
    if (rec->opens != RECORD_NO_NUMBER)
        rec->cause = fold_cause_of_scope(f, ev->ns);
}

static int store_part(struct fold *f, const struct event *ev, const yyjson_val *data)
{
    struct record rec;
    int err = 0;

    record_init(&rec, state_kind[ev->mode]);
    rec.lossy = ev->lossy;
    rec.info.ns = ev->ns;
    if (ev->mode == PART_CHECKPOINTS && ev->ns.n == 0)
        rec.info.step = json_int(json_at(json_at(data, "metadata"), "step"), RECORD_NO_NUMBER);
    if (ev->mode == PART_CUSTOM) {
        rec.id = ev->name;
        rec.data = fold_json(f, data, false, &err);
        return err == 0 ? fold_emit(f, &rec, NULL) : err;
    }
    rec.data = fold_json_skip(f, data, STR("__interrupt__"), &err);
    if (err != 0 || str_is(rec.data, "{}"))
        return err; /* it has only the question, which is a record of its own */
    if (ev->mode == PART_VALUES && json_at(data, "__interrupt__") != NULL)
        rec.data = fold_json(f, data, true, &err); /* clients show the last state that they got
                                                    */
    if (err == 0 && (ev->mode == PART_TASKS || ev->mode == PART_TOOLS))
        fill_scopes(f, ev, data, &rec, &err);
    if (err != 0)
        return err;
    return fold_emit(f, &rec, NULL);
}

/* A top-level state without a question is sent after a whole step: what the step ran is
 * over, and if a question was open, this is the run that goes on with its answer. */
static int by_values(struct fold *f)
{
    int err = fold_resumed(f);

    return err == 0 ? fold_close_inside(
                          f, (struct closing){ .derived_only = true, .status = STR("ok") })
                    : err;
}

int fold_part(struct fold *f,
              const struct json *line,
              const struct event *ev,
              const yyjson_val *data)
{
    bool alone = !f->events_seen, top = ev->ns.n == 0;
    const yyjson_val *interrupts = NULL;
    int err = 0;

    if (ev->mode == PART_MESSAGES)
        return message_part(f, line, ev);
    if (ev->mode == PART_VALUES || ev->mode == PART_UPDATES)
        interrupts = json_at(data, "__interrupt__");
    if (alone && top && ev->mode == PART_TASKS)
        err = by_task(f, data, f->step == RECORD_NO_NUMBER ? f->step : f->step + 1);
    else if (alone && top && ev->mode == PART_DEBUG)
        err = by_debug(f, data);
    else if (alone && top && ev->mode == PART_VALUES && interrupts == NULL)
        err = by_values(f);
    else if (ev->kind == EVENT_RUN_STREAM && top && ev->mode == PART_UPDATES)
        err = ends_by_handing_over(f, data); /* a root's chunk, which is in order with events */
    if (err == 0)
        err = store_part(f, ev, data);
    if (err == 0 && alone && ev->mode == PART_TOOLS)
        err = fold_tool_part(f, ev->ns, data);
    if (err == 0 && alone && top && ev->mode == PART_UPDATES)
        err = ends_by_updates(f, data);
    if (err == 0 && interrupts != NULL)
        err = put_interrupts(f, interrupts, ev->ns, ev->mode == PART_VALUES);
    return err;
}
