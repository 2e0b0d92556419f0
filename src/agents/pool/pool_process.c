/* Handles all events of a process; its reports about a job go to the pool job.
 *
 * One timer fires at the next deadline: the pool process's own or a pool job's.  When a
 * deadline moves later (with each sign of life), the timer is not changed; when it fires too
 * early, it is set again.
 *
 * While more than 1 MiB of one job's lines wait for the journal, nothing is read from the
 * process.  Its other jobs wait too, and their leases do not run out meanwhile. */
#include "agents/pool/pool_process.h"

#include "agents/environment.h"
#include "agents/exec.h"
#include "agents/host.h"
#include "agents/pool/report.h"
#include "agents/process/resident.h"
#include "agents/process/verdict.h"
#include "jobs/process_token.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_LATE_MS = 250,
    PAUSE_BYTES = 1024 * 1024,
    RESUME_BYTES = PAUSE_BYTES / 2,
    MAX_VERDICT = 64 * 1024,
    MAX_SAID = 1024 * 1024 * 1024,
};

static const struct exec_pool *pool_of(const struct pool_process *m)
{
    return &m->opt.agent->pool;
}

static int64_t now(const struct pool_process *m)
{
    return (int64_t)uv_now(m->opt.host->loop);
}

/* --- log lines --------------------------------------------------------------- */

/* The job of the process if it has only one; else absent: a line of stderr may be about any. */
static struct str only_job(const struct pool_process *m)
{
    struct str job = STR_NONE;

    for (const struct pool_job *s = m->jobs; s != NULL && m->n_jobs == 1; s = s->next)
        if (s->state != POOL_JOB_LEFT)
            job = s->session.job;
    return job;
}

static void remark(const struct pool_process *m, const char *what, const char *why)
{
    char line[400];

    (void)snprintf(line, sizeof(line), "spoolwire: process %ld: %s: %s", (long)m->child.pid,
                   what, why); /* cutting is fine */
    host_log(m->opt.host, only_job(m), m->opt.agent->name, str_of(line));
}

/* Reports a malformed line.  Only the 1st, 2nd, 4th, 8th, … is logged: a process may repeat it
 * for ever. */
static void refuse(struct pool_process *m, const char *why)
{
    char what[64];

    m->n_bad++;
    if ((m->n_bad & (m->n_bad - 1)) != 0)
        return;
    (void)snprintf(what, sizeof(what), "a line of stdout was refused (%llu so far)",
                   (unsigned long long)m->n_bad); /* fits */
    remark(m, what, why);
}

/* --- time -------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

static void set_alarm(struct pool_process *m, int64_t at)
{
    int64_t left = at - now(m);

    if (at >= m->alarm)
        return;
    m->alarm = at;
    /* Never 0: the loop must poll the pipes in between. */
    (void)uv_timer_start(&m->timer, on_timer, left > 0 ? (uint64_t)left : 1, 0); /* open */
}

static void set_deadline(struct pool_process *m, int64_t ms)
{
    m->deadline = now(m) + ms;
    set_alarm(m, m->deadline);
}

/* --- states ------------------------------------------------------------------ */

#define TO(state) (1u << (state))

static void move(struct pool_process *m, enum pool_process_state to)
{
    static const unsigned moves[POOL_PROCESS_STATE_MAX] = {
        [POOL_PROCESS_STARTING] =
            TO(POOL_PROCESS_READY) | TO(POOL_PROCESS_LEAVING) | TO(POOL_PROCESS_GONE),
        [POOL_PROCESS_READY] =
            TO(POOL_PROCESS_RETIRING) | TO(POOL_PROCESS_LEAVING) | TO(POOL_PROCESS_GONE),
        [POOL_PROCESS_RETIRING] = TO(POOL_PROCESS_LEAVING) | TO(POOL_PROCESS_GONE),
        [POOL_PROCESS_LEAVING] = TO(POOL_PROCESS_GONE),
    };

    assert((moves[m->state] & TO(to)) != 0);
    m->state = to;
    m->deadline = INT64_MAX;
}

/* It has no jobs: closes its stdin, which should end it. */
static void part(struct pool_process *m)
{
    move(m, POOL_PROCESS_LEAVING);
    child_end_input(&m->child);
    set_deadline(m, m->child.grace_ms);
}

/* It gets no more jobs, and ends after its last one. */
static void retire(struct pool_process *m)
{
    if (m->state == POOL_PROCESS_READY)
        move(m, POOL_PROCESS_RETIRING);
    if (m->state == POOL_PROCESS_RETIRING && m->n_jobs == 0)
        part(m);
}

