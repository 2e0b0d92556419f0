/* Exec agents with real processes and a fake journal: a thread that answers as the test wants,
 * and records the requests.
 *
 * Every test ends with a look at what is left: no child process, no open descriptor. */
#define _GNU_SOURCE /* environ, setenv */
#include "agents/exec.h"

#include "base/buf.h"
#include "journal/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>
#include <cmocka.h>

enum { MAX_JOBS = 64, PATIENCE_S = 60, GRACE_MS = 300 };

/* --- the played journal ------------------------------------------------------ */

enum state { NONE, QUEUED, RUNNING, FINISHED, RETURNED };

struct job {
    char id[16];
    struct str agent;
    struct str input;
    enum state state;
    int64_t attempt;
    bool cancel; /* requested: the next answers say so */
    int fenced;  /* the code that appends and heartbeats get, or 0 */
    struct buf bytes;
    struct buf last; /* the last batch that was answered ERR_BUSY */
    int64_t seq;     /* of the last batch that was stored */
    unsigned n_appends, n_beats;
    size_t largest; /* batch */
    enum job_end end;
    bool end_of_stream;
    char error[8192], error_type[32], details[8192];
};

struct journal {
    pthread_mutex_t lock;
    pthread_cond_t news; /* for the thread and for the test */
    pthread_t thread;
    struct journal_request *first, **last;
    struct journal_request *held; /* appends that wait for the test */
    struct job jobs[MAX_JOBS];
    size_t n_jobs;
    bool stopping;
    /* What the test wants: */
    unsigned busy_leases, busy_appends, busy_finishes, busy_returns;
    bool hold_appends, hold_leases, closed_at_finish;
    /* What it learns: */
    unsigned running, most_running, n_lost;
    unsigned n_finish_tries, n_wrong; /* what no exec manager may do */
    struct buf log;
};

static void put(struct journal *j, struct journal_request *req)
{
    (void)pthread_mutex_lock(&j->lock);
    j->n_wrong += req->next != NULL; /* one at a time */
    req->code = 0;
    *j->last = req;
    j->last = &req->next;
    (void)pthread_cond_broadcast(&j->news);
    (void)pthread_mutex_unlock(&j->lock);
}

void journal_post(struct journal *j, struct journal_request *req)
{
    loop_call_start(&req->loop_call);
    put(j, req);
}

static struct job *find(struct journal *j, struct str id)
{
    for (size_t i = 0; i < j->n_jobs; i++)
        if (str_eq(str_of(j->jobs[i].id), id))
            return &j->jobs[i];
    return NULL;
}

static int busy(struct journal_request *req, unsigned *n)
{
    if (*n == 0)
        return 0;
    --*n;
    return error_set(&req->why, ERR_BUSY, "disk full");
}

static int play_lease(struct journal *j, struct journal_request *req)
{
    if (busy(req, &j->busy_leases) != 0)
        return ERR_BUSY;
    for (size_t i = 0; i < j->n_jobs; i++) {
        struct job *job = &j->jobs[i];

        if (job->state != QUEUED || !str_eq(job->agent, req->work.agents[0]))
            continue;
        job->state = RUNNING;
        job->attempt++;
        job->seq = -1;
        j->running++;
        j->most_running = j->running > j->most_running ? j->running : j->most_running;
        req->row = arena_alloc(&req->mem, sizeof(*req->row));
        assert_non_null(req->row);
        *req->row = (struct job_row){ .key = (int64_t)i + 1, .attempt = job->attempt };
        assert_true(arena_copy(&req->mem, str_of(job->id), &req->row->id));
        assert_true(arena_copy(&req->mem, job->input, &req->row->input));
        req->lease_ms = 60000;
        req->cancel = job->cancel;
        return 0;
    }
    return ERR_NOT_FOUND;
}

static int play_append(struct journal *j, struct job *job, struct journal_request *req)
{
    job->n_appends++;
    j->n_wrong +=
        !str_ends(req->append.bytes, STR("\n")) || req->append.producer_seq != job->seq + 1;
    if (job->last.n > 0)
        j->n_wrong += !str_eq(buf_text(&job->last), req->append.bytes);
    buf_clear(&job->last);
    if (busy(req, &j->busy_appends) != 0) {
        buf_str(&job->last, req->append.bytes);
        return ERR_BUSY;
    }
    if (job->fenced != 0)
        return error_set(&req->why, job->fenced, "not yours");
    job->seq = req->append.producer_seq;
    buf_str(&job->bytes, req->append.bytes);
    job->largest = req->append.bytes.n > job->largest ? req->append.bytes.n : job->largest;
    req->cancel = job->cancel;
    return 0;
}

static int play_heartbeat(struct job *job, struct journal_request *req)
{
    job->n_beats++;
    req->cancel = job->cancel;
    return job->fenced != 0 ? error_set(&req->why, job->fenced, "not yours") : 0;
}

static void copy(char *to, size_t size, struct str text)
{
    (void)snprintf(to, size, "%.*s", STR_ARG(text));
}

static int play_loss(struct journal *j, struct job *job, struct journal_request *req)
{
    if (busy(req, &j->busy_finishes) != 0)
        return ERR_BUSY;
    copy(job->error, sizeof(job->error), req->finish.error);
    copy(job->error_type, sizeof(job->error_type), req->finish.error_type);
    copy(job->details, sizeof(job->details), req->finish.details);
    job->state = QUEUED;
    j->running--;
    j->n_lost++;
    return 0;
}

static int play_count(struct journal *j, struct journal_request *req)
{
    for (size_t i = 0; i < j->n_jobs; i++)
        req->count.n_waiting +=
            j->jobs[i].state == QUEUED && str_eq(j->jobs[i].agent, req->count.agents[0]);
    return 0;
}

