/* Random writes: jobs and their records, questions, threads and runs, the clock, retention. */
#include "same.h"

#include <stdio.h>

static const char *const states[] = { "queued",    "running", "waiting",
                                      "succeeded", "failed",  "cancelled" };
static const char *const keys[] = { "key-1", "key-2", "key-3" };

/* --- jobs -------------------------------------------------------------------------- */

/* All columns that an update writes. */
static struct job_row random_row(struct player *p, bool may_end)
{
    size_t state = below(p, may_end && one_in(p, 2) ? 6 : 3);
    struct job_row row = { .state = str_of(states[state]),
                           .agent = one_in(p, 2) ? STR("a") : STR("b"),
                           .input = one_in(p, 5) ? STR_NONE : some_json(p),
                           .owner = one_in(p, 2) ? STR("acme") : STR_NONE,
                           .worker = some_text(p),
                           .holder = some_text(p),
                           .request_id = some_text(p),
                           .error = some_text(p),
                           .error_type = some_text(p),
                           .outcome = one_in(p, 2) ? some_json(p) : STR_NONE,
                           .request_hash = one_in(p, 3) ? STR("ab\0cd") : STR_NONE,
                           .attempt = (int64_t)below(p, 5),
                           .unsigned_attempt = (int64_t)below(p, 2),
                           .attempts_left = (int64_t)below(p, 4),
                           .created = model(p)->now,
                           .updated = model(p)->now,
                           .started = some_time(p),
                           .lease_until = some_time(p),
                           .queue_deadline = some_time(p),
                           .run_deadline = some_time(p),
                           .run_seconds = (int64_t)below(p, 100),
                           .expiry_seconds = (int64_t)below(p, 30),
                           .cancel_requested = some_time(p),
                           .max_running = (int64_t)below(p, 3),
                           .pause_requested = some_time(p),
                           .resumed = (int64_t)below(p, 3),
                           .answer_by = some_time(p),
                           .not_before = some_time(p),
                           .producer_seq = (int64_t)below(p, 9) - 1,
                           .published = one_in(p, 3) ? (int64_t)below(p, 4) : -1,
                           .first_seq = 1 };

    if (state >= 3)
        row.finished = model(p)->now;
    return row;
}

static bool is_final(const struct job_row *row)
{
    return row->finished != 0;
}

static struct job_row *keep(struct player *p, struct job_row row)
{
    p->rows[p->n_played] = row;
    return &p->rows[p->n_played];
}

static struct same_job *free_slot(struct player *p)
{
    struct same_job *jobs = model(p)->jobs;

    for (size_t i = 0; i < N_JOBS; i++)
        if (!jobs[i].is_there)
            return &jobs[i];
    return NULL;
}

static void insert_run(struct player *p, int64_t key, struct same_thread *thread)
{
    struct run_row run = { .job = key,
                           .assistant = STR("agent"),
                           .metadata = some_json(p),
                           .kwargs = some_json(p),
                           .strategy = one_in(p, 2) ? STR("enqueue") : STR("rollback"),
                           .modes = (int64_t)below(p, 64),
                           .subgraphs = (int64_t)below(p, 2) };

    thread->n_runs++;
    say(p, "run insert");
    say_answer(p, WRITE(p, run_insert, &run));
    if (one_in(p, 4))
        say_answer(p, WRITE(p, run_read, key));
}

/* In a thread that is not temporary, or is and has no run yet. */
static struct same_thread *thread_for_run(struct player *p)
{
    struct same_thread *thread = one_in(p, 2) ? some_thread(p) : NULL;

    return thread != NULL && thread->is_temporary && thread->n_runs > 0 ? NULL : thread;
}

