/* The life of a job in memory: entered, numbered, folded, moved from state to state, forgotten.
 *
 * What a turn does to a job is done here first; the commit makes it true.  After a failed turn
 * the job is read from the store again, so nothing has to be undone. */
#include "journal/active_job.h"

#include "ingest/fold.h"
#include "journal/crash.h"
#include "store/rows.h"

#include <stdlib.h>

/* --- memory ------------------------------------------------------------------ */

int active_job_set_text(struct str *place, struct str text)
{
    char *p = NULL;

    if (text.p != NULL) {
        p = malloc(text.n + 1);
        if (p == NULL)
            return ERR_NOMEM;
        str_copy(p, text);
        p[text.n] = '\0';
    }
    free((char *)(uintptr_t)place->p);
    *place = (struct str){ p, text.n };
    return 0;
}

static void free_row(struct job_row *row)
{
    row->state = STR_NONE; /* a constant */
    row_disown(&job_texts, row);
}

static int copy_row(struct job_row *to, const struct job_row *from)
{
    struct job_row copy = *from;

    copy.input = STR_NONE; /* not kept */
    copy.state = STR_NONE; /* a constant, set by who has read it */
    int err = row_own(&job_texts, &copy);
    if (err == 0)
        *to = copy;
    return err;
}

const struct journal_agent *journal_agent_of(const struct journal *j, struct str name)
{
    for (size_t i = 0; i < j->opt.n_agents; i++)
        if (str_eq(j->opt.agents[i].name, name))
            return &j->opt.agents[i];
    return NULL;
}

/* Name spaces of j->active_jobs. */
enum { IDS, REQUESTS };

struct active_job *active_job_find(struct journal *j, struct str id)
{
    struct active_job *l = table_get(&j->active_jobs, table_key(&j->active_jobs, IDS, id));

    return l != NULL && str_eq(l->row.id, id) ? l : NULL;
}

struct active_job *active_job_find_lease(struct journal *j, struct str request_id)
{
    struct active_job *l =
        request_id.p != NULL
            ? table_get(&j->active_jobs, table_key(&j->active_jobs, REQUESTS, request_id))
            : NULL;

    return l != NULL && str_eq(l->row.request_id, request_id) ? l : NULL;
}

static int enter_request(struct active_job *l)
{
    struct str id = l->row.request_id;

    return id.p != NULL ? table_put(&l->journal->active_jobs,
                                    table_key(&l->journal->active_jobs, REQUESTS, id), l)
                        : 0;
}

static void leave_request(struct active_job *l)
{
    if (active_job_find_lease(l->journal, l->row.request_id) == l)
        table_remove(&l->journal->active_jobs,
                     table_key(&l->journal->active_jobs, REQUESTS, l->row.request_id));
}

int active_job_set_request(struct active_job *l, struct str request_id)
{
    leave_request(l);
    int err = active_job_set_text(&l->row.request_id, request_id);
    return err == 0 ? enter_request(l) : err;
}

static int add_to_all(struct journal *j, struct active_job *l)
{
    if (j->n_all == j->cap_all) {
        size_t cap = j->cap_all > 0 ? j->cap_all * 2 : 64;
        struct active_job **all = realloc(j->all, cap * sizeof(struct active_job *));

        if (all == NULL)
            return ERR_NOMEM;
        j->all = all;
        j->cap_all = cap;
    }
    j->all[j->n_all++] = l;
    return 0;
}

/* It is in its state, or (@n is -1) no longer. */
static void count_state(struct active_job *l, int n)
{
    struct journal *j = l->journal;
    size_t running = l->state == JOB_RUNNING ? (size_t)n : 0;

    if (l->row.set_aside != 0) {
        j->n_set_aside += (size_t)n;
        return; /* it takes nobody's place */
    }
    j->n_running += running;
    j->n_queued += l->state == JOB_QUEUED ? (size_t)n : 0;
    if (l->owner == NULL)
        return;
    l->owner->n_running += running;
    l->owner->n_queued += l->state == JOB_QUEUED ? (size_t)n : 0;
}

