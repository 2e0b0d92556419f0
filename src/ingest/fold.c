/* Dispatch: which function handles which kind of event. */
#include "ingest/fold.h"

#include "base/error.h"
#include "ingest/fold_state.h"

static int start_job(struct fold *f)
{
    struct record rec;

    record_init(&rec, REC_JOB_START);
    rec.job = f->job;
    rec.agent = f->opt.agent->name;
    rec.attempt = f->opt.attempt;
    return fold_emit(f, &rec, NULL);
}

/* --- runs -------------------------------------------------------------------- */

/* Finds the open run for an end or a token without a usable id: the newest of that type (and
 * name, and execution, where the event has them). */
static struct run *find_open(struct fold *f, const struct event *ev)
{
    struct run *exec = fold_find_visit(f, ev, ev->parent);
    bool model = ev->type == RUN_CHAT || ev->type == RUN_LLM;
    bool any_name = model && !ev->run_is_name;
    struct str name = ev->kind == EVENT_CUSTOM ? ev->run : ev->name; /* of the tool */

    for (struct run *r = f->open.prev; r != &f->open; r = r->prev) {
        bool same =
            r->type == ev->type || (model && (r->type == RUN_CHAT || r->type == RUN_LLM));

        if (same && (exec == NULL || r->exec == exec || r == exec) &&
            (any_name || name.n == 0 || str_eq(r->header->info.name, name)))
            return r;
    }
    return NULL;
}

/* Is the event's id shared by all calls of that tool or model? */
static bool calls_by_name(const struct event *ev)
{
    return ev->run_is_name && ev->type != RUN_CHAIN;
}

static struct run *run_of(struct fold *f, const struct event *ev)
{
    struct run *run = fold_find_visit(f, ev, ev->run);
    bool by_looks = ev->source == SOURCE_NATIVE || ev->source == SOURCE_ENVELOPE;

    if (by_looks && (run == NULL || (run->header == NULL && calls_by_name(ev))))
        run = find_open(f, ev);
    return run != NULL && run->header != NULL ? run : NULL;
}

static int on_run_start(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *run;

    return fold_start_run(f, line, ev, &run);
}

/* Tokens of a model whose start was not sent: synthesises the start. */
static int on_model_stream(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *run = run_of(f, ev);
    bool model = run != NULL && (run->type == RUN_CHAT || run->type == RUN_LLM);
    bool ended = run == NULL && !calls_by_name(ev) && fold_find(f, ev->run) != NULL;

    if (ended || (run != NULL && !model)) {
        f->stats.orphans++;
        return 0;
    }
    if (run == NULL) {
        struct event start = *ev;

        start.kind = EVENT_RUN_START;
        /* Senders that leave out starts also leave out ends: close it with its execution. */
        start.derived = ev->source == SOURCE_NATIVE || ev->source == SOURCE_ENVELOPE;
        if (start.name.p == NULL)
            start.name = STR("model");
        int err = fold_start_run(f, line, &start, &run);
        if (err != 0)
            return err;
    }
    return fold_model_stream(f, line, ev, run);
}

/* The message of a chunk in mode `messages`, [message, metadata]: one that a node pushes comes
 * in no event. */
static int read_pushed(struct fold *f, struct event *part)
{
    yyjson_val *pair = (yyjson_val *)part->data;
    const yyjson_val *meta = yyjson_arr_get(pair, 1);
    struct str ns = json_text(json_at(meta, "langgraph_checkpoint_ns"));

    if (yyjson_arr_size(pair) != 2 || !yyjson_is_obj((yyjson_val *)meta))
        return 0;
    int err = fold_read_message(f, yyjson_arr_get_first(pair), &part->message);
    part->has_message = err == 0 && part->message.cls != MESSAGE_NONE;
    part->meta = meta;
    if (!str_absent(ns))
        part->ns = ns;
    return err;
}

/* A root's chunk: {"node": update}, [mode, payload], [ns, mode, payload]. */
static int on_root_chunk(struct fold *f, const struct json *line, const struct event *ev)
{
    struct event part = *ev;

    if (event_part_of_chunk(ev->chunk, &f->tmp, &part) != 0) {
        part.mode = PART_UPDATES;
        part.ns = STR_NONE;
        part.data = ev->chunk;
    }
    if (part.ns.p != NULL && !arena_copy(&f->work, part.ns, &part.ns))
        return ERR_NOMEM;
    int err = part.mode == PART_MESSAGES ? read_pushed(f, &part) : 0;
    return err == 0 ? fold_part(f, line, &part, part.data) : err;
}