void pool_process_outdate(struct pool_process *m)
{
    m->is_outdated = true;
    retire(m);
}

void pool_process_drain(struct pool_process *m)
{
    if (m->state == POOL_PROCESS_GONE)
        return;
    m->requeues = true;
    if (m->state != POOL_PROCESS_LEAVING)
        move(m, POOL_PROCESS_LEAVING);
    child_stop(&m->child);
}

void pool_process_stop(struct pool_process *m)
{
    if (m->state != POOL_PROCESS_GONE) {
        m->requeues = true;
        if (m->state != POOL_PROCESS_LEAVING)
            move(m, POOL_PROCESS_LEAVING);
        child_abandon(&m->child);
    }
    for (struct pool_job *s = m->jobs; s != NULL; s = s->next)
        lease_session_hurry(&s->session);
}

/* It broke the protocol: kill it; its jobs are lost. */
static void kill_for(struct pool_process *m, const char *fault)
{
    if (m->fault != NULL)
        return;
    m->fault = fault;
    remark(m, "killed", fault);
    child_resume(&m->child); /* so that the end of its output is seen */
    child_kill(&m->child);
}

/* The process did not stop a job.  Its other jobs get some time to finish. */
static void distrust(struct pool_process *m, struct pool_job *s)
{
    const struct last_report back = { .op = JOURNAL_RETURN };

    lease_session_remark(&s->session, "the process did not stop it",
                         "it gets no more jobs, and ends when the others do");
    retire(m); /* first: so that it does not get another job */
    pool_job_desert(s, &back);
    if (m->state == POOL_PROCESS_RETIRING && m->deadline == INT64_MAX)
        set_deadline(m, pool_of(m)->drain_ms);
}

static void look_at_deadline(struct pool_process *m)
{
    if (now(m) < m->deadline)
        return;
    m->deadline = INT64_MAX;
    if (m->state == POOL_PROCESS_STARTING)
        kill_for(m, "it did not say {\"ready\":true} in time");
    else if (m->state == POOL_PROCESS_LEAVING)
        child_stop(&m->child);
    else
        pool_process_drain(m);
}

static void look_at_jobs(struct pool_process *m, bool overslept)
{
    for (struct pool_job *s = m->jobs; s != NULL; s = s->next) { /* no pool job is freed inside
                                                                    of this loop */
        pool_job_look(s, !m->child.is_paused && !overslept);
        if (pool_job_is_stuck(s))
            distrust(m, s);
    }
}

static void fail_to_start(struct pool_process *m);

static void on_timer(uv_timer_t *timer)
{
    struct pool_process *m = timer->data;

    bool overslept = now(m) - m->alarm > MAX_LATE_MS; /* our loop, or the whole machine, was
                                                         suspended or overloaded */

    m->alarm = INT64_MAX;
    if (m->start_error != 0) {
        fail_to_start(m);
        return;
    }
    look_at_jobs(m, overslept);
    look_at_deadline(m);
    if (m->deadline < INT64_MAX)
        set_alarm(m, m->deadline);
    for (const struct pool_job *s = m->jobs; s != NULL; s = s->next)
        if (pool_job_next(s) < INT64_MAX)
            set_alarm(m, pool_job_next(s));
}

/* --- the end ----------------------------------------------------------------- */

static void free_when_closed(struct pool_process *m)
{
    if (m->n_open > 0 || m->jobs != NULL)
        return;
    m->opt.events->closed(m);
    lines_done(&m->lines);
    tail_done(&m->tail);
    free(m);
}

static void on_child_closed(struct child *c)
{
    struct pool_process *m = c->owner;

    m->n_open--;
    free_when_closed(m);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct pool_process *m = handle->data;

    m->n_open--;
    free_when_closed(m);
}

static void close_handles(struct pool_process *m)
{
    uv_close((uv_handle_t *)&m->timer, on_timer_closed);
    child_close(&m->child);
}

static void fail_to_start(struct pool_process *m)
{
    const struct exec_agent *a = m->opt.agent;
    char why[400];

    (void)snprintf(why, sizeof(why), "cannot start %.150s%s%.150s: %s", a->argv[0],
                   a->cwd != NULL ? " in " : "", a->cwd != NULL ? a->cwd : "",
                   uv_strerror(m->start_error)); /* cutting is fine */
    m->opt.events->over(m, str_of(why));
    close_handles(m);
}

/* Ends its jobs after the process has ended. */
static void desert_all(struct pool_process *m,
                       struct str why,
                       struct str type,
                       struct str details)
{
    struct last_report word = { .op = m->requeues ? JOURNAL_RETURN : JOURNAL_LOSE,
                                .error = why,
                                .error_type = type,
                                .details = details,
                                .phase = STR("worker") };