int active_job_add(struct journal *j, const struct job_row *row, struct active_job **ret)
{
    struct active_job *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return ERR_NOMEM;
    l->journal = j;
    int err = copy_row(&l->row, row);
    if (err == 0 && !job_state_find(row->state, &l->state))
        err = ERR_TYPE;
    l->row.state = str_of(job_state_name(l->state));
    if (err == 0)
        err = table_put(&j->active_jobs, table_key(&j->active_jobs, IDS, l->row.id), l);
    if (err == 0)
        err = enter_request(l);
    if (err == 0)
        err = add_to_all(j, l);
    if (err == 0) {
        err = owner_join(l) != 0 || runs_join(l) != 0 ? ERR_NOMEM : 0;
        j->n_all -= err != 0;
    }
    if (err != 0) {
        owner_leave(l);
        table_remove(&j->active_jobs, table_key(&j->active_jobs, IDS, row->id));
        leave_request(l);
        free_row(&l->row);
        free(l);
        return err;
    }
    l->agent = journal_agent_of(j, l->row.agent);
    l->told_seq = l->row.seq;
    count_state(l, 1);
    j->is_changed = true;
    if (l->state == JOB_QUEUED)
        active_job_enqueue(l);
    *ret = l;
    return 0;
}

static void drop_records(struct active_job *l)
{
    for (size_t i = 0; i < l->n_records; i++)
        record_unref(l->records[i]);
    l->n_records = 0;
}

static void drop_fold(struct active_job *l)
{
    fold_free(l->fold);
    l->fold = NULL;
}

void active_job_remove(struct active_job *l)
{
    struct journal *j = l->journal;

    active_job_dequeue(l);
    count_state(l, -1);
    owner_release(l->owner);
    owner_leave(l);
    runs_leave(l);
    table_remove(&j->active_jobs, table_key(&j->active_jobs, IDS, l->row.id));
    leave_request(l);
    for (size_t i = 0; i < j->n_all; i++) {
        if (j->all[i] == l) {
            j->all[i] = j->all[--j->n_all];
            break;
        }
    }
    drop_fold(l);
    drop_records(l);
    free(l->records);
    free_row(&l->row);
    free(l);
}

/* --- records ------------------------------------------------------------------- */

static int capture(struct active_job *l, const struct record *rec)
{
    if (!l->capture)
        return 0;
    if (l->n_records == l->cap_records) {
        size_t cap = l->cap_records > 0 ? l->cap_records * 2 : 16;
        struct record **records = realloc(l->records, cap * sizeof(struct record *));

        if (records == NULL)
            return ERR_NOMEM;
        l->records = records;
        l->cap_records = cap;
    }
    int err = record_new_with_header(rec, &l->records[l->n_records]);
    l->n_records += err == 0;
    return err;
}

int journal_end_chunk(struct journal *j)
{
    const struct active_job *l = j->run.live;

    if (l == NULL)
        return 0;
    j->run.live = NULL;
    return store_batch_append(&j->batch, l->row.key, l->row.seq, j->run.from,
                              l->row.producer_seq);
}

/* The chunk that the next record of @l goes into. */
static int open_chunk(struct active_job *l)
{
    struct journal *j = l->journal;
    struct record_chunk *run = &j->run;

    if (run->live == l && j->batch.records.n - run->from <= CHUNK_BYTES) {
        buf_char(&j->batch.records, '\n');
        return 0;
    }
    int err = j->batch.records.n > FLUSH_BYTES ? journal_flush(j) : journal_end_chunk(j);
    run->live = l;
    run->from = j->batch.records.n;
    return err;
}

void active_job_took_batch(struct active_job *l, int64_t batch, bool with_records)
{
    struct record_chunk *run = &l->journal->run;

    l->row.producer_seq = batch;
    if (!with_records || run->live != l)
        active_job_change(l); /* no run tells of it: its row must */
}

