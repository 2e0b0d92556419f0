/* Jobs whose events arrive on a Redis channel.
 *
 *     first line: queued ─▶ running ──job.done, job.failed──▶ ended
 *                   ▲          │ graph.interrupt, or a question with no run open
 *                   └──────────▼ waiting ──a line──▶ it was answered elsewhere: resumes
 *
 * Messages on a channel have no attempt, so the channel itself counts as the only worker
 * (FED_ALONE); without messages its lease runs out like any other.  Or an executor holds the
 * lease and ends the job (FED_BESIDE): then lines are accepted while it holds the lease. */
#include "base/calendar.h"
#include "ingest/fold.h"
#include "journal/active_job.h"

static struct active_job *make(struct journal *j, struct journal_request *req)
{
    struct journal_request first = { .op = JOURNAL_SUBMIT, .mem = req->mem };

    first.submit.id = req->job;
    first.submit.agent = req->feed.agent;
    first.submit.input = STR("{}");
    journal_submit(j, &first);
    req->mem = first.mem;
    req->code = first.code;
    req->why = first.why;
    if (req->code != 0)
        return NULL;
    req->feed.made = true;
    return active_job_find(j, req->job);
}

static struct active_job *fed_job(struct journal *j, struct journal_request *req)
{
    struct active_job *job = journal_job_of(j, req);

    if (job == NULL && req->code == ERR_NOT_FOUND && !str_absent(req->feed.agent))
        job = make(j, req);
    if (job == NULL)
        return NULL;
    enum journal_fed fed = job->agent != NULL ? job->agent->fed : FED_NOT;
    if (fed == FED_NOT) {
        refuse(req, ERR_REFUSED, "jobs of the agent %.*s are not fed from a channel",
               STR_ARG(str_head(job->row.agent, 80)));
        return NULL;
    }
    if (fed == FED_BESIDE && job->state != JOB_RUNNING) {
        refuse(req, ERR_REFUSED, "nobody works on this job: it is %.*s",
               STR_ARG(job->row.state));
        return NULL;
    }
    if (job->state != JOB_RUNNING && !runs_may_begin(job)) {
        refuse(req, ERR_REFUSED, "it is not its turn yet");
        return NULL;
    }
    req->code = 0;
    return job;
}

/* Lines that can be fed to the fold at once: up to the end, a repeat, or a line after which the
 * job waits. */
struct group {
    struct str text;
    const struct journal_line *first, *last;
    int64_t producer_seq;
    size_t n;
};

static bool is_repeat(const struct journal_line *line, int64_t last)
{
    return line->producer_seq >= 0 && line->producer_seq <= last;
}

static struct group next_group(struct journal_request *req, size_t at, int64_t last)
{
    const struct journal_line *first = &req->feed.lines[at];
    struct group g = { .first = first, .last = first, .producer_seq = last };

    while (at + g.n < req->feed.n_lines && !is_repeat(&first[g.n], g.producer_seq)) {
        g.last = &first[g.n++];
        if (g.last->producer_seq >= 0 && g.producer_seq >= 0)
            req->feed.taken.missing += (uint64_t)(g.last->producer_seq - g.producer_seq - 1);
        if (g.last->producer_seq >= 0)
            g.producer_seq = g.last->producer_seq;
        if (g.last->asks)
            break;
    }
    g.text = str_make(first->text.p, (size_t)(g.last->text.p - first->text.p) + g.last->text.n);
    return g;
}

/* While the job waits, a further question or the end still belongs to the same attempt. */
static bool is_of_this_attempt(const struct active_job *job, const struct journal_line *line)
{
    return job->state == JOB_RUNNING ||
           (job->state == JOB_WAITING && (line->asks || line->ends));
}

static int be_at_work(struct active_job *job,
                      const struct journal_request *req,
                      const struct group *g)
{
    int err = 0;

    if (is_of_this_attempt(job, g->first))
        return 0;
    if (job->state == JOB_WAITING)
        err = questions_answered_elsewhere(job);
    if (err != 0 || job->state != JOB_QUEUED)
        return err;
    return journal_begin_attempt(job, req->feed.worker, req->caller.holder, STR_NONE);
}

