#include "model.h"
#include "script.h"

#include "base/json.h"
#include "ingest/fold.h"
#include "journal/counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct model *model_new(struct sim *s)
{
    struct model *m = disk_must(calloc(1, sizeof(*m)));

    m->sim = s;
    frames_init(&m->frames, SIZE_MAX / 4);
    return m;
}

static void free_truth(struct truth *t)
{
    while (t->canons != NULL) {
        struct canon *next = t->canons->next;

        buf_done(&t->canons->bytes);
        free(t->canons->frames);
        free(t->canons);
        t->canons = next;
    }
    for (size_t i = 0; i < t->n; i++)
        record_unref(t->recs[i]);
    free(t->recs);
    free(t->commits);
    free(t);
}

void model_free(struct model *m)
{
    while (m->truths != NULL) {
        struct truth *next = m->truths->next;

        free_truth(m->truths);
        m->truths = next;
    }
    while (m->batches != NULL) {
        struct batch *next = m->batches->next;

        buf_done(&m->batches->bytes);
        free(m->batches);
        m->batches = next;
    }
    frames_done(&m->frames);
    free(m);
}

struct batch *model_batch(struct model *m)
{
    struct batch *b = disk_must(calloc(1, sizeof(*b)));

    b->number = ++m->n_batches;
    buf_init(&b->bytes, SIZE_MAX / 4);
    b->next = m->batches;
    m->batches = b;
    return b;
}

struct truth *model_truth(struct model *m, struct str id)
{
    for (struct truth *t = m->truths; t != NULL; t = t->next)
        if (str_eq(t->job->row.id, id))
            return t;
    return NULL;
}

bool truth_is_final(const struct truth *t)
{
    return job_state_is_final(t->state);
}

/* --- commits: records ----------------------------------------------------------- */

static const char *id_of(const struct truth *t)
{
    static char text[ID_BYTES * 2]; /* one thread */

    (void)snprintf(text, sizeof(text), "%.*s (key %" PRId64 ")", STR_ARG(t->job->row.id),
                   t->job->row.key);
    return text;
}

static struct batch *find_batch(struct model *m, uint64_t number)
{
    for (struct batch *b = m->batches; b != NULL; b = b->next)
        if (b->number == number)
            return b;
    return NULL;
}

static void take_marker(struct model *m, struct truth *t, const struct record *rec)
{
    uint64_t number;
    bool end;

    if (rec->kind != REC_CUSTOM || !script_read_marker(rec->data, &number, &end))
        return;
    struct batch *b = find_batch(m, number);
    if (b == NULL || (b->key >= 0 && b->key != t->job->row.key))
        sim_fail(m->sim, "%s: record %" PRIu64 " is of another job's batch %" PRIu64, id_of(t),
                 rec->seq, number);
    b->begun += !end;
    b->ended += end;
    if (b->begun > 1 || b->ended > 1)
        sim_fail(m->sim,
                 "%s: batch %" PRIu64 " (attempt %" PRId64 ", seq %" PRId64 ") is stored twice",
                 id_of(t), number, b->attempt, b->seq);
    if (end && b->commit != m->n_commits)
        sim_fail(m->sim, "%s: batch %" PRIu64 " is in two commits", id_of(t), number);
    b->commit = m->n_commits;
    if (b->attempt >= 0 && (b->attempt < t->fence || b->attempt > t->job->row.attempt))
        sim_fail(m->sim,
                 "%s: attempt %" PRId64 " wrote record %" PRIu64 ", but attempts below %" PRId64
                 " are fenced (at %" PRId64 ")",
                 id_of(t), b->attempt, rec->seq, t->fence, t->job->row.attempt);
}

/* Who has asked, and was not answered or has not gone on yet, has ended with that. */
static void check_has_not_asked(const struct model *m, const struct truth *t)
{
    const struct disk_questions *q = disk_questions(m->sim->disk);

    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].job == t->job->row.key && q->rows[i].resumed == 0)
            sim_fail(m->sim, "%s: attempt %" PRId64 " has asked %.*s, and counts as lost",
                     id_of(t), t->attempt, STR_ARG(q->rows[i].id));
}

/* The gateway whose process leased it; NULL: it was none. */
static const struct gateway_life *life_of(const struct sim *s, const struct truth *t)
{
    static const char prefix[] = "gateway:g";

    if (s->p.n_gateways == 0 || !sim_is_dead(s, t->agent->name) ||
        strncmp(t->request, prefix, sizeof(prefix) - 1) != 0)
        return NULL;
    return &s->lives[strtoul(t->request + sizeof(prefix) - 1, NULL, 10)];
}