static bool is_update(const struct fold *f, const struct event *ev)
{
    if (json_at(ev->chunk, "__interrupt__") != NULL)
        return true;
    if (yyjson_is_arr((yyjson_val *)ev->chunk)) {
        struct event ignored;

        event_init(&ignored);
        return event_part_of_chunk(ev->chunk, (struct buf *)&f->tmp, &ignored) == 0;
    }
    return yyjson_is_obj((yyjson_val *)ev->chunk) && f->step_tags && !message_is(ev->chunk);
}

static int on_run_stream(struct fold *f, const struct json *line, const struct event *ev)
{
    struct record rec;
    int err = 0;

    if (ev->type == RUN_CHAT || ev->type == RUN_LLM)
        return on_model_stream(f, line, ev);
    struct run *run = run_of(f, ev);
    if (run == NULL) {
        f->stats.orphans++;
        return 0;
    }
    if (run->header->info.root && is_update(f, ev))
        return on_root_chunk(f, line, ev);
    record_init(&rec, REC_RUN_STREAM);
    rec.lossy = ev->lossy;
    rec.data = fold_json(f, ev->chunk, false, &err);
    rec.percent = fold_json(f, ev->progress, false, &err);
    return err == 0 ? fold_emit(f, &rec, run) : err;
}

/* May @ev, an end, be the only event of its run?  Documented examples of native events and of
 * the envelope have that: a tool's end with its error, a workflow's with its output.  An
 * agent.done may not: graph.node_complete stands for the node. */
static bool is_whole_run(struct fold *f, const struct event *ev)
{
    bool document = ev->source == SOURCE_NATIVE || ev->source == SOURCE_ENVELOPE;
    bool model = ev->type == RUN_CHAT || ev->type == RUN_LLM;
    bool named = ev->run.n > 0 || ev->type == RUN_CHAIN;

    return document && named && !ev->owes && fold_find(f, ev->run) == NULL &&
           (!model || (ev->has_message && ev->message.text.n > 0));
}

/* The run that @ev ends; NULL: none is open.  Synthesises a start that was not sent. */
static int run_to_end(struct fold *f,
                      const struct json *line,
                      const struct event *ev,
                      struct run **ret)
{
    struct event start = *ev;

    *ret = run_of(f, ev);
    if (*ret != NULL)
        return 0;
    if (!is_whole_run(f, ev)) {
        f->stats.orphans++;
        return 0;
    }
    start.kind = EVENT_RUN_START;
    if (str_empty(start.name))
        start.name = !str_empty(ev->node) ? ev->node : ev->run;
    if (str_empty(start.name))
        start.name = STR("workflow");
    if (ev->type == RUN_CHAIN && str_empty(ev->node) && ev->parent.p == NULL) {
        start.node = start.name;
        start.top = true;
    }
    return fold_start_run(f, line, &start, ret);
}

static int on_run_end(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *run;
    int err = run_to_end(f, line, ev, &run);

    return err == 0 && run != NULL ? fold_end_run(f, run, ev, STR("ok")) : err;
}

/* The status: one that the sender gave and that we know, else error. */
static struct str error_status(const struct event *ev)
{
    static const struct str known[] = { { "cancelled", 9 },
                                        { "interrupted", 11 },
                                        { "retried", 7 } };

    if (ev->interrupted)
        return STR("interrupted");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(ev->error_type, known[i]) && ev->source == SOURCE_NATIVE)
            return known[i];
    return STR("error");
}

static int on_run_error(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *run;
    int err = run_to_end(f, line, ev, &run);

    if (err != 0 || run == NULL)
        return err;
    if (ev->interrupted)
        err = fold_question_repr(f, ev->id, ev->text.p != NULL ? ev->text : STR(""));
    if (err == 0 && ev->interrupted)
        return fold_close_run(f, run, STR("interrupted"), STR_NONE);
    return err == 0 ? fold_end_run(f, run, ev, error_status(ev)) : err;
}

/* --- the rest ---------------------------------------------------------------- */

static int on_custom(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *run = calls_by_name(ev) ? run_of(f, ev) : fold_find(f, ev->run);
    const yyjson_val *percent = json_at(ev->data, "percent");
    bool progress = str_is(ev->name, "progress") && percent != NULL;
    struct record rec;
    int err = 0;

    (void)line;
    record_init(&rec, progress ? REC_PROGRESS : REC_CUSTOM);
    rec.title = ev->name;
    rec.lossy = ev->lossy;
    rec.data = fold_json(f, ev->data, false, &err);
    if (progress) {
        rec.percent = fold_json(f, percent, false, &err);
        rec.note = json_text(json_at(ev->data, "message"));
    }
    rec.tool = run != NULL && run->type == RUN_TOOL;
    if (run == NULL || run->header == NULL) {
        rec.info.run = ev->run;
        rec.info.ns = ev->ns;
        rec.info.node = ev->node;
    }
    return err == 0 ? fold_emit(f, &rec, run) : err;
}