static int play_end(struct journal *j, struct job *job, struct journal_request *req)
{
    bool back = req->op == JOURNAL_RETURN;

    j->n_finish_tries++;
    if (busy(req, back ? &j->busy_returns : &j->busy_finishes) != 0)
        return ERR_BUSY;
    j->n_wrong += job->fenced != 0;
    job->state = back ? RETURNED : FINISHED;
    if (!back) {
        job->end = req->finish.end;
        job->end_of_stream = req->finish.end_of_stream;
        copy(job->error, sizeof(job->error), req->finish.error);
        copy(job->error_type, sizeof(job->error_type), req->finish.error_type);
        copy(job->details, sizeof(job->details), req->finish.details);
    }
    j->running--;
    return j->closed_at_finish ? ERR_CLOSED : 0;
}

/* Under lock; false: to be answered later. */
static bool play(struct journal *j, struct journal_request *req)
{
    struct job *job = find(j, req->job);

    if (req->op == JOURNAL_LEASE) {
        req->code = play_lease(j, req);
        return !(j->hold_leases && req->code == 0);
    }
    if (req->op == JOURNAL_COUNT) {
        req->code = play_count(j, req);
        return true;
    }
    if (job == NULL || job->state != RUNNING || job->attempt != req->lease.attempt)
        j->n_wrong++;
    else if (req->op == JOURNAL_APPEND && j->hold_appends)
        return false;
    else if (req->op == JOURNAL_APPEND)
        req->code = play_append(j, job, req);
    else if (req->op == JOURNAL_HEARTBEAT)
        req->code = play_heartbeat(job, req);
    else if (req->op == JOURNAL_LOSE)
        req->code = play_loss(j, job, req);
    else
        req->code = play_end(j, job, req);
    return true;
}

static void *play_all(void *arg)
{
    struct journal *j = arg;

    (void)pthread_mutex_lock(&j->lock);
    while (!j->stopping) {
        struct journal_request *req = j->first;

        if (req == NULL) {
            (void)pthread_cond_wait(&j->news, &j->lock);
            continue;
        }
        j->first = req->next;
        req->next = NULL;
        if (j->first == NULL)
            j->last = &j->first;
        if (!play(j, req)) {
            req->next = j->held;
            j->held = req;
            req = NULL;
        }
        (void)pthread_cond_broadcast(&j->news);
        (void)pthread_mutex_unlock(&j->lock);
        if (req != NULL)
            loop_call_answer(&req->loop_call);
        (void)pthread_mutex_lock(&j->lock);
    }
    (void)pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* --- the scene --------------------------------------------------------------- */

#define LEASE_KEY "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

struct scene {
    struct journal journal;
    struct exec_agent agents[2];
    char *argv[2][4];
    struct exec *exec;
    int64_t heartbeat_ms;
    uint64_t poll_ms;
    size_t n_fds;
};

static size_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

static void on_log(void *arg, struct str job, struct str agent, struct str line)
{
    struct journal *j = arg;

    (void)job;
    (void)agent;
    (void)pthread_mutex_lock(&j->lock);
    buf_str(&j->log, line);
    buf_char(&j->log, '\n');
    (void)pthread_cond_broadcast(&j->news);
    (void)pthread_mutex_unlock(&j->lock);
}

static int setup(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));
    struct journal *j = &s->journal;

    s->n_fds = count_fds();
    (void)pthread_mutex_init(&j->lock, NULL);
    (void)pthread_cond_init(&j->news, NULL);
    j->last = &j->first;
    buf_init(&j->log, 1 << 20);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        buf_init(&j->jobs[i].bytes, 1 << 28);
        buf_init(&j->jobs[i].last, 1 << 28);
    }
    *state = s;
    return pthread_create(&j->thread, NULL, play_all, j);
}

static void release(struct scene *s)
{
    struct journal *j = &s->journal;

    (void)pthread_mutex_lock(&j->lock);
    j->hold_appends = j->hold_leases = false;
    struct journal_request *req = j->held;
    j->held = NULL;
    (void)pthread_mutex_unlock(&j->lock);
    while (req != NULL) {
        struct journal_request *next = req->next;

        req->next = NULL;
        if (req->op == JOURNAL_APPEND)
            put(j, req); /* to be played now */
        else
            loop_call_answer(&req->loop_call);
        req = next;
    }
}

static int teardown(void **state)
{
    struct scene *s = *state;
    struct journal *j = &s->journal;

    release(s); /* what a failed test has left */
    exec_free(s->exec);
    (void)pthread_mutex_lock(&j->lock);
    j->stopping = true;
    (void)pthread_cond_broadcast(&j->news);
    (void)pthread_mutex_unlock(&j->lock);
    (void)pthread_join(j->thread, NULL);
    assert_int_equal(j->n_wrong, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, not even a zombie */
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_fds(), s->n_fds);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        buf_done(&j->jobs[i].bytes);
        buf_done(&j->jobs[i].last);
    }
    buf_done(&j->log);
    (void)pthread_cond_destroy(&j->news);
    (void)pthread_mutex_destroy(&j->lock);
    free(s);
    return 0;
}

/* An agent that is a shell script. */
static struct exec_agent *agent(struct scene *s, size_t i, const char *script)
{
    s->argv[i][0] = (char *)(uintptr_t) "sh";
    s->argv[i][1] = (char *)(uintptr_t) "-c";
    s->argv[i][2] = (char *)(uintptr_t)script;
    s->agents[i] = (struct exec_agent){ .name = i == 0 ? STR("alpha") : STR("beta"),
                                        .argv = s->argv[i],
                                        .grace_ms = GRACE_MS };
    return &s->agents[i];
}

static void start(struct scene *s)
{
    struct exec_options options = { .agents = s->agents,
                                    .n = s->agents[1].argv != NULL ? 2 : 1,
                                    .journal = &s->journal,
                                    .lease_key = (const unsigned char *)LEASE_KEY,
                                    .process_key = (const unsigned char *)LEASE_KEY,
                                    .log = on_log,
                                    .arg = &s->journal,
                                    .heartbeat_ms = s->heartbeat_ms,
                                    .poll_ms = s->poll_ms };

    assert_int_equal(exec_new(&options, &s->exec, NULL), 0);
    assert_int_equal(exec_start(s->exec, NULL, NULL), 0);
}