/* Has its worker died with its server? */
static bool has_died(const struct sim *s, const struct truth *t)
{
    const struct gateway_life *life = life_of(s, t);

    if (s->p.n_gateways == 0)
        return t->running_since <= s->server->recovered_at && sim_is_dead(s, t->agent->name);
    return life != NULL && life->last_gone >= t->running_since;
}

/* @told: somebody said so; otherwise the lease must have run out. */
static void take_loss(struct model *m, struct truth *t, bool told)
{
    const struct server *server = m->sim->server;
    int64_t heard = m->sim->now - server->heard_at;
    bool died = has_died(m->sim, t);

    t->n_lost++;
    check_has_not_asked(m, t);
    if (told)
        return;
    if (heard < t->agent->lease_ms && !died)
        sim_fail(m->sim,
                 "%s: attempt %" PRId64 " lost its lease, heard for %" PRId64 " ms only",
                 id_of(t), t->attempt, heard);
    if (t->lease_attempt == t->attempt && m->sim->now < t->leased_until &&
        !(died && m->sim->p.n_gateways > 0))
        sim_fail(m->sim, "%s: attempt %" PRId64 " lost its lease %" PRId64 " ms too early",
                 id_of(t), t->attempt, t->leased_until - m->sim->now);
}

static void check_record(struct model *m, struct truth *t, const struct record *rec)
{
    if (rec->seq != t->n + 1)
        sim_fail(m->sim, "%s: record %zu says it is %" PRIu64, id_of(t), t->n + 1, rec->seq);
    if ((rec->kind == REC_JOB_START) != (rec->seq == 1))
        sim_fail(m->sim, "%s: record %" PRIu64 " is %s", id_of(t), rec->seq,
                 record_kind_name(rec->kind));
    if (t->ended)
        sim_fail(m->sim, "%s: %s after the end", id_of(t), record_kind_name(rec->kind));
    t->ended = rec->kind == REC_JOB_END;
    if (t->ended && !str_eq(rec->status, t->job->row.state))
        sim_fail(m->sim, "%s: the terminal record says %.*s, the state is %.*s", id_of(t),
                 STR_ARG(rec->status), STR_ARG(t->job->row.state));
    if (rec->kind == REC_JOB_CANCEL_REQUESTED && t->job->row.cancel_requested == 0)
        sim_fail(m->sim, "%s: a cancel request that the row does not know", id_of(t));
    if (rec->kind == REC_JOB_UPDATE && str_is(rec->title, "retry")) {
        if (rec->attempt <= t->fence)
            sim_fail(m->sim, "%s: the attempt does not rise", id_of(t));
        t->fence = rec->attempt;
        if (str_starts(rec->text, STR("worker lost")))
            take_loss(m, t, str_is(rec->text, WORKER_LOST_TEXT));
    }
    take_marker(m, t, rec);
}

static void take_record(struct model *m, struct truth *t, struct json_reader *reader)
{
    const struct disk_record *stored = &t->job->recs[t->n];
    struct record rec;
    struct error err;

    if (record_decode(reader, str_make(stored->p, stored->n), &rec, &err) != 0)
        sim_fail(m->sim, "%s: a record cannot be read: %s", id_of(t), err.text);
    check_record(m, t, &rec);
    if (rec.header_seq > t->n)
        sim_fail(m->sim, "%s: record %" PRIu64 " names a head that is not there", id_of(t),
                 rec.seq);
    if (rec.header_seq != 0)
        rec.header = t->recs[rec.header_seq - 1];
    rec.job_id = t->job->row.id;
    if (t->n == t->cap) {
        t->cap = t->cap > 0 ? t->cap * 2 : 64;
        t->recs = disk_must(realloc(t->recs, t->cap * sizeof(struct record *)));
        t->commits = disk_must(realloc(t->commits, t->cap * sizeof(t->commits[0])));
    }
    if (record_new_with_header(&rec, &t->recs[t->n]) != 0)
        abort();
    t->commits[t->n] = m->n_commits;
    t->n++;
}

/* --- commits: rows -------------------------------------------------------------- */

static struct truth *truth_of(struct model *m, struct disk_job *job)
{
    struct truth *t = job->truth;