static int on_part(struct fold *f, const struct json *line, const struct event *ev)
{
    return fold_part(f, line, ev, ev->data);
}

static int on_interrupt(struct fold *f, const struct json *line, const struct event *ev)
{
    (void)line;
    return fold_question(f, ev->id, ev->data, ev->pause);
}

static int on_resumed(struct fold *f, const struct json *line, const struct event *ev)
{
    (void)line, (void)ev;
    return fold_resumed(f);
}

static int on_update(struct fold *f, const struct json *line, const struct event *ev)
{
    struct record rec;
    int err = 0;

    (void)line;
    record_init(&rec, REC_JOB_UPDATE);
    rec.title = ev->name;
    rec.text = fold_limit_text(f, ev->text, &err);
    return err == 0 ? fold_emit(f, &rec, NULL) : err;
}

static int on_artifact(struct fold *f, const struct json *line, const struct event *ev)
{
    (void)line;
    return fold_artifact_event(f, ev);
}

static struct run *newest_panel(const struct fold *f)
{
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->top && r->panel)
            return r;
    return NULL;
}

/* `agent` sends a writer's token twice: for the card and for the panel.  The second
 * one is a mirror; without a card it is the only one. */
static int on_panel_token(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *exec = newest_panel(f);
    struct record rec;

    (void)line;
    record_init(&rec, REC_LLM_DELTA);
    rec.text = ev->text;
    rec.title = ev->section;
    rec.mirror = true;
    if (exec == NULL)
        rec.info.panel = true;
    return fold_emit(f, &rec, exec);
}

static int on_section_end(struct fold *f, const struct json *line, const struct event *ev)
{
    (void)line;
    return fold_section_end(f, newest_panel(f), ev->section);
}

/* The execution that @ev, a graph.node_complete, ends: the one with its id, else the newest one
 * of its node.  NULL when none is open. */
static struct run *exec_done(struct fold *f, const struct event *ev, const struct run *named)
{
    for (struct run *r = f->open.prev; r != &f->open; r = r->prev)
        if (r->top && str_eq(r->node, ev->node) && (r == named || named == NULL))
            return r;
    return NULL;
}

/* graph.node_complete: stands beside agent.done for a node with a card, mostly after it, and
 * has the step, which that one lacks; stands alone for others. */
static int on_node_done(struct fold *f, const struct json *line, const struct event *ev)
{
    struct run *named = fold_find(f, ev->run);
    struct event start = *ev;
    int err = 0;

    if (f->owed.p != NULL && str_eq(f->owed, ev->node))
        return fold_complete(f, ev->step);
    if (named != NULL && !(named->top && str_eq(named->node, ev->node))) {
        named = NULL; /* the id is another run's: it does not identify this node */
        start.run = STR_NONE;
    }
    struct run *run = exec_done(f, ev, named);
    if (run == NULL &&
        (named != NULL || (f->last_had_card &&
                           key_eq(f->last_node, table_key(&f->seen, SEEN_DERIVED, ev->node)))))
        return 0; /* it has ended */
    if (run == NULL) {
        start.type = RUN_CHAIN;
        start.name = ev->node;
        start.top = true;
        err = fold_start_run(f, line, &start, &run);
    } else { /* it may come before agent.done: the end is said without the step, which follows
              */
        start.owes = ev->step != RECORD_NO_NUMBER && run->header->info.step == RECORD_NO_NUMBER;
    }
    start.output = NULL;
    if (err == 0)
        err = fold_end_run(f, run, &start, STR("ok"));
    return err == 0 && f->owed.p != NULL ? fold_complete(f, ev->step) : err;
}

/* An object without the error's class, which the record has already. */
static struct str details_of(struct fold *f, const yyjson_val *v, int *err)
{
    struct str details;

    if (v == NULL || yyjson_is_obj((yyjson_val *)v)) {
        details = fold_json_skip(f, v, STR("error_type"), err);
        return str_is(details, "{}") ? STR_NONE : details;
    }
    buf_clear(&f->tmp);
    json_begin(&f->tmp);
    json_key(&f->tmp, "value");
    message_flatten(&f->tmp, v, STR_NONE);
    json_end(&f->tmp);
    return fold_tmp(f, err);
}

