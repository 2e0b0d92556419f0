/* Applies a record to the fold's state: one function for each kind of record.
 *
 * State changes here and nowhere else, whether the record was just made or is read back to
 * rebuild the fold (law 7).  So whatever these functions need must be in the record. */
#include "ingest/fold_state.h"

#include "base/error.h"
#include "base/utf8.h"

#include <stdlib.h>

/* --- taking in a start ------------------------------------------------------- */

static enum run_type type_of(const struct record *rec)
{
    for (int i = 0; i < RUN_TYPE_MAX; i++)
        if (str_eq(str_of(run_type_name((enum run_type)i)), rec->info.type))
            return (enum run_type)i;
    return RUN_CHAIN;
}

static bool has_step_tag(struct str tags)
{
    static const char tag[] = "\"graph:step:";

    for (size_t at = 0; at + sizeof(tag) <= tags.n; at++)
        if (memcmp(tags.p + at, tag, sizeof(tag) - 1) == 0)
            return true;
    return false;
}

static int fill_run(struct fold *f, struct run *run, const struct record *rec)
{
    const struct run_info *in = &rec->info;
    struct run *parent =
        in->parent.p != NULL ? table_get(&f->seen, fold_key(f, SEEN_RUN, in->parent)) : NULL;

    run->type = type_of(rec);
    run->start_ts = rec->ts;
    run->start_seq = rec->seq;
    run->node_run = rec->kind == REC_NODE_START;
    run->top = in->top;
    run->card = in->card;
    run->panel = in->panel;
    run->counted = in->counted;
    run->derived = in->derived;
    /* Of the formats only events and callbacks have tags, and they repeat the text. */
    run->keeps_text = in->derived || in->tags.p == NULL;
    run->exec = in->top              ? run
                : in->exec.p != NULL ? table_get(&f->seen, fold_key(f, SEEN_RUN, in->exec))
                                     : NULL;
    run->root = in->root ? run : parent != NULL ? parent->root : fold_open_root(f);
    run->depth = (parent != NULL                  ? parent->depth
                  : run->exec != NULL && !in->top ? 1
                                                  : 0) +
                 (run->node_run ? 1 : 0);
    if (!in->top)
        return 0;
    if (!arena_copy(&f->keep, in->run, &run->id) || !arena_copy(&f->keep, in->node, &run->node))
        return ERR_NOMEM;
    return 0;
}

static void count_inside(struct run *run)
{
    struct run *exec = run->exec;

    if (exec == NULL || exec == run)
        return;
    if (run->type == RUN_CHAT || run->type == RUN_LLM)
        exec->llms++;
    else if (run->type == RUN_TOOL)
        exec->tools++;
    else if (run->type == RUN_CHAIN)
        exec->chains++;
}

static int mark_seen_list(struct fold *f, struct str list)
{
    struct json j;

    if (list.p == NULL)
        return 0;
    int err = json_read(&f->reader, list, &j, NULL);
    if (err != 0)
        return err;
    json_each(item, j.root) {
        err = fold_mark(f, fold_key(f, SEEN_MESSAGE, json_text(item)), f);
        if (err != 0)
            return err;
    }
    return 0;
}

static int apply_start(struct fold *f, const struct record *rec)
{
    struct run *run = arena_alloc(&f->keep, sizeof(*run));

    if (run == NULL)
        return ERR_NOMEM;
    *run = (struct run){ 0 };
    buf_init(&run->text, f->opt.field_limit);
    int err = fill_run(f, run, rec);
    if (err == 0)
        err = fold_mark(f, fold_key(f, SEEN_RUN, rec->info.run), run);
    if (err == 0)
        err = record_new(rec, &run->header);
    if (err != 0)
        return err;
    run->next = &f->open;
    run->prev = f->open.prev;
    run->prev->next = run;
    f->open.prev = run;
    f->n_open++;
    f->last_found = run;
    count_inside(run);
    f->step_tags |= has_step_tag(rec->info.tags);
    f->events_seen |= !rec->info.derived;
    f->root_failed &= !rec->info.root;
    f->node_failed &= !rec->info.top;
    f->message_parts |= run->derived && (run->type == RUN_CHAT || run->type == RUN_LLM);
    f->n_derived += rec->info.derived;
    /* The first run with a section is its outermost: its end is the section's end. */
    struct key section = fold_section_key(f, SEEN_SECTION, run->exec, rec->info.section);
    if (rec->info.section.p != NULL && run->panel && !fold_seen(f, section))
        err = fold_mark(f, section, run);
    if (err == 0)
        err = mark_seen_list(f, rec->seen);
    return err;
}