static struct job *submit(struct scene *s, struct str agent_name, const char *input)
{
    struct journal *j = &s->journal;

    (void)pthread_mutex_lock(&j->lock);
    struct job *job = &j->jobs[j->n_jobs];
    (void)snprintf(job->id, sizeof(job->id), "job-%zu", ++j->n_jobs);
    job->agent = agent_name;
    job->input = str_of(input);
    job->state = QUEUED;
    (void)pthread_mutex_unlock(&j->lock);
    if (s->exec != NULL)
        exec_queued(s->exec, agent_name);
    return job;
}

static struct job *start_one(struct scene *s, const char *script)
{
    (void)agent(s, 0, script);
    start(s);
    return submit(s, STR("alpha"), "\"go\"");
}

/* Waits until @is true; asked under lock, whenever something has happened. */
static void until(struct scene *s, bool (*is)(struct scene *s))
{
    struct timespec end;
    int err = 0;

    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    (void)pthread_mutex_lock(&s->journal.lock);
    while (err == 0 && !is(s))
        err = pthread_cond_timedwait(&s->journal.news, &s->journal.lock, &end);
    (void)pthread_mutex_unlock(&s->journal.lock);
    assert_int_equal(err, 0);
}

static bool all_ended(struct scene *s)
{
    for (size_t i = 0; i < s->journal.n_jobs; i++)
        if (s->journal.jobs[i].state < FINISHED)
            return false;
    return true;
}

static bool has_bytes(struct scene *s)
{
    return s->journal.jobs[0].bytes.n > 0;
}

static bool holds_one(struct scene *s)
{
    return s->journal.held != NULL;
}

static bool logged(const struct scene *s, const char *text)
{
    struct str log = buf_text(&s->journal.log);

    return memmem(log.p, log.n, text, strlen(text)) != NULL;
}

static bool is_logged_lost(struct scene *s)
{
    return logged(s, "spoolwire: the job is lost");
}

static void sleep_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&t, NULL);
}

static void until_idle(struct scene *s)
{
    for (int i = 0; exec_running(s->exec) > 0; i++) {
        assert_true(i < PATIENCE_S * 100);
        sleep_ms(10);
    }
}

/* A process that is dead but not yet reaped by init counts as gone. */
static bool is_alive(pid_t pid)
{
    char path[64], text[512] = "";

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    const char *paren = strrchr(text, ')');
    return paren != NULL && paren[2] != 'Z' && paren[2] != 'X';
}

static void expect_death(pid_t pid)
{
    assert_true(pid > 1);
    for (int i = 0; is_alive(pid); i++) {
        assert_true(i < PATIENCE_S * 100);
        sleep_ms(10);
    }
}

static void expect_bytes(const struct job *job, const char *text)
{
    assert_int_equal(job->bytes.n, strlen(text));
    assert_memory_equal(job->bytes.p, text, job->bytes.n);
}

static void set(struct scene *s, bool *flag)
{
    (void)pthread_mutex_lock(&s->journal.lock);
    *flag = true;
    (void)pthread_mutex_unlock(&s->journal.lock);
}

static void fence(struct scene *s, struct job *job, int code)
{
    (void)pthread_mutex_lock(&s->journal.lock);
    job->fenced = code;
    (void)pthread_mutex_unlock(&s->journal.lock);
}

/* --- endings ----------------------------------------------------------------- */

static void a_worker_gets_its_job_and_exit_0_ends_the_stream(void **state)
{
    struct scene *s = *state;

    (void)agent(s, 0, "read -r line; printf '%s\\n' \"$line\"");
    start(s);
    struct job *job = submit(s, STR("alpha"), "{\"a\":\r\n[1,\n2]}");
    until(s, all_ended);
    expect_bytes(
        job,
        "{\"job\":\"job-1\",\"attempt\":1,\"lease\":\"1.1.2006a5cf1ad9ad4d3d7d8103ce018ed0\","
        "\"agent\":\"alpha\","
        "\"input\":{\"a\":  [1, 2]},\"lease_seconds\":60}\n");
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
    assert_true(job->end_of_stream);
}

static void stdin_ends_after_the_job(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "cat");

    until(s, all_ended);
    assert_true(str_ends(buf_text(&job->bytes), STR("\"lease_seconds\":60}\n")));
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
}

static void a_job_that_nobody_reads_is_no_failure(void **state)
{
    struct scene *s = *state;
    size_t n = 1 << 20;
    char *input = malloc(n + 1);

    memset(input, '1', n);
    input[n] = '\0';
    (void)agent(s, 0, "exec <&-; sleep 0.1; echo done");
    start(s);
    struct job *job = submit(s, STR("alpha"), input);
    until(s, all_ended);
    free(input);
    expect_bytes(job, "done\n");
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
}

static void a_failure_has_the_last_line_of_stderr_and_the_tail(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(
        s, "echo Traceback >&2; printf 'bad \\377 byte\\r\\n' >/dev/stderr; echo Boom: no >&2;"
           "echo >&2; exit 3");

    until(s, all_ended);
    assert_int_equal(job->end, JOB_END_FAILED);
    assert_false(job->end_of_stream);
    assert_string_equal(job->error, "Boom: no");
    assert_string_equal(job->details, "{\"exit_status\":3,\"stderr\":\"Traceback\\nbad "
                                      "\xEF\xBF\xBD byte\\nBoom: no\"}");
    assert_string_equal(job->error_type, "ExitStatus");
    assert_true(logged(s, "Traceback\nbad \xEF\xBF\xBD byte\nBoom: no\n"));
}