static int on_job_end(struct fold *f, const struct json *line, const struct event *ev)
{
    struct job_ending ending = { .end = ev->end,
                                 .error = ev->error,
                                 .error_type = ev->error_type,
                                 .output = ev->output,
                                 .phase = ev->phase };
    int err = 0;

    (void)line;
    ending.details = details_of(f, ev->details, &err);
    return err == 0 ? fold_finish(f, &ending, f->ts) : err;
}

static int (*const on_kind[EVENT_KIND_MAX])(struct fold *,
                                            const struct json *,
                                            const struct event *) = {
    [EVENT_RUN_START] = on_run_start,     [EVENT_RUN_STREAM] = on_run_stream,
    [EVENT_RUN_END] = on_run_end,         [EVENT_RUN_ERROR] = on_run_error,
    [EVENT_CUSTOM] = on_custom,           [EVENT_PART] = on_part,
    [EVENT_INTERRUPT] = on_interrupt,     [EVENT_RESUMED] = on_resumed,
    [EVENT_UPDATE] = on_update,           [EVENT_ARTIFACT] = on_artifact,
    [EVENT_PANEL_TOKEN] = on_panel_token, [EVENT_SECTION_END] = on_section_end,
    [EVENT_NODE_DONE] = on_node_done,     [EVENT_JOB_END] = on_job_end,
};

int fold_event(struct fold *f, const struct json *line, const struct event *ev, int64_t ts)
{
    int err = 0;

    if (f->ended && ev->kind == EVENT_JOB_END)
        return 0; /* some senders send the end twice: use the first */
    if (f->ended) {
        f->stats.late++;
        return ERR_CLOSED;
    }
    if (on_kind[ev->kind] == NULL)
        return 0;
    arena_reset(&f->work);
    f->ts = ts;
    f->event_seq = f->seq;
    if (!f->started)
        err = start_job(f);
    return err == 0 ? on_kind[ev->kind](f, line, ev) : err;
}

int fold_begin(struct fold *f, int64_t ts)
{
    f->ts = ts;
    return f->started ? 0 : start_job(f);
}

int fold_cancel_requested(struct fold *f, struct str reason, int64_t ts)
{
    struct record rec;

    if (f->ended)
        return ERR_CLOSED;
    arena_reset(&f->work);
    f->ts = ts;
    record_init(&rec, REC_JOB_CANCEL_REQUESTED);
    rec.error = reason;
    return fold_emit(f, &rec, NULL);
}

int fold_new_attempt(struct fold *f, int64_t attempt, struct str why, int64_t ts)
{
    struct record rec;

    if (f->ended)
        return ERR_CLOSED;
    arena_reset(&f->work);
    f->ts = ts;
    int err = fold_close_inside(f, (struct closing){ .status = STR("retried") });
    record_init(&rec, REC_JOB_UPDATE);
    rec.title = STR("retry");
    rec.text = why;
    rec.attempt = attempt;
    return err == 0 ? fold_emit(f, &rec, NULL) : err;
}

int fold_warn(struct fold *f, struct str text, int64_t ts)
{
    struct record rec;

    if (f->ended)
        return ERR_CLOSED;
    arena_reset(&f->work);
    f->ts = ts;
    record_init(&rec, REC_JOB_UPDATE);
    rec.title = STR("warning");
    rec.text = text;
    return fold_emit(f, &rec, NULL);
}

size_t fold_open_questions(const struct fold *f)
{
    return f->n_questions + f->paused;
}

bool fold_has_asked(const struct fold *f)
{
    return f->n_asked > 0;
}

bool fold_is_paused(const struct fold *f)
{
    return f->paused;
}

int fold_pause(struct fold *f, int64_t ts)
{
    if (!f->started || f->ended)
        return 0;
    arena_reset(&f->work);
    f->ts = ts;
    return fold_question(f, STR_NONE, NULL, true);
}

int fold_resume(struct fold *f, int64_t ts)
{
    if (!f->started || f->ended)
        return 0;
    arena_reset(&f->work);
    f->ts = ts;
    return fold_resumed(f);
}

int fold_answered(struct fold *f, struct str ids, int64_t ts)
{
    struct record rec;

    arena_reset(&f->work);
    f->ts = ts;
    record_init(&rec, REC_JOB_RESUMED);
    rec.resolves = ids;
    return fold_emit(f, &rec, NULL);
}

/* --- the end of the job ------------------------------------------------------ */

static int emit_why(struct fold *f, enum record_kind kind, const struct job_ending *ending)
{
    struct record rec;
    int err = 0;

    record_init(&rec, kind);
    rec.error = fold_limit_text(f, ending->error, &err);
    if (kind == REC_JOB_ERROR) {
        rec.error_type = ending->error_type;
        rec.details = fold_limit_json(f, ending->details, &err);
        rec.phase = ending->phase;
    }
    return err == 0 ? fold_emit(f, &rec, NULL) : err;
}