/* --- taking in the rest ------------------------------------------------------ */

void fold_forget_run(struct fold *f, struct run *run)
{
    if (run->top) {
        f->last_node = table_key(&f->seen, SEEN_DERIVED, run->node);
        f->last_had_card = run->card;
    }
    run->prev->next = run->next;
    run->next->prev = run->prev;
    f->n_open--;
    if (f->last_found == run)
        f->last_found = NULL;
    record_unref(run->header);
    run->header = NULL;
    run->said = table_key(&f->seen, SEEN_TEXT, buf_text(&run->text));
    run->said_n = run->text.n;
    buf_done(&run->text);
    free(run->meta_raw);
    run->meta_raw = NULL;
    run->meta_raw_n = run->meta_raw_cap = 0;
}

static int apply_info(struct fold *f, const struct record *rec, struct run *run)
{
    struct record *header;

    (void)f;
    if (run == NULL)
        return 0;
    int err = record_new(rec, &header);
    if (err != 0)
        return err;
    record_unref(run->header);
    run->header = header;
    return 0;
}

/* Keeps the text, up to the field limit: for the run's end, and to recognise a repetition. */
static int keep_text(struct fold *f, struct run *run, struct str text)
{
    bool whole = run->text.n == run->streamed; /* so far */

    if (!run->keeps_text)
        return 0;
    if (whole)
        buf_str(&run->text, utf8_head_bytes(text, f->opt.field_limit - run->text.n));
    run->streamed += text.n;
    return run->text.error;
}

static int apply_delta(struct fold *f, const struct record *rec, struct run *run)
{
    if (run == NULL || rec->mirror)
        return 0;
    int err = keep_text(f, run, rec->text);
    if (err != 0)
        return err;
    run->deltas++;
    run->half = rec->half != RECORD_NO_NUMBER ? (uint32_t)rec->half : 0;
    run->finish |= rec->last;
    if (!rec->first)
        return 0;
    /* A message keeps its first id; one longer than an id should be is not kept. */
    if (rec->message.n <= MAX_MESSAGE_ID && !arena_copy(&f->keep, rec->message, &run->message))
        return ERR_NOMEM;
    err = fold_mark_sent(f, rec->message, (struct sent){ .run = run });
    struct key owner = fold_owner_key(f, run->exec, rec->message);
    if (err == 0 && !fold_seen(f, owner))
        err = fold_mark(f, owner, run);
    return err;
}

static void add_call(struct fold *f, struct run *exec, struct str name, struct str id)
{
    struct announced_call *c = &f->call[f->n_calls];

    if (f->n_calls == MAX_PENDING_CALLS || id.n == 0 || id.n > sizeof(c->id))
        return;
    *c = (struct announced_call){ .name = table_key(&f->seen, SEEN_DERIVED, name),
                                  .exec = exec,
                                  .id_n = id.n };
    str_copy(c->id, id);
    f->n_calls++;
}

static int apply_model_end(struct fold *f, const struct record *rec, struct run *run)
{
    struct json j;

    if (run == NULL)
        return 0;
    struct run *exec = run->exec;
    fold_forget_run(f, run);
    if (rec->calls.p == NULL)
        return 0;
    int err = json_read(&f->reader, rec->calls, &j, NULL);
    if (err != 0)
        return err == ERR_NOMEM ? err : 0; /* the field has a marker instead of the calls */
    json_each(item, j.root)
        add_call(f, exec, json_text(json_at(item, "name")), json_text(json_at(item, "id")));
    return 0;
}

static void drop_call(struct fold *f, struct str id)
{
    for (size_t i = 0; i < f->n_calls; i++) {
        if (str_eq(str_make(f->call[i].id, f->call[i].id_n), id)) {
            memmove(&f->call[i], &f->call[i + 1], (f->n_calls - i - 1) * sizeof(f->call[0]));
            f->n_calls--;
            return;
        }
    }
}