static bool play_insert(struct player *p)
{
    struct same_job *slot = free_slot(p), *other = one_in(p, 8) ? some_job(p, false) : NULL;
    struct same_thread *thread = thread_for_run(p);
    struct job_row row = random_row(p, false);
    char *id = p->ids[p->n_played];
    int code = 0;

    if (slot == NULL)
        return false;
    (void)snprintf(id, ID_BYTES, "job-%u", model(p)->n_ids++);
    row.id = str_of(other != NULL && !p->gathers ? other->id : id);
    if (!p->gathers && one_in(p, 3))
        row.idempotency_key = str_of(keys[below(p, 3)]);
    if (thread != NULL) {
        row.thread = thread->key;
        row.ordinal = thread->n_runs + 1;
    }
    if (p->gathers || one_in(p, 2))
        code = store_take_keys(p->writer, STORE_JOB_KEYS, 1, &row.key, &p->err);
    say(p, "job insert %.*s", STR_ARG(row.id));
    say_text(p, "idempotency", row.idempotency_key);
    struct job_row *kept = keep(p, row);
    if (code == 0)
        code = p->gathers ? store_batch_job_insert(&p->batch, kept)
                          : store_job_insert(p->s, kept, &p->err);
    say_answer(p, code);
    if (code != 0)
        return true;
    *slot = (struct same_job){
        .is_there = true, .key = kept->key, .batch = kept->producer_seq, .thread = N_THREADS
    };
    memcpy(slot->id, id, ID_BYTES);
    if (thread != NULL) {
        slot->thread = (size_t)(thread - model(p)->threads);
        insert_run(p, slot->key, thread);
    }
    return true;
}

static bool play_update(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL)
        return false;
    struct job_row row = random_row(p, job->seq >= 2);
    row.key = job->key;
    row.seq = job->seq;
    row.values_seq = job->seq > 0 ? (int64_t)below(p, job->seq) : 0;
    say(p, "job update %s to %.*s", job->id, STR_ARG(row.state));
    int code = WRITE(p, job_update, keep(p, row));
    say_answer(p, code);
    job->is_final |= code == 0 && is_final(&row);
    job->batch = row.producer_seq;
    return true;
}

static bool play_update_of_none(struct player *p)
{
    struct job_row row = random_row(p, false);

    row.key = INT64_C(1) << 40;
    say(p, "job update of none");
    say_answer(p, store_job_update(p->s, &row, &p->err));
    say(p, "job delete of none");
    say_answer(p, store_job_delete(p->s, row.key, &p->err));
    return true;
}

static bool play_published(struct player *p)
{
    struct same_job *job = some_job(p, false);

    if (job == NULL)
        return false;
    int64_t published = (int64_t)below(p, 5) - 1;
    say(p, "published %s %lld", job->id, (long long)published);
    say_answer(p, WRITE(p, job_published, job->key, published));
    return true;
}

static bool play_suspect(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL)
        return false;
    int64_t crashed = some_time(p), set_aside = some_time(p);
    say(p, "suspect %s", job->id);
    say_answer(p, WRITE(p, suspect, job->key, crashed, set_aside));
    return true;
}

static void delete_job(struct player *p, struct same_job *job)
{
    struct same_thread *thread =
        job->thread < N_THREADS ? &model(p)->threads[job->thread] : NULL;

    say(p, "job delete %s", job->id);
    say_answer(p, WRITE(p, job_delete, job->key));
    job->is_there = false;
    if (thread != NULL && thread->is_temporary)
        thread->is_there = false;
}

static bool play_delete(struct player *p)
{
    struct same_job *job = some_job(p, false);

    if (job == NULL)
        return false;
    delete_job(p, job);
    return true;
}

/* --- records ----------------------------------------------------------------------- */

/* Lines of records, each with a text of any length. */
static size_t put_records(struct player *p, const struct same_job *job, char *to, size_t n)
{
    static const char *const fillers[] = { "", "\xc3\xa4\xf0\x9f\x9a\x80", "\\u0000\\\"",
                                           "'; --" };
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        size_t dots = one_in(p, 6) ? below(p, 3000) : below(p, 20);

        used += (size_t)sprintf(to + used, "%s{\"seq\":%llu,\"text\":\"%s", i > 0 ? "\n" : "",
                                (unsigned long long)(job->seq + i + 1), fillers[below(p, 4)]);
        memset(to + used, '.', dots);
        used += dots;
        used += (size_t)sprintf(to + used, "\"}");
    }
    return used;
}