    if (t != NULL)
        return t;
    t = disk_must(calloc(1, sizeof(*t)));
    t->job = job;
    t->state = t->state_before = JOB_QUEUED;
    t->first_seq = 1;
    t->created = m->n_commits;
    for (size_t i = 0; i < m->sim->p.n_agents; i++)
        if (str_eq(m->sim->agents[i].name, job->row.agent))
            t->agent = &m->sim->agents[i];
    t->next = m->truths;
    m->truths = t;
    job->truth = t;
    return t;
}

/* A job goes on when all that it has asked is answered. */
static void check_questions(struct model *m, const struct truth *t)
{
    const struct disk_questions *q = disk_questions(m->sim->disk);
    const struct job_row *row = &t->job->row;

    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].job == row->key && q->rows[i].answered == 0 &&
            q->rows[i].seq < (uint64_t)row->resumed)
            sim_fail(m->sim, "%s goes on, and question %.*s is open", id_of(t),
                     STR_ARG(q->rows[i].id));
        else if (q->rows[i].job == row->key && row->resumed != 0 &&
                 q->rows[i].resumed == (uint64_t)row->resumed &&
                 str_is(q->rows[i].answered_by, "another run"))
            sim_fail(m->sim, "%s goes on, and nobody has answered %.*s", id_of(t),
                     STR_ARG(q->rows[i].id));
}

/* INT64_MAX: none that is open expires. */
static int64_t first_expiry(const struct sim *s, const struct truth *t)
{
    const struct disk_questions *q = disk_questions(s->disk);
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < q->n; i++)
        if (q->rows[i].job == t->job->row.key && q->rows[i].answered == 0 &&
            q->rows[i].expires != 0 && q->rows[i].expires < first)
            first = q->rows[i].expires;
    return first;
}

/* Has somebody said that its time is over? */
static bool is_expired_by_word(const struct sim *s, const struct truth *t)
{
    for (const struct call *c = s->calls; c != NULL; c = c->next)
        if (c->posted && !c->done && c->req.op == JOURNAL_EXPIRE &&
            str_eq(c->req.job, t->job->row.id))
            return true;
    return false;
}

static void check_row(struct model *m, struct truth *t)
{
    const struct job_row *row = &t->job->row;
    bool final = truth_is_final(t), running = t->state == JOB_RUNNING;
    int64_t now = sim_stored_now(m->sim);

    /* While it runs its records may be ahead of its row. */
    if (final ? row->seq != t->job->n : row->seq > t->job->n)
        sim_fail(m->sim, "%s: the row says %" PRIu64 " records, there are %zu", id_of(t),
                 row->seq, t->job->n);
    if (final != t->ended)
        sim_fail(m->sim, "%s is %.*s and has %s terminal record", id_of(t), STR_ARG(row->state),
                 t->ended ? "a" : "no");
    if (final != (row->finished != 0))
        sim_fail(m->sim, "%s: finished at %" PRId64 " and %.*s", id_of(t), row->finished,
                 STR_ARG(row->state));
    if (final && row->cancel_requested != 0 && t->state != JOB_CANCELLED)
        sim_fail(m->sim, "%s was cancelled and ended as %.*s", id_of(t), STR_ARG(row->state));
    if (running != (row->lease_until != 0))
        sim_fail(m->sim, "%s is %.*s and its lease ends at %" PRId64, id_of(t),
                 STR_ARG(row->state), row->lease_until);
    if (row->attempt < t->attempt || (running && row->attempt == 0))
        sim_fail(m->sim, "%s: attempt %" PRId64 " after %" PRId64, id_of(t), row->attempt,
                 t->attempt);
    if (row->attempts_left != t->agent->attempts - t->n_lost)
        sim_fail(m->sim, "%s: %" PRId64 " attempts left after losing %" PRId64 " of %" PRId64,
                 id_of(t), row->attempts_left, t->n_lost, t->agent->attempts);
    if (str_is(row->error_type, "DamagedRecord"))
        sim_fail(m->sim, "%s: %.*s", id_of(t), STR_ARG(row->error));
    check_questions(m, t);
    if (job_state_is_final(t->state_before))
        return; /* its deadlines are those of the clock at its end */
    if (str_is(row->error_type, "QueueDeadline") && now < row->queue_deadline)
        sim_fail(m->sim, "%s: failed before its queue deadline", id_of(t));
    if (str_is(row->error_type, "RunDeadline") && now < row->run_deadline)
        sim_fail(m->sim, "%s: failed before its run deadline", id_of(t));
    if (str_is(row->error_type, "AnswerDeadline") && now < row->answer_by &&
        !is_expired_by_word(m->sim, t))
        sim_fail(m->sim, "%s: failed before its answer deadline", id_of(t));
}