static int on_record(void *arg, const struct record *rec)
{
    struct active_job *l = arg;
    struct journal *j = l->journal;
    struct buf *lines = &j->batch.records;
    int err = open_chunk(l);

    if (err != 0)
        return err;
    active_job_touch(l);
    record_encode(rec, lines);
    if (lines->error != 0)
        return lines->error;
    l->row.seq = rec->seq;
    j->tally.records[rec->kind]++;
    if (rec->kind == REC_JOB_INTERRUPT)
        err = questions_asked(l, rec);
    else if (rec->kind == REC_JOB_RESUMED)
        err = questions_passed(l, rec);
    else if (rec->kind == REC_STATE_VALUES || rec->kind == REC_RUN_END ||
             rec->kind == REC_JOB_END)
        err = runs_saw(l, rec);
    else if (rec->kind == REC_JOB_PAUSED)
        questions_paused(l);
    if (err == 0)
        err = capture(l, rec);
    breadcrumb_set(&j->opt.breadcrumb, l->row.key); /* the fold goes on; another may have been
                                                       looked at */
    return err;
}

/* --- the fold ---------------------------------------------------------------- */

struct rebuild {
    struct active_job *live;
    struct fold *fold;
    int err;
};

/* Records up to @seq that are missing or cannot be read: they count, and that is all. */
static int pass_over(struct rebuild *r, uint64_t seq)
{
    struct active_job *l = r->live;
    int err = 0;

    while (err == 0 && fold_seq(r->fold) < seq) {
        struct record rec;

        record_init(&rec, fold_seq(r->fold) == 0 ? REC_JOB_START : REC_PROGRESS);
        rec.seq = fold_seq(r->fold) + 1;
        rec.ts = l->row.created;
        if (l->damaged == 0)
            l->damaged = rec.seq;
        err = fold_replay(r->fold, &rec);
    }
    return err;
}

static int on_stored(void *arg, uint64_t seq, struct str stored)
{
    struct rebuild *r = arg;
    struct record rec;
    crash_if_told(stored);
    int err = record_decode(&r->live->journal->reader, stored, &rec, NULL);
    bool good = err == 0 && rec.seq == seq;

    r->err = err == ERR_NOMEM ? err : pass_over(r, good ? seq - 1 : seq);
    if (r->err == 0 && good)
        r->err = fold_replay(r->fold, &rec);
    return r->err;
}

static int new_fold(struct active_job *l, struct fold **ret)
{
    struct journal *j = l->journal;
    struct fold_options options = {
        .job = l->row.id,
        .agent = l->agent != NULL ? l->agent->settings : j->fallback,
        .field_limit = j->opt.max_field,
        .attempt = 1,
        .emit = on_record,
        .arg = l,
    };

    return fold_new(&options, ret);
}

struct rebuild *rebuild_begin(struct active_job *l)
{
    struct rebuild *r = arena_alloc(&l->journal->mem, sizeof(*r));

    if (r == NULL)
        return NULL;
    *r = (struct rebuild){ .live = l };
    l->fold_error = new_fold(l, &r->fold);
    return l->fold_error == 0 ? r : NULL;
}

/* What is wrong with one job is no reason not to begin the turn: active_job_fold says it. */
int rebuild_record(struct rebuild *r, uint64_t seq, struct str stored)
{
    breadcrumb_set(&r->live->journal->opt.breadcrumb, r->live->row.key);
    if (r->err == 0)
        (void)on_stored(r, seq, stored);
    return 0;
}

void rebuild_end(struct rebuild *r, bool is_complete)
{
    struct active_job *l = r->live;

    if (is_complete && r->err == 0)
        r->err = pass_over(r, l->row.seq);
    l->fold_error = r->err;
    if (is_complete && r->err == 0)
        l->fold = r->fold;
    else
        fold_free(r->fold);
}

void rebuild_done(const struct rebuild *r)
{
    if (!r->live->touched && r->live->state != JOB_RUNNING)
        drop_fold(r->live);
}