static void an_exception_is_the_error_and_its_class_the_type(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "cat >&2 <<'END'\n"
                                   "Traceback (most recent call last):\n"
                                   "  File \"graph.py\", line 5, in node\n"
                                   "    raise e\n"
                                   "shop.NoRepository: none at x:1\n"
                                   "During task with name 'writer' and id '1'\n"
                                   "END\n"
                                   "exit 1");

    until(s, all_ended);
    assert_string_equal(job->error, "none at x:1");
    assert_string_equal(job->error_type, "NoRepository");
    assert_non_null(strstr(job->details, "{\"exit_status\":1,\"stderr\":\"Traceback (most"));
    assert_non_null(strstr(job->details, "During task with name 'writer' and id '1'\"}"));
}

static void the_tail_is_the_last_4_kib_from_a_lines_beginning(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(
        s, "i=0; while [ $i -lt 3000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 1");

    until(s, all_ended);
    assert_string_equal(job->error, "line 2999");
    assert_true(strlen(job->details) > 4000);
    assert_true(strlen(job->details) <= 4096 + 512 + 64); /* each newline is two bytes */
    assert_memory_equal(job->details, "{\"exit_status\":1,\"stderr\":\"line 2", 33);
}

static void without_stderr_the_status_is_the_error(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "exit 3");

    until(s, all_ended);
    assert_string_equal(job->error, "exit status 3");
    assert_string_equal(job->details, "{\"exit_status\":3}");
}

static void a_signal_is_named(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "echo '{}'; printf half; echo why >&2; kill -SEGV $$");

    until(s, all_ended);
    assert_int_equal(job->end, JOB_END_FAILED);
    assert_string_equal(job->error, "killed by signal 11 (SIGSEGV)");
    assert_string_equal(job->details, "{\"signal\":11,\"stderr\":\"why\"}");
    assert_string_equal(job->error_type, "Signal");
    expect_bytes(job, "{}\n"); /* half a line is no event */
}

static void a_process_that_cannot_start_is_a_failure(void **state)
{
    struct scene *s = *state;
    struct exec_agent *a = agent(s, 0, "");

    s->argv[0][0] = (char *)(uintptr_t) "/no/such/program";
    agent(s, 1, "exit 0")->cwd = "/no/such/folder";
    start(s);
    struct job *one = submit(s, a->name, "1"), *two = submit(s, STR("beta"), "2");
    until(s, all_ended);
    assert_int_equal(one->end, JOB_END_FAILED);
    assert_string_equal(one->error, "cannot start /no/such/program: no such file or directory");
    assert_string_equal(two->error,
                        "cannot start sh in /no/such/folder: no such file or directory");
    assert_string_equal(one->error_type, "SpawnFailed");
}

static void a_job_that_its_worker_has_ended_is_left_alone(void **state)
{
    struct scene *s = *state;

    s->journal.closed_at_finish = true;
    struct job *job = start_one(s, "echo '{\"event\":\"job.done\"}'");
    until(s, all_ended);
    until_idle(s);
    assert_int_equal(job->state, FINISHED);
    assert_int_equal(s->journal.n_finish_tries, 1);
}

/* --- the process ------------------------------------------------------------- */

static void the_environment_says_who_and_hides_secrets(void **state)
{
    struct scene *s = *state;
    char extra1[] = "SPOOLWIRE_URL=http://x", extra2[] = "TEST_BASE=agent";
    char *extra[] = { extra1, extra2, NULL };

    assert_int_equal(setenv("SPOOLWIRE_TOKEN", "secret", 1), 0);
    assert_int_equal(setenv("TEST_BASE", "server", 1), 0);
    assert_int_equal(setenv("TEST_KEPT", "kept", 1), 0);
    agent(s, 0, "env | grep -E '^(SPOOLWIRE|TEST)_' | LC_ALL=C sort")->env = extra;
    start(s);
    struct job *job = submit(s, STR("alpha"), "1");
    until(s, all_ended);
    assert_int_equal(unsetenv("SPOOLWIRE_TOKEN"), 0);
    expect_bytes(job, "SPOOLWIRE_AGENT=alpha\nSPOOLWIRE_ATTEMPT=1\nSPOOLWIRE_JOB=job-1\n"
                      "SPOOLWIRE_TOKEN=spp_1_790449918455c60a3f5b4853833464ca_616c706861\n"
                      "SPOOLWIRE_URL=http://x\nTEST_BASE=agent\nTEST_KEPT=kept\n");
}

static void a_worker_inherits_three_descriptors_and_no_blocked_signal(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "ls /proc/self/fd; grep SigBlk /proc/self/status");

    until(s, all_ended);
    expect_bytes(job, "0\n1\n2\n3\nSigBlk:\t0000000000000000\n"); /* 3: ls has its folder */
}

static void a_folder_and_limits_are_set(void **state)
{
    struct scene *s = *state;
    struct exec_agent *a = agent(s, 0, "read -r x; pwd; ulimit -v; ulimit -t");

    a->cwd = "/";
    a->max_rss = (size_t)1 << 30;
    a->max_cpu_seconds = 7;
    start(s);
    struct job *job = submit(s, a->name, "1");
    until(s, all_ended);
    expect_bytes(job, "/\n1048576\n7\n");
}

static void what_keeps_stdout_open_is_killed_two_seconds_after_the_exit(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "sleep 600 & echo $!; exit 0");

    until(s, all_ended);
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
    expect_death((pid_t)atol(job->bytes.p));
}

static void what_is_left_of_the_group_is_killed_at_the_end(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "sleep 600 >/dev/null 2>&1 & echo $!; exit 0");

    until(s, all_ended);
    expect_death((pid_t)atol(job->bytes.p));
}

static void a_process_in_another_session_does_not_hold_the_job(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "setsid sleep 600 & echo $!; sleep 0.2; exit 0");

    until(s, all_ended);
    until_idle(s);
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
    (void)kill((pid_t)atol(job->bytes.p), SIGKILL);
}