static int append(struct player *p, const struct same_job *job, size_t n, int64_t batch)
{
    char text[6 * 3100];
    struct str stored = str_make(text, put_records(p, job, text, n));

    if (!p->gathers)
        return store_append(p->s, job->key, job->seq + n, stored, batch, &p->err);
    size_t from = p->batch.records.n;
    buf_str(&p->batch.records, stored);
    return store_batch_append(&p->batch, job->key, job->seq + n, from, batch);
}

static bool play_append(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL)
        return false;
    size_t n = one_in(p, 2) ? 1 : 1 + below(p, 6);
    job->batch += (int64_t)below(p, 3); /* -1: the producer has sent none */
    say(p, "append %zu to %s, batch %lld", n, job->id, (long long)job->batch);
    int code = append(p, job, n, job->batch);
    say_answer(p, code);
    if (code == 0)
        job->seq += n;
    return true;
}

static bool play_append_again(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL || job->seq == 0)
        return false;
    say(p, "append to %s what is there", job->id);
    say_answer(p, store_append(p->s, job->key, job->seq, STR("{}"), -1, &p->err));
    return true;
}

/* --- questions --------------------------------------------------------------------- */

static bool play_ask(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL || job->n_questions == N_QUESTIONS || job->seq == 0 ||
        (job->n_questions > 0 && job->asked[job->n_questions - 1] == job->seq))
        return false;
    struct question_row row = { .job = job->key,
                                .seq = job->seq,
                                .id = STR("q"),
                                .attempt = (int64_t)below(p, 4),
                                .asked = model(p)->now,
                                .expires = some_time(p),
                                .on_expiry = one_in(p, 2) ? STR("fail") : STR("default"),
                                .fallback = one_in(p, 2) ? some_json(p) : STR_NONE,
                                .schema = one_in(p, 2) ? some_json(p) : STR_NONE,
                                .question = some_json(p),
                                .context = some_json(p),
                                .value = some_json(p) };
    say(p, "ask %s at %llu", job->id, (unsigned long long)row.seq);
    say_answer(p, WRITE(p, question_insert, &row));
    job->answered[job->n_questions] = false;
    job->asked[job->n_questions++] = row.seq;
    return true;
}

static bool play_answer(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL || job->n_questions == 0)
        return false;
    size_t i = below(p, job->n_questions);
    struct str answer = some_json(p), by = one_in(p, 2) ? STR("ann") : STR_NONE;
    if (p->gathers && job->answered[i])
        return false; /* it would fail the transaction */
    say(p, "answer %s at %llu", job->id, (unsigned long long)job->asked[i]);
    say_answer(
        p, WRITE(p, question_answer, job->key, job->asked[i], answer, by, model(p)->now + 1));
    job->answered[i] = true;
    return true;
}

static bool play_resumed(struct player *p)
{
    struct same_job *job = some_job(p, true);

    if (job == NULL || job->seq == 0)
        return false;
    say(p, "resumed %s", job->id);
    say_answer(p, WRITE(p, questions_resumed, job->key, job->seq));
    return true;
}

/* --- threads ----------------------------------------------------------------------- */

static struct thread_row random_thread(struct player *p)
{
    return (struct thread_row){ .owner = one_in(p, 2) ? STR("acme") : STR_NONE,
                                .status = one_in(p, 2) ? STR("idle") : STR("busy"),
                                .metadata = some_json(p),
                                .config = some_json(p),
                                .interrupts = some_json(p),
                                .error = one_in(p, 2) ? some_json(p) : STR_NONE,
                                .created = model(p)->now,
                                .updated = model(p)->now,
                                .state_updated = some_time(p),
                                .ttl_ms = one_in(p, 2) ? (int64_t)below(p, 9000) : 0 };
}