static int apply_question(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    f->n_asked++;
    if (rec->kind == REC_JOB_PAUSED) {
        f->paused = true;
        return 0;
    }
    if (f->n_questions == MAX_QUESTIONS)
        return 0; /* too many to remember; the record is stored all the same */
    struct open_question *q = &f->question[f->n_questions];
    if (!arena_copy(&f->keep, rec->id, &q->id) || !arena_copy(&f->keep, rec->data, &q->value) ||
        !arena_copy(&f->keep, record_info(rec)->ns, &q->ns))
        return ERR_NOMEM;
    q->seq = rec->seq;
    f->n_questions++;
    return 0;
}

static int apply_message(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    f->message_parts |= rec->header_seq == 0;
    int err = fold_mark_sent(
        f, rec->message, (struct sent){ .data = table_key(&f->seen, SEEN_TEXT, rec->data) });
    if (err == 0 && rec->call.p != NULL)
        err = fold_mark(f, fold_key(f, SEEN_CALL, rec->call), f);
    return err;
}

/* Workers send reports too, with their members in any order. */
static int look_for_report(struct fold *f, struct str data)
{
    struct json j;
    int err = f->has_report ? ERR_TYPE : json_read(&f->reader, data, &j, NULL);

    if (err == 0)
        f->has_report = str_is(json_text(json_at(j.root, "output_category")), "final_report");
    return err == ERR_NOMEM ? err : 0;
}

static int apply_artifact(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    if (str_starts(rec->data, STR("{" JSON_LIT("type", "citation_source"))))
        return fold_mark(f, table_key(&f->seen, SEEN_URL, rec->id), f);
    if (str_starts(rec->data, STR("{" JSON_LIT("type", "citation_use"))))
        return fold_mark(f, table_key(&f->seen, SEEN_CITED, rec->id), f);
    if (str_ends(rec->data, STR("," JSON_LIT("output_category", "final_report") "}")))
        f->report = table_key(&f->seen, SEEN_REPORT, rec->data);
    return look_for_report(f, rec->data);
}

bool fold_is_report(const struct fold *f, struct str artifact)
{
    return key_eq(f->report, table_key(&f->seen, SEEN_REPORT, artifact));
}

static int apply_section_end(struct fold *f, const struct record *rec, struct run *exec)
{
    return fold_mark(f, fold_section_key(f, SEEN_SECTION_END, exec, rec->text), f);
}

static int apply_job(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    if (rec->kind == REC_JOB_START) {
        f->started = true;
        f->start_ts = rec->ts;
    } else if (rec->kind == REC_JOB_END) {
        f->ended = true;
        f->end = str_is(rec->status, "succeeded")   ? JOB_END_SUCCEEDED
                 : str_is(rec->status, "cancelled") ? JOB_END_CANCELLED
                                                    : JOB_END_FAILED;
        if (!arena_copy(&f->keep, rec->error, &f->failure) ||
            !arena_copy(&f->keep, rec->error_type, &f->failure_type))
            return ERR_NOMEM;
    } else {
        f->n_questions = 0;
        f->paused = false;
    }
    return 0;
}

static int apply_starts(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run; /* it is made here */
    int err = apply_start(f, rec);

    /* After the copy was taken: the id may stand in the very list that this changes. */
    if (err == 0 && rec->call.p != NULL)
        drop_call(f, f->open.prev->header->call);
    return err;
}

/* A root that failed fails the job, unless another one follows. */
static int apply_root_end(struct fold *f, const struct record *rec)
{
    f->root_failed = str_is(rec->status, "error");
    f->state_parts = false;
    if (!f->root_failed)
        return 0;
    return arena_copy(&f->keep, rec->error, &f->failure) &&
                   arena_copy(&f->keep, rec->error_type, &f->failure_type)
               ? 0
               : ERR_NOMEM;
}

/* Keeps the output of an execution without a root run: it may be the only output of the job. */
static int keep_answer(struct fold *f, struct str output)
{
    struct str text = STR_NONE;
    struct json j;

    int err = json_read(&f->reader, output, &j, NULL);
    if (err != 0)
        return err == ERR_NOMEM ? err : 0;
    err = fold_report_text(f, j.root, &text);
    if (err != 0 || text.n == 0)
        return err;
    buf_clear(&f->answer);
    buf_str(&f->answer, text);
    return f->answer.error;
}