static bool has_beats(struct scene *s)
{
    return s->journal.jobs[0].n_beats >= 3;
}

static void a_silent_worker_is_kept_by_heartbeats(void **state)
{
    struct scene *s = *state;

    s->heartbeat_ms = 20;
    struct job *job = start_one(s, "exec >&-; sleep 600");
    until(s, has_beats);
    exec_cancel(s->exec, 1, 9); /* another attempt: not ours */
    exec_cancel(s->exec, 2, 1);
    assert_int_equal(job->state, RUNNING);
}

/* --- output ------------------------------------------------------------------ */

static void a_last_line_needs_no_newline_and_long_lines_pass(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "head -c 3000000 /dev/zero | tr '\\0' x; echo; printf end");

    until(s, all_ended);
    assert_int_equal(job->bytes.n, 3000000 + 1 + 4);
    assert_memory_equal(job->bytes.p + 3000000, "\nend\n", 5);
}

static void a_line_of_more_than_16_mib_fails_the_job(void **state)
{
    struct scene *s = *state;
    struct job *job =
        start_one(s, "echo first; head -c 17000000 /dev/zero | tr '\\0' x; sleep 600");

    until(s, all_ended);
    assert_int_equal(job->end, JOB_END_FAILED);
    assert_string_equal(job->error, "a line of more than 16 MiB");
    assert_string_equal(job->error_type, "LineTooLong");
    expect_bytes(job, "first\n");
}

static void much_output_arrives_whole_and_in_order(void **state)
{
    enum { LINES = 200000 };
    struct scene *s = *state;
    struct job *job = start_one(s, "seq -f '{\"event\":\"token\",\"n\":%.0f}' 1 200000");
    struct buf want;

    buf_init(&want, 1 << 28);
    for (int i = 1; i <= LINES; i++) {
        buf_lit(&want, "{\"event\":\"token\",\"n\":");
        buf_i64(&want, i);
        buf_lit(&want, "}\n");
    }
    until(s, all_ended);
    assert_int_equal(job->bytes.n, want.n);
    assert_memory_equal(job->bytes.p, want.p, want.n);
    assert_true(job->largest <= 64 * 1024);
    buf_done(&want);
}

static bool one_mib_written(struct scene *s)
{
    return logged(s, "1 MiB\n");
}

static void a_worker_waits_while_the_journal_is_behind(void **state)
{
    struct scene *s = *state;

    s->journal.hold_appends = true;
    struct job *job =
        start_one(s, "for i in 1 2 3 4 5 6 7 8; do yes 0123456789abcde | head -c 1048576;"
                     "echo $i MiB >&2; done");
    until(s, one_mib_written);
    until(s, holds_one);
    sleep_ms(300); /* time enough to write the rest, were it read */
    (void)pthread_mutex_lock(&s->journal.lock);
    bool ran_ahead = logged(s, "3 MiB");
    (void)pthread_mutex_unlock(&s->journal.lock);
    assert_false(ran_ahead);
    release(s);
    until(s, all_ended);
    assert_int_equal(job->bytes.n, 8 << 20);
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
}

static bool done_writing(struct scene *s)
{
    return logged(s, "done\n");
}

/* More than 1 MiB waits, the rest is in the pipe, nobody reads it, and the worker is gone
 * for longer than two seconds. */
static void what_an_ended_worker_wrote_waits_for_the_journal(void **state)
{
    struct scene *s = *state;

    s->journal.hold_appends = true;
    struct job *job = start_one(s, "many() { yes 0123456789abcde | head -c $1; }; echo '{}';"
                                   "sleep 0.2; many 16384; sleep 0.2; many 1097728;"
                                   "echo done >&2");
    until(s, done_writing);
    sleep_ms(4500);
    release(s);
    until(s, all_ended);
    assert_int_equal(job->bytes.n, 3 + 1114112);
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
}

static bool has_refused(struct scene *s)
{
    return s->journal.jobs[0].last.n > 0;
}

/* The worker says its pid, and the rest when it is told that this was refused. */
static void what_was_not_stored_is_sent_again_unchanged(void **state)
{
    struct scene *s = *state;
    char want[32];

    s->journal.busy_appends = UINT_MAX;
    s->journal.busy_finishes = 1;
    struct job *job = start_one(s, "trap told=1 USR1; echo $$;"
                                   "while [ -z \"$told\" ]; do sleep 0.02; done;"
                                   "echo two; echo done >&2; echo three");
    until(s, has_refused);
    (void)pthread_mutex_lock(&s->journal.lock);
    pid_t worker = (pid_t)atol(job->last.p);
    (void)pthread_mutex_unlock(&s->journal.lock);
    assert_int_equal(kill(worker, SIGUSR1), 0);
    until(s, done_writing);
    (void)pthread_mutex_lock(&s->journal.lock);
    s->journal.busy_appends = 1;
    (void)pthread_mutex_unlock(&s->journal.lock);
    until(s, all_ended);
    (void)snprintf(want, sizeof(want), "%ld\ntwo\nthree\n", (long)worker);
    expect_bytes(job, want);
    assert_int_equal(s->journal.n_finish_tries, 2);
    assert_true(job->n_appends >= 4); /* refused twice, stored, and the rest */
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
}

/* --- cancel ------------------------------------------------------------------ */

static void expect_cancelled(struct scene *s, struct job *job)
{
    until(s, all_ended);
    assert_int_equal(job->end, JOB_END_CANCELLED);
    assert_false(job->end_of_stream);
}

static void a_cancel_that_is_obeyed_lets_the_worker_say_goodbye(void **state)
{
    struct scene *s = *state;

    agent(s, 0, "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done")
        ->grace_ms = 600000;
    start(s);
    struct job *job = submit(s, STR("alpha"), "1");
    until(s, has_bytes);
    exec_cancel(s->exec, 1, 1);
    exec_cancel(s->exec, 1, 1);
    expect_cancelled(s, job);
    expect_bytes(job, "ready\nbye\n");
}