static bool has_asked(struct active_job *job, const struct group *g)
{
    struct fold_stats stats;

    if (job->state != JOB_RUNNING || job->agent->fed != FED_ALONE ||
        fold_open_questions(job->fold) == 0)
        return false;
    fold_stats(job->fold, &stats);
    return g->last->asks || stats.open_runs == 0;
}

static int take_group(struct active_job *job,
                      struct journal_request *req,
                      const struct group *g)
{
    uint64_t before = job->row.seq, n = 0;
    int err = be_at_work(job, req, g);

    if (err == 0)
        err = journal_take_bytes(job, g->text, &n);
    if (err == 0)
        err = active_job_follow_fold(job);
    if (err != 0)
        return err;
    req->feed.taken.accepted += n;
    req->feed.taken.rejected += job->journal->bad_lines;
    if (job->journal->bad_lines > 0)
        req->why = job->journal->bad_why;
    if (g->producer_seq > job->row.producer_seq)
        active_job_took_batch(job, g->producer_seq, job->row.seq > before);
    return has_asked(job, g) ? journal_stop_at_question(job) : 0;
}

static void renew_all(struct journal *j)
{
    for (size_t i = 0; i < j->n_all; i++)
        if (j->all[i]->state == JOB_RUNNING && j->all[i]->agent != NULL &&
            j->all[i]->agent->fed == FED_ALONE && !j->all[i]->stale &&
            j->all[i]->row.set_aside == 0)
            journal_renew(j->all[i]);
}

bool journal_may_miss_messages(const struct active_job *job)
{
    enum journal_fed fed = job->agent != NULL ? job->agent->fed : FED_NOT;

    return (fed == FED_ALONE || (fed == FED_BESIDE && job->state == JOB_RUNNING)) &&
           !job->stale && job->row.set_aside == 0;
}

/* A job's messages are stored in their order: all that were published before the last change of
 * its row are stored. */
static int warn(struct active_job *job)
{
    struct journal *j = job->journal;
    struct buf text LOCAL_BUF(1024);
    struct fold *fold;

    if (active_job_fold(job, &fold) != 0)
        return 0; /* a damaged job must not keep the others from being warned */
    buf_lit(&text, "what was published on the job's channel from ");
    calendar_put(&text, job->row.updated);
    buf_lit(&text, " to ");
    calendar_put(&text, j->now);
    buf_lit(&text, " may be missing: another gateway has taken the job over");
    active_job_change(job);
    return text.error != 0 ? text.error : fold_warn(fold, buf_text(&text), j->now);
}

static int warn_all(struct journal *j)
{
    int err = 0;

    for (size_t i = 0; i < j->n_all && err == 0; i++)
        if (journal_may_miss_messages(j->all[i]))
            err = warn(j->all[i]);
    return err;
}

void journal_feed(struct journal *j, struct journal_request *req)
{
    int err = 0;

    req->feed.taken.accepted = req->feed.taken.rejected = req->feed.taken.repeated =
        req->feed.taken.missing = 0;
    req->feed.made = false;
    if (str_absent(req->job)) {
        renew_all(j);
        req->code = 0;
        err = req->feed.was_deaf ? warn_all(j) : 0;
        if (err != 0)
            journal_broke(j, req, err);
        return;
    }
    struct active_job *job = fed_job(j, req);
    if (job == NULL)
        return;
    if (job->state == JOB_RUNNING)
        journal_renew(job);
    for (size_t at = 0; err == 0 && at < req->feed.n_lines;) {
        bool same = is_of_this_attempt(job, &req->feed.lines[at]);
        struct group g = next_group(req, at, same ? job->row.producer_seq : -1);

        if (g.n == 0) {
            req->feed.taken.repeated++;
            at++;
            continue;
        }
        if (job_state_is_final(job->state)) {
            req->feed.taken.rejected += req->feed.n_lines - at; /* the job has ended */
            break;
        }
        err = take_group(job, req, &g);
        at += g.n;
    }
    if (err != 0)
        journal_broke(j, req, err);
    else if (job->state == JOB_RUNNING)
        journal_renew(job);
}