static void take_job(struct model *m, struct disk_job *job, struct json_reader *reader)
{
    struct truth *t = truth_of(m, job);
    size_t n_before = t->n;

    if (job->gone && t->created == m->n_commits && t->n == 0 && job->n == 0) {
        t->gone = m->n_commits;
        return;
    }
    t->state_before = t->state;
    t->attempt_before = t->attempt;
    if (!job_state_find(job->row.state, &t->state) && !job->gone)
        sim_fail(m->sim, "%s: state %.*s", id_of(t), STR_ARG(job->row.state));
    if (job->row.first_seq != 1 && !job_state_is_final(t->state_before))
        sim_fail(m->sim, "%s: retention takes away what is not final", id_of(t));
    if (job->row.first_seq != t->first_seq &&
        sim_stored_now(m->sim) <= job->row.finished + job->row.expiry_seconds * 1000)
        sim_fail(m->sim, "%s expires too early", id_of(t));
    t->first_seq = job->row.first_seq;
    if (job->gone) { /* what it wrote while going is of no interest */
        t->state = t->state_before;
        t->gone = m->n_commits;
        return;
    }
    while (t->n < job->n)
        take_record(m, t, reader);
    if (job_state_is_final(t->state_before) && t->created != m->n_commits &&
        (t->n > n_before || t->state != t->state_before))
        sim_fail(m->sim, "%s changed after its end", id_of(t));
    bool told = str_is(job->row.error_type, WORKER_LOST_TYPE);
    if (!job_state_is_final(t->state_before) &&
        (told || str_is(job->row.error_type, "LeaseExpired") ||
         str_is(job->row.error_type, "ServerRestart")))
        take_loss(m, t, told);
    if (t->state == JOB_RUNNING && t->attempt != job->row.attempt)
        t->running_since = m->sim->now;
    if (t->state == JOB_WAITING && t->state_before != JOB_WAITING)
        t->waiting_since = m->sim->now;
    t->attempt = job->row.attempt;
    if (t->state == JOB_RUNNING) {
        (void)snprintf(t->request, sizeof(t->request), "%.*s", STR_ARG(job->row.request_id));
        t->request_attempt = t->attempt;
    } else if (job->row.request_id.p != NULL) {
        sim_fail(m->sim, "%s: a request id without a lease", id_of(t));
    }
    check_row(m, t);
    t->changed = m->n_commits;
}

static void check_batches(struct model *m)
{
    for (struct batch *b = m->batches; b != NULL; b = b->next)
        if (b->commit == m->n_commits && b->begun != b->ended)
            sim_fail(m->sim, "batch %" PRIu64 " of %s is not whole", b->number, b->job);
}

/* One run of a thread is at work at a time, and a thread is busy while it has runs to do. */
static void check_threads(struct sim *s)
{
    const struct disk_threads *threads = disk_threads(s->disk);

    for (size_t i = 0; i < threads->n; i++) {
        const struct thread_row *row = &threads->rows[i];
        size_t open = 0, running = 0;

        for (struct disk_job *job = disk_jobs(s->disk); job != NULL; job = job->next) {
            enum job_state state;

            if (job->gone || job->row.thread != row->key ||
                !job_state_find(job->row.state, &state) || job_state_is_final(state))
                continue;
            open++;
            running += state == JOB_RUNNING;
        }
        if (running > 1)
            sim_fail(s, "%.*s: %zu of its runs are at work", STR_ARG(row->id), running);
        if (str_is(row->status, "busy") != (open > 0))
            sim_fail(s, "%.*s is %.*s with %zu runs", STR_ARG(row->id), STR_ARG(row->status),
                     open);
    }
}

void model_forget_numbers(struct sim *s)
{
    for (struct truth *t = s->model->truths; t != NULL; t = t->next)
        t->last_number = 0;
}

void model_committed(void *model, struct disk_job *dirty)
{
    struct model *m = model;
    struct json_reader reader;

    m->n_commits++;
    if (m->sim->p.n_gateways > 0 && !disk_holds(m->sim->disk, m->sim->server->store))
        sim_fail(m->sim, "gateway %u has written, and no longer owns the jobs",
                 m->sim->server->instance);
    m->sim->server->turn_committed |=
        disk_begins(m->sim->disk) == m->sim->server->turn_begins + 1;
    json_reader_init(&reader, SIZE_MAX / 64, 256);
    for (struct disk_job *job = dirty; job != NULL; job = job->next_dirty)
        take_job(m, job, &reader);
    json_reader_done(&reader);
    check_batches(m);
    check_threads(m->sim);
}