int active_job_fold(struct active_job *l, struct fold **ret)
{
    int err = 0;

    breadcrumb_set(&l->journal->opt.breadcrumb, l->row.key);
    if (l->fold == NULL && l->row.seq > 0)
        err = l->fold_error != 0 ? l->fold_error
                                 : known_miss(l->journal, NULL, "list of a job's records");
    else if (l->fold == NULL)
        err = new_fold(l, &l->fold);
    if (err == 0)
        *ret = l->fold;
    return err;
}

bool active_job_has_asked(const struct active_job *l)
{
    return l->fold == NULL || l->damaged != 0 || fold_has_asked(l->fold);
}

/* --- states ------------------------------------------------------------------ */

void active_job_touch(struct active_job *l)
{
    struct journal *j = l->journal;
    const struct journal_events *events = &j->opt.events;

    if (l->touched)
        return;
    l->touched = true;
    l->capture = events->wanted != NULL && events->wanted(events->arg, l->row.id);
    l->next_touched = j->touched;
    j->touched = l;
}

void active_job_change(struct active_job *l)
{
    active_job_touch(l);
    l->changed = true;
    l->journal->is_changed = true;
}

int active_job_move(struct active_job *l, enum job_state to)
{
    struct journal *j = l->journal;

    if (!job_state_may(l->state, to))
        return ERR_REFUSED;
    active_job_change(l);
    if (l->state == JOB_QUEUED)
        active_job_dequeue(l);
    count_state(l, -1);
    l->state = to;
    count_state(l, 1);
    l->state_news = true;
    if (to == JOB_QUEUED)
        active_job_enqueue(l);
    if (to != JOB_RUNNING)
        owner_release(l->owner);
    if (to != JOB_RUNNING) {
        l->row.lease_until = 0;
        (void)active_job_set_text(&l->row.worker, STR_NONE); /* freeing cannot fail */
        (void)active_job_set_request(l, STR_NONE);           /* nor can this */
    }
    l->row.state = str_of(job_state_name(to));
    if (!job_state_is_final(to))
        return 0;
    l->row.finished = j->now;
    return l->thread != NULL ? runs_ended(l) : 0;
}

static enum job_state state_after(enum job_end end)
{
    return end == JOB_END_SUCCEEDED   ? JOB_SUCCEEDED
           : end == JOB_END_CANCELLED ? JOB_CANCELLED
                                      : JOB_FAILED;
}

int active_job_follow_fold(struct active_job *l)
{
    struct error *refused = &l->journal->bad_question;
    struct fold_end end;

    if (refused->code != 0) {
        refused->code = 0;
        if (l->fold != NULL && !fold_ended(l->fold))
            return active_job_finish(l, JOB_END_FAILED, str_of(refused->text),
                                     STR("QuestionSchema"));
    }
    if (l->fold == NULL || !fold_ended(l->fold) || job_state_is_final(l->state))
        return 0;
    fold_end(l->fold, &end);
    int err = active_job_set_text(&l->row.error, end.error);
    if (err == 0)
        err = active_job_set_text(&l->row.error_type, end.error_type);
    return err == 0 ? active_job_move(l, state_after(end.end)) : err;
}

int active_job_end(struct active_job *l, const struct job_ending *ending)
{
    /* After a committed cancel request any finish ends as cancelled. */
    const struct job_ending cancelled = { .end = JOB_END_CANCELLED,
                                          .error = STR("cancelled by user") };
    struct fold *fold;

    if (l->row.cancel_requested != 0 && ending->end != JOB_END_CANCELLED)
        ending = &cancelled;
    if (!job_state_may(l->state, state_after(ending->end)))
        return ERR_REFUSED;
    int err = active_job_fold(l, &fold);
    if (err == 0 && !fold_ended(fold))
        err = fold_finish(fold, ending, l->journal->now);
    return err == 0 ? active_job_follow_fold(l) : err;
}

/* Where a job is that the journal itself ends. */
static struct str phase_of(struct str type)
{
    if (str_is(type, "QueueDeadline"))
        return STR("queue");
    if (str_is(type, "ServerRestart") || str_is(type, "DamagedRecord"))
        return STR("server");
    return STR("worker");
}

