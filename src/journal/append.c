/* Requests of a worker about its job: events, the end.
 *
 * All of them are fenced: a caller that does not hold the lease is refused.  A repeated batch
 * is acknowledged again, but stored only once. */
#include "ingest/fold.h"
#include "ingest/intake.h"
#include "journal/crash.h"
#include "journal/active_job.h"

static void on_bad_line(void *arg, uint64_t line, const struct error *why)
{
    struct journal *j = arg;

    if (j->bad_lines++ == 0) {
        j->bad_line = line;
        j->bad_why = *why;
    }
}

int journal_take_bytes(struct active_job *job, struct str bytes, uint64_t *ret_events)
{
    struct journal *j = job->journal;
    struct intake_options options = {
        .max_line = j->opt.max_line, .max_depth = j->opt.max_depth, .bad = on_bad_line, .arg = j
    };
    struct intake_stats before = { 0 }, after;
    struct fold *fold;
    int err = active_job_fold(job, &fold);

    if (err == 0 && j->intake == NULL)
        err = intake_new(&options, &j->intake);
    if (err != 0)
        return err;
    intake_stats(j->intake, &before);
    intake_begin(j->intake, fold);
    j->bad_lines = 0;
    j->bad_question.code = 0;
    crash_if_told(bytes);
    err = intake_feed(j->intake, bytes, j->now);
    if (err == 0)
        err = intake_end(j->intake, j->now);
    intake_stats(j->intake, &after);
    *ret_events = after.events - before.events;
    return err;
}

void journal_append(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;

    journal_renew(job);
    journal_answer_lease(job, req);
    if (req->append.producer_seq >= 0 && req->append.producer_seq <= job->row.producer_seq) {
        j->tally.repeated++;
        req->append.taken.repeated = 1;
        return; /* a repeat: acknowledged, but not stored again */
    }
    if (req->append.producer_seq > job->row.producer_seq + 1) {
        refuse(req, ERR_BUSY, "batch %lld has not arrived yet",
               (long long)job->row.producer_seq + 1);
        return;
    }
    uint64_t before = job->row.seq;
    int err = journal_take_bytes(job, req->append.bytes, &req->append.taken.accepted);
    if (err == 0)
        err = active_job_follow_fold(job);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    if (req->append.producer_seq >= 0)
        active_job_took_batch(job, req->append.producer_seq, job->row.seq > before);
    req->append.taken.rejected = j->bad_lines;
    if (j->bad_lines > 0)
        (void)error_set(&req->why, 0, "line %llu: %s", (unsigned long long)j->bad_line,
                        j->bad_why.text);
}

/* The job waits for an answer, or for the end of a pause. */
int journal_wait_for_answer(struct active_job *job, bool interrupted)
{
    struct fold *fold;
    int err = active_job_fold(job, &fold);

    if (err == 0 && interrupted && job->row.pause_requested != 0)
        err = fold_pause(fold, job->journal->now); /* the worker was asked to pause */
    if (err == 0)
        err = fold_end_of_stream(fold, job->journal->now);
    if (err == 0 && fold_ended(fold))
        return active_job_follow_fold(job); /* no question is open: the job has ended */
    if (err == 0)
        err = active_job_move(job, JOB_WAITING);
    return err == 0 ? questions_go_on(job) : err; /* it may be answered already */
}

/* A run of a thread does not wait: it ends, its thread keeps the question, and the next run
 * brings the answer. */
static int end_at_question(struct active_job *job)
{
    struct job_ending ending = { .end = JOB_END_SUCCEEDED, .outcome = STR("interrupted") };
    struct fold *fold;

    active_job_change(job); /* before the first change, so that a failed turn reloads the job */
    int err = active_job_set_text(&job->row.outcome, ending.outcome);
    if (err == 0)
        err = active_job_fold(job, &fold);
    if (err == 0 && fold_open_questions(fold) > 0)
        err = fold_end_of_stream(fold, job->journal->now); /* open runs end as interrupted */
    return err == 0 ? active_job_end(job, &ending) : err;
}

int journal_stop_at_question(struct active_job *job)
{
    return job->thread != NULL ? end_at_question(job) : journal_wait_for_answer(job, false);
}

/* Ends the job as the worker reports it; its output is already checked to be JSON within the
 * limits. */
static int end_as_told(struct active_job *job, const struct journal_request *req)
{
    struct job_ending ending = { .end = req->finish.end,
                                 .error = req->finish.error,
                                 .error_type = req->finish.error_type,
                                 .details = req->finish.details,
                                 .phase = req->finish.phase };
    struct journal *j = job->journal;
    struct json json;
    int err = req->finish.output.p != NULL
                  ? json_read(&j->reader, req->finish.output, &json, &j->failure)
                  : 0;

    if (err == 0 && req->finish.output.p != NULL)
        ending.output = json.root;
    return err == 0 ? active_job_end(job, &ending) : err;
}

void journal_finish(struct active_job *job, struct journal_request *req)
{
    struct journal *j = job->journal;
    struct fold *fold;
    int err;

    err = active_job_fold(job, &fold);
    bool asks = err == 0 && fold_open_questions(fold) > 0;
    if (err == 0 && job->row.cancel_requested != 0)
        err = active_job_finish(job, JOB_END_CANCELLED, STR("cancelled by user"), STR_NONE);
    else if (err == 0 && job->thread != NULL &&
             (req->finish.interrupted || (asks && req->finish.end != JOB_END_FAILED)))
        err = end_at_question(job);
    else if (err == 0 && (req->finish.interrupted || req->finish.end_of_stream ||
                          (asks && req->finish.end == JOB_END_SUCCEEDED)))
        err = journal_wait_for_answer(job, req->finish.interrupted);
    else if (err == 0)
        err = end_as_told(job, req);
    if (err != 0) {
        journal_broke(j, req, err);
        return;
    }
    req->code = 0;
    journal_answer_row(j, req, &job->row);
}