/* --- turns ---------------------------------------------------------------------- */

/* Jobs of a gateway's own processes are lost as soon as it is known to be gone, which takes a
 * few beats. */
static void check_gateway(struct sim *s, const struct truth *t, int64_t seen)
{
    enum { JOINING_MS = 2000 }; /* journal/gateways.c has the same */
    enum { KNOWN_MS = PEER_STALE_MS + JOINING_MS + 3000 };
    const struct gateway_life *life = life_of(s, t);
    const struct server *server = s->server;

    if (life == NULL || t->state != JOB_RUNNING)
        return;
    if (life->gone_since != 0 && life->last_gone > t->running_since + JOINING_MS &&
        life->last_gone < seen && life->last_gone > server->recovered_at &&
        life->last_gone > server->failed_at)
        sim_fail(s, "%s: its gateway is gone, which is known for %" PRId64 " ms", id_of(t),
                 s->now - life->last_gone);
    if (life->died > t->running_since && s->now - life->died > KNOWN_MS &&
        s->now - server->steady_since > KNOWN_MS && s->now - server->beat_at < 1500)
        sim_fail(s, "%s: its gateway is gone for %" PRId64 " ms", id_of(t),
                 s->now - life->died);
}

/* What is due must have happened: the journal looks every 250 ms, and has done so since
 * turns have worked. */
static void check_due(struct sim *s, const struct truth *t)
{
    const struct job_row *row = &t->job->row;
    const struct server *server = s->server;
    int64_t stored = sim_stored_now(s) - s->now; /* from our time to that of rows */
    int64_t seen = s->now - 250, seen_row = seen + stored;
    int64_t lease = row->lease_until - stored, cancel = row->cancel_requested - stored;

    if (server->good_since < 0 || seen < server->good_since)
        return;
    if (t->lease_attempt == t->attempt && lease < t->leased_until)
        lease = t->leased_until; /* granted, and not in its row yet */
    if (lease < server->heard_at + t->agent->lease_ms)
        lease = server->heard_at + t->agent->lease_ms;
    if (lease < server->late_at + t->agent->lease_ms)
        lease = server->late_at + t->agent->lease_ms;
    if (t->state == JOB_RUNNING && lease < seen)
        sim_fail(s, "%s: its lease has run out %" PRId64 " ms ago", id_of(t), s->now - lease);
    if (s->p.n_gateways > 0)
        check_gateway(s, t, seen);
    else if (t->state == JOB_RUNNING && t->running_since < server->recovered_at &&
             sim_is_dead(s, t->agent->name))
        sim_fail(s, "%s: its worker has died with the server", id_of(t));
    if (cancel < server->recovered_at)
        cancel = server->recovered_at;
    if (cancel < server->failed_at)
        cancel = server->failed_at;
    if (t->state == JOB_RUNNING && row->cancel_requested != 0 &&
        cancel + t->agent->cancel_grace_ms < seen)
        sim_fail(s, "%s: its cancel should have been forced %" PRId64 " ms ago", id_of(t),
                 s->now - cancel - t->agent->cancel_grace_ms);
    if (t->state == JOB_RUNNING && row->run_deadline != 0 && row->run_deadline < seen_row &&
        t->running_since < seen)
        sim_fail(s, "%s: past its run deadline", id_of(t));
    if (t->state == JOB_QUEUED && row->started == 0 && row->queue_deadline != 0 &&
        row->queue_deadline < seen_row && row->thread == 0)
        sim_fail(s, "%s: past its queue deadline", id_of(t));
    if (t->state == JOB_WAITING && t->waiting_since < seen && first_expiry(s, t) < seen_row)
        sim_fail(s, "%s: past its answer deadline", id_of(t));
    if (t->state != JOB_RUNNING && !truth_is_final(t) && row->cancel_requested != 0)
        sim_fail(s, "%s is %.*s although it was cancelled", id_of(t), STR_ARG(row->state));
}