    for (struct pool_job *s = m->jobs; s != NULL; s = s->next)
        if (s->state != POOL_JOB_LEFT)
            pool_job_desert(s, &word);
}

static void on_over(struct child *c)
{
    struct pool_process *m = c->owner;
    bool is_wanted = m->state == POOL_PROCESS_LEAVING;
    struct str type = STR("ProcessFault");
    struct buf why LOCAL_BUF(MAX_VERDICT);
    struct buf details LOCAL_BUF(MAX_VERDICT);
    bool is_raised;

    tail_end(&m->tail);
    if (c->signal == 0 && m->fault == NULL)
        lines_end(&m->lines); /* half a line of a killed process is dropped */
    buf_lit(&why, "its process ended: ");
    if (m->fault != NULL)
        buf_str(&why, str_of(m->fault));
    else if (c->trouble != 0)
        buf_str(&why, str_of(uv_strerror(c->trouble)));
    else
        type = verdict_put(&why, c->status, c->signal, &m->tail, &is_raised);
    if (m->fault == NULL && c->trouble == 0)
        verdict_put_details(&details, c->status, c->signal, &m->tail);
    move(m, POOL_PROCESS_GONE);
    m->opt.events->over(m, is_wanted ? STR_NONE : buf_text(&why)); /* first: its jobs must not
                                                                      return here */
    desert_all(m, buf_text(&why), type, details.n > 0 ? buf_text(&details) : STR_NONE);
    close_handles(m);
}

/* --- jobs -------------------------------------------------------------------- */

static bool is_worn(const struct pool_process *m)
{
    const struct exec_pool *p = pool_of(m);

    return m->state == POOL_PROCESS_READY &&
           ((p->recycle_jobs > 0 && m->n_taken >= p->recycle_jobs) ||
            (p->recycle_bytes > 0 && resident_bytes(m->child.pid) >= p->recycle_bytes));
}

static void on_told(struct pool_job *s)
{
    set_alarm(s->owner, pool_job_next(s));
}

static void on_left(struct pool_job *s, bool finished)
{
    struct pool_process *m = s->owner;

    m->n_jobs--;
    if (finished)
        m->opt.events->worked(m);
    if (m->state == POOL_PROCESS_RETIRING || is_worn(m))
        retire(m);
    m->opt.events->changed(m);
}

static void on_stored(struct pool_job *s)
{
    struct pool_process *m = s->owner;

    for (const struct pool_job *t = m->jobs; t != NULL; t = t->next)
        if (lease_session_waiting(&t->session) > RESUME_BYTES)
            return;
    child_resume(&m->child);
}

static void on_closed(struct pool_job *s)
{
    struct pool_process *m = s->owner;
    struct pool_job **at = &m->jobs;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    m->opt.events->changed(m);
    free_when_closed(m);
}

static const struct pool_job_events pool_job_events = { .told = on_told,
                                                        .left = on_left,
                                                        .stored = on_stored,
                                                        .closed = on_closed };

size_t pool_process_places(const struct pool_process *m)
{
    size_t all = pool_of(m)->concurrency > 0 ? pool_of(m)->concurrency : 1;

    return m->state == POOL_PROCESS_READY && m->fault == NULL && m->n_jobs < all
               ? all - m->n_jobs
               : 0;
}

int64_t pool_process_age(const struct pool_process *m)
{
    return now(m) - m->started;
}

int pool_process_take(struct pool_process *m, const struct journal_request *lease)
{
    struct pool_job *s;
    int err = pool_job_new(m->opt.host, m->opt.agent->name, &m->child, m->child.grace_ms, lease,
                           &pool_job_events, m, &s);

    if (err != 0)
        return err;
    s->next = m->jobs;
    m->jobs = s;
    if (s->state == POOL_JOB_LEFT)
        return 0;
    m->n_jobs++;
    m->n_taken++;
    set_alarm(m, pool_job_next(s));
    if (is_worn(m))
        retire(m);
    return 0;
}

struct pool_job *pool_process_find(struct pool_process *m, struct str job, int64_t attempt)
{
    for (struct pool_job *s = m->jobs; s != NULL; s = s->next)
        if (s->state != POOL_JOB_LEFT && s->session.attempt == attempt &&
            str_eq(s->session.job, job))
            return s;
    return NULL;
}

/* --- reports of the process -------------------------------------------------- */

static void become_ready(struct pool_process *m, const struct report *report)
{
    if (m->state != POOL_PROCESS_STARTING)
        return;
    m->takes_calls = report->takes_calls;
    move(m, POOL_PROCESS_READY);
    if (m->is_outdated)
        retire(m);
    m->opt.events->changed(m);
}