static void a_cancel_that_is_ignored_kills_the_whole_group(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "trap '' TERM; sh -c 'while :; do sleep 1; done' & echo $!;"
                                   "while :; do sleep 1; done");

    until(s, has_bytes);
    exec_cancel(s->exec, 1, 1);
    expect_cancelled(s, job);
    expect_death((pid_t)atol(job->bytes.p));
}

static void a_reply_to_an_append_cancels(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "while :; do echo tick; sleep 0.02; done");

    until(s, has_bytes);
    set(s, &job->cancel);
    expect_cancelled(s, job);
}

static void a_reply_to_a_heartbeat_cancels(void **state)
{
    struct scene *s = *state;

    s->heartbeat_ms = 20;
    struct job *job = start_one(s, "sleep 600");
    until(s, has_beats);
    set(s, &job->cancel);
    expect_cancelled(s, job);
}

static void a_job_that_was_cancelled_before_is_not_started(void **state)
{
    struct scene *s = *state;

    (void)agent(s, 0, "echo started");
    submit(s, STR("alpha"), "1")->cancel = true;
    start(s);
    expect_cancelled(s, &s->journal.jobs[0]);
    assert_int_equal(s->journal.jobs[0].bytes.n, 0);
}

static void a_cancel_that_is_ahead_of_its_lease_is_asked_for(void **state)
{
    struct scene *s = *state;

    s->journal.hold_leases = true;
    struct job *job = start_one(s, "sleep 600");
    until(s, holds_one);
    set(s, &job->cancel);
    exec_cancel(s->exec, 1, 1);
    sleep_ms(50); /* its message is read before the lease's */
    release(s);
    expect_cancelled(s, job);
}

/* --- fences ------------------------------------------------------------------ */

static void a_fenced_worker_is_killed_and_nothing_more_is_said(void **state)
{
    struct scene *s = *state;
    struct job *job = start_one(s, "trap '' TERM; echo $$; while :; do echo x; done");

    until(s, has_bytes);
    fence(s, job, ERR_REFUSED);
    until_idle(s);
    assert_int_equal(job->state, RUNNING); /* somebody else's */
    assert_int_equal(s->journal.n_finish_tries, 0);
    assert_true(logged(s, "spoolwire: the job is lost: not yours"));
}

static void a_silent_worker_is_fenced_by_its_heartbeat(void **state)
{
    struct scene *s = *state;

    s->heartbeat_ms = 20;
    struct job *job = start_one(s, "sleep 600");
    until(s, has_beats);
    fence(s, job, ERR_NOT_FOUND);
    until_idle(s);
    assert_int_equal(s->journal.n_finish_tries, 0);
}

static void a_worker_whose_job_has_ended_may_tidy_up(void **state)
{
    struct scene *s = *state;

    agent(s, 0, "trap 'echo tidy >&2; exit 0' TERM; echo ready; while :; do sleep 0.02; done")
        ->grace_ms = 600000;
    s->heartbeat_ms = 20;
    start(s);
    struct job *job = submit(s, STR("alpha"), "1");
    until(s, has_bytes);
    fence(s, job, ERR_CLOSED);
    until_idle(s);
    assert_true(logged(s, "tidy\n"));
    assert_int_equal(s->journal.n_finish_tries, 0);
}

static void a_fence_while_batches_wait_ends_it_too(void **state)
{
    struct scene *s = *state;

    s->heartbeat_ms = 20;
    s->journal.hold_appends = true;
    struct job *job = start_one(s, "yes");
    until(s, holds_one);
    fence(s, job, ERR_REFUSED);
    sleep_ms(100);
    release(s);
    until_idle(s);
    assert_int_equal(s->journal.n_finish_tries, 0);
}

/* --- many -------------------------------------------------------------------- */

static void agents_keep_to_their_places_and_all_jobs_are_done(void **state)
{
    struct scene *s = *state;

    agent(s, 0, "echo a; sleep 0.05")->concurrency = 3;
    agent(s, 1, "echo b")->concurrency = 2;
    for (int i = 0; i < 5; i++)
        (void)submit(s, STR("alpha"), "1"); /* before it was there */
    start(s);
    for (int i = 0; i < 25; i++)
        (void)submit(s, i % 5 == 0 ? STR("beta") : STR("alpha"), "1");
    exec_queued(s->exec, STR("unknown"));
    until(s, all_ended);
    until_idle(s);
    assert_true(s->journal.most_running <= 5);
    for (size_t i = 0; i < s->journal.n_jobs; i++)
        assert_int_equal(s->journal.jobs[i].end, JOB_END_SUCCEEDED);
}

static void a_queued_job_does_not_wait_for_the_poll(void **state)
{
    struct scene *s = *state;

    s->poll_ms = (uint64_t)2 * PATIENCE_S * 1000;
    (void)agent(s, 0, "exit 0");
    start(s);
    for (int i = 0; i < 8; i++) {
        (void)submit(s, STR("alpha"), "1");
        until(s, all_ended);
        until_idle(s);
    }
}

static void a_lease_that_fails_is_tried_again(void **state)
{
    struct scene *s = *state;

    s->journal.busy_leases = 1;
    (void)start_one(s, "exit 0");
    until(s, all_ended); /* by the poll */
}

/* --- drain and stop ---------------------------------------------------------- */