int active_job_finish(struct active_job *l, enum job_end end, struct str error, struct str type)
{
    struct job_ending ending = {
        .end = end, .error = error, .error_type = type, .phase = phase_of(type)
    };

    return active_job_end(l, &ending);
}

int active_job_requeue(struct active_job *l, struct str why)
{
    struct fold *fold;

    if (l->row.cancel_requested != 0)
        return active_job_finish(l, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    int err = active_job_fold(l, &fold);
    if (err == 0)
        err = fold_new_attempt(fold, l->row.attempt + 1, why, l->journal->now);
    return err == 0 ? active_job_move(l, JOB_QUEUED) : err;
}

int active_job_lose_worker(struct active_job *l, struct str why, struct str type)
{
    struct job_ending ending = { .error = why, .error_type = type };

    return active_job_lose(l, &ending);
}

int active_job_lose(struct active_job *l, const struct job_ending *ending)
{
    struct job_ending last = *ending;
    struct fold *fold;

    last.end = JOB_END_FAILED;
    last.phase = phase_of(ending->error_type);
    if (l->row.cancel_requested != 0)
        return active_job_finish(l, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    int err = active_job_fold(l, &fold);
    if (err != 0)
        return err;
    active_job_change(l); /* before the first change, so that a turn that fails takes it back */
    if (fold_open_questions(fold) > 0)
        return journal_stop_at_question(l);
    if (l->row.attempts_left > 0)
        l->row.attempts_left--;
    if (l->row.attempts_left == 0)
        l->journal->tally.given_up++;
    else
        l->journal->tally.retried++;
    if (l->row.attempts_left == 0)
        return active_job_end(l, &last);
    err = fold_new_attempt(fold, l->row.attempt + 1, ending->error, l->journal->now);
    return err == 0 ? active_job_move(l, JOB_QUEUED) : err;
}

void active_job_set_aside(struct active_job *l, int64_t since)
{
    active_job_dequeue(l);
    count_state(l, -1);
    l->row.set_aside = since;
    count_state(l, 1);
    owner_release(l->owner);
}

/* --- turns ------------------------------------------------------------------- */

void active_job_end_turn(struct active_job *l)
{
    drop_records(l);
    questions_forget(l);
    l->touched = l->changed = l->state_news = l->capture = false;
    l->cancel_news = l->pause_news = false;
    l->told_seq = l->row.seq;
    l->next_touched = NULL;
    if (l->deleted || job_state_is_final(l->state))
        active_job_remove(l);
    else if (l->state != JOB_RUNNING)
        drop_fold(l);
}

void active_job_reload(struct active_job *l)
{
    struct journal *j = l->journal;
    struct job_row row, copy;
    struct str id = l->row.id;

    drop_records(l);
    questions_forget(l);
    drop_fold(l);
    l->touched = l->deleted = l->state_news = l->capture = false;
    l->cancel_news = l->pause_news = false;
    l->changed = false;
    l->behind_since = 0;
    l->next_touched = NULL;
    int err = store_job_get(j->opt.store, id, &row, NULL);
    if (err == ERR_NOT_FOUND) {
        active_job_remove(l);
        return;
    }
    if (err == 0)
        err = copy_row(&copy, &row);
    l->stale = err != 0;
    if (l->stale)
        return; /* journal_turn tries again */
    active_job_dequeue(l);
    count_state(l, -1);
    leave_request(l);
    free_row(&l->row);
    l->row = copy;
    (void)enter_request(l); /* without memory its lease cannot be asked for again */
    l->told_seq = l->row.seq;
    (void)job_state_find(row.state, &l->state); /* written by us */
    l->row.state = str_of(job_state_name(l->state));
    count_state(l, 1);
    l->force_at =
        l->row.cancel_requested != 0
            ? l->row.cancel_requested + (l->agent != NULL ? l->agent->cancel_grace_ms : 0)
            : 0;
    if (job_state_is_final(l->state)) {
        active_job_remove(l);
        return;
    }
    if (l->state == JOB_QUEUED)
        active_job_enqueue(l);
    owner_release(l->owner);
}