static bool play_thread_insert(struct player *p)
{
    struct same_thread *slot = &model(p)->threads[below(p, N_THREADS)];
    struct thread_row row = random_thread(p);
    char *id = p->ids[p->n_played];
    int code = 0;

    if (slot->is_there && p->gathers)
        return false;
    (void)snprintf(id, ID_BYTES, "thread-%u", model(p)->n_ids++);
    row.id = str_of(slot->is_there ? slot->id : id);
    row.is_temporary = one_in(p, 3);
    if (p->gathers)
        code = store_take_keys(p->writer, STORE_THREAD_KEYS, 1, &row.key, &p->err);
    say(p, "thread insert %.*s", STR_ARG(row.id));
    if (code == 0)
        code = p->gathers ? store_batch_thread_insert(&p->batch, &row)
                          : store_thread_insert(p->s, &row, &p->err);
    say_answer(p, code);
    if (code != 0)
        return true;
    *slot = (struct same_thread){ .is_there = true,
                                  .is_temporary = row.is_temporary != 0,
                                  .key = row.key };
    memcpy(slot->id, id, ID_BYTES);
    return true;
}

static bool play_thread_update(struct player *p)
{
    struct same_thread *thread = some_thread(p);
    struct thread_row row = random_thread(p);

    if (thread == NULL)
        return false;
    row.key = thread->key;
    row.n_runs = thread->n_runs;
    say(p, "thread update %s", thread->id);
    say_answer(p, WRITE(p, thread_update, &row));
    return true;
}

static bool play_thread_values(struct player *p)
{
    struct same_thread *thread = some_thread(p);

    if (thread == NULL)
        return false;
    struct str values = some_json(p);
    say(p, "thread values %s", thread->id);
    say_answer(p, WRITE(p, thread_values, thread->key, values, model(p)->now));
    return true;
}

static bool play_thread_delete(struct player *p)
{
    struct same_thread *thread = some_thread(p);

    if (thread == NULL || thread->is_temporary)
        return false;
    for (size_t i = 0; i < N_JOBS; i++) {
        struct same_job *job = &model(p)->jobs[i];

        if (job->is_there && job->thread == (size_t)(thread - model(p)->threads))
            delete_job(p, job);
    }
    say(p, "thread delete %s", thread->id);
    say_answer(p, WRITE(p, thread_delete, thread->key));
    thread->is_there = false;
    return true;
}

/* --- the clock, and retention ------------------------------------------------------ */

static bool play_note_time(struct player *p)
{
    say(p, "note the time");
    say_answer(p, WRITE(p, note_time, model(p)->now));
    return true;
}

static bool play_move_times(struct player *p)
{
    int64_t by = ((int64_t)below(p, 200) - 100) * 1000;

    say(p, "the clock is set by %lld", (long long)by);
    model(p)->now += by;
    say_answer(p, store_move_times(p->s, by, model(p)->now, &p->err));
    return true;
}

/* How much goes in one call is the backend's choice; what goes in the end is not. */
static bool play_expire(struct player *p)
{
    int64_t keep_ms = (int64_t)below(p, 20000);
    size_t limit = 1 + below(p, 30), n = 1;
    int code = 0;

    for (int i = 0; code == 0 && n > 0 && i < 10000; i++)
        code = store_expire(p->s, model(p)->now, keep_ms, limit, &n, &p->err);
    say(p, "expire");
    say_answer(p, n == 0 ? code : ERR_TOO_LARGE);
    look_what_is_left(p);
    return true;
}

const struct same_choice same_writes[] = {
    { play_insert, 10 },       { play_update, 14 },       { play_append, 40 },
    { play_published, 3 },     { play_suspect, 2 },       { play_delete, 2 },
    { play_ask, 8 },           { play_answer, 6 },        { play_resumed, 3 },
    { play_thread_insert, 5 }, { play_thread_update, 6 }, { play_thread_values, 4 },
    { play_note_time, 2 },     { play_thread_delete, 1 }, { NULL, 0 },
};

const struct same_choice same_direct_writes[] = {
    { play_update_of_none, 2 },
    { play_append_again, 2 },
    { play_move_times, 1 },
    { play_expire, 3 },
    { NULL, 0 },
};