static void hear(struct pool_process *m, const struct report *report)
{
    struct pool_job *s = pool_process_find(m, report->job, report->attempt);
    char why[200];

    if (s == NULL) {
        (void)snprintf(why, sizeof(why), "it does not have the job %.*s (attempt %lld)",
                       STR_ARG(str_head(report->job, 100)), (long long)report->attempt);
        refuse(m, why);
        return;
    }
    pool_job_hear(s, report);
    if (lease_session_waiting(&s->session) > PAUSE_BYTES && m->fault == NULL)
        child_pause(&m->child);
}

static void on_line(void *arg, struct str line)
{
    struct pool_process *m = arg;
    struct report report;
    struct error err = { 0 };

    if (m->fault != NULL || line.n == 0)
        return;
    int code = report_read(m->opt.host->reader, line, &report, &err);
    if (code != 0)
        refuse(m, err.code != 0 ? err.text : error_name(code));
    else if (report.kind == REPORT_READY)
        become_ready(m, &report);
    else if (report.kind == REPORT_CALL && m->opt.events->answered(m, &report))
        return;
    else if (report.kind == REPORT_CALL)
        refuse(m, "it was not asked this call, or has answered it");
    else
        hear(m, &report);
}

static void on_output(struct child *c, struct str bytes, bool more)
{
    struct pool_process *m = c->owner;
    int err = m->fault == NULL ? lines_put(&m->lines, bytes) : 0;

    if (err == ERR_TOO_LARGE)
        kill_for(m, "a line of more than 16 MiB");
    else if (err != 0)
        kill_for(m, "out of memory for its output");
    for (struct pool_job *s = m->jobs; s != NULL; s = s->next) /* as above */
        if (!more || lease_session_waiting(&s->session) >= OUTBOX_BATCH)
            lease_session_go_on(&s->session);
}

static void on_errors(struct child *c, struct str bytes)
{
    struct pool_process *m = c->owner;

    tail_put(&m->tail, bytes);
}

/* The job that a line of stderr is about: the only job, or the one that the line names. */
static void on_error_line(void *arg, struct str line)
{
    struct pool_process *m = arg;
    struct str job = only_job(m);

    if (m->n_jobs > 1) {
        struct str named = report_job(m->opt.host->reader, line);

        for (const struct pool_job *s = m->jobs; s != NULL && named.p != NULL; s = s->next)
            if (s->state != POOL_JOB_LEFT && str_eq(s->session.job, named))
                job = s->session.job;
    }
    host_log(m->opt.host, job, m->opt.agent->name, line);
}

static const struct child_events child_events = { .output = on_output,
                                                  .errors = on_errors,
                                                  .over = on_over,
                                                  .closed = on_child_closed };

/* --- the start --------------------------------------------------------------- */

static int start(struct pool_process *m)
{
    const struct exec_agent *a = m->opt.agent;
    struct buf token LOCAL_BUF(MAX_SAID);

    process_token_put(&token, m->opt.host->process_key, 0, a->name);
    struct child_spec spec = { .argv = a->argv,
                               .env = environment_for_pool(m->opt.env, a->name,
                                                           pool_of(m)->concurrency,
                                                           buf_text(&token)),
                               .cwd = a->cwd,
                               .keeps_input = true,
                               .grace_ms = exec_grace_ms(a),
                               .max_bytes = a->max_rss,
                               .max_cpu_seconds = a->max_cpu_seconds };
    struct buf nothing;

    buf_init(&nothing, MAX_SAID);
    int err = spec.env == NULL ? UV_ENOMEM : child_start(&m->child, &spec, &nothing);
    free(spec.env);
    return err;
}

int pool_process_new(const struct pool_process_options *options, struct pool_process **ret)
{
    struct pool_process *m = calloc(1, sizeof(*m));
    const struct host *host = options->host;

    if (m == NULL)
        return ERR_NOMEM;
    m->opt = *options;
    m->alarm = INT64_MAX;
    m->started = now(m);
    lines_init(&m->lines, OUTBOX_MAX_LINE, on_line, m);
    tail_init(&m->tail, on_error_line, m);
    child_init(&m->child, host->loop, host->scratch, &child_events, m);
    (void)uv_timer_init(host->loop, &m->timer); /* cannot fail */
    m->timer.data = m;
    m->n_open = 2;
    m->start_error = start(m);
    if (m->start_error != 0)
        move(m, POOL_PROCESS_GONE);
    set_deadline(m, m->start_error != 0 ? 0 : pool_of(m)->start_ms);
    *ret = m;
    return 0;
}
