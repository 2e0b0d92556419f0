/* Jobs in memory: adds and removes them, numbers and stores their records, rebuilds their
 * folds, and changes their states.
 *
 * A turn changes the job in memory first, and then commits.  After a failed turn the job is
 * read from the store again, so nothing has to be undone. */
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
    row->state = STR_NONE; /* points to a constant */
    row_disown(&job_texts, row);
}

static int copy_row(struct job_row *to, const struct job_row *from)
{
    struct job_row copy = *from;

    copy.input = STR_NONE; /* not kept in memory */
    copy.state = STR_NONE; /* points to a constant; the reader of the row sets it */
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

/* Namespaces of j->active_jobs. */
enum { IDS, REQUESTS };

struct active_job *active_job_find(struct journal *j, struct str id)
{
    struct active_job *job = table_get(&j->active_jobs, table_key(&j->active_jobs, IDS, id));

    return job != NULL && str_eq(job->row.id, id) ? job : NULL;
}

struct active_job *active_job_find_lease(struct journal *j, struct str request_id)
{
    struct active_job *job =
        request_id.p != NULL
            ? table_get(&j->active_jobs, table_key(&j->active_jobs, REQUESTS, request_id))
            : NULL;

    return job != NULL && str_eq(job->row.request_id, request_id) ? job : NULL;
}

static int enter_request(struct active_job *job)
{
    struct str id = job->row.request_id;

    return id.p != NULL ? table_put(&job->journal->active_jobs,
                                    table_key(&job->journal->active_jobs, REQUESTS, id), job)
                        : 0;
}

static void leave_request(struct active_job *job)
{
    if (active_job_find_lease(job->journal, job->row.request_id) == job)
        table_remove(&job->journal->active_jobs,
                     table_key(&job->journal->active_jobs, REQUESTS, job->row.request_id));
}

int active_job_set_request(struct active_job *job, struct str request_id)
{
    leave_request(job);
    int err = active_job_set_text(&job->row.request_id, request_id);
    return err == 0 ? enter_request(job) : err;
}

static int add_to_all(struct journal *j, struct active_job *job)
{
    if (j->n_all == j->cap_all) {
        size_t cap = j->cap_all > 0 ? j->cap_all * 2 : 64;
        struct active_job **all = realloc(j->all, cap * sizeof(struct active_job *));

        if (all == NULL)
            return ERR_NOMEM;
        j->all = all;
        j->cap_all = cap;
    }
    j->all[j->n_all++] = job;
    return 0;
}

/* Counts the job in its state, or (@n is -1) removes it from the count. */
static void count_state(struct active_job *job, int n)
{
    struct journal *j = job->journal;
    size_t running = job->state == JOB_RUNNING ? (size_t)n : 0;

    if (job->row.set_aside != 0) {
        j->n_set_aside += (size_t)n;
        return; /* it does not count as running or queued */
    }
    j->n_running += running;
    if (job->agent != NULL)
        j->queues[job->agent - j->opt.agents].n_running += running;
    j->n_queued += job->state == JOB_QUEUED ? (size_t)n : 0;
    if (job->owner == NULL)
        return;
    job->owner->n_running += running;
    job->owner->n_queued += job->state == JOB_QUEUED ? (size_t)n : 0;
}

int active_job_add(struct journal *j, const struct job_row *row, struct active_job **ret)
{
    struct active_job *job = calloc(1, sizeof(*job));

    if (job == NULL)
        return ERR_NOMEM;
    job->journal = j;
    int err = copy_row(&job->row, row);
    if (err == 0 && !job_state_find(row->state, &job->state))
        err = ERR_TYPE;
    job->row.state = str_of(job_state_name(job->state));
    if (err == 0)
        err = table_put(&j->active_jobs, table_key(&j->active_jobs, IDS, job->row.id), job);
    if (err == 0)
        err = enter_request(job);
    if (err == 0)
        err = add_to_all(j, job);
    if (err == 0) {
        err = owner_join(job) != 0 || runs_join(job) != 0 ? ERR_NOMEM : 0;
        j->n_all -= err != 0;
    }
    if (err != 0) {
        owner_leave(job);
        table_remove(&j->active_jobs, table_key(&j->active_jobs, IDS, row->id));
        leave_request(job);
        free_row(&job->row);
        free(job);
        return err;
    }
    job->agent = journal_agent_of(j, job->row.agent);
    job->told_seq = job->row.seq;
    count_state(job, 1);
    j->is_changed = true;
    if (job->state == JOB_QUEUED)
        active_job_enqueue(job);
    job->queued_at = job->row.created; /* not all of a shard's at the time of its recovery */
    *ret = job;
    return 0;
}

static void drop_records(struct active_job *job)
{
    for (size_t i = 0; i < job->n_records; i++)
        record_unref(job->records[i]);
    job->n_records = 0;
}

static void drop_fold(struct active_job *job)
{
    fold_free(job->fold);
    job->fold = NULL;
}

void active_job_remove(struct active_job *job)
{
    struct journal *j = job->journal;

    beats_orphaned(job);
    suspects_forget(job);
    active_job_dequeue(job);
    count_state(job, -1);
    owner_release(job->owner);
    owner_leave(job);
    runs_leave(job);
    table_remove(&j->active_jobs, table_key(&j->active_jobs, IDS, job->row.id));
    leave_request(job);
    for (size_t i = 0; i < j->n_all; i++) {
        if (j->all[i] == job) {
            j->all[i] = j->all[--j->n_all];
            break;
        }
    }
    drop_fold(job);
    drop_records(job);
    free(job->records);
    free_row(&job->row);
    free(job);
}

/* --- records ------------------------------------------------------------------- */

static int capture(struct active_job *job, const struct record *rec)
{
    if (!job->capture)
        return 0;
    if (job->n_records == job->cap_records) {
        size_t cap = job->cap_records > 0 ? job->cap_records * 2 : 16;
        struct record **records = realloc(job->records, cap * sizeof(struct record *));

        if (records == NULL)
            return ERR_NOMEM;
        job->records = records;
        job->cap_records = cap;
    }
    int err = record_new_with_header(rec, &job->records[job->n_records]);
    job->n_records += err == 0;
    return err;
}

int journal_end_chunk(struct journal *j)
{
    const struct active_job *job = j->chunk.job;

    if (job == NULL)
        return 0;
    j->chunk.job = NULL;
    return store_batch_append(&j->batch, job->row.key, job->row.seq, j->chunk.from,
                              job->row.producer_seq);
}

/* Opens the chunk for the next record of @job. */
static int open_chunk(struct active_job *job)
{
    struct journal *j = job->journal;
    struct record_chunk *chunk = &j->chunk;

    if (chunk->job == job && j->batch.records.n - chunk->from <= CHUNK_BYTES) {
        buf_char(&j->batch.records, '\n');
        return 0;
    }
    size_t most = store_is_remote(j->opt.store) ? FLUSH_REMOTE_BYTES : FLUSH_BYTES;
    int err = j->batch.records.n > most ? journal_flush(j) : journal_end_chunk(j);
    chunk->job = job;
    chunk->from = j->batch.records.n;
    return err;
}

void active_job_took_batch(struct active_job *job, int64_t batch, bool with_records)
{
    struct record_chunk *chunk = &job->journal->chunk;

    job->row.producer_seq = batch;
    if (!with_records || chunk->job != job)
        active_job_change(job); /* no chunk has the batch number, so the row must be stored */
}

static int on_record(void *arg, const struct record *rec)
{
    struct active_job *job = arg;
    struct journal *j = job->journal;
    struct buf *lines = &j->batch.records;
    int err = open_chunk(job);

    if (err != 0)
        return err;
    active_job_touch(job);
    record_encode(rec, lines);
    if (lines->error != 0)
        return lines->error;
    job->row.seq = rec->seq;
    j->tally.records[rec->kind]++;
    if (rec->kind == REC_JOB_INTERRUPT)
        err = questions_asked(job, rec);
    else if (rec->kind == REC_JOB_RESUMED)
        err = questions_passed(job, rec);
    else if (rec->kind == REC_STATE_VALUES || rec->kind == REC_RUN_END ||
             rec->kind == REC_JOB_END)
        err = runs_saw(job, rec);
    else if (rec->kind == REC_JOB_PAUSED)
        questions_paused(job);
    if (err == 0)
        err = capture(job, rec);
    breadcrumb_set(&j->opt.breadcrumb, job->row.key); /* set again: the calls above may have set
                                                         it to another job */
    return err;
}

/* --- the fold ---------------------------------------------------------------- */

struct rebuild {
    struct active_job *job;
    struct fold *fold;
    int err;
};

/* Replays placeholders for records up to @seq that are missing or damaged, so that the sequence
 * numbers are right. */
static int pass_over(struct rebuild *r, uint64_t seq)
{
    struct active_job *job = r->job;
    int err = 0;

    while (err == 0 && fold_seq(r->fold) < seq) {
        struct record rec;

        record_init(&rec, fold_seq(r->fold) == 0 ? REC_JOB_START : REC_PROGRESS);
        rec.seq = fold_seq(r->fold) + 1;
        rec.ts = job->row.created;
        if (job->damaged == 0)
            job->damaged = rec.seq;
        err = fold_replay(r->fold, &rec);
    }
    return err;
}

static int on_stored(void *arg, uint64_t seq, struct str stored)
{
    struct rebuild *r = arg;
    struct record rec;
    crash_if_told(stored);
    int err = record_decode(&r->job->journal->reader, stored, &rec, NULL);
    bool good = err == 0 && rec.seq == seq;

    r->err = err == ERR_NOMEM ? err : pass_over(r, good ? seq - 1 : seq);
    if (r->err == 0 && good)
        r->err = fold_replay(r->fold, &rec);
    return r->err;
}

static int new_fold(struct active_job *job, struct fold **ret)
{
    struct journal *j = job->journal;
    struct fold_options options = {
        .job = job->row.id,
        .agent = job->agent != NULL ? job->agent->settings : j->fallback,
        .field_limit = j->opt.max_field,
        .attempt = 1,
        .emit = on_record,
        .arg = job,
    };

    return fold_new(&options, ret);
}

struct rebuild *rebuild_begin(struct active_job *job)
{
    struct rebuild *r = arena_alloc(&job->journal->mem, sizeof(*r));

    if (r == NULL)
        return NULL;
    *r = (struct rebuild){ .job = job };
    job->fold_error = new_fold(job, &r->fold);
    return job->fold_error == 0 ? r : NULL;
}

/* Always returns 0: an error in one job must not fail the turn; active_job_fold reports it. */
int rebuild_record(struct rebuild *r, uint64_t seq, struct str stored)
{
    breadcrumb_set(&r->job->journal->opt.breadcrumb, r->job->row.key);
    if (r->err == 0)
        (void)on_stored(r, seq, stored);
    return 0;
}

void rebuild_end(struct rebuild *r, bool is_complete)
{
    struct active_job *job = r->job;

    if (is_complete && r->err == 0)
        r->err = pass_over(r, job->row.seq);
    job->fold_error = r->err;
    if (is_complete && r->err == 0)
        job->fold = r->fold;
    else
        fold_free(r->fold);
}

void rebuild_done(const struct rebuild *r)
{
    if (!r->job->touched && r->job->state != JOB_RUNNING)
        drop_fold(r->job);
}

int active_job_fold(struct active_job *job, struct fold **ret)
{
    int err = 0;

    breadcrumb_set(&job->journal->opt.breadcrumb, job->row.key);
    if (job->fold == NULL && job->row.seq > 0)
        err = job->fold_error != 0 ? job->fold_error
                                   : known_miss(job->journal, NULL, "list of a job's records");
    else if (job->fold == NULL)
        err = new_fold(job, &job->fold);
    if (err == 0)
        *ret = job->fold;
    return err;
}

bool active_job_has_asked(const struct active_job *job)
{
    return job->fold == NULL || job->damaged != 0 || fold_has_asked(job->fold);
}

/* --- states ------------------------------------------------------------------ */

void active_job_touch(struct active_job *job)
{
    struct journal *j = job->journal;
    const struct journal_events *events = &j->opt.events;

    if (job->touched)
        return;
    job->touched = true;
    job->capture = events->wanted != NULL && events->wanted(events->arg, job->row.id);
    job->next_touched = j->touched;
    j->touched = job;
}

void active_job_change(struct active_job *job)
{
    active_job_touch(job);
    job->changed = true;
    job->journal->is_changed = true;
}

int active_job_move(struct active_job *job, enum job_state to)
{
    struct journal *j = job->journal;

    if (!job_state_may(job->state, to))
        return ERR_REFUSED;
    active_job_change(job);
    if (job->state == JOB_QUEUED)
        active_job_dequeue(job);
    count_state(job, -1);
    job->state = to;
    count_state(job, 1);
    job->state_news = true;
    if (to == JOB_QUEUED)
        active_job_enqueue(job);
    if (to != JOB_RUNNING)
        owner_release(job->owner);
    if (to != JOB_RUNNING) {
        job->row.lease_until = 0;
        if (!job_state_is_final(to)) /* an ended job says who ended it */
            (void)active_job_set_text(&job->row.worker, STR_NONE); /* freeing cannot fail */
        (void)active_job_set_request(job, STR_NONE);               /* nor can this */
    }
    job->row.state = str_of(job_state_name(to));
    if (!job_state_is_final(to))
        return 0;
    job->row.finished = j->now;
    return job->thread != NULL ? runs_ended(job) : 0;
}

static enum job_state state_after(enum job_end end)
{
    return end == JOB_END_SUCCEEDED   ? JOB_SUCCEEDED
           : end == JOB_END_CANCELLED ? JOB_CANCELLED
                                      : JOB_FAILED;
}

int active_job_follow_fold(struct active_job *job)
{
    struct error *refused = &job->journal->bad_question;
    struct fold_end end;

    if (refused->code != 0) {
        refused->code = 0;
        if (job->fold != NULL && !fold_ended(job->fold))
            return active_job_finish(job, JOB_END_FAILED, str_of(refused->text),
                                     STR("QuestionSchema"));
    }
    if (job->fold == NULL || !fold_ended(job->fold) || job_state_is_final(job->state))
        return 0;
    fold_end(job->fold, &end);
    int err = active_job_set_text(&job->row.error, end.error);
    if (err == 0)
        err = active_job_set_text(&job->row.error_type, end.error_type);
    return err == 0 ? active_job_move(job, state_after(end.end)) : err;
}

int active_job_end(struct active_job *job, const struct job_ending *ending)
{
    /* After a committed cancel request, any finish ends the job as cancelled. */
    const struct job_ending cancelled = { .end = JOB_END_CANCELLED,
                                          .error = STR("cancelled by user") };
    struct fold *fold;

    if (job->row.cancel_requested != 0 && ending->end != JOB_END_CANCELLED)
        ending = &cancelled;
    if (!job_state_may(job->state, state_after(ending->end)))
        return ERR_REFUSED;
    int err = active_job_fold(job, &fold);
    if (err == 0 && !fold_ended(fold))
        err = fold_finish(fold, ending, job->journal->now);
    return err == 0 ? active_job_follow_fold(job) : err;
}

/* The phase in which a job failed that the journal itself ends. */
static struct str phase_of(struct str type)
{
    if (str_is(type, "QueueDeadline"))
        return STR("queue");
    if (str_is(type, "ServerRestart") || str_is(type, "DamagedRecord"))
        return STR("server");
    return STR("worker");
}

int active_job_finish(struct active_job *job,
                      enum job_end end,
                      struct str error,
                      struct str type)
{
    struct job_ending ending = {
        .end = end, .error = error, .error_type = type, .phase = phase_of(type)
    };

    return active_job_end(job, &ending);
}

int active_job_requeue(struct active_job *job, struct str why)
{
    struct fold *fold;

    if (job->row.cancel_requested != 0)
        return active_job_finish(job, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    int err = active_job_fold(job, &fold);
    if (err == 0)
        err = fold_new_attempt(fold, job->row.attempt + 1, why, job->journal->now);
    return err == 0 ? active_job_move(job, JOB_QUEUED) : err;
}

int active_job_lose_worker(struct active_job *job, struct str why, struct str type)
{
    struct job_ending ending = { .error = why, .error_type = type };

    return active_job_lose(job, &ending);
}

int active_job_lose(struct active_job *job, const struct job_ending *ending)
{
    struct job_ending last = *ending;
    struct fold *fold;

    last.end = JOB_END_FAILED;
    last.phase = phase_of(ending->error_type);
    if (job->row.cancel_requested != 0)
        return active_job_finish(job, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    int err = active_job_fold(job, &fold);
    if (err != 0)
        return err;
    active_job_change(job); /* before the first change, so that a failed turn reloads the job */
    if (fold_open_questions(fold) > 0)
        return journal_stop_at_question(job);
    if (job->row.attempts_left > 0)
        job->row.attempts_left--;
    if (job->row.attempts_left == 0)
        job->journal->tally.given_up++;
    else
        job->journal->tally.retried++;
    if (job->row.attempts_left == 0)
        return active_job_end(job, &last);
    err = fold_new_attempt(fold, job->row.attempt + 1, ending->error, job->journal->now);
    return err == 0 ? active_job_move(job, JOB_QUEUED) : err;
}

void active_job_set_aside(struct active_job *job, int64_t since)
{
    active_job_dequeue(job);
    count_state(job, -1);
    job->row.set_aside = since;
    count_state(job, 1);
    owner_release(job->owner);
}

/* --- turns ------------------------------------------------------------------- */

void active_job_end_turn(struct active_job *job)
{
    drop_records(job);
    questions_forget(job);
    job->touched = job->changed = job->state_news = job->capture = false;
    job->cancel_news = job->pause_news = false;
    job->told_seq = job->row.seq;
    job->next_touched = NULL;
    if (job->deleted || job_state_is_final(job->state))
        active_job_remove(job);
    else if (job->state != JOB_RUNNING)
        drop_fold(job);
}

void active_job_reload(struct active_job *job)
{
    struct journal *j = job->journal;
    struct job_row row, copy;
    struct str id = job->row.id;

    drop_records(job);
    questions_forget(job);
    drop_fold(job);
    job->touched = job->deleted = job->state_news = job->capture = false;
    job->cancel_news = job->pause_news = false;
    job->changed = false;
    job->behind_since = 0;
    job->next_touched = NULL;
    int err = store_job_get(j->opt.store, id, &row, NULL);
    if (err == ERR_NOT_FOUND) {
        active_job_remove(job);
        return;
    }
    if (err == 0)
        err = copy_row(&copy, &row);
    job->stale = err != 0;
    if (job->stale)
        return; /* journal_turn tries again */
    active_job_dequeue(job);
    count_state(job, -1);
    leave_request(job);
    free_row(&job->row);
    job->row = copy;
    (void)enter_request(job); /* without memory its lease cannot be asked for again */
    job->told_seq = job->row.seq;
    (void)job_state_find(row.state, &job->state); /* written by us */
    job->row.state = str_of(job_state_name(job->state));
    count_state(job, 1);
    job->force_at =
        job->row.cancel_requested != 0
            ? job->row.cancel_requested + (job->agent != NULL ? job->agent->cancel_grace_ms : 0)
            : 0;
    if (job_state_is_final(job->state)) {
        active_job_remove(job);
        return;
    }
    if (job->state == JOB_QUEUED)
        active_job_enqueue(job);
    owner_release(job->owner);
}