static int emit_job_end(struct fold *f, struct str status, const struct job_ending *ending)
{
    struct record rec;
    int err = 0;

    record_init(&rec, REC_JOB_END);
    rec.status = status;
    rec.error = fold_limit_text(f, ending->error, &err);
    rec.error_type = ending->error_type;
    rec.details = fold_limit_json(f, ending->details, &err);
    rec.outcome = ending->outcome;
    rec.output = fold_json(f, ending->output, true, &err);
    rec.closes = fold_due_scopes(f, &err);
    rec.open = fold_open_scopes(f, &err);
    if (str_is(ending->outcome, "interrupted"))
        rec.asks = fold_open_questions_json(f, &err);
    rec.elapsed = fold_since(f, f->start_ts);
    return err == 0 ? fold_emit(f, &rec, NULL) : err;
}

static int succeed(struct fold *f, const yyjson_val *output, struct str outcome)
{
    struct job_ending ending = { .output = output, .outcome = outcome };
    struct str report = STR_NONE;
    int err = fold_close_inside(f, (struct closing){ .status = STR("ok") });

    if (err == 0 && output != NULL)
        err = fold_report_text(f, output, &report);
    if (report.n == 0 && !f->has_report && outcome.p == NULL)
        report = buf_text(&f->answer);
    if (err == 0)
        err = fold_report(f, report);
    return err == 0 ? emit_job_end(f, STR("succeeded"), &ending) : err;
}

/* An exception that ends the job was raised in the execution that has just failed, or in one
 * that is still open. */
static bool fails_in_node(const struct fold *f)
{
    bool open = false;

    for (struct run *r = f->open.next; !open && r != &f->open; r = r->next)
        open = r->top;
    return open || f->node_failed;
}

static int fail(struct fold *f, const struct job_ending *why)
{
    struct job_ending ending = { .error = why->error.p != NULL ? why->error : STR("failed"),
                                 .error_type = why->error_type,
                                 .details = why->details,
                                 .phase = why->phase };

    if (ending.phase.p == NULL)
        ending.phase = fails_in_node(f) ? STR("node") : STR("worker");
    int err =
        fold_close_inside(f, (struct closing){ .status = STR("error"), .error = ending.error });
    if (err == 0)
        err = emit_why(f, REC_JOB_ERROR, &ending);
    return err == 0 ? emit_job_end(f, STR("failed"), &ending) : err;
}

static int cancel(struct fold *f, struct str reason)
{
    struct job_ending ending = { .error = reason.p != NULL ? reason : STR("cancelled") };
    int err = fold_close_inside(f, (struct closing){ .status = STR("cancelled") });

    if (err == 0)
        err = emit_why(f, REC_JOB_CANCELLED, &ending);
    return err == 0 ? emit_job_end(f, STR("cancelled"), &ending) : err;
}

int fold_finish(struct fold *f, const struct job_ending *ending, int64_t ts)
{
    int err = 0;

    if (f->ended)
        return ERR_CLOSED;
    f->ts = ts;
    if (!f->started)
        err = start_job(f);
    if (err != 0)
        return err;
    if (f->cancel_requested && ending->end != JOB_END_CANCELLED)
        return cancel(f, STR("cancelled by user"));
    switch (ending->end) {
    case JOB_END_SUCCEEDED:
        return succeed(f, ending->output, ending->outcome);
    case JOB_END_CANCELLED:
        return cancel(f, ending->error);
    case JOB_END_FAILED:
    case JOB_END_NONE:
        break;
    }
    return fail(f, ending);
}

int fold_end_of_stream(struct fold *f, int64_t ts)
{
    size_t n_real = 0;

    if (!f->started || f->ended)
        return 0;
    arena_reset(&f->work);
    f->ts = ts;
    for (struct run *r = f->open.next; r != &f->open; r = r->next)
        n_real += !r->derived;
    if (f->cancel_requested)
        return cancel(f, STR("cancelled by user"));
    if (f->n_questions > 0 || f->paused)
        return fold_close_inside(f, (struct closing){ .status = STR("interrupted") });
    if (n_real > 0) {
        struct job_ending cut = { .error = STR("the stream ended while runs were still open"),
                                  .error_type = STR("IncompleteStream"),
                                  .phase = STR("worker") };

        return fail(f, &cut);
    }
    struct job_ending failure = { .error = f->failure, .error_type = f->failure_type };
    return f->root_failed ? fail(f, &failure) : succeed(f, NULL, STR_NONE);
}