static int apply_ends(struct fold *f, const struct record *rec, struct run *run)
{
    if (run == NULL)
        return 0;
    if (run->top && rec->output.p != NULL && str_is(rec->status, "ok") &&
        fold_open_root(f) == NULL) {
        int err = keep_answer(f, rec->output);

        if (err != 0)
            return err;
    }
    bool root = run->header->info.root;
    if (run->top)
        f->node_failed = str_is(rec->status, "error");
    if (rec->owes)
        f->owed = run->node;
    if (run->top && !run->derived && str_is(rec->status, "ok")) {
        int err = fold_expect_update(f, run);

        if (err != 0)
            return err;
    }
    fold_forget_run(f, run);
    return root ? apply_root_end(f, rec) : 0;
}

static int apply_values(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    f->state_parts |= rec->info.ns.n == 0;
    return 0;
}

static int apply_checkpoints(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    if (rec->info.ns.n == 0)
        f->step = rec->info.step;
    return 0;
}

/* The root's updates, {"node": update}: what its nodes have put out. */
static int apply_updates(struct fold *f, const struct record *rec, struct run *run)
{
    const struct run *root = fold_open_root(f);
    struct json j;

    (void)run;
    if (rec->info.ns.n > 0 || !f->events_seen)
        return 0;
    int err = json_read(&f->reader, rec->data, &j, NULL);
    if (err != 0)
        return err == ERR_NOMEM ? err : 0;
    json_each_member(key, value, j.root) {
        uint64_t *due = table_get(&f->seen, fold_updates_key(f, root, json_text(key)));

        if (due != NULL && *due > 0)
            --*due;
    }
    return 0;
}

static int apply_complete(struct fold *f, const struct record *rec, struct run *run)
{
    (void)rec, (void)run;
    f->owed = STR_NONE;
    return 0;
}

static int apply_repeat(struct fold *f, const struct record *rec, struct run *run)
{
    (void)f, (void)rec;
    if (run != NULL)
        run->repeat = true;
    return 0;
}

static int apply_cancel(struct fold *f, const struct record *rec, struct run *run)
{
    (void)rec, (void)run;
    f->cancel_requested = true;
    return 0;
}

/* A new attempt announces its own runs: forgets what was seen of the one before. */
static int apply_update(struct fold *f, const struct record *rec, struct run *run)
{
    (void)run;
    if (rec->attempt == RECORD_NO_NUMBER)
        return 0;
    f->events_seen = f->root_failed = f->message_parts = f->state_parts = false;
    f->has_report = false;
    buf_clear(&f->answer);
    f->node_failed = false;
    f->step = RECORD_NO_NUMBER;
    f->n_calls = 0;
    f->scopes = NULL;
    f->last_found = NULL;
    f->epoch++;
    return 0;
}

/* Kinds that are not listed do not change the state. */
static int (*const apply_kind[REC_KIND_MAX])(struct fold *,
                                             const struct record *,
                                             struct run *) = {
    [REC_JOB_UPDATE] = apply_update,      [REC_JOB_CANCEL_REQUESTED] = apply_cancel,
    [REC_JOB_START] = apply_job,          [REC_JOB_END] = apply_job,
    [REC_JOB_INTERRUPT] = apply_question, [REC_JOB_PAUSED] = apply_question,
    [REC_JOB_RESUMED] = apply_job,        [REC_RUN_START] = apply_starts,
    [REC_RUN_END] = apply_ends,           [REC_RUN_INFO] = apply_info,
    [REC_NODE_START] = apply_starts,      [REC_NODE_END] = apply_ends,
    [REC_NODE_COMPLETE] = apply_complete, [REC_LLM_START] = apply_starts,
    [REC_LLM_DELTA] = apply_delta,        [REC_LLM_END] = apply_model_end,
    [REC_LLM_REPEAT] = apply_repeat,      [REC_TOOL_START] = apply_starts,
    [REC_TOOL_END] = apply_ends,          [REC_RETRIEVER_START] = apply_starts,
    [REC_RETRIEVER_END] = apply_ends,     [REC_STATE_VALUES] = apply_values,
    [REC_STATE_UPDATES] = apply_updates,  [REC_STATE_CHECKPOINTS] = apply_checkpoints,
    [REC_MESSAGE] = apply_message,        [REC_SECTION_END] = apply_section_end,
    [REC_ARTIFACT] = apply_artifact,
};

int fold_apply(struct fold *f, const struct record *rec, struct run *run)
{
    f->seq = rec->seq;
    f->stats.records[rec->kind]++;
    f->stats.lossy += rec->lossy;
    int err = apply_kind[rec->kind] != NULL ? apply_kind[rec->kind](f, rec, run) : 0;
    return err == 0 ? fold_apply_scopes(f, rec) : err;
}