/* No timer is further away than it is long, whatever the wall clock has done. */
static void check_far(struct sim *s, const struct truth *t)
{
    const struct job_row *row = &t->job->row;
    int64_t now = sim_stored_now(s) + 1000; /* smaller steps are not followed */

    if (row->lease_until > now + t->agent->lease_ms)
        sim_fail(s, "%s: its lease runs out in %" PRId64 " ms", id_of(t),
                 row->lease_until - now);
    if (row->run_deadline > now + row->run_seconds * 1000)
        sim_fail(s, "%s: its run deadline is in %" PRId64 " ms", id_of(t),
                 row->run_deadline - now);
    if (row->queue_deadline > now + t->agent->queue_ms)
        sim_fail(s, "%s: its queue deadline is in %" PRId64 " ms", id_of(t),
                 row->queue_deadline - now);
}

static void check_stats(struct sim *s)
{
    const struct journal_counts *counts = journal_counts(s->server->journal);
    size_t jobs = 0, queued = 0, running = 0, owned = 0;

    for (struct truth *t = s->model->truths; t != NULL; t = t->next) {
        if (t->gone != 0 || truth_is_final(t))
            continue;
        jobs++;
        queued += t->state == JOB_QUEUED;
        running += t->state == JOB_RUNNING;
        owned += t->state == JOB_RUNNING && str_is(t->job->row.owner, "small");
        check_due(s, t);
        check_far(s, t);
    }
    if (owned > MAX_RUNNING)
        sim_fail(s, "%zu jobs of an owner with a limit of %d are at work", owned, MAX_RUNNING);
    if (counter_get(&counts->jobs) != jobs || counter_get(&counts->queued) != queued ||
        counter_get(&counts->running) != running)
        sim_fail(s,
                 "the journal counts %" PRIu64 " jobs, %" PRIu64 " queued, %" PRIu64
                 " running; "
                 "there are %zu, %zu, %zu",
                 counter_get(&counts->jobs), counter_get(&counts->queued),
                 counter_get(&counts->running), jobs, queued, running);
    if (s->p.n_gateways > 0)
        return; /* it has made turns by itself, and leases of other gateways wait too */
    if (counter_get(&counts->failed_commits) != s->server->n_failed_turns)
        sim_fail(s, "the journal counts %" PRIu64 " failed turns, there were %" PRIu64,
                 counter_get(&counts->failed_commits), s->server->n_failed_turns);
    size_t leases = 0;
    for (const struct call *c = s->calls; c != NULL; c = c->next)
        leases += c->posted && !c->done && c->req.op == JOURNAL_LEASE;
    if (counter_get(&counts->waiting_leases) != leases)
        sim_fail(s, "the journal counts %" PRIu64 " leases that wait, there are %zu",
                 counter_get(&counts->waiting_leases), leases);
}

void model_check_turn(struct sim *s)
{
    if (!s->server->turn_committed && disk_faults(s->disk) == s->server->turn_faults)
        sim_fail(s, "a turn failed without a fault");
    /* A job that could not be read again is counted as it was, until it can. */
    if (disk_read_faults(s->disk) == s->server->turn_read_faults)
        check_stats(s);
}

/* --- folds ---------------------------------------------------------------------- */

static int on_record(void *arg, const struct record *rec)
{
    (void)rec;
    sim_fail(arg, "a fold that is rebuilt makes records");
}

static void check_fold(struct sim *s, struct truth *t)
{
    struct fold_options options = { .job = t->job->row.id,
                                    .agent = t->agent->settings,
                                    .attempt = 1,
                                    .emit = on_record,
                                    .arg = s };
    struct fold *fold;
    struct fold_end end;

    if (fold_new(&options, &fold) != 0)
        abort();
    for (size_t i = 0; i < t->n; i++)
        if (fold_replay(fold, t->recs[i]) != 0)
            sim_fail(s, "%s: the fold does not take record %zu", id_of(t), i + 1);
    if (fold_seq(fold) != t->n || fold_ended(fold) != t->ended)
        sim_fail(s, "%s: the fold is at %" PRIu64 " of %zu records", id_of(t), fold_seq(fold),
                 t->n);
    if (t->ended) {
        fold_end(fold, &end);
        if (!str_eq(end.error, t->job->row.error))
            sim_fail(s, "%s: its error is \"%.*s\" in the row, \"%.*s\" in the records",
                     id_of(t), STR_ARG(t->job->row.error), STR_ARG(end.error));
    }
    if (t->state == JOB_WAITING && fold_open_questions(fold) == 0)
        sim_fail(s, "%s waits for an answer to nothing", id_of(t));
    fold_free(fold);
}

void model_check_folds(struct sim *s)
{
    for (struct truth *t = s->model->truths; t != NULL; t = t->next)
        if (t->n > 0)
            check_fold(s, t);
}