static void a_drain_hands_jobs_back(void **state)
{
    struct scene *s = *state;

    s->journal.busy_returns = 1;
    agent(s, 0, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done")->concurrency =
        1;
    start(s);
    struct job *job = submit(s, STR("alpha"), "1");
    until(s, has_bytes);
    struct job *later = submit(s, STR("alpha"), "2");
    exec_drain(s->exec);
    until_idle(s);
    exec_queued(s->exec, STR("alpha"));
    exec_stop(s->exec);
    assert_int_equal(job->state, RETURNED);
    assert_int_equal(later->state, QUEUED);
    assert_int_equal(s->journal.n_finish_tries, 2);
}

static void a_job_that_comes_during_a_drain_is_handed_back(void **state)
{
    struct scene *s = *state;

    s->journal.hold_leases = true;
    struct job *job = start_one(s, "echo started");
    until(s, holds_one);
    exec_drain(s->exec);
    sleep_ms(50); /* its message is read before the lease's */
    release(s);
    until(s, all_ended);
    assert_int_equal(job->state, RETURNED);
    assert_int_equal(job->bytes.n, 0);
}

static void a_stop_kills_and_hands_back_at_once(void **state)
{
    struct scene *s = *state;

    agent(s, 0, "trap '' TERM; echo $$; while :; do sleep 1; done")->grace_ms = 600000;
    start(s);
    struct job *job = submit(s, STR("alpha"), "1");
    until(s, has_bytes);
    exec_drain(s->exec);
    exec_stop(s->exec);
    assert_int_equal(job->state, RETURNED);
    expect_death((pid_t)atol(job->bytes.p));
}

static void a_stop_does_not_wait_for_a_full_disk(void **state)
{
    struct scene *s = *state;

    s->journal.busy_finishes = s->journal.busy_appends = 1000000;
    (void)agent(s, 0, "exit 0");
    (void)agent(s, 1, "echo x; sleep 600");
    start(s);
    (void)submit(s, STR("alpha"), "1");
    (void)submit(s, STR("beta"), "1");
    sleep_ms(300);
    exec_stop(s->exec);
    exec_cancel(s->exec, 1, 1); /* nobody is there: no harm */
    exec_queued(s->exec, STR("alpha"));
}

/* --- pools ------------------------------------------------------------------- */

/* A process of a pool in shell: says of its job what @work prints as "event" lines, with $job
 * and $attempt; then that it succeeded. */
#define POOL_WORKER(work)                                                              \
    "echo '{\"ready\":true}'; "                                                        \
    "say() { printf '{\"job\":\"%s\",\"attempt\":%s,%s}\\n' $job $attempt \"$1\"; }; " \
    "while read -r line; do "                                                          \
    "job=${line#*\\\"job\\\":\\\"}; job=${job%%\\\"*}; "                               \
    "attempt=${line#*\\\"attempt\\\":}; attempt=${attempt%%,*}; " work                 \
    "; say '\"finish\":{\"status\":\"success\"}'; done"

static struct exec_agent *pool_agent(struct scene *s, const char *script)
{
    struct exec_agent *a = agent(s, 0, script);

    a->kind = AGENT_POOL;
    a->pool = (struct exec_pool){ .size = 2,
                                  .concurrency = 1,
                                  .warm = 1,
                                  .start_ms = 10000,
                                  .drain_ms = 1000,
                                  .backoff_ms = 500 };
    return a;
}

static void a_pool_does_all_jobs_and_tells_all_it_hears(void **state)
{
    struct scene *s = *state;

    (void)pool_agent(s, POOL_WORKER("say '\"event\":{\"n\": 1.0}'"));
    for (int i = 0; i < 20; i++)
        (void)submit(s, STR("alpha"), "null");
    start(s);
    until(s, all_ended);
    for (size_t i = 0; i < s->journal.n_jobs; i++) {
        const struct job *job = &s->journal.jobs[i];

        expect_bytes(job, "{\"n\": 1.0}\n");
        assert_int_equal(job->end, JOB_END_SUCCEEDED);
        assert_false(job->end_of_stream);
        assert_int_equal(job->attempt, 1);
    }
}

static void a_pool_says_again_what_was_not_stored(void **state)
{
    struct scene *s = *state;

    (void)pool_agent(s, POOL_WORKER("say '\"event\":{}'"));
    s->journal.busy_leases = 1;
    s->journal.busy_appends = s->journal.busy_finishes = 2;
    struct job *job = submit(s, STR("alpha"), "null");
    start(s);
    until(s, all_ended);
    expect_bytes(job, "{}\n");
    assert_int_equal(job->end, JOB_END_SUCCEEDED);
}

static void a_loss_is_said_until_it_is_stored(void **state)
{
    struct scene *s = *state;

    (void)pool_agent(s, POOL_WORKER("[ $attempt -gt 1 ] || kill -9 $$"));
    s->journal.busy_finishes = 2;
    struct job *job = submit(s, STR("alpha"), "null");
    start(s);
    until(s, all_ended);
    assert_int_equal(s->journal.n_lost, 1);
    assert_int_equal(job->attempt, 2);
    assert_string_equal(job->error_type, "");
    assert_true(logged(s, "spoolwire: pool: its process ended: killed by signal 9 (SIGKILL)"));
}

static void a_fenced_job_is_stopped_and_its_process_goes_on(void **state)
{
    struct scene *s = *state;

    /* It says something until it is told to stop: then there is a second line. */
    (void)pool_agent(s, POOL_WORKER("if [ $job = job-1 ]; then say '\"event\":{}'; "
                                    "read -r told; fi"));
    s->heartbeat_ms = 50;
    struct job *job = submit(s, STR("alpha"), "null");
    fence(s, job, ERR_REFUSED);
    start(s);
    until(s, is_logged_lost);
    (void)pthread_mutex_lock(&s->journal.lock);
    job->state = FINISHED; /* by another */
    s->journal.running--;
    (void)pthread_mutex_unlock(&s->journal.lock);
    (void)submit(s, STR("alpha"), "null");
    until(s, all_ended);
    assert_int_equal(s->journal.n_lost, 0);
    assert_int_equal(s->journal.jobs[1].attempt, 1);
}

static void a_pool_is_drained_and_stopped(void **state)
{
    struct scene *s = *state;

    (void)pool_agent(s, POOL_WORKER("say '\"event\":{}'; sleep 300"));
    struct job *job = submit(s, STR("alpha"), "null");
    start(s);
    until(s, has_bytes);
    exec_drain(s->exec);
    until_idle(s);
    assert_int_equal(job->state, RETURNED);
    exec_stop(s->exec);
}

static void a_pool_that_is_stopped_does_not_wait_for_a_full_disk(void **state)
{
    struct scene *s = *state;

    (void)pool_agent(s, POOL_WORKER("say '\"event\":{}'; sleep 300"));
    struct job *job = submit(s, STR("alpha"), "null");
    start(s);
    until(s, has_bytes);
    s->journal.busy_returns = 1000;
    exec_stop(s->exec);
    assert_int_equal(job->state, RUNNING); /* left to recovery */
    assert_true(logged(s, "left to recovery"));
}

static void a_pool_is_stopped_while_it_starts(void **state)
{
    struct scene *s = *state;

    pool_agent(s, "sleep 300")->pool.warm = 2;
    start(s);
    exec_stop(s->exec);
    exec_free(s->exec);
    s->exec = NULL;
    struct exec_options options = { .agents = s->agents,
                                    .n = 1,
                                    .journal = &s->journal,
                                    .lease_key = (const unsigned char *)LEASE_KEY,
                                    .process_key = (const unsigned char *)LEASE_KEY };
    assert_int_equal(exec_new(&options, &s->exec, NULL), 0); /* and never started */
}

static void it_may_be_stopped_before_it_was_started(void **state)
{
    struct scene *s = *state;
    struct exec_options options = { .agents = s->agents, .n = 1, .journal = &s->journal };

    (void)agent(s, 0, "exit 0");
    assert_int_equal(exec_new(&options, &s->exec, NULL), 0);
    exec_queued(s->exec, STR("alpha"));
    exec_cancel(s->exec, 1, 1);
    exec_stop(s->exec);
    exec_free(NULL);
}

static void an_agent_without_a_command_is_refused(void **state)
{
    struct scene *s = *state;
    struct exec_options options = { .agents = s->agents, .n = 1, .journal = &s->journal };
    struct error err;

    s->agents[0].name = STR("alpha");
    assert_int_equal(exec_new(&options, &s->exec, &err), ERR_TYPE);
    assert_string_equal(err.text, "agent alpha: no command to run");
}

/* What this process was born with is not the manager's to close, and what libuv keeps for
 * the life of the process is no leak. */
static void begin_clean(void)
{
    uv_loop_t loop;

    for (int fd = 3; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* not open: nothing to do */
    if (uv_loop_init(&loop) == 0)
        (void)uv_loop_close(&loop);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_worker_gets_its_job_and_exit_0_ends_the_stream),
        TEST(stdin_ends_after_the_job),
        TEST(a_job_that_nobody_reads_is_no_failure),
        TEST(a_failure_has_the_last_line_of_stderr_and_the_tail),
        TEST(the_tail_is_the_last_4_kib_from_a_lines_beginning),
        TEST(an_exception_is_the_error_and_its_class_the_type),
        TEST(without_stderr_the_status_is_the_error),
        TEST(a_signal_is_named),
        TEST(a_process_that_cannot_start_is_a_failure),
        TEST(a_job_that_its_worker_has_ended_is_left_alone),
        TEST(the_environment_says_who_and_hides_secrets),
        TEST(a_worker_inherits_three_descriptors_and_no_blocked_signal),
        TEST(a_folder_and_limits_are_set),
        TEST(what_keeps_stdout_open_is_killed_two_seconds_after_the_exit),
        TEST(what_is_left_of_the_group_is_killed_at_the_end),
        TEST(a_process_in_another_session_does_not_hold_the_job),
        TEST(a_silent_worker_is_kept_by_heartbeats),
        TEST(a_last_line_needs_no_newline_and_long_lines_pass),
        TEST(a_line_of_more_than_16_mib_fails_the_job),
        TEST(much_output_arrives_whole_and_in_order),
        TEST(a_worker_waits_while_the_journal_is_behind),
        TEST(what_an_ended_worker_wrote_waits_for_the_journal),
        TEST(what_was_not_stored_is_sent_again_unchanged),
        TEST(a_cancel_that_is_obeyed_lets_the_worker_say_goodbye),
        TEST(a_cancel_that_is_ignored_kills_the_whole_group),
        TEST(a_reply_to_an_append_cancels),
        TEST(a_reply_to_a_heartbeat_cancels),
        TEST(a_job_that_was_cancelled_before_is_not_started),
        TEST(a_cancel_that_is_ahead_of_its_lease_is_asked_for),
        TEST(a_fenced_worker_is_killed_and_nothing_more_is_said),
        TEST(a_silent_worker_is_fenced_by_its_heartbeat),
        TEST(a_worker_whose_job_has_ended_may_tidy_up),
        TEST(a_fence_while_batches_wait_ends_it_too),
        TEST(agents_keep_to_their_places_and_all_jobs_are_done),
        TEST(a_queued_job_does_not_wait_for_the_poll),
        TEST(a_lease_that_fails_is_tried_again),
        TEST(a_drain_hands_jobs_back),
        TEST(a_job_that_comes_during_a_drain_is_handed_back),
        TEST(a_stop_kills_and_hands_back_at_once),
        TEST(a_stop_does_not_wait_for_a_full_disk),
        TEST(a_pool_does_all_jobs_and_tells_all_it_hears),
        TEST(a_pool_says_again_what_was_not_stored),
        TEST(a_loss_is_said_until_it_is_stored),
        TEST(a_fenced_job_is_stopped_and_its_process_goes_on),
        TEST(a_pool_is_drained_and_stopped),
        TEST(a_pool_that_is_stopped_does_not_wait_for_a_full_disk),
        TEST(a_pool_is_stopped_while_it_starts),
        TEST(it_may_be_stopped_before_it_was_started),
        TEST(an_agent_without_a_command_is_refused),
    };

    begin_clean();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
